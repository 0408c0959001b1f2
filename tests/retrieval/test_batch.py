"""`search_many` and `asearch_many`: errors, dates, threads and Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import hedgerow as hr
from retrieval_doubles import AsyncFnvEmbedder, FnvEmbedder, corpus
from spec_fixtures import jsonl
from waiting import LONGEST, CpuTime


@pytest.fixture
def corpus_retriever() -> hr.Retriever:
    return hr.Retriever(corpus("b"), embedder=FnvEmbedder())


def test_equal_queries_are_embedded_once_and_all_at_once(corpus_retriever: hr.Retriever) -> None:
    first = corpus_retriever.search_many(query for query in ["kaas", "huis", "kaas"])
    assert corpus_retriever.embedder.calls == [["kaas", "huis"]]
    assert first[0] == first[2]
    again = corpus_retriever.search_many(["huis", "winter", "kaas"])
    assert corpus_retriever.embedder.calls == [["kaas", "huis"], ["winter"]]
    assert (again[0], again[2]) == (first[1], first[0])
    assert corpus_retriever.search("kaas") == first[0]
    assert len(corpus_retriever.embedder.calls) == 2


def test_nothing_asked_nothing_done(corpus_retriever: hr.Retriever) -> None:
    assert corpus_retriever.search_many([]) == []
    assert corpus_retriever.embedder.calls == []


def test_one_bad_query_has_its_own_error(corpus_retriever: hr.Retriever) -> None:
    queries = ["kaas", "\ud800", "x" * 70_000, "yyy " * 10_000, "huis"]
    answers = corpus_retriever.search_many(queries, on_error="return")
    good = {0: "kaas", 4: "huis"}
    for place, answer in enumerate(answers):
        if place in good:
            assert answer == corpus_retriever.search(good[place])
    codes = [getattr(answer, "code", None) for answer in answers]
    assert codes == [None, "lone_surrogate", "query_text_too_large", "too_many_tokens", None]
    assert corpus_retriever.embedder.calls[0] == ["kaas", "huis"]
    with pytest.raises(hr.InvalidInputError, match="half of a surrogate pair at character 0"):
        corpus_retriever.search_many(queries)
    with pytest.raises(hr.InvalidInputError, match="half of a surrogate pair at character 0"):
        asyncio.run(corpus_retriever.asearch_many(queries))


def test_a_bad_vector_is_its_querys_error() -> None:
    class OneBad(FnvEmbedder):
        def embed(self, texts, /):
            rows = super().embed(texts)
            rows[1] = [float("inf")] * 64
            return rows

    retriever = hr.Retriever(corpus("b"), embedder=OneBad())
    first, second = retriever.search_many(["kaas", "huis"], on_error="return")
    assert isinstance(first, hr.Response)
    assert "the embeddings of the queries[1] is not finite at position 0" in str(second)


def test_dates_are_one_for_all_or_one_each(corpus_retriever: hr.Retriever) -> None:
    queries = ["kaas 2 weeks ago", "huis last friday", "tips"]
    dates = ["2026-04-18", None, "2026-04-18"]
    each = [
        corpus_retriever.search(query, question_date=date)
        for query, date in zip(queries, dates, strict=True)
    ]
    assert corpus_retriever.search_many(queries, question_date=dates) == each
    all_dated = corpus_retriever.search_many(queries, question_date="2026-04-18")
    assert [response.trace.date_hints for response in all_dated] == [
        ["2026/04/04"],
        ["2026/04/17"],
        [],
    ]
    with pytest.raises(hr.InvalidInputError, match="2 question dates for 3 queries; pass one for"):
        corpus_retriever.search_many(queries, question_date=dates[:2])


def test_wrong_arguments(corpus_retriever: hr.Retriever) -> None:
    with pytest.raises(hr.InvalidInputError, match="not 'kaas'; use search for one"):
        corpus_retriever.search_many("kaas")
    with pytest.raises(hr.InvalidInputError, match=r"queries\[1\] must be a text, not 3"):
        corpus_retriever.search_many(["kaas", 3])
    with pytest.raises(hr.InvalidInputError, match="on_error must be one of raise, return, not 1"):
        corpus_retriever.search_many([], on_error=1)
    with pytest.raises(hr.InvalidInputError, match="threads must be an integer of at least 1"):
        corpus_retriever.search_many([], threads=0)


def test_the_interpreter_is_free_meanwhile(corpus_retriever: hr.Retriever) -> None:
    ticks = 0
    searching = True

    def tick() -> None:
        nonlocal ticks
        while searching:
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        # The system decides how much time the other thread gets during a batch.
        during = 0
        for _ in range(50):
            before = ticks
            corpus_retriever.search_many(["recommend kaas huis tips winter"] * 3000, threads=2)
            during = max(during, ticks - before)
            if during > 10:
                break
    finally:
        searching = False
        ticker.join()
    assert during > 10


INTERRUPTED = """
    import signal, sys, threading, time
    import hedgerow as hr
    index = hr.Index.in_memory()
    index.upsert(hr.Chunk(str(n), f"{n}.md", "winter hedge " * 40) for n in range(2000))
    retriever = hr.Retriever(index)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    begun = time.process_time()
    try:
        retriever.search_many(["winter hedge"] * 1_000_000, threads=2, limit=1)
    except KeyboardInterrupt:
        taken = time.process_time() - begun
        print("interrupted" if taken < 20 else taken)
    print(len(retriever.search("hedge")))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_batch() -> None:
    program = textwrap.dedent(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=LONGEST
    )
    assert done.stdout.split() == ["interrupted", "10"]


