"""Searches with exactly known scores: `python tests/support/score_bits.py` writes them.

tests/data/score-bits.json was written on x86-64 with glibc. After an intended change of ranking,
rewrite it there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial

import hedgerow as hr
from places import ROOT
from retrieval_doubles import FnvEmbedder, corpus
from spec_fixtures import jsonl

FILE = ROOT / "tests" / "data" / "score-bits.json"
ROWS = 600
QUERIES = 20
PIPELINES = [
    "all | sort:priority(spectral) | limit:10",
    "seed:n1 | spectral | limit:10",
    "seed:n1 | spread | limit:10",
    "all | confluence | limit:10",
]


def rarities() -> Iterator[str]:
    """Yield the best score for words in one row, in two rows, and so on."""
    holding = range(1, ROWS // 2)
    with hr.Index.in_memory(tokenizer="porter unicode61") as index:
        index.upsert(
            hr.Chunk(str(row), "p", " ".join(f"word{count}" for count in holding if row < count))
            for row in range(ROWS)
        )
        for count in holding:
            yield bits(index.search_bm25(f"word{count}", 1)[0].score)


def fused(name: str) -> Iterator[str]:
    """Yield hits of hybrid searches, with the contributions of both legs."""
    retriever = hr.Retriever(
        corpus(name),
        embedder=FnvEmbedder(),
        ranking=hr.Ranking("spec", fusion="score", neighbors=True),
    )
    queries = dict.fromkeys(
        case["request"]["query"] for case in jsonl("search") if case["corpus"] == name
    )
    for query in [*queries][:QUERIES]:
        for hit in retriever.search(query, limit=5):
            assert hit.explanation is not None
            words, meaning = hit.explanation["keywords"], hit.explanation["meaning"]
            parts = [hit.score, words and words["score"], meaning and meaning["cosine"]]
            yield " ".join([hit.id, *map(bits, parts)])


def nearest() -> Iterator[str]:
    """Yield the nearest of vectors that are spread around one."""
    chance = random.Random(1)  # noqa: S311 - made-up vectors
    middle = [chance.random() - 0.5 for _ in range(100)]

    def vector(spread: float) -> list[float]:
        return [value + spread * (chance.random() - 0.5) for value in middle]

    with hr.Index.in_memory(tokenizer="porter unicode61") as index:
        index.upsert(
            hr.Chunk(str(row), "p", "", embedding=vector(row / 1000)) for row in range(3000)
        )
        for _ in range(QUERIES):
            yield from (f"{hit.id} {bits(hit.score)}" for hit in index.search_vector(vector(1), 5))


def graph() -> Iterator[str]:
    """Yield values that pipelines compute over links."""
    chance = random.Random(2)  # noqa: S311 - a made-up graph
    names = [f"n{number}" for number in range(60)]
    with hr.Store.in_memory() as store:
        store.upsert(hr.Node(name, weight=chance.random()) for name in names)
        for _ in range(200):
            one, other = chance.sample(names, 2)
            store.link(one, other, chance.random())
        for pipeline in PIPELINES:
            found = store.query(pipeline)
            yield from (
                f"{key} {bits(score)}" for key, score in zip(found.keys, found.scores, strict=True)
            )


def bits(score: float | None) -> str:
    return "-" if score is None else score.hex()


SEARCHES: dict[str, Callable[[], Iterator[str]]] = {
    "rarities": rarities,
    **{f"corpus {name}": partial(fused, name) for name in "abc"},
    "nearest": nearest,
    "graph": graph,
}

if __name__ == "__main__":
    found = {name: [*search()] for name, search in SEARCHES.items()}
    FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
