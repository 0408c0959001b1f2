"""The parts of a `Retriever`: its options, its stages, and how they run."""
