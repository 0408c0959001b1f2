"""A server beside one process a session: what benches/serve.py starts, and how it measures."""
