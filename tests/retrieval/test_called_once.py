"""A function of the user is called once, whatever it raises, on the event loop or on a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import hedgerow as hr
from retrieval_doubles import fnv64

CHUNKS = [hr.Chunk("a", "a.md", "An oak."), hr.Chunk("b", "b.md", "An oak and an elm.")]


def says_so() -> None:
    raise RuntimeError("no running event loop")


def other_words() -> None:
    raise RuntimeError("There is no current event loop in thread 'x'")


def asks_for_the_loop() -> None:
    asyncio.get_running_loop()


def makes_a_task() -> None:
    asyncio.create_task(asyncio.Event().wait())  # noqa: RUF006


FAILURES = [says_so, other_words, asks_for_the_loop, makes_a_task]


class Part:
    """The base of the parts below: it counts its calls, notes their thread, and fails."""

    name = "part"

    def __init__(self, fail: Callable[[], None] = says_so) -> None:
        self.fail = fail
        self.threads: list[int] = []

    def called(self, *_: Any) -> Any:
        self.threads.append(threading.get_ident())
        self.fail()


class OneMethod(Part):
    embed = Part.called


class TwoMethods(Part):
    embed_documents = embed_query = Part.called


class Function(Part):
    __call__ = Part.called


class Rerank(Part):
    rerank = Part.called


class RerankMany(Rerank):
    rerank_many = Part.called


def of_part(part: Part) -> dict[str, Any]:
    """Return the arguments of a retriever for a part."""
    if isinstance(part, Rerank):
        return {"reranker": part}
    return {"embedder": part}


EMBEDDERS: list[Callable[..., Part]] = [OneMethod, TwoMethods, Function]
PARTS = [*EMBEDDERS, Rerank, RerankMany]


@pytest.fixture
def index() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert(CHUNKS)
    return index


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("fail", FAILURES)
@pytest.mark.parametrize("kind", PARTS)
def test_a_part_that_fails_is_called_once(
    kind: Callable[..., Part], fail: Callable[[], None], index: hr.Index
) -> None:
    part = kind(fail)
    retriever = hr.Retriever(index, **of_part(part))
    response = asyncio.run(retriever.asearch("oak"))
    assert {hit.id for hit in response} == {"a", "b"}, "the rest answers"
    assert len(part.threads) == 1
    assert part.threads != [threading.get_ident()]


def test_a_batch_that_fails_is_called_once(index: hr.Index) -> None:
    part = RerankMany()
    asyncio.run(hr.Retriever(index, reranker=part).asearch_many(["oak", "elm"]))
    assert len(part.threads) == 1


@pytest.mark.parametrize("kind", EMBEDDERS)
def test_a_write_that_fails_calls_once_and_raises_the_error(kind: Callable[..., Part]) -> None:
    part = kind()
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=part)
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.run(retriever.aupsert(CHUNKS))
    assert len(part.threads) == 1


def test_a_function_of_rows_and_one_of_scores_are_called_once(index: hr.Index) -> None:
    calls: list[str] = []

    def failing(name: str, *_: Any) -> Any:
        calls.append(name)
        says_so()

    embed, rerank = partial(failing, "embed"), partial(failing, "rerank")
    asyncio.run(hr.Retriever(index, embedder=embed, reranker=rerank).asearch("oak"))
    assert calls == ["embed", "rerank"]


def test_a_coroutine_function_runs_on_the_event_loop_and_is_called_once(index: hr.Index) -> None:
    calls = []

    async def embed(texts: Any) -> Any:
        calls.append(threading.get_ident())
        row = asyncio.create_task(asyncio.sleep(0, [fnv64(text) for text in texts]))
        return await row

    response = asyncio.run(hr.Retriever(index, embedder=embed).asearch("oak"))
    assert (response.error, response.trace.embedder_used) == (None, True)
    assert calls == [threading.get_ident()]
