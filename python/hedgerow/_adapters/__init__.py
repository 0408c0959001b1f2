"""Shared parts of embedders, rerankers and models: local models, connections, keys."""
