"""A collection in memory that behaves like a remote one.

It counts calls, and preselects by approximate scores.
"""

from __future__ import annotations

import statistics
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import hedgerow as hr
from hedgerow import _engine
from phrase_oracle import Counted, Phrase, counted, score


class CountedCollection:
    """Chunks in a dict with the protocol of collections."""

    def __init__(
        self,
        chunks: Iterable[hr.Chunk] = (),
        *,
        tokenizer: str = "porter unicode61",
        stopwords: Any = "en+nl",
    ) -> None:
        self.tokenizer = tokenizer
        self.stopwords = stopwords
        self.embedder: tuple[str | None, str | None] = (None, None)
        self._chunks: dict[str, hr.Chunk] = {}
        self._counted: dict[str, Counted] = {}
        self.calls: list[str] = []
        self.expected: list[list[Phrase]] = []
        self.counted: list[list[Phrase]] = []
        self.broken: dict[str, BaseException] = {}
        self.upsert(list(chunks))

    def upsert(self, chunks: Iterable[hr.Chunk]) -> int:
        given = {chunk.id: chunk for chunk in chunks}
        self._chunks.update(given)
        self._counted.update(counted(list(given.values()), self.tokenizer))
        return len(given)

    def delete(self, ids: Iterable[str] | None = None, *, where: hr.Filters | None = None) -> int:
        ids = self._passing(where) if ids is None else ids
        there = [id for id in ids if id in self._chunks]  # noqa: A001
        for id in there:  # noqa: A001
            del self._chunks[id], self._counted[id]
        return len(there)

    def delete_path(self, path: str) -> int:
        return self.delete([one.id for one in self._chunks.values() if one.path == path])

    def get(self, id: str) -> hr.Chunk | None:  # noqa: A002 - as of an Index
        return self._chunks.get(id)

    def get_many(self, ids: Iterable[str]) -> list[hr.Chunk | None]:
        return [self._chunks.get(id) for id in ids]  # noqa: A001

    def count(self, where: hr.Filters | None = None) -> int:
        return len(self._passing(where))

    def _passing(self, where: hr.Filters | None) -> list[str]:
        """Return the ids of chunks that pass a filter by paths alone, or of all."""
        assert where is None or where == hr.Filters(paths=where.paths)
        return [one.id for one in self._chunks.values() if where is None or one.path in where.paths]

    def update(self, where: Any, *, metadata: Any = None, tags: Any = None) -> int:
        raise NotImplementedError

    def close(self) -> None:
        self.calls.append("close")

    def _upsert_from(
        self, chunks: Sequence[hr.Chunk], embedder: str | None, details: str | None
    ) -> int:
        self.embedder = (embedder, details)
        return self.upsert(chunks)

    def _unembedded(self, chunks: Sequence[hr.Chunk]) -> list[int]:
        return [i for i, chunk in enumerate(chunks) if chunk.embedding is None]

    def _embedder_of(self) -> tuple[str | None, str | None, int | None]:
        return (*self.embedder, _dimensions(self._chunks.values()))

    def _replacement(self, embedder: str | None, details: str | None) -> CountedReplacement:
        return CountedReplacement(self, embedder, details)

    @contextmanager
    def _point_in_time(self, filters: hr.Filters | None) -> Iterator[CountedState]:
        if "open" in self.broken:
            raise self.broken["open"]
        yield CountedState(self, filters)


class CountedReplacement:
    """The new vectors of a `CountedCollection`."""

    def __init__(
        self, collection: CountedCollection, embedder: str | None, details: str | None
    ) -> None:
        self._collection = collection
        self._embedder = (embedder, details)
        self._new: dict[str, hr.Chunk] = {}
        self.stored = 0
        self.waiting = len(collection._chunks)

    def pages(self, limit: int) -> Iterator[list[hr.Chunk]]:
        chunks = list(self._collection._chunks.values())
        for start in range(0, len(chunks), limit):
            yield chunks[start : start + limit]

    def store(self, chunks: Sequence[hr.Chunk], rows: Any) -> int:
        self._new |= {
            chunk.id: chunk._with_embedding(row) for chunk, row in zip(chunks, rows, strict=True)
        }
        return len(chunks)

    def finish(self) -> int:
        return self._collection._upsert_from(list(self._new.values()), *self._embedder)

    def close(self) -> None:
        self._collection.calls.append("close replacement")


