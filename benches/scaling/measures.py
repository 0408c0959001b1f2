"""Measurements of one place: a collection with some number of shards, or the embedded index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any, Protocol

import hedgerow as hr
from hedgerow.opensearch import Collection
from hedgerow.typing import Mode

from .corpora import Corpus
from .figures import DEPTH, Times, counted, ndcg, overlap

OUTSIDE = "outside"
"""The part of a search that belongs to no stage of its trace."""

_BLOCK = 500
_LEAST_CPU = 0.5  # seconds, because the system counts CPU time in hundredths of a second
_LEAST_ROUNDS = 3
_MOST_ROUNDS = 20
_SETTLED = 0.95
_PATIENT = 4
_GROUPS = 4

Tell = Callable[[str], None]


class Server(Protocol):
    """The server process."""

    def cpu_seconds(self) -> float:
        """Return the processor time of the process so far, in seconds."""


@dataclass(slots=True)
class Latency:
    """The duration of searches, in total and by stage, and of their requests by kind.

    `requests` is the mean number of requests per search.
    """

    whole: Times
    stages: dict[str, Times]
    requests: float = 0.0
    waiting: dict[str, Times] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """The server's processor time for a group of queries, in milliseconds per query."""

    matches: float
    chunks: int
    server: float


@dataclass(frozen=True, slots=True)
class Written:
    """Chunks written per second by number of threads, and CPU time per chunk in milliseconds."""

    pace: dict[int, float]
    client: float
    server: float


@dataclass(frozen=True, slots=True)
class Quality:
    """A fast ranking compared with the exact one. nDCG is None without judgments."""

    overlap: float
    exact: float | None
    fast: float | None


def latencies(
    places: Mapping[str, hr.Retriever], server: Server, questions: Sequence[str], tell: Tell
) -> dict[str, Latency]:
    """Time hybrid searches: all questions at each place in turn, then again in reverse order.

    Each place is warmed up first. While a place is measured, the server has no other work.
    """
    taken: dict[str, list[tuple[float, dict[str, float]]]] = {name: [] for name in places}
    requests: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in places}
    for name, retriever in places.items():
        tell(f"warming up: {name}")
        settle(retriever, server, questions, tell)
    turns = list(places.items())
    for name, retriever in [*turns, *reversed(turns)]:
        with _watched(retriever, requests[name]):
            taken[name] += [_timed(retriever, question) for question in questions]
    return {name: _latency(taken[name], requests[name]) for name in places}


def settle(retriever: hr.Retriever, server: Server, questions: Sequence[str], tell: Tell) -> None:
    """Search until the server's processor time stops falling, because it compiles hot code."""
    least, since = float("inf"), 0
    for number in range(_MOST_ROUNDS):
        began = server.cpu_seconds()
        for question in questions:
            retriever.search(question)
        spent = server.cpu_seconds() - began
        tell(f"warming up, round {number + 1}: {spent * 1e3 / len(questions):.1f} ms a search")
        since = 0 if spent < least * _SETTLED else since + 1
        if since == _PATIENT:
            return
        least = min(least, spent)


