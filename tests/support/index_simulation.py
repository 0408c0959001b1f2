"""Random operations on an index through several handles, compared with a model in plain Python.

The model has chunks in a dict, and ranks by brute force.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hedgerow as hr
from index_model import Embedder, Model, direction, embedded
from shrinking import MismatchError, Simulation, expect

Operation = tuple[Any, ...]
"""A name, the number of a handle, and arguments, independent of the content of the index."""

WORDS = (
    "winter", "garden", "hedgehog", "acorn", "bramble", "thicket", "sparrow",
    "gardener", "winterly", "meadow", "orchard", "sycamore",
)  # fmt: skip
IDS = [f"chunk {number}" for number in range(24)]
PATHS = ["notes/a.md", "notes/b.md", "docs/c.md"]
TAGS = ["red", "green", "two words"]
BACKENDS = ("auto", "memory", "fts5")
LENGTH = 120
"""The number of operations of a history."""
CLOSE = 1e-6
"""The largest difference of scores that rounding can cause."""


# The operations.


def drawn(chance: random.Random, count: int = LENGTH) -> list[Operation]:
    """Draw operations."""
    return [_operation(chance) for _ in range(count)]


def _operation(chance: random.Random) -> Operation:
    name = chance.choices(list(_KINDS), weights=[weight for weight, _ in _KINDS.values()])[0]
    return (name, chance.randrange(len(BACKENDS)), *_KINDS[name][1](chance))


def _text(chance: random.Random, longest: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randrange(longest + 1)))


def _vector(chance: random.Random) -> list[float]:
    return [float(chance.randint(-2, 2)) for _ in range(3)] + [1.0]


def _chunk(chance: random.Random, id_: str) -> dict[str, Any]:
    chunk: dict[str, Any] = {
        "id": id_,
        "path": chance.choice(PATHS),
        "ordinal": chance.randrange(4),
        "title": _text(chance, 2),
        "summary": _text(chance, 2),
        "tags": chance.sample(TAGS, chance.randrange(3)),
        # Few texts, so that scores are often equal and vectors are kept.
        "content": _text(random.Random(chance.randrange(40)), 9),  # noqa: S311 - no secrets
        "metadata": {"n": chance.randrange(5)} if chance.random() < 0.8 else {},
    }
    if chance.random() < 0.5:
        chunk["embedding"] = _vector(chance)
    return chunk


def _chunks(chance: random.Random) -> list[dict[str, Any]]:
    return [_chunk(chance, id_) for id_ in chance.sample(IDS, chance.randint(1, 5))]


def _filter(chance: random.Random) -> dict[str, Any]:
    one: list[dict[str, Any]] = [
        {"n": {chance.choice(["$gte", "$lt", "$ne"]): chance.randrange(5)}},
        {"n": {"$exists": chance.random() < 0.5}},
        {"tags": {"$in": chance.sample(TAGS, 2)}},
        {"path": chance.choice(PATHS)},
        {"ordinal": {"$between": [1, 2]}},
        {"id": {"$in": chance.sample(IDS, 8)}},
    ]
    first, second = chance.sample(one, 2)
    return chance.choice([first, first, {"$or": [first, second]}, {"$nor": [first, second]}])


def _search(chance: random.Random) -> tuple[Any, ...]:
    kind = chance.choice(["OR", "AND", "NOT", "phrase", "prefix"])
    words = chance.sample(WORDS, 2)
    where = _filter(chance) if chance.random() < 0.5 else None
    return kind, words, where, chance.choice([1, 3, 10, 100])


def _nearest(chance: random.Random) -> tuple[Any, ...]:
    where = _filter(chance) if chance.random() < 0.5 else None
    return _vector(chance), where, chance.choice([1, 3, 100])


def _retrieve(chance: random.Random) -> tuple[Any, ...]:
    texts = [" ".join(chance.sample(WORDS, 2)) for _ in range(chance.randint(1, 3))]
    where = _filter(chance) if chance.random() < 0.5 else None
    return texts, where, (chance.choice([1, 3, 10]), chance.randrange(4)), chance.choice(IDS)


def _plain_chunks(chance: random.Random) -> list[dict[str, Any]]:
    return [{**chunk, "embedding": None} for chunk in _chunks(chance)]


def _update(chance: random.Random) -> tuple[Any, ...]:
    metadata = {"n": chance.choice([None, *range(5)])}
    return _filter(chance), metadata, chance.sample(TAGS, 1), chance.random() < 0.5


_KINDS: dict[str, tuple[int, Callable[[random.Random], tuple[Any, ...]]]] = {
    "upsert": (20, lambda chance: (_chunks(chance),)),
    "upsert that raises": (2, lambda chance: (_chunks(chance),)),
    "upsert without space": (2, lambda chance: (_chunks(chance), chance.randrange(200_000))),
    "delete": (6, lambda chance: (chance.sample(IDS, 3),)),
    "delete where": (2, lambda chance: (_filter(chance),)),
    "delete path": (1, lambda chance: (chance.choice(PATHS),)),
    "update": (4, _update),
    "search": (24, _search),
    "nearest": (12, _nearest),
    "retrieve": (6, _retrieve),
    "retrieve by meaning": (
        4,
        lambda chance: (_text(chance, 4) or "acorn", chance.choice([1, 3, 100])),
    ),
    "embed and upsert": (6, lambda chance: (_plain_chunks(chance),)),
    "embed again": (1, lambda _: ()),
    "delete with a retriever": (2, lambda chance: (chance.sample(IDS, 2), [chance.choice(PATHS)])),
    "get": (4, lambda chance: (chance.sample(IDS, 4), chance.randint(1, 6))),
    "choose": (3, lambda chance: (_filter(chance),)),
    "stats": (2, lambda _: ()),
    "explain": (1, lambda chance: (chance.sample(WORDS, 2),)),
    "count": (5, lambda chance: (_filter(chance),)),
    "read": (3, lambda _: ()),
    "begin to read": (3, lambda chance: (chance.randrange(5),)),
    "read on": (3, lambda _: ()),
    "optimize": (1, lambda _: ()),
    "reopen": (4, lambda chance: (chance.choice(["normal", "full"]),)),
    "backup": (1, lambda _: ()),
    "check": (2, lambda _: ()),
}


# The run.


@dataclass
class Run:
    """An index in a folder with several handles, and its model."""

    folder: Path
    model: Model = field(default_factory=Model)
    handles: list[hr.Index] = field(default_factory=list)
    reading: tuple[Iterator[hr.Chunk], list[str]] | None = None
    copies: int = 0

    def __enter__(self) -> Run:  # noqa: PYI034 - not for subclasses
        self.handles = [self.open(number) for number in range(len(BACKENDS))]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.close()

    def open(self, number: int, durability: Any = "normal") -> hr.Index:
        file = self.folder / "index.db"
        ranking: Any = BACKENDS[number]
        return hr.Index.open(file, tokenizer="unicode61", ranking=ranking, durability=durability)

    def make(self, operation: Operation) -> None:
        """Apply an operation to both, and compare. Raises MismatchError."""
        name, number, *arguments = operation
        method = getattr(self, f"_{name.replace(' ', '_')}")
        if name == "reopen":
            method(number, *arguments)
        else:
            method(self.handles[number], *arguments)

    def compare(self, index: hr.Index) -> None:
        """Compare all stored chunks."""
        found = [chunk.to_dict() for chunk in index.chunks()]
        for chunk in found:
            chunk["embedding"] = direction(chunk.get("embedding"))
        fields = ("id", "path", "ordinal", "title", "summary", "tags", "content", "metadata")
        expected = [
            {**{key: chunk[key] for key in fields}, "embedding": direction(chunk["embedding"])}
            for chunk in self.model.chunks.values()
        ]
        expect(found, expected, "all chunks")

    def _upsert(self, index: hr.Index, chunks: list[dict[str, Any]]) -> None:
        expect(index.upsert(chunks), self.model.upsert(chunks), "chunks stored")

    def _upsert_that_raises(self, index: hr.Index, chunks: list[dict[str, Any]]) -> None:
        def given() -> Iterator[dict[str, Any]]:
            yield from chunks
            raise KeyError("enough")

        try:
            index.upsert(given())
        except KeyError:
            return
        raise MismatchError("the error of an iterable was lost")

    def _upsert_without_space(
        self, index: hr.Index, chunks: list[dict[str, Any]], space: int
    ) -> None:
        large = [{**chunk, "content": chunk["content"] + " sycamore" * 5000} for chunk in chunks]
        if sys.platform == "win32":
            self._upsert(index, large)
            return
        import resource  # noqa: PLC0415 - not on Windows

        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        largest = max(file.stat().st_size for file in self.folder.glob("index.db*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + space, before[1]))
        try:
            index.upsert(large)
        except hr.IndexFileError as error:
            expect(error.code, "index_io", "the code of a write without space")
        else:
            self.model.upsert(large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.compare(index)

    def _delete(self, index: hr.Index, ids: list[str]) -> None:
        expect(index.delete(ids), self.model.delete(ids), "chunks deleted")

    def _delete_where(self, index: hr.Index, where: dict[str, Any]) -> None:
        expected = self.model.delete(self.model.passing(where))
        expect(index.delete(where=where), expected, "chunks deleted by a filter")

    def _delete_path(self, index: hr.Index, path: str) -> None:
        expected = self.model.delete(self.model.passing({"path": path}))
        expect(index.delete_path(path), expected, "chunks deleted by their path")

    def _update(
        self,
        index: hr.Index,
        where: dict[str, Any],
        metadata: dict[str, Any],
        tags: list[str],
        retrieves: bool,
    ) -> None:
        expected = self.model.update(self.model.passing(where), metadata, tags)
        face = hr.Retriever(index) if retrieves else index
        expect(face.update(where, metadata=metadata, tags=tags), expected, "chunks updated")

    def _search(
        self,
        index: hr.Index,
        kind: str,
        words: list[str],
        where: dict[str, Any] | None,
        limit: int,
    ) -> None:
        text = {
            "OR": " ".join(words),
            "phrase": f'"{" ".join(words)}"',
            "prefix": f"{words[0][:4]}*",
        }.get(kind, f" {kind} ".join(words))
        hits = index.search_bm25(text, limit, filters=where)
        rows = {id_: (row,) for row, id_ in enumerate(self.model.chunks)}
        self._compare_ranks(hits, self.model.ranked(kind, words), where, limit, rows)

    def _nearest(
        self, index: hr.Index, vector: list[float], where: dict[str, Any] | None, limit: int
    ) -> None:
        hits = index.search_vector(vector, limit, filters=where)
        order = {id_: (chunk["path"], id_) for id_, chunk in self.model.chunks.items()}
        self._compare_ranks(hits, self.model.cosines(vector), where, limit, order)

    def _retrieve(
        self,
        index: hr.Index,
        texts: list[str],
        where: dict[str, Any] | None,
        page: tuple[int, int],
        wanted: str,
    ) -> None:
        """Check that single, batch, paged and grouped searches agree."""
        limit, offset = page
        retriever = hr.Retriever(index)
        options: Any = {"mode": "bm25", "filters": where, "skip_retry_ladder": True}
        many = retriever.search_many(texts, limit=limit, offset=offset, **options)
        for text, response in zip(texts, many, strict=True):
            all_hits = index.search_bm25(text, 100, filters=where)
            ids = [hit.id for hit in all_hits]
            expect(
                [hit.id for hit in response], ids[offset : offset + limit], f"a page of {text!r}"
            )
            one = retriever.search(text, limit=limit, offset=offset, **options)
            expect(
                [hit.id for hit in one], ids[offset : offset + limit], f"the same page of {text!r}"
            )
            paths = list(dict.fromkeys(hit.path for hit in all_hits))
            grouped = retriever.search(text, group_by="path", **options)
            expect([hit.path for hit in grouped], paths, f"the paths of {text!r}")
            if wanted in self.model.chunks:
                cut = retriever.why_not(text, wanted, limit=limit, **options).cut
                expect(cut is None, wanted in ids[:limit], f"whether {wanted} is cut, {cut}")

    def _retrieve_by_meaning(self, index: hr.Index, text: str, limit: int) -> None:
        retriever = hr.Retriever(index, embedder=Embedder())
        found = retriever.search(text, mode="semantic", limit=limit, skip_retry_ladder=True)
        cosines = self.model.cosines(embedded(text))
        expected = sorted(cosines.values(), reverse=True)[:limit]
        expect(len(found.results), len(expected), "hits by meaning")
        for hit, best in zip(found, expected, strict=True):
            given = hit.vector_similarity or 0.0
            if abs(given - best) > CLOSE or abs(given - cosines[hit.id]) > CLOSE:
                raise MismatchError(f"{hit.id} has {given!r}, expected {best!r}")

    def _embed_and_upsert(self, index: hr.Index, chunks: list[dict[str, Any]]) -> None:
        count = hr.Retriever(index, embedder=Embedder()).upsert(chunks)
        self.model.upsert(chunks)
        self.model.embed([chunk["id"] for chunk in chunks], again=False)
        expect(count, len(chunks), "chunks embedded")
        self.compare(index)

    def _embed_again(self, index: hr.Index) -> None:
        count = hr.Retriever(index, embedder=Embedder()).reembed()
        expect(count, len(self.model.chunks), "chunks embedded again")
        self.model.embed(list(self.model.chunks), again=True)
        self.compare(index)

    def _delete_with_a_retriever(self, index: hr.Index, ids: list[str], paths: list[str]) -> None:
        found = [one for one in dict.fromkeys(ids) if one in self.model.chunks]
        of_paths = {path: self.model.passing({"path": path}) for path in paths}
        missing = [one for one in dict.fromkeys(ids) if one not in self.model.chunks]
        missing += [path for path, chunks in of_paths.items() if not chunks]
        expected = self.model.delete(ids)
        expected += sum(self.model.delete(chunks) for chunks in of_paths.values())
        done = hr.Retriever(index).delete(ids, paths)
        expect(done, hr.Deletion(expected, found, missing), "chunks deleted")

    def _get(self, index: hr.Index, ids: list[str], first: int) -> None:
        contents = [self.model.chunks.get(id_, {}).get("content") for id_ in ids]
        retriever = hr.Retriever(index)
        for found in (
            retriever.get_many(ids),
            [retriever.get(id_) for id_ in ids],
            map(index.get, ids),
        ):
            expect([chunk and chunk.content for chunk in found], contents, "chunks by id")
        expect([id_ in index for id_ in ids], [one is not None for one in contents], "ids")
        expect([chunk.id for chunk in index.peek(first)], list(self.model.chunks)[:first], "a look")

    def _choose(self, index: hr.Index, where: dict[str, Any]) -> None:
        expected = self.model.passing(where)
        expect([chunk.id for chunk in index.chunks(where)], expected, "chunks that pass")
        expect(hr.Retriever(index).count(where), len(expected), "their number")

    def _stats(self, index: hr.Index) -> None:
        chunks = self.model.chunks.values()
        expected = (
            len(chunks),
            len({chunk["path"] for chunk in chunks}),
            sum(chunk["embedding"] is not None for chunk in chunks),
        )
        for found in (index.stats(), hr.Retriever(index).stats()):
            expect((found.chunks, found.paths, found.vectors), expected, "counts")

    def _explain(self, index: hr.Index, words: list[str]) -> None:
        text = str(hr.Retriever(index).explain(" ".join(words)))
        for word in words:
            expect(f"{word} kept as" in text, True, f"whether {word} is searched for in {text}")

    def _compare_ranks(
        self,
        hits: list[hr.Hit],
        scores: dict[str, float],
        where: dict[str, Any] | None,
        limit: int,
        order: dict[str, tuple[Any, ...]],
    ) -> None:
        """Compare hits with the scores of all chunks. `order` breaks ties."""
        passing = set(self.model.passing(where))
        expected = sorted((score for id_, score in scores.items() if id_ in passing), reverse=True)
        found = [(hit.id, hit.score) for hit in hits]
        expect(len(found), min(limit, len(expected)), f"hits {found}")
        for (id_, score), best in zip(found, expected, strict=False):
            if id_ not in passing or abs(scores.get(id_, 2.0) - score) > CLOSE:
                raise MismatchError(f"{id_} has {score!r}, expected {scores.get(id_)!r}")
            if abs(score - best) > CLOSE:
                raise MismatchError(f"{id_} with {score!r} is not the next, which has {best!r}")
        for (one, first), (other, second) in itertools.pairwise(found):
            if first < second or (first == second and order[one] > order[other]):
                raise MismatchError(f"{one} with {first!r} comes before {other} with {second!r}")

    def _count(self, index: hr.Index, where: dict[str, Any]) -> None:
        expect(index.count(where), len(self.model.passing(where)), "chunks that pass")
        expect(len(index), len(self.model.chunks), "chunks")

    def _read(self, index: hr.Index) -> None:
        self.compare(index)
        found = index.get_many(IDS)
        missing = [id_ for id_, chunk in zip(IDS, found, strict=True) if chunk is None]
        expect(missing, [id_ for id_ in IDS if id_ not in self.model.chunks], "missing chunks")

    def _begin_to_read(self, index: hr.Index, first: int) -> None:
        ids = [json.dumps(chunk["content"]) for chunk in self.model.chunks.values()]
        chunks = iter(index.chunks())
        for _, content in zip(range(first), list(ids), strict=False):
            expect(json.dumps(next(chunks).content), content, "a chunk that is read")
            ids.pop(0)
        self.reading = chunks, ids

    def _read_on(self, _: hr.Index) -> None:
        if self.reading is not None:
            chunks, ids = self.reading
            expect([json.dumps(chunk.content) for chunk in chunks], ids, "chunks that are read on")
            self.reading = None

    def _optimize(self, index: hr.Index) -> None:
        index.optimize()

    def _reopen(self, number: int, durability: str) -> None:
        self.reading = None
        self.handles[number].close()
        self.handles[number] = self.open(number, durability)
        self.compare(self.handles[number])

    def _backup(self, index: hr.Index) -> None:
        self.copies += 1
        copy = self.folder / f"copy-{self.copies}.db"
        index.backup(copy)
        with hr.Index.open(copy, tokenizer="unicode61") as opened:
            self.compare(opened)
            expect(opened.check(), [], "problems of a copy")

    def _check(self, index: hr.Index) -> None:
        expect(index.check(), [], "problems")


def failure_of(operations: Sequence[Operation]) -> str | None:
    """Return the first failure of some operations, with its position. None if there is none."""
    with tempfile.TemporaryDirectory() as folder, Run(Path(folder)) as run:
        for number, operation in enumerate(operations):
            try:
                run.make(operation)
            except Exception as error:  # noqa: BLE001, PERF203 - any error is a failure
                return f"operation {number}, {operation[0]}: {type(error).__name__}: {error}"
    return None


SIMULATION = Simulation("simulation", drawn, failure_of)
