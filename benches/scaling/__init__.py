"""What a collection in OpenSearch costs, beside the embedded index: benches/cluster.py."""
