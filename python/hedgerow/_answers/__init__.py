"""What commands answer with `--json`, and the server with it: one form for both."""
