"""Embedders and rerankers with predictable numbers, those of spec/fixtures/search.jsonl."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

import hedgerow as hr
from spec_fixtures import jsonl


def fnv64(text: str) -> list[float]:
    """Return a hashed vector with 64 dimensions.

    Empty if there are no tokens or they cancel out.
    """
    sums = [0.0] * 64
    for token in re.findall(r"[a-z0-9]+", re.sub(r"[A-Z]", lambda m: m[0].lower(), text)):
        hashed = 0x811C9DC5
        for byte in token.encode():
            hashed = ((hashed ^ byte) * 0x01000193) % 2**32
        sums[hashed % 64] += -1.0 if hashed >> 31 else 1.0
    norm = sum(number * number for number in sums) ** 0.5
    return [float(np.float32(number / norm)) for number in sums] if norm else []


class FnvEmbedder:
    """An embedder that records its calls."""

    name = "fnv64"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        self.calls.append(list(texts))
        return [fnv64(text) for text in texts]


class AsyncFnvEmbedder:
    name = "fnv64"

    async def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [fnv64(text) for text in texts]


class BrokenEmbedder:
    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        raise ConnectionError(f"no model for {len(texts)} texts")


class FakeReranker:
    """A reranker of one of the kinds `len97`, `reverse`, `drop_odd` and `throws`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = f"fake-{kind}"
        self.calls: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, documents: Sequence[hr.RerankDocument], /) -> list[hr.RerankScore]:
        self.calls.append((query, [document.id for document in documents]))
        if self.kind == "throws":
            raise TimeoutError("no answer")
        return rerank(self.kind, documents)


class AsyncFakeReranker(FakeReranker):
    async def rerank(  # type: ignore[override]
        self, query: str, documents: Sequence[hr.RerankDocument], /
    ) -> list[hr.RerankScore]:
        return super().rerank(query, documents)


def rerank(kind: str, documents: Sequence[hr.RerankDocument]) -> list[hr.RerankScore]:
    places = range(len(documents))
    if kind == "reverse":
        return [hr.RerankScore(place, place) for place in reversed(places)]
    if kind == "drop_odd":
        return [hr.RerankScore(place, 100 - place) for place in places if place % 2 == 0]
    lengths = [len(document.text.encode("utf-16-le")) // 2 for document in documents]
    scores = [hr.RerankScore(place, float(-(lengths[place] % 97))) for place in places]
    return sorted(scores, key=lambda scored: -scored.score)


@cache
def corpus(name: str) -> hr.Index:
    """Return one of the three small corpora in spec/fixtures, indexed with its vectors."""
    index = hr.Index.in_memory(tokenizer="porter unicode61")
    chunks = [
        hr.Chunk(
            line["id"],
            line["path"],
            line["content"],
            title=line["title"],
            summary=line["summary"],
            tags=line["tags"],
        )
        for line in jsonl(f"corpora/{name}")
    ]
    hr.Retriever(index, embedder=FnvEmbedder()).upsert(chunks)
    return index


# The chunks that the cases call `custom`.
TRIGRAM_CHUNKS = {
    "empty": [],
    "custom": [
        {
            "id": "tri-1",
            "path": "custom/espresso-machine.md",
            "title": "Espresso",
            "summary": "s",
            "content": "c",
        },
        {"id": "tri-2", "path": "custom/kubernetes-upgrade.md"},
        {"id": "tri-3", "path": "custom/fietsenmaker.md", "title": "Fietsenmaker"},
    ],
}


def retriever(case: dict, **given) -> hr.Retriever:
    options = case["options"]
    kind = options["reranker"]
    given.setdefault("embedder", FnvEmbedder() if options["embedder"] else None)
    given.setdefault("reranker", FakeReranker(kind) if kind else None)
    return hr.Retriever(
        corpus(case["corpus"]),
        aliases=options["aliases"],
        trigram_chunks=TRIGRAM_CHUNKS.get(options["trigramChunks"]),
        **given,
    )


_KEYWORDS = {
    "mode": "mode",
    "topK": "limit",
    "candidateK": "candidates",
    "rerank": "rerank",
    "rerankTopN": "rerank_top_n",
    "skipRetryLadder": "skip_retry_ladder",
}


def keywords(case: dict) -> dict:
    request = case["request"]
    return {_KEYWORDS[key]: value for key, value in request.items() if key != "query"}
