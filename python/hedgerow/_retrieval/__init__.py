"""What a `Retriever` is made of: its options, its stages, and how they are run and watched."""
