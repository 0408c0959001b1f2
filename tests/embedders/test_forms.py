"""Embedders of other libraries, recognized by their methods, synchronous or asynchronous."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

import hedgerow as hr
from retrieval_doubles import fnv64

CHUNKS = [hr.Chunk("a", "a.md", "An oak."), hr.Chunk("b", "b.md", "An elm.")]


class Plain:
    """The base of the classes below, which records its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def rows(self, what: str, texts: Any) -> list[list[float]]:
        self.calls.append((what, texts))
        return [fnv64(text) for text in texts]


class LangChain(Plain):
    """The interface of langchain_core.embeddings.Embeddings."""

    def embed_query(self, text: str) -> list[float]:
        return self.rows("query", [text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.rows("documents", texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.rows("aquery", [text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.rows("adocuments", texts)


class Batched(LangChain):
    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        return self.rows("queries", texts)


class LlamaIndex(Plain):
    """The interface of llama_index's BaseEmbedding, which can also be called with nodes."""

    def get_query_embedding(self, query: str) -> list[float]:
        return self.rows("query", [query])[0]

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return self.rows("documents", texts)

    def __call__(self, nodes: Any) -> Any:
        raise AssertionError(nodes)


class Chroma(Plain):
    """The interface of Chroma's EmbeddingFunction, whose `embed_query` takes a list."""

    def __call__(self, input: Any) -> Any:  # noqa: A002 - the name it has there
        return self.rows("called", input)

    def embed_query(self, input: Any) -> Any:  # noqa: A002
        raise AssertionError(input)


class Halves(Plain):
    """An incomplete pair: a method for documents, but none for queries."""

    def embed_documents(self, texts: Any) -> Any:
        raise AssertionError(texts)

    def embed(self, texts: Any) -> Any:
        return self.rows("embed", texts)


@pytest.mark.parametrize(
    ("embedder", "documents", "queries"),
    [
        (LangChain(), "documents", [("query", ["oak"]), ("query", ["elm"])]),
        (Batched(), "documents", [("queries", ["oak", "elm"])]),
        (LlamaIndex(), "documents", [("query", ["oak"]), ("query", ["elm"])]),
        (Chroma(), "called", [("called", ["oak", "elm"])]),
        (Halves(), "embed", [("embed", ["oak", "elm"])]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_are_asked_by_what_they_have(
    embedder: Any, documents: str, queries: list[Any]
) -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=embedder)
    retriever.upsert(CHUNKS)
    assert embedder.calls == [(documents, ["An oak.", "An elm."])]
    embedder.calls.clear()
    found = retriever.search_many(["oak", "elm"], mode="semantic")
    assert [response.trace.embedder_used for response in found] == [True, True]
    assert embedder.calls == queries
    embedder.calls.clear()
    retriever.reembed()
    assert [what for what, _ in embedder.calls] == [documents]


def test_what_is_there_to_be_awaited_is_preferred_where_it_can_be() -> None:
    embedder = LangChain()
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=embedder)

    async def both() -> None:
        await retriever.aupsert(CHUNKS)
        assert (await retriever.asearch("oak")).trace.embedder_used

    asyncio.run(both())
    assert [what for what, _ in embedder.calls] == ["adocuments", "aquery"]


def rows_of(texts: Any) -> list[list[float]]:
    return [fnv64(text) for text in texts]


async def coroutine(texts: Any) -> list[list[float]]:
    return rows_of(texts)


async def with_option(option: str, texts: Any) -> list[list[float]]:
    assert option == "given"
    return rows_of(texts)


class Called:
    async def __call__(self, texts: Any) -> list[list[float]]:
        return rows_of(texts)


class Awaited:
    async def embed_query(self, text: str) -> list[float]:
        return fnv64(text)

    async def embed_documents(self, texts: Any) -> list[list[float]]:
        return rows_of(texts)


class OnlyA:
    async def aembed_query(self, text: str) -> list[float]:
        return fnv64(text)

    async def aembed_documents(self, texts: Any) -> list[list[float]]:
        return rows_of(texts)


class PartialMethod:
    def __init__(self) -> None:
        self.embed = partial(with_option, "given")


SEEN_TO_BE_ASYNCHRONOUS = {
    "coroutine function": coroutine,
    "async __call__": Called(),
    "partial": partial(with_option, "given"),
    "partial of a callable": partial(Called()),
    "async methods": Awaited(),
    "a methods": OnlyA(),
    "partial as a method": PartialMethod(),
}


# Not seen to be a coroutine function: it is called on a thread, and its coroutine is awaited.
RETURNS_AN_AWAITABLE = lambda texts: coroutine(texts)  # noqa: E731, PLW0108


@pytest.mark.parametrize(
    "embedder",
    [*SEEN_TO_BE_ASYNCHRONOUS.values(), RETURNS_AN_AWAITABLE],
    ids=[*SEEN_TO_BE_ASYNCHRONOUS, "lambda"],
)
def test_asynchronous_callables_of_any_kind_are_awaited(embedder: Any) -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=embedder)

    async def all_of_it() -> None:
        assert await retriever.aupsert(CHUNKS) == 2
        assert (await retriever.asearch("oak")).trace.embedder_used
        assert await retriever.areembed() == 2

    asyncio.run(all_of_it())


@pytest.mark.parametrize(
    "embedder", SEEN_TO_BE_ASYNCHRONOUS.values(), ids=list(SEEN_TO_BE_ASYNCHRONOUS)
)
def test_they_are_refused_where_nothing_can_await_them(embedder: Any) -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=embedder)
    with pytest.raises(hr.InvalidInputError) as raised:
        retriever.search("oak")
    assert raised.value.code == "incompatible_options"
    assert str(raised.value) == (
        "the embedder is asynchronous; await asearch(...) instead of search(...)"
    )


@pytest.mark.parametrize("call", ["search", "upsert"])
def test_an_awaitable_that_nobody_awaits_is_an_error(call: str) -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), embedder=RETURNS_AN_AWAITABLE)
    with pytest.raises(hr.InvalidInputError, match="is asynchronous: its answer has to be awaited"):
        getattr(retriever, call)("oak" if call == "search" else CHUNKS)


def test_a_reranker_of_any_kind_is_awaited_too() -> None:
    class Best:
        name = "best"

        def __init__(self) -> None:
            self.rerank = partial(self.scores, 1.0)

        async def scores(self, score: float, query: str, documents: Any) -> list[hr.RerankScore]:
            del query
            return [hr.RerankScore(i, score) for i in range(len(documents))]

    index = hr.Index.in_memory()
    index.upsert(CHUNKS)
    retriever = hr.Retriever(index, reranker=Best())
    [hit] = asyncio.run(retriever.asearch("oak"))
    assert hit.rerank_score == 1.0
    with pytest.raises(hr.InvalidInputError, match="the reranker is asynchronous"):
        retriever.search("oak")


def test_functions_of_texts_will_do() -> None:
    index = hr.Index.in_memory()
    retriever = hr.Retriever(index, embedder=rows_of)
    retriever.upsert(CHUNKS)
    assert retriever.search("oak").trace.embedder_used
    assert index.stats().embedder is None


class Encoder:
    def encode(self, texts: Any) -> Any:
        raise AssertionError(texts)

    __call__ = encode


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (3, "embedder must have a method embed(texts), not 3; or the methods embed_query(text) and "
            "embed_documents(texts), or be a function of texts"),
        (Called, "pass an object of it, Called(...)"),
        (Encoder(), "a model of a library goes into its adapter, as in "
                    "hr.embedders.SentenceTransformerEmbedder(model, name=...)"),
    ],
)  # fmt: skip
def test_what_is_no_embedder_says_what_is(embedder: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        hr.Retriever(hr.Index.in_memory(), embedder=embedder)
    assert message in str(raised.value)


def test_rows_of_single_queries_are_checked() -> None:
    class Wrong(LangChain):
        def embed_query(self, text: str) -> list[float]:
            return [*fnv64(text), 1.0]

    retriever = hr.Retriever(hr.Index.in_memory(), embedder=Wrong())
    retriever.upsert(CHUNKS)
    with pytest.raises(hr.InvalidInputError, match="65 dimensions and the index has 64"):
        retriever.search("oak")