def test_a_cancelled_task_ends_its_batch() -> None:
    retriever = hr.Retriever(corpus("b"))

    async def run() -> CpuTime:
        searched = CpuTime()
        batch = asyncio.create_task(
            retriever.asearch_many(["kaas huis tips winter recommend"] * 500_000)
        )
        while searched.so_far() < 1:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)
        cancelled = CpuTime()
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        return cancelled

    cancelled = asyncio.run(run())
    # `asyncio.run` waits for its threads, and without cancellation they would search for long.
    assert cancelled.so_far() < 20


def test_the_loop_is_free_meanwhile() -> None:
    retriever = hr.Retriever(corpus("b"), embedder=AsyncFnvEmbedder())

    async def run() -> int:
        ticks = 0
        batch = asyncio.create_task(retriever.asearch_many(["recommend kaas huis tips"] * 3000))
        while not batch.done():
            ticks += 1
            await asyncio.sleep(0.001)
        return ticks

    # The system decides how much time the loop gets during a batch.
    assert any(asyncio.run(run()) > 10 for _ in range(50))


def test_a_batch_runs_where_the_system_refuses_threads() -> None:
    script = """
        import hedgerow as hr
        index = hr.Index.in_memory()
        index.upsert(hr.Chunk(str(n), "p", f"kaas word{n}") for n in range(40))
        queries = [f"word{n}" for n in range(40)]
        found = hr.Retriever(index).search_many(queries, threads=4)
        print([response.results[0].id for response in found] == [str(n) for n in range(40)])
    """
    # No processor, real or emulated, has enough address space for a stack of this size.
    environment = {**os.environ, "RUST_MIN_STACK": str(1 << 60)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_the_first_batch_of_a_handle_misses_no_slug(tmp_path):
    """Threads load the slugs while earlier blocks are searched without them."""
    path = tmp_path / "notes.db"
    corpus("b").backup(path)
    queries = [case["request"]["query"] for case in jsonl("search") if case["corpus"] == "b"]
    with hr.Index.open(path, read_only=True) as index:
        alone = hr.Retriever(index, ranking=hr.Ranking("spec", operator="AND"))
        expected = alone.search_many(queries, threads=1, mode="bm25")
    for _ in range(6):
        with hr.Index.open(path, read_only=True) as index:
            retriever = hr.Retriever(index, ranking=hr.Ranking("spec", operator="AND"))
            assert retriever.search_many(queries, threads=2, mode="bm25") == expected
