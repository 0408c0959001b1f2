"""Measure the cost of a collection in OpenSearch against the embedded index: benches/cluster.py."""
