"""spec/trace.md matches the code."""

from __future__ import annotations

import re
from dataclasses import replace

import hedgerow as hr
from counted_collection import CountedCollection
from places import ROOT
from retrieval_doubles import BrokenEmbedder, FakeReranker, corpus, keywords, retriever
from spec_fixtures import jsonl

SPEC = (ROOT / "spec" / "trace.md").read_text(encoding="utf-8")


def traces() -> list[hr.Trace]:
    """Return traces with every key and every possible word."""
    cases = [
        retriever(case).search(case["request"]["query"], **keywords(case)).trace
        for case in jsonl("search")
    ]
    broken = hr.Retriever(corpus("b"), embedder=BrokenEmbedder()).search("kaas").trace
    dated = retriever(jsonl("search")[0]).search("2 weeks ago", question_date="2026-04-18").trace
    aged = retriever(jsonl("search")[0]).search("kaas", recency="30d").trace
    grouped = (
        hr.Retriever(corpus("b"), ranking=hr.Ranking("spec", fusion="score"))
        .search("kaas", group_by="path")
        .trace
    )
    reranker = FakeReranker("reverse")
    reranked = hr.Retriever(corpus("b"), reranker=reranker, ranking=hr.Ranking("best"))
    best = reranked.search("de kaas").trace
    extended = hr.Ranking("spec", matching="extended")
    noticed = hr.Retriever(corpus("b"), ranking=extended).search("kaas -brie").trace
    elsewhere = replace(
        hr.Retriever(CountedCollection()).search("kaas").trace,
        approximate=True,
        rescored=3,
        missing=["notes[1]"],
    )
    return [*cases, broken, dated, aged, grouped, best, noticed, elsewhere]


TRACES = traces()


def rows(table: str) -> list[list[str]]:
    """Return the code words in the first cell of each row."""
    body = SPEC.split(table, 1)[1].split("\n\n", 1)[0]
    cells = re.findall(r"^\| (.*?) \|", body, flags=re.MULTILINE)
    return [words for cell in cells if (words := re.findall(r"`(\w+)`", cell))]


def snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.replace("BM25", "Bm25")).lower()


def test_the_keys_are_those_of_the_table() -> None:
    documented = {key for row in rows("| key | value |") for key in row}
    assert documented == {key for trace in TRACES for key in trace.to_dict()}


def test_every_key_is_an_attribute() -> None:
    for trace in TRACES:
        for key, value in trace.to_dict().items():
            attribute = getattr(trace, snake(key))
            if key == "unanimity":
                assert value == {"agreements": attribute}
            elif key == "attempts":
                assert [attempt._asdict() for attempt in attribute] == value
            else:
                assert attribute == value
        if trace.profile == "best":
            continue
        if trace.notices:
            continue
        assert (trace.profile, trace.matching, trace.neighbors, trace.reweight) in {
            ("spec", "spec", False, True),
            (None, "spec", False, True),
        }
        absent = {
            "augmentedQuery", "groupBy", "rerankProvider", "unanimity", "rerankSkippedReason", "errorStage"
        } - trace.to_dict().keys()  # fmt: skip
        assert [getattr(trace, snake(key)) for key in absent] == [None] * len(absent)


def test_the_strategies_are_those_of_the_table() -> None:
    documented = [row[0] for row in rows("| `strategy` | `query` |\n")]
    tried = {attempt.strategy for trace in TRACES for attempt in trace.attempts}
    # The second rung never changes anything after the first.
    assert tried == set(documented)


def test_the_closed_lists_are_complete() -> None:
    lists = SPEC.split("## Closed lists", 1)[1]
    reasons, stages = (
        set(re.findall(r"`(\w+)`", paragraph)) - {"rerankSkippedReason", "errorStage"}
        for paragraph in lists.strip().split("\n\n")[:2]
    )
    assert reasons == {t.rerank_skipped_reason for t in TRACES} - {None}
    assert stages - {"bm25"} == {trace.error_stage for trace in TRACES} - {None}


def test_timings_name_their_stages_and_take_no_part_in_equality() -> None:
    searcher = hr.Retriever(corpus("b"), reranker=FakeReranker("reverse"))
    first, second = (searcher.search("kaas").trace for _ in range(2))
    assert first == second
    assert first.timings != second.timings
    [row] = [line for line in SPEC.splitlines() if line.startswith("| `timings`")]
    assert list(first.to_dict()["timings"]) == re.findall(r"`(\w+)`", row)[1:]
    assert first.timings["rerank"] > 0
    assert "embed" in first.timings
