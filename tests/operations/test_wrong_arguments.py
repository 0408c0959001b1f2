"""Arguments of wrong types: flags, paths, callbacks; and embedders that raise StopIteration."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import fusion, query
from hedgerow.agents import (
    AgentLibrary,
    Delete,
    LinkAdd,
    Note,
    Refine,
    Rename,
    parse_reply,
    write_action,
)
from hedgerow.ingest.source import discover
from hedgerow.memory import MemoryRoots
from waiting import LONGEST


@pytest.mark.parametrize(
    "call",
    [
        partial(hr.Index.open, "missing.db", read_only="no"),
        partial(hr.Store.open, "missing.db", read_only=None),
        partial(hr.Store.in_memory().query, "all", explain="no"),
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


@pytest.mark.parametrize("path", [5, 1.5, b"x", "a\0b", "\ud800"])
def test_a_path_is_a_text(path) -> None:
    for call in (
        lambda: hr.evaluate(path, {"a": "b"}, {"a": {"c": 1}}),
        lambda: hr.embedders.OnnxEmbedder(path),
        lambda: hr.embedders.StaticEmbedder(path),
        lambda: AgentLibrary(path),
        lambda: hr.connect("http://127.0.0.1:1", ca=path),
        lambda: discover([path]),
    ):
        with pytest.raises(hr.InvalidInputError):
            call()
    with pytest.raises(hr.InvalidInputError):
        discover(None)  # type: ignore[arg-type]


def test_a_callback_can_be_called(tmp_path: Path) -> None:
    hr.MemoryRoot.initialize(tmp_path)
    with hr.MemoryRoot.open(tmp_path) as root, hr.Retriever(hr.Index.in_memory()) as retriever:
        for call in (
            lambda: root.context("x", count_tokens=5),
            lambda: root.process(mode="lint", progress=5),
            lambda: retriever.upsert([], progress=5),
            lambda: hr.evaluate(retriever.index, {"a": "b"}, {"a": {"c": 1}}, progress=5),
            lambda: hr.MemoryRoot.open(tmp_path, depth_policy=5),
        ):
            with pytest.raises(hr.InvalidInputError, match="must be a function, not 5"):
                call()


def test_a_timeout_fits_a_timer() -> None:
    with pytest.raises(hr.InvalidInputError, match="timeout must be at most"):
        hr.connect("http://127.0.0.1:1", timeout=10**30)


@pytest.mark.parametrize(
    "action",
    [Refine(1, 2), LinkAdd("a", "b", strength="x"), Note(5), Delete(5), Rename(1, 2)],
)
def test_an_action_with_wrong_values_is_not_written(action) -> None:
    with pytest.raises(hr.InvalidInputError, match="action cannot be written"):
        write_action(action)
    with pytest.raises(hr.InvalidInputError, match="token must be a str"):
        parse_reply("x", allowed=[], max_actions=1, token=1.5)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (partial(hr.Index.open, 5), "path must be a str or a path, not int"),
        (partial(hr.Store.open, None), "path must be a str or a path, not NoneType"),
        (partial(hr.Index.in_memory().backup, 5), "path must be a str or a path, not int"),
        (partial(query.compile_many, None), "expected a sequence of str, not NoneType"),
        (
            partial(query.expand_aliases, "x", {}),
            "query must be a Query, as parse_query returns, not str",
        ),
        (partial(MemoryRoots, 5), "give a list of roots, not 5"),
        (partial(MemoryRoots.open, "memory"), "give a list of roots, not 'memory'"),
    ],
)
def test_wrong_types_are_errors_of_the_library(call, problem: str) -> None:
    with pytest.raises(hr.InvalidInputError, match=problem):
        call()


def test_the_class_of_an_embedder_is_no_embedder() -> None:
    class Embedder:
        def embed(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] for _ in texts]

    with pytest.raises(hr.InvalidInputError, match="that is a class: pass an object of it"):
        hr.Retriever(hr.Index.in_memory(), embedder=Embedder)  # type: ignore[arg-type]


def test_an_error_suggests_similar_names_alone() -> None:
    with pytest.raises(TypeError, match=r"'trace': it has .*recency"):
        hr.Retriever(hr.Index.in_memory()).search("oak", trace=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'lmit': use limit"):
        hr.Retriever(hr.Index.in_memory()).search("oak", lmit=1)  # type: ignore[call-arg]
