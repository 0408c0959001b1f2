"""`slow_ms`: the log of slow searches; and the loggers of a retriever."""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
import time
from typing import Any

import pytest

import hedgerow as hr
from hedgerow._retrieval.searching import log_slow
from retrieval_doubles import BrokenEmbedder, FakeReranker, FnvEmbedder, corpus

LINE = re.compile(
    r"slow search: (?P<ms>[\d.]+) ms \((?P<stages>[a-z0-9., ]*)\), mode (?P<mode>\w+), "
    r"a query of (?P<length>\d+ characters?), (?P<came>.*)\Z"
)


class SlowEmbedder(FnvEmbedder):
    def embed(self, texts: Any, /) -> Any:
        time.sleep(0.03)
        return super().embed(texts)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, "hedgerow")
    return caplog


def lines(log: pytest.LogCaptureFixture) -> list[re.Match[str]]:
    found = []
    for record in log.records:
        line = LINE.fullmatch(record.getMessage())
        assert line is not None, record.getMessage()
        assert (record.name, record.levelname) == ("hedgerow.search", "WARNING")
        found.append(line)
    return found


def test_a_slow_search_is_one_line_without_its_text(log: pytest.LogCaptureFixture) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=SlowEmbedder(), slow_ms=20)
    response = retriever.search("kaas van mijn moeder")
    [line] = lines(log)
    assert float(line["ms"]) >= 30
    stages = dict(part.split(" ") for part in line["stages"].split(", "))
    assert float(stages["embed"]) >= 30
    assert set(stages) <= response.trace.timings.keys()
    assert (line["mode"], line["length"], line["came"]) == (
        "hybrid", "20 characters", f"{len(response)} results",
    )  # fmt: skip
    assert "kaas" not in log.text


@pytest.mark.parametrize("slow_ms", [None, 60_000, 1e300])
def test_a_fast_one_is_none(log: pytest.LogCaptureFixture, slow_ms: float | None) -> None:
    hr.Retriever(corpus("b"), slow_ms=slow_ms).search("kaas")
    assert log.records == []


def test_the_text_is_for_who_asks_for_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "hedgerow.search")
    hr.Retriever(corpus("b"), slow_ms=0).search("kaas\n\u202emelk")
    text = [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"]
    assert text == [r"the query of that slow search: 'kaas\n\u202emelk'"]


def test_of_a_batch_each_has_the_time_of_its_stages(log: pytest.LogCaptureFixture) -> None:
    responses = hr.Retriever(corpus("b"), embedder=SlowEmbedder()).search_many(["kaas", "huis"])
    own = [
        sum(ms for stage, ms in response.trace.timings.items() if stage != "embed")
        for response in responses
    ]
    assert all(response.trace.timings["embed"] >= 30 for response in responses)
    log_slow(max(own), responses, 60_000)
    assert log.records == [], "embedding is one call for all"
    retriever = hr.Retriever(corpus("b"), embedder=SlowEmbedder(), slow_ms=0)
    retriever.search_many(["kaas", "\ud800", "huis"], on_error="return")
    assert [line["length"] for line in lines(log)] == ["4 characters", "4 characters"]
    assert all("embed" not in line["stages"] for line in lines(log))


def test_what_waits_for_a_reranker_or_fails_is_slow_too(log: pytest.LogCaptureFixture) -> None:
    class Slow(FakeReranker):
        def rerank(self, *arguments: Any) -> Any:
            time.sleep(0.03)
            return super().rerank(*arguments)

    asyncio.run(hr.Retriever(corpus("b"), reranker=Slow("reverse"), slow_ms=20).asearch("kaas"))
    retriever = hr.Retriever(
        corpus("b"), reranker=Slow("throws"), slow_ms=20, on_leg_failure="raise"
    )
    with pytest.raises(hr.RetrievalError):
        retriever.search("kaas")
    reranked, failed = lines(log)
    stages = dict(part.split(" ") for part in reranked["stages"].split(", "))
    assert float(stages["rerank"]) >= 30
    assert failed["came"] == "no answer"


def test_one_of_each_is_in_the_singular(log: pytest.LogCaptureFixture) -> None:
    response = hr.Retriever(corpus("b")).search("a", limit=1)
    log_slow(0, [response], 1)
    log_slow(1, [response], 1)
    [line] = lines(log)
    assert line["length"] == "1 character"


@pytest.mark.parametrize("wrong", [-1, True, "20", float("nan"), float("inf"), 10**400])
def test_a_wrong_threshold(wrong: Any) -> None:
    with pytest.raises(hr.InvalidInputError) as info:
        hr.Retriever(corpus("b"), slow_ms=wrong)
    shown = repr(wrong) if wrong != 10**400 else f"1{299 * '0'}…"
    assert str(info.value) == (
        f"slow_ms must be a number of milliseconds from 0 up, or None, not {shown}"
    )


def test_it_pickles(tmp_path: Any) -> None:
    with hr.Retriever(tmp_path / "a.db", slow_ms=7, create=True) as retriever:
        assert "slow_ms=7" in repr(retriever)
        with pickle.loads(pickle.dumps(retriever)) as again:
            assert repr(again) == repr(retriever)


def test_loggers_are_by_subject(log: pytest.LogCaptureFixture) -> None:
    hr.Retriever(corpus("b"), embedder=BrokenEmbedder()).search("kaas")
    hr.Retriever(corpus("b"), reranker=FakeReranker("throws")).search("kaas")
    assert [record.name for record in log.records] == ["hedgerow.embedding", "hedgerow.rerank"]
