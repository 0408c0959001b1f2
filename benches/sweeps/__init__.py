"""The dimensions of `benches/sweep.py`, and their measurement."""
