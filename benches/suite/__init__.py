"""hedgerow and its peers: see benches/README.md."""
