"""Random operations on one index through several handles, compared with a model in plain Python.

The model has chunks in a dict, and ranks by brute force. As a program, it runs seed after seed, prints the seed of a
failure with the fewest operations that still fail, and ends with the line that `make simulate` records:
simulation.py SECONDS [SEED].
"""

from __future__ import annotations

import itertools
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hedgerow as hr
from filter_oracle import passes

Operation = tuple[Any, ...]
"""A name, the number of a handle, and arguments, none of which depends on what is in the index."""

WORDS = (
    "winter", "garden", "hedgehog", "acorn", "bramble", "thicket", "sparrow",
    "gardener", "winterly", "meadow", "orchard", "sycamore",
)  # fmt: skip
IDS = [f"chunk {number}" for number in range(24)]
PATHS = ["notes/a.md", "notes/b.md", "docs/c.md"]
TAGS = ["red", "green", "two words"]
BACKENDS = ("auto", "memory", "fts5")
WEIGHTS = (3, 10, 5, 4, 1)
LENGTH = 120
"""The operations of a history."""
CLOSE = 1e-6
"""The largest difference of scores that rounding explains."""


class MismatchError(AssertionError):
    """The index and the model differ."""


def expect(found: Any, expected: Any, what: str) -> None:
    """Raise MismatchError unless both are equal."""
    if found != expected:
        raise MismatchError(f"{what}: {found!r}, expected {expected!r}")


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
        # Few texts, so that scores are equal and vectors are kept.
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


def _update(chance: random.Random) -> tuple[Any, ...]:
    return _filter(chance), {"n": chance.choice([None, *range(5)])}, chance.sample(TAGS, 1)


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
    "count": (5, lambda chance: (_filter(chance),)),
    "read": (3, lambda _: ()),
    "begin to read": (3, lambda chance: (chance.randrange(5),)),
    "read on": (3, lambda _: ()),
    "optimize": (1, lambda _: ()),
    "reopen": (4, lambda chance: (chance.choice(["normal", "full"]),)),
    "backup": (1, lambda _: ()),
    "check": (2, lambda _: ()),
}


# The model.


@dataclass
class Model:
    """Chunks by id, in the order of their rows."""

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


def _direction(vector: Sequence[float] | None) -> list[float] | None:
    """Return a vector of length 1, as the index has it, without what rounding may change."""
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


# The run.


@dataclass
class Run:
    """An index in a folder, through several handles, beside its model."""

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
        """Make an operation in both, and compare. Raises MismatchError."""
        name, number, *arguments = operation
        method = getattr(self, f"_{name.replace(' ', '_')}")
        if name == "reopen":
            method(number, *arguments)
        else:
            method(self.handles[number], *arguments)

    def compare(self, index: hr.Index) -> None:
        """Compare all that is stored."""
        found = [chunk.to_dict() for chunk in index.chunks()]
        for chunk in found:
            chunk["embedding"] = _direction(chunk.get("embedding"))
        fields = ("id", "path", "ordinal", "title", "summary", "tags", "content", "metadata")
        expected = [
            {**{key: chunk[key] for key in fields}, "embedding": _direction(chunk["embedding"])}
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
        self, index: hr.Index, where: dict[str, Any], metadata: dict[str, Any], tags: list[str]
    ) -> None:
        expected = self.model.update(self.model.passing(where), metadata, tags)
        expect(index.update(where, metadata=metadata, tags=tags), expected, "chunks updated")

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

    def _compare_ranks(
        self,
        hits: list[hr.Hit],
        scores: dict[str, float],
        where: dict[str, Any] | None,
        limit: int,
        order: dict[str, tuple[Any, ...]],
    ) -> None:
        """Compare hits with the scores of all chunks; `order` decides between equal scores."""
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
    """Return what goes wrong in some operations, and where; None if nothing does."""
    with tempfile.TemporaryDirectory() as folder, Run(Path(folder)) as run:
        for number, operation in enumerate(operations):
            try:
                run.make(operation)
            except Exception as error:  # noqa: BLE001, PERF203 - any error is a failure
                return f"operation {number}, {operation[0]}: {type(error).__name__}: {error}"
    return None


def shrunk(operations: Sequence[Operation], seconds: float = 60.0) -> list[Operation]:
    """Return the fewest of some failing operations that still fail, as far as there is time."""
    end = time.monotonic() + seconds
    kept = list(operations)
    size = len(kept) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(kept) and time.monotonic() < end:
            fewer = kept[:at] + kept[at + size :]
            if failure_of(fewer) is None:
                at += size
            else:
                kept = fewer
        size //= 2
    return kept


def report(seed: int) -> str | None:
    """Run a seed; return what fails, with its seed and the fewest operations. None if nothing does."""
    operations = drawn(random.Random(seed))  # noqa: S311 - no secrets
    failure = failure_of(operations)
    if failure is None:
        return None
    fewest = shrunk(operations)
    lines = [f"seed {seed}: {failure}", f"{len(fewest)} of {len(operations)} operations fail:"]
    return "\n".join([*lines, *map(repr, fewest), str(failure_of(fewest))])


def main() -> None:
    """Run seed after seed until the time is over, or one fails."""
    seconds = float(sys.argv[1])
    seed = first = int(sys.argv[2]) if sys.argv[2:] else int(time.time())
    begun = time.monotonic()
    while True:
        failure = report(seed)
        if failure is not None:
            sys.exit(f"FAILED: {failure}")
        seed += 1
        if time.monotonic() - begun > seconds:
            break
    spent, count = math.ceil(time.monotonic() - begun), (seed - first) * LENGTH
    run = {"name": "simulation", "seed": first, "seconds": spent, "count": count}
    sys.stdout.write(f"proof {json.dumps(run)}\n")


if __name__ == "__main__":
    main()
