"""A model of an index in plain Python: chunks in a dict, ranked by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import hedgerow as hr
from filter_oracle import passes

WEIGHTS = (3, 10, 5, 4, 1)
"""The weights of path, title, summary, tags and content."""


def embedded(text: str) -> list[float]:
    """Return the vector of a text, from the counts of some letters."""
    return [*(float(text.count(letter) % 5 - 2) for letter in "aer"), 1.0]


class Embedder:
    """An embedder in plain Python."""

    model = "letters"
    dimensions = 4

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [embedded(text) for text in texts]


@dataclass
class Model:
    """Chunks by id, in row order."""

    chunks: dict[str, dict[str, Any]] = field(default_factory=dict)

    def upsert(self, chunks: Sequence[dict[str, Any]]) -> int:
        for chunk in chunks:
            old = self.chunks.get(chunk["id"])
            new = {**chunk, "embedding": chunk.get("embedding")}
            same = ("title", "summary", "content")
            if old and new["embedding"] is None and all(new[key] == old[key] for key in same):
                new["embedding"] = old["embedding"]
            self.chunks[chunk["id"]] = new
        return len(chunks)

    def delete(self, ids: Sequence[str]) -> int:
        return sum(self.chunks.pop(id_, None) is not None for id_ in ids)

    def update(self, ids: Sequence[str], metadata: dict[str, Any], tags: list[str]) -> int:
        for id_ in ids:
            old = self.chunks[id_]
            merged = {**old["metadata"], **metadata}
            kept = {key: value for key, value in merged.items() if value is not None}
            self.chunks[id_] = {**old, "metadata": kept, "tags": tags}
        return len(ids)

    def embed(self, ids: Sequence[str], *, again: bool) -> None:
        """Embed chunks: those without a vector, or with `again` all of them."""
        for id_ in ids:
            chunk = self.chunks[id_]
            if again or chunk["embedding"] is None:
                text = f"{chunk['title']}\n{chunk['summary']}\n{chunk['content']}"
                self.chunks[id_] = {**chunk, "embedding": embedded(text)}

    def passing(self, where: dict[str, Any] | None) -> list[str]:
        """Return the ids of the chunks that a filter passes."""
        return [
            id_
            for id_, chunk in self.chunks.items()
            if where is None or passes(hr.Chunk.from_dict(chunk), where)
        ]

    def ranked(self, kind: str, words: list[str]) -> dict[str, float]:
        """Return the BM25 score of each chunk that matches."""
        phrases = {"phrase": [words], "prefix": [[words[0][:4]]]}.get(kind, [[w] for w in words])
        columns = {id_: _columns(chunk) for id_, chunk in self.chunks.items()}
        lengths = {id_: sum(map(len, column)) for id_, column in columns.items()}
        mean = sum(lengths.values()) / (len(lengths) or 1)
        scores: dict[str, float] = dict.fromkeys(self.chunks, 0.0)
        matches: list[set[str]] = []
        for phrase in phrases:
            counts = {id_: _frequency(of, phrase, kind) for id_, of in columns.items()}
            matching = {id_ for id_, frequency in counts.items() if frequency}
            matches.append(matching)
            if kind == "NOT" and len(matches) > 1:
                continue
            df, size = len(matching), len(self.chunks)
            idf = max(1e-6, math.log((size - df + 0.5) / (df + 0.5)))
            for id_ in matching:
                norm = 1.2 * (0.25 + 0.75 * lengths[id_] / mean)
                scores[id_] += idf * counts[id_] * 2.2 / (counts[id_] + norm)
        found = set.union(*matches)
        if kind == "AND":
            found = set.intersection(*matches)
        if kind == "NOT":
            found = matches[0] - matches[1]
        return {id_: score for id_, score in scores.items() if id_ in found}

    def cosines(self, vector: list[float]) -> dict[str, float]:
        """Return the cosine of each chunk that has a vector."""
        return {
            id_: sum(map(float.__mul__, vector, given)) / math.hypot(*vector) / math.hypot(*given)
            for id_, chunk in self.chunks.items()
            if (given := chunk["embedding"])
        }


def _columns(chunk: dict[str, Any]) -> list[list[str]]:
    texts = [chunk["path"].replace("/", " ").replace(".", " "), chunk["title"], chunk["summary"]]
    return [text.split() for text in [*texts, " ".join(chunk["tags"]), chunk["content"]]]


def direction(vector: Sequence[float] | None) -> list[float] | None:
    """Return the vector scaled to length 1 and rounded, or None."""
    return [round(value / math.hypot(*vector), 5) + 0.0 for value in vector] if vector else None


def _frequency(columns: list[list[str]], phrase: list[str], kind: str) -> int:
    def stands(column: list[str], at: int) -> bool:
        if kind == "prefix":
            return column[at].startswith(phrase[0])
        return column[at : at + len(phrase)] == phrase

    return sum(
        weight * sum(stands(column, at) for at in range(len(column)))
        for column, weight in zip(columns, WEIGHTS, strict=True)
    )
