"""The graph of a store as figures, and as a picture."""
