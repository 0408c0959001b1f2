"""Work on an index or a store until the process runs out of memory.

A program: no_memory.py WORK FILE SEED BYTES. It opens the file, limits its memory to the current
use plus BYTES, and repeats WORK. It prints "begin" with the number of a change and its number of
chunks, "done" with the number once the change is acknowledged, and finally "end" with the raised
error. Then the limit is removed, and everything must work.
"""

from __future__ import annotations

import itertools
import random
import resource
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import hedgerow as hr

DIMENSIONS = 256
CHUNKS = 8000
NODES = 4000
WORDS = [f"word{number}" for number in range(3000)]
MEGABYTE = 1 << 20

PIPELINES = (
    "all | sort:priority | limit:50",
    "match:word1,word2 | spread | limit:100",
    'search:"word3 word4" | confluence | limit:9',
    "all | spectral | count",
    "interference-pairs | limit:9",
)


def vectors(chance: random.Random) -> Callable[[], array[float]]:
    """Return a source of vectors, which are slices of one random array."""
    row = array("f", (chance.gauss(0, 1) for _ in range(100_000)))

    def vector() -> array[float]:
        start = chance.randrange(len(row) - DIMENSIONS)
        return row[start : start + DIMENSIONS]

    return vector


def fill(path: Path) -> None:
    """Create the file for the work: 8,000 chunks with vectors, and 4,000 nodes."""
    chance = random.Random(7)  # noqa: S311 - no secrets
    vector = vectors(chance)

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    with hr.Store.open(path) as store:
        store.index.upsert(
            hr.Chunk(f"c{n}", f"p{n // 10}", words(60), embedding=vector()) for n in range(CHUNKS)
        )
        store.upsert(hr.Node(f"n{n}", content=words(20), embedding=vector()) for n in range(NODES))
        ends = (chance.sample(range(NODES), 2) for _ in range(3 * NODES))
        store.link_many((f"n{a}", f"n{b}", 0.5) for a, b in ends)


class Works:
    """The kinds of work. Each yields after an acknowledged change."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.chance = chance
        self.vector = vectors(chance)
        self.store = hr.Store.open(path)
        self.index = self.store.index
        self.begun = 0
        self.retriever = hr.Retriever(self.index, embedder=self)

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        return [self.vector() for _ in texts]

    def words(self, count: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=count))

    def change(self, text: str = "acknowledged", count: int = 1) -> None:
        """Write some chunks, and print when they are acknowledged."""
        number = self.begun
        self.begun += 1
        print("begin", number, count, flush=True)
        self.index.upsert(hr.Chunk(f"a{number} {n}", f"a{number}", text) for n in range(count))
        print("done", number, flush=True)

    def upsert(self) -> Iterator[None]:
        """Write more and more in one call: one text, or many."""
        for doubling in itertools.count(10):
            texts = self.chance.choice([1, 1 << (doubling // 2)])
            self.change(self.words((1 << doubling) // texts), texts)
            yield

    def in_memory(self) -> Iterator[None]:
        """Write an index in memory."""
        with hr.Index.in_memory() as index:
            for doubling in itertools.count(10):
                index.upsert([hr.Chunk(str(doubling), "p", self.words(1 << doubling))])
                yield

    def ranking(self) -> Iterator[None]:
        """Rank from memory, which is loaded again each time."""
        while True:
            with hr.Index.open(self.path, ranking="memory") as index:
                index.search_bm25(self.words(2), 1000)
            self.change()
            yield

    def vectors(self) -> Iterator[None]:
        """Search vectors, which are loaded again each time."""
        while True:
            with hr.Index.open(self.path, vectors=self.chance.choice(["exact", "fast"])) as index:
                index.search_vector(self.vector(), 1000)
            self.change()
            yield

    def search(self) -> Iterator[None]:
        """Search by words and by vectors, with more and more hits."""
        while True:
            top = self.chance.choice([10, 1000, CHUNKS])
            self.retriever.search(self.words(3), limit=top, candidates=top)
            self.change()
            yield

    def search_many(self) -> Iterator[None]:
        """Search with many queries in one call."""
        while True:
            queries = [self.words(3) for _ in range(self.chance.choice([10, 500]))]
            self.retriever.search_many(queries, limit=100, threads=4)
            self.change()
            yield

    def query(self) -> Iterator[None]:
        """Query the graph, which is loaded again each time."""
        while True:
            with hr.Store.open(self.path) as store:
                store.query(self.chance.choice(PIPELINES))
            self.change()
            yield

    def read(self) -> Iterator[None]:
        """Hold more and more chunks in memory."""
        kept = []
        while True:
            kept.append(list(self.index.chunks()))
            self.change()
            yield


TIMES = {
    "upsert": 16,
    "in_memory": 13,
    "ranking": 4,
    "vectors": 4,
    "search": 8,
    "search_many": 4,
    "query": 5,
    "read": 12,
}
"""The kinds of work, and the number of repetitions if memory suffices."""


def limit(more: int) -> None:
    """Limit this process to `more` bytes beyond its current memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def outcome(error: BaseException | None) -> str:
    """Return the class, the code and the message of a raised error."""
    if error is None:
        return "nothing"
    return f"{type(error).__name__} {getattr(error, 'code', '')}: {error}".replace("\n", " ")


def main(work: str, path: Path, seed: str, more: int) -> None:
    """Work until memory runs out. Then remove the limit, and check that everything works."""
    works = Works(path, random.Random(seed))  # noqa: S311 - no secrets
    raised: BaseException | None = None
    # Import lazy modules before memory is limited.
    works.retriever.search("word1")
    works.change()
    limit(more)
    try:
        for _ in itertools.islice(getattr(works, work)(), TIMES[work]):
            pass
    except BaseException as error:  # noqa: BLE001 - whatever it is
        raised = error
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    works.change()
    assert works.index.check() == []
    works.retriever.search("word1")
    print("end", outcome(raised))


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(Path(sys.argv[2]))
    else:
        main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