class CountedState:
    """A state of a `CountedCollection`."""

    approximate = False

    def __init__(self, collection: CountedCollection, filters: hr.Filters | None) -> None:
        self._collection = collection
        self._all = dict(collection._counted)
        self._passing = _passing([one.chunk for one in self._all.values()], filters)

    def check_embedder(self, name: str) -> None:
        self._called("check_embedder")
        from hedgerow._retrieval.embedding import refuse_other_embedder  # noqa: PLC0415

        refuse_other_embedder(self._collection.embedder[0], name)

    def dimensions(self) -> int | None:
        self._called("dimensions")
        return _dimensions(one.chunk for one in self._all.values())

    def counts(self, phrases: Sequence[Phrase]) -> tuple[int, int, list[int]]:
        self._called("counts")
        self._collection.counted.append(list(phrases))
        there = list(self._all.values())
        held = [sum(one.frequency(phrase) > 0 for one in there) for phrase in phrases]
        return len(there), sum(one.length for one in there), held

    def keyword_hits(
        self, search: Mapping[str, Any], limit: int
    ) -> tuple[list[tuple[str, str, int, list[int]]], float | None]:
        self._called("keyword_hits")
        scored = [
            (_rounded(found), one)
            for one in self._all.values()
            if one.chunk.id in self._passing and (found := score(one, search)) is not None
        ]
        scored.sort(key=lambda pair: -pair[0])
        hits = [
            (
                one.chunk.id,
                one.chunk.path,
                one.length,
                [one.frequency(phrase) for phrase in search["phrases"]],
            )
            for _, one in scored[:limit]
        ]
        return hits, scored[limit - 1][0] if len(scored) > limit else None

    def vector_hits(
        self,
        vector: Sequence[float],
        limit: int,
        expected: Sequence[Phrase] = (),
        spread: str | None = None,
    ) -> tuple[list[tuple[str, str, bytes]], float | None, tuple[int, float, float] | None]:
        self._called("vector_hits")
        self._collection.expected.append(list(expected))
        found = []
        for one in self._all.values():
            unit = one.chunk.embedding and _engine._unit_vector(one.chunk.embedding)
            if unit and one.chunk.id in self._passing:
                values = struct.unpack(f"<{len(unit) // 4}f", unit)
                cosine = sum(a * b for a, b in zip(values, vector, strict=True))
                found.append((_rounded(cosine), one.chunk, unit))
        found.sort(key=lambda each: -each[0])
        hits = [(chunk.id, chunk.path, unit) for _, chunk, unit in found[:limit]]
        floor = found[limit - 1][0] if len(found) > limit else None
        if spread is None:
            return hits, floor, None
        best: dict[str, float] = {}
        for cosine, chunk, _ in reversed(found):
            best[chunk.path if spread == "paths" else chunk.id] = cosine
        cosines = list(best.values()) or [0.0]
        return hits, floor, (len(found), statistics.fmean(cosines), statistics.pstdev(cosines))

    def vectors(self, ids: Sequence[str]) -> list[bytes | None]:
        self._called("vectors")
        embeddings = [self._all[id].chunk.embedding for id in ids]  # noqa: A001
        return [_engine._unit_vector(one) if one else None for one in embeddings]

    def chunks(self, ids: Sequence[str]) -> list[hr.Chunk | None]:
        self._called("chunks")
        return [self._all[id].chunk if id in self._all else None for id in ids]  # noqa: A001

    def in_paths(self, paths: Sequence[str]) -> list[tuple[str, str, int]]:
        self._called("in_paths")
        there = [one.chunk for one in self._all.values() if one.chunk.id in self._passing]
        return [(one.id, one.path, one.ordinal) for one in there if one.path in set(paths)]

    def paths(self) -> list[str]:
        self._called("paths")
        there = [one.chunk for one in self._all.values() if one.chunk.id in self._passing]
        return sorted({one.path for one in there})

    def report(self) -> dict[str, Any]:
        return {"backend": "counted", "shards": {"total": 1, "successful": 1}}

    def _called(self, name: str) -> None:
        self._collection.calls.append(name)
        if name in self._collection.broken:
            raise self._collection.broken[name]


def _passing(chunks: list[hr.Chunk], filters: hr.Filters | None) -> frozenset[str]:
    """Return the ids of the chunks that pass, according to an index."""
    with hr.Index.in_memory(tokenizer="porter unicode61") as index:
        index.upsert([{**chunk.to_dict(), "content": "x", "embedding": [1.0]} for chunk in chunks])
        hits = index.search_vector([1.0], max(1, len(chunks)), filters=filters)
        return frozenset(hit.id for hit in hits)


def _rounded(number: float) -> float:
    """Return the number rounded to float32."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def _dimensions(chunks: Iterable[hr.Chunk]) -> int | None:
    return next((len(one.embedding) for one in chunks if one.embedding), None)
