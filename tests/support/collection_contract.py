"""The contract of every collection: its results equal those of an index of the same chunks."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import hedgerow as hr
from retrieval_doubles import FnvEmbedder, fnv64

WORDS = [
    "winter",
    "winters",
    "wind",
    "hedgehog",
    "hedge",
    "feeding",
    "garden",
    "oak",
    "egel",
    "50%",
]
SCRIPTS = [
    "東京都庁",
    "刺猬在树篱下",
    "서울에서",
    "ᄉ\u1165울",  # decomposed
    "เม่นจำศีล",
    "Ежики",
    "влади\u0301мир",
    "القنفذ",
    "كِتَابٌ",
    "किताबें",
    "Größe",
    "caf\u00e9",
    "cafe\u0301",
    "oﬃce",
]
"""Words in more than six scripts, in both Unicode forms."""

PATHS = ["notes/winter-garden.md", "notes/oak.md", "a.md", "log/😀.md", "log/\uff5e.md"]
OPERATORS = ["", "", "AND ", "OR ", "NOT "]
NO_SPELLINGS = "No text matches these words, and a collection"
NONE_PASSES = "No chunk passes the filters"


def chunks(count: int, seed: int, words: Sequence[str] = WORDS) -> list[hr.Chunk]:
    """Return chunks in the order of paths and ids, so that the rows of an index have it too."""
    drawn = random.Random(seed)

    def text(most: int) -> str:
        return " ".join(drawn.choices(words, k=drawn.randint(0, most)))

    made = []
    for number in range(count):
        content = text(9)
        made.append(
            hr.Chunk(
                f"c{number:04}",
                drawn.choice(PATHS),
                content,
                title=text(2),
                summary=text(3),
                tags=[word for word in ["a", "b"] if drawn.random() < 0.4],
                metadata={"year": drawn.randint(2020, 2026)},
                ordinal=drawn.randint(0, 4),
                embedding=fnv64(content) if drawn.random() < 0.8 else None,
            )
        )
    return in_order(made)


def in_order(chunks: Iterable[hr.Chunk]) -> list[hr.Chunk]:
    """Return chunks ordered by path, then by id."""
    return sorted(chunks, key=lambda chunk: (_utf16(chunk.path), _utf16(chunk.id)))


@dataclass(frozen=True)
class SearchCase:
    """A search, and the options of its retriever."""

    query: str
    retriever: dict[str, Any]
    options: dict[str, Any]
    known: str  # a word of the texts


def searches(count: int, seed: int, words: Sequence[str] = WORDS) -> Iterator[SearchCase]:
    """Yield searches of every kind."""
    drawn = random.Random(seed)
    for _ in range(count):
        matching = drawn.choice(["spec", "extended"])
        ranking = {
            "matching": matching,
            "fusion": drawn.choice(["rrf", "score"]),
            "neighbors": drawn.random() < 0.4,
            "reweight": drawn.random() < 0.3,
        }
        aliases = {"oak": ["oaks", "hedge winter"]} if drawn.random() < 0.3 else None
        operator = "AND" if matching == "spec" and drawn.random() < 0.2 else None
        retriever = {
            "ranking": hr.Ranking("spec", operator=operator, **ranking),
            "aliases": aliases,
        }
        filters = drawn.choice(
            [
                None,
                None,
                {"tags": ["a"]},
                {"year": {"$gte": 2023}},
                {"path": {"$glob": "log/*"}},
                {"$or": [{"year": 2021}, {"tags": {"$in": ["b"]}}]},
            ]
        )
        options = {
            "mode": drawn.choice(["auto", "hybrid", "bm25", "semantic"]),
            "limit": drawn.choice([1, 5, 10, 100]),
            "candidates": drawn.choice([1, 3, 10, 60]),
            "offset": drawn.choice([0, 0, 2]),
            "group_by": drawn.choice([None, None, "path"]),
            "filters": filters,
        }
        yield SearchCase(_query(drawn, words), retriever, options, words[0])


def check(index: hr.Index, collection: Any, asked: SearchCase) -> None:
    """Check that hits, explanations and trace equal the index's to the bit."""
    query = _words(asked.query, asked)
    expected = _retriever(index, asked).search(query, **asked.options)
    found = _retriever(collection, asked).search(query, **asked.options)
    compare(expected, found)


def check_batch(index: hr.Index, collection: Any, batch: Sequence[SearchCase]) -> None:
    """Check a batch of queries in one call, with the options of the first."""
    first = batch[0]
    queries = [_words(asked.query, first) for asked in batch]
    expected = _retriever(index, first).search_many(queries, threads=2, **first.options)
    found = _retriever(collection, first).search_many(queries, threads=2, **first.options)
    for one, other in zip(expected, found, strict=True):
        compare(one, other)


def compare(expected: hr.Response, found: hr.Response) -> None:
    assert [hit.to_dict() for hit in found] == [hit.to_dict() for hit in expected]
    assert [hit.explanation for hit in found] == [hit.explanation for hit in expected]
    elsewhere = {"backend", "shards", "rescored", "timings"}
    ours = {key: value for key, value in found.trace.to_dict().items() if key not in elsewhere}
    theirs = {key: value for key, value in expected.trace.to_dict().items() if key != "timings"}
    # An index gives no notice here, because it searches other spellings, and alone says that nothing passes.
    notices = [one for one in found.trace.notices if not one.startswith(NO_SPELLINGS)]
    said = [one for one in expected.trace.notices if not one.startswith(NONE_PASSES)]
    assert notices == said
    assert {**ours, "notices": None} == {**theirs, "notices": None}


def _words(query: str, asked: SearchCase) -> str:
    """Return the query without unknown words, for which only an index tries other spellings."""
    if asked.retriever["ranking"].matching == "spec":
        return query
    return query.replace("wintre", asked.known).replace("nothing", asked.known)


def _retriever(searched: Any, asked: SearchCase) -> hr.Retriever:
    return hr.Retriever(searched, embedder=FnvEmbedder(), **asked.retriever)


def _query(drawn: random.Random, words: Sequence[str]) -> str:
    parts = []
    for _ in range(drawn.choice([1, 1, 2, 3, 4])):
        word = drawn.choice([*words, "nothing", "wintre"])
        form = drawn.choice(
            [word, word, word + "*", word[:3] + "*", f'"{word} {drawn.choice(words)}"']
        )
        parts.append(drawn.choice(OPERATORS) + form)
    return " ".join(parts)


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
