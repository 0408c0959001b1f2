"""What actors of `hedgerow.ray` do. `plan`, `place` and `checkpoint` need no other library."""