def costs(
    retriever: hr.Retriever, server: Server, matches: Mapping[str, int], chunks: int, mode: Mode
) -> list[Cost]:
    """Measure the server's processor time for four groups of queries, ordered by number of matches.

    The groups take turns, so that compilation on the server affects all of them.
    """
    ordered = sorted(matches, key=matches.__getitem__)
    size = -(-len(ordered) // _GROUPS)
    groups = [ordered[first : first + size] for first in range(0, len(ordered), size)]
    spent, rounds = [0.0] * len(groups), 0
    while rounds < _MOST_ROUNDS and (rounds < _LEAST_ROUNDS or min(spent) < _LEAST_CPU):
        for place, group in enumerate(groups):
            began = server.cpu_seconds()
            for question in group:
                retriever.search(question, mode=mode)
            spent[place] += server.cpu_seconds() - began
        rounds += 1
    return [
        Cost(
            sum(matches[question] for question in group) / len(group),
            chunks,
            seconds * 1e3 / (rounds * len(group)),
        )
        for group, seconds in zip(groups, spent, strict=True)
    ]


def pace(retriever: hr.Retriever, questions: Sequence[str], threads: int) -> float:
    """Return the searches per second of one batch on `threads` threads."""
    began = perf_counter()
    retriever.search_many(questions, threads=threads)
    return len(questions) / (perf_counter() - began)


def filled(
    collection: Collection, corpus: Corpus, server: Server, writers: Sequence[int], tell: Tell
) -> Written:
    """Write the corpus, an equal part of it with each number of threads."""
    pace_of: dict[int, float] = {}
    client, served = process_time(), server.cpu_seconds()
    parts = len(writers)
    for number, threads in enumerate(writers):
        part = corpus.chunks[number::parts]
        blocks = [part[first : first + _BLOCK] for first in range(0, len(part), _BLOCK)]
        tell(f"writing {len(part):,} chunks on {counted(threads, 'thread')}")
        began = perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            # Consume every result, so that the error of any block is raised here.
            list(pool.map(lambda block: collection.upsert(block, refresh=False), blocks))
        collection.upsert(part[:1])  # waits until searches see every chunk
        pace_of[threads] = len(part) / (perf_counter() - began)
    count = len(corpus.chunks)
    return Written(
        pace_of,
        (process_time() - client) * 1e3 / count,
        (server.cpu_seconds() - served) * 1e3 / count,
    )


def stored(index: hr.Index, corpus: Corpus) -> Written:
    """Write the corpus into the embedded index in one transaction."""
    began, spent = perf_counter(), process_time()
    index.upsert(corpus.chunks)
    count = len(corpus.chunks)
    pace = count / (perf_counter() - began)
    return Written({1: pace}, (process_time() - spent) * 1e3 / count, 0.0)


def quality(exact: hr.Retriever, fast: hr.Retriever, corpus: Corpus, tell: Tell) -> Quality:
    """Compare the first ten results of fast searches with those of exact searches."""
    tell(f"comparing the rankings of {len(corpus.questions)} questions")
    rankings = [_rankings(retriever, corpus.questions) for retriever in (exact, fast)]
    shares = [overlap(one, other) for one, other in zip(*rankings, strict=True)]
    present = {chunk.id for chunk in corpus.chunks}
    judged = [
        (place, relevant)
        for place, name in enumerate(corpus.names)
        if (relevant := corpus.judgements.get(name))
        and any(gain > 0 and document in present for document, gain in relevant.items())
    ]
    measured = [
        sum(ndcg(ranking[place], relevant) for place, relevant in judged) / len(judged)
        if judged
        else None
        for ranking in rankings
    ]
    return Quality(sum(shares) / len(shares), *measured)


def matches(index: hr.Index, questions: Sequence[str]) -> dict[str, int]:
    """Return the number of chunks that each question matches by keywords."""
    return {question: len(index.search_bm25(question, limit=len(index))) for question in questions}


def _rankings(retriever: hr.Retriever, questions: Sequence[str]) -> list[list[str]]:
    return [[hit.id for hit in found] for found in retriever.search_many(questions, limit=DEPTH)]


def _timed(retriever: hr.Retriever, question: str) -> tuple[float, dict[str, float]]:
    began = perf_counter()
    response = retriever.search(question)
    whole = (perf_counter() - began) * 1e3
    if response.error is not None:
        # A search that skipped a failed leg would look fast.
        raise response.error
    stages = dict(response.trace.timings)
    return whole, {**stages, OUTSIDE: whole - sum(stages.values())}


def _latency(
    taken: Sequence[tuple[float, dict[str, float]]],
    requests: Mapping[str, Sequence[float]],
) -> Latency:
    names = dict.fromkeys(stage for _, stages in taken for stage in stages)
    stages = {name: Times.of([stages.get(name, 0.0) for _, stages in taken]) for name in names}
    count = sum(map(len, requests.values())) / len(taken)
    waiting = {kind: Times.of(times) for kind, times in requests.items()}
    return Latency(Times.of([whole for whole, _ in taken]), stages, count, waiting)


@contextmanager
def _watched(retriever: hr.Retriever, seen: dict[str, list[float]]) -> Iterator[None]:
    """Record the milliseconds of each request. Does nothing for an embedded index."""
    searched: Any = retriever.index
    if not isinstance(searched, Collection):
        yield
        return
    client = searched._client  # noqa: SLF001 - nobody else needs to see requests one by one
    original = client.call

    def call(method: str, path: str, *rest: Any, **options: Any) -> Any:
        began = perf_counter()
        try:
            return original(method, path, *rest, **options)
        finally:
            kind = f"{method} {path.rsplit('/', 1)[-1]}"
            seen[kind].append((perf_counter() - began) * 1e3)

    client.call = call
    try:
        yield
    finally:
        del client.call
