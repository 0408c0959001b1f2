"""Flags that are no bool, since a text such as "no" is true; and embedders that raise StopIteration."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import fusion
from hedgerow.ingest.source import Rules
from waiting import LONGEST


@pytest.mark.parametrize(
    "call",
    [
        partial(Rules, is_vault="no"),
        partial(fusion.Intent, preference="no"),
        partial(fusion.Intent, concrete_fact=1),
        partial(hr.rerankers.TEIReranker, "http://127.0.0.1:1", truncate="no"),
        partial(hr.rerankers.CrossEncoderReranker, "none", download="no"),
        partial(hr.evaluate, hr.Index.in_memory(), {"a": "b"}, {"a": {"c": 1}}, best="no"),
    ],
)
def test_a_flag_is_a_bool(call) -> None:
    with pytest.raises(hr.InvalidInputError, match="must be True or False, not"):
        call()


def test_the_flag_of_a_watch(tmp_path: Path) -> None:
    hr.MemoryRoot.initialize(tmp_path)
    with pytest.raises(hr.InvalidInputError, match="watch must be True or False"):
        hr.MemoryRoot.open(tmp_path, watch="no")  # type: ignore[arg-type]


def test_telemetry_captures_no_text_for_no() -> None:
    otel = pytest.importorskip("hedgerow.otel")
    with pytest.raises(hr.InvalidInputError, match="capture_query_text must be True or False"):
        otel.instrument(capture_query_text="no")


class Stopping:
    name = "stopping"

    def embed(self, _, /):
        raise StopIteration


def test_stop_iteration_of_an_embedder_ends_an_awaited_call() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=Stopping())

    async def awaited() -> None:
        await asyncio.wait_for(retriever.aupsert([hr.Chunk("a", "a.md", "text")]), LONGEST)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(awaited())
