"""The index that every dimension starts from, and the measurement of one dimension."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import hedgerow as hr
from suite.contenders import SHOWN, TOP
from suite.contenders.ours import write
from suite.corpus import Corpus, made_up
from suite.timing import Cost, cost
from suite.writes import changes, never

from .steps import Growth, Step, steps

_MOST_ROUNDS = 15
_FEWEST_ROUNDS = 3
_SMALLER = 4
# Calls shorter than this, in seconds, are measured several times in a round.
_SHORT = 2e-3
_REPEATS = 5


def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A cost at one size: a measured call, and an unmeasured call before it.

    `each` divides the cost of a call that does that many things. For the unit "MB" the call returns
    the cost in bytes.
    """

    call: Callable[[], Any]
    before: Callable[[], object] | None = None
    growth: Growth = "linear"
    each: int = 1
    unit: Literal["ms", "MB"] = "ms"

    def measure(self) -> Cost:
        """Run `before`, then the call, and return the cost of the call."""
        (self.before or nothing)()
        if self.unit == "MB":
            size = self.call() / self.each
            return Cost(size, size, None)
        taken = cost(self.call)
        return Cost(taken.elapsed / self.each, taken.processor / self.each, taken.preemptions)


@dataclass(frozen=True, slots=True)
class Dimension:
    """A size to vary.

    `sizes` takes the base. `probes` sets up one size, which the stack closes, and returns the costs
    to measure, in their order in each round. The sizes take turns, unless they are `in_order`: then
    each is measured before the next one is set up.
    """

    name: str
    sizes: Callable[[Base], Sequence[int]]
    probes: Callable[[Base, int, ExitStack], dict[str, Probe]]
    in_order: bool = False


class Nearby:
    """An embedder that gives each text the vector of some question, so that no model is timed."""

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """Return a vector for each text. Equal texts get equal vectors."""
        return [self._vectors[sum(map(ord, text)) % len(self._vectors)] for text in texts]


