"""The answers of commands with `--json`, and of the server: one form for both."""
