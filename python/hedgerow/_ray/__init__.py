"""The actors of `hedgerow.ray`. `plan` and `checkpoint` need no other library."""