class Base:
    """A synthetic corpus, an index file of it, and an index file of a quarter of it."""

    def __init__(self, folder: Path, chunks: int) -> None:
        self.folder = folder
        self.chunks = chunks
        self._numbers = count()

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus of all chunks."""
        return made_up(self.chunks)

    @cached_property
    def small(self) -> Corpus:
        """The corpus of the first quarter of the chunks."""
        return self.first(max(1, self.chunks // _SMALLER))

    def first(self, count: int) -> Corpus:
        """Return the corpus of the first `count` chunks."""
        corpus = self.corpus
        return replace(
            corpus, texts=corpus.texts[:count], vectors=corpus.vectors[:count], name=f"{count:,}"
        )

    @cached_property
    def embedder(self) -> Nearby:
        """The embedder of all retrievers."""
        return Nearby(self.corpus.question_vectors)

    def new_path(self) -> Path:
        """Return the path of a file that does not exist yet."""
        return self.folder / f"{next(self._numbers)}.db"

    @cached_property
    def file(self) -> Path:
        """The path of an index of all chunks. It is copied and never written to."""
        return self._made(self.corpus)

    @cached_property
    def small_file(self) -> Path:
        """The path of an index of a quarter of the chunks. It is copied and never written to."""
        return self._made(self.small)

    def _made(self, corpus: Corpus) -> Path:
        path = self.new_path()
        with hr.Index.open(path, metadata_index=["stamp"]) as index:
            write(index, corpus.chunks(with_vectors=True, stamped=True))
        return path

    def copied(self, *, small: bool = False) -> Path:
        """Return the path of a new copy of an index file."""
        path = self.new_path()
        shutil.copyfile(self.small_file if small else self.file, path)
        return path

    def opened(
        self, stack: ExitStack, *, small: bool = False, path: Path | None = None, **options: Any
    ) -> hr.Index:
        """Return an index on a copy of a file, or on `path`, after one search."""
        options = {"ranking": "memory", **options}
        index = hr.Index.open(path or self.copied(small=small), **options)
        stack.callback(index.close)
        self.search(index)()
        return index

    def made(self, stack: ExitStack, chunks: Iterable[hr.Chunk], **options: Any) -> hr.Index:
        """Return a new index of some chunks, after one search."""
        index = hr.Index.open(self.new_path(), **{"ranking": "memory", **options})
        stack.callback(index.close)
        write(index, chunks)
        self.search(index)()
        return index

    def retriever(self, index: hr.Index, **ranking: Any) -> hr.Retriever:
        """Return a retriever over an index, with these options of `Ranking`."""
        return hr.Retriever(index, embedder=self.embedder, ranking=hr.Ranking("spec", **ranking))

    def search(
        self, index: hr.Index, *, retrieve: dict[str, Any] | None = None, **options: Any
    ) -> Callable[[], Any]:
        """Return a function that runs a hybrid search, with the next question in each call."""
        retriever = self.retriever(index, **(retrieve or {}))
        given = {"limit": SHOWN, "candidates": TOP, **options}
        numbers = count()
        questions = self.corpus.questions

        def call() -> hr.Response:
            return retriever.search(questions[next(numbers) % len(questions)], **given)

        return call

    def replacing(self, corpus: Corpus, size: int, seed: str) -> list[hr.Chunk]:
        """Return new texts and vectors for some stored chunks."""
        return changes(corpus, seed, size, is_new=never)

    def writing(self, index: hr.Index, corpus: Corpus, size: int) -> Callable[[], object]:
        """Return a function that replaces some chunks in a transaction, new ones in each call."""
        return lambda: index.upsert(self.replacing(corpus, size, f"write-{next(self._numbers)}"))


def measure(
    dimension: Dimension, base: Base, seconds: float, tell: Callable[[str], None]
) -> Iterator[list[Step]]:
    """Yield the steps of each cost of a dimension.

    Sizes take turns for about `seconds`, every second round in reverse, in at least three rounds.
    """
    costs: dict[str, dict[int, list[Cost]]] = {}
    kinds: dict[str, Probe] = {}
    sizes = sorted(set(dimension.sizes(base)))
    groups = [[size] for size in sizes] if dimension.in_order else [sizes]
    for group in groups:
        with ExitStack() as stack:
            made: dict[int, dict[str, Probe]] = {}
            for size in group:
                tell(f"{dimension.name}: making {size:,}")
                made[size] = dimension.probes(base, size, stack)
            tell(f"{dimension.name}: measuring {', '.join(f'{size:,}' for size in group)}")
            end = perf_counter() + seconds / len(groups)
            for turn in range(_MOST_ROUNDS):
                if turn >= _FEWEST_ROUNDS and perf_counter() > end:
                    break
                for size in group if turn % 2 == 0 else reversed(group):
                    for what, probe in made[size].items():
                        kinds[what] = probe
                        if probe.before is None and probe.unit == "ms" and turn == 0:
                            probe.call()  # to warm caches
                        taken = costs.setdefault(what, {}).setdefault(size, [])
                        taken.append(probe.measure())
                        if probe.before is None and taken[-1].elapsed < _SHORT:
                            taken += [probe.measure() for _ in range(_REPEATS - 1)]
    for what, of_sizes in costs.items():
        kind = kinds[what]
        yield steps(dimension.name, what, of_sizes, growth=kind.growth, unit=kind.unit)


def powers(most: int, *, least: int = 1, factor: int = 4, pairs: int = 64) -> list[int]:
    """Return the powers of a factor up to `most`.

    From `pairs` on, each is followed by the next integer.
    """
    sizes: list[int] = []
    size = 1
    while size <= most:
        if size >= least:
            sizes.append(size)
            if size >= pairs and size < most:
                sizes.append(size + 1)
        size *= factor
    return sizes or [most]
