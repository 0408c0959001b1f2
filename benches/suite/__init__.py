"""hedgerow beside its peers: see benches/README.md."""
