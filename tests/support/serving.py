"""Tokens and chunks of the servers in tests."""

from __future__ import annotations

import hedgerow as hr
from hedgerow._serve.tokens import Tokens

TOKENS = Tokens("w" * 40, "r" * 40)
WRITE = {"Authorization": f"Bearer {TOKENS.write}"}
READ = {"Authorization": f"Bearer {TOKENS.read}"}

CHUNKS = [
    hr.Chunk("a", "notes/a.md", "Hedgehogs sleep in winter.", title="Hedgehogs", tags=["animal"]),
    hr.Chunk("b/1", "notes/b.md", "No pellets against slugs.", title="Slugs"),
    hr.Chunk("c", "notes/c.md", "Ivy feeds bees in autumn."),
]
