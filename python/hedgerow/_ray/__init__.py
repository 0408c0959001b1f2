"""What actors of `hedgerow.ray` do. `plan`, `place` and `checkpoint` need no library of others."""
