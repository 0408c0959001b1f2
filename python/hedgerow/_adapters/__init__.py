"""What embedders, rerankers and models of agents share: models on this machine, connections, keys."""
