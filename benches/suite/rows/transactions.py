"""The first search after a transaction, by the number of chunks that the transaction wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import hedgerow as hr
from suite.bench import Bench
from suite.contenders import SHOWN, TOP, ours
from suite.results import Row, Target, shown, usage
from suite.timing import rounds
from suite.writes import always, changes, never

_SIZES = (100, 256, 257, 300, 1_000, 10_000)
_ROUNDS = 9
_FEWEST_ROUNDS = 3
_WARM = 3
# The size of transaction that has a target. A second handle is measured after it too.
_JUDGED = 1_000
_MOST = 20e-3
_KINDS: dict[str, tuple[str, Callable[[int], bool]]] = {
    "stored": ("stored chunks", never),
    "new": ("new chunks", always),
}


def measure(bench: Bench) -> Iterator[Row]:
    """Measure transactions that replace stored chunks, and transactions of new chunks."""
    for kind, (what, is_new) in _KINDS.items():
        path = bench.folder / f"transactions-{kind}.db"
        bench.present["hedgerow"].index.backup(path)
        with (
            hr.Index.open(path, ranking="memory") as index,
            hr.Index.open(path, ranking="memory") as other,
        ):
            yield _row(bench, f"transaction-{kind}", what, is_new, [index, other])
        path.unlink()


def _row(
    bench: Bench, key: str, what: str, is_new: Callable[[int], bool], handles: list[hr.Index]
) -> Row:
    """Write with the first handle and search with it, and for one size with the second handle."""
    corpus = bench.corpus
    ready = ours.Ready(corpus.questions, corpus.question_vectors)
    searches = [
        partial(
            hr.Retriever(index, embedder=ready).search,
            corpus.questions[0],
            limit=SHOWN,
            candidates=TOP,
        )
        for index in handles
    ]
    numbers = count()

    def write(size: int) -> None:
        """Write after both handles have loaded the state before the write."""
        for search in searches * _WARM:
            search()
        seed = f"{key}-{next(numbers)}"
        handles[0].upsert(changes(corpus, seed, size, is_new=is_new))

    calls = {"hedgerow": searches[0]}
    before: dict[str, Callable[[], object]] = {"hedgerow": searches[0]}
    for size in (size for size in _SIZES if size <= len(corpus)):
        name = f"hedgerow, after {size:,}"
        calls[name], before[name] = searches[0], partial(write, size)
        if size == _JUDGED:
            name = f"{name}, another handle"
            calls[name], before[name] = searches[1], partial(write, size)
    least = 1 if bench.million else _FEWEST_ROUNDS
    figures = rounds(calls, _ROUNDS, least=least, budget=bench.budget, before=before)
    judged = [name for name in calls if name.startswith(f"hedgerow, after {_JUDGED:,}")]
    targets = [
        Target(
            f"{name.removeprefix('hedgerow, ')}: at most {shown(_MOST, 'ms')}",
            shown(figures[name].p50, "ms"),
            figures[name].p50 <= _MOST,
        )
        for name in judged
    ]
    return bench.row(
        key,
        f"hybrid, top {SHOWN}: the first search after a transaction of {what}",
        "ms",
        figures,
        targets=tuple(targets) if bench.large and not bench.million else (),
        checks=tuple(usage(figures, "ms")),
    )
