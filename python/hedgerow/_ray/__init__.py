"""The actors of `hedgerow.ray`. `plan`, `place` and `checkpoint` need no other library."""
