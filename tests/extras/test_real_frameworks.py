"""The LangChain and LlamaIndex retrievers with their real base classes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from pydantic import ValidationError

import hedgerow as hr
from hedgerow._serve.index_routes import IndexService
from hedgerow.integrations import langchain, llama_index
from serving import READER, listening


class Counting:
    """An embedder that counts two words. The asynchronous one below does the same."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.count("hedgehog")), float(text.count("beech"))] for text in texts]


class AsyncCounting:
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return Counting().embed(texts)


CHUNKS = [
    hr.Chunk(
        "1", "garden.md", "The hedgehog sleeps.", title="Garden", embedding=[1.0, 0.0],
        metadata={"year": 2026, "path": "of the chunk"},
    ),
    hr.Chunk("2", "kitchen.md", "Nuts of the beech.", summary="Food", embedding=[0.0, 1.0]),
    hr.Chunk("3", "wood.md", "A beech and a hedgehog.", embedding=[1.0, 1.0]),
]  # fmt: skip


def searching(**given: Any) -> hr.Retriever:
    index = hr.Index.in_memory()
    index.upsert(CHUNKS)
    return hr.Retriever(index, **given)


def documents(**options: Any) -> list[Document]:
    return langchain.HedgerowRetriever(retriever=searching(), **options).invoke("hedgehog")


def nodes(**options: Any) -> list[NodeWithScore]:
    return llama_index.HedgerowRetriever(searching(), **options).retrieve("hedgehog")


def test_both_give_what_the_retriever_gives() -> None:
    hits = searching().search("hedgehog").results
    assert [(d.id, d.page_content, d.metadata["score"]) for d in documents()] == [
        (hit.id, hit.content, hit.score) for hit in hits
    ]
    assert [(n.node.id_, n.node.get_content(), n.score) for n in nodes()] == [
        (hit.id, hit.content, hit.score) for hit in hits
    ]
    assert len(hits) == 2


def test_metadata() -> None:
    [hit] = searching().search("sleeps")
    [document] = langchain.HedgerowRetriever(retriever=searching()).invoke("sleeps")
    [node] = llama_index.HedgerowRetriever(searching()).retrieve("sleeps")
    assert document.metadata == node.node.metadata
    assert document.metadata == {
        "year": 2026,
        "path": "garden.md",
        "title": "Garden",
        "id": "1",
        "score": hit.score,
        "bm25_rank": 0,
    }
    shown = node.node.get_content(MetadataMode.LLM)
    assert "title: Garden" in shown
    assert "year: 2026" in shown
    assert "score" not in shown


@pytest.mark.parametrize("search", [documents, nodes])
def test_options(search: Any) -> None:
    assert len(search(limit=1)) == 1
    assert len(search(filters={"path_prefix": "wood"})) == 1
    assert len(search(filters=hr.Filters(path_prefix="wood"))) == 1
    with pytest.raises(hr.InvalidInputError):
        search(limit=0)
    with pytest.raises((TypeError, ValidationError)):
        search(topk=1)


def test_langchain_has_every_option_of_search_with_its_default() -> None:
    parameters = inspect.signature(hr.Retriever.search).parameters
    expected = {
        name: parameter.default
        for name, parameter in parameters.items()
        if name not in {"self", "query", "explain"}
    }
    fields = langchain.HedgerowRetriever.model_fields
    assert {name: fields[name].default for name in langchain._OPTIONS} == expected


def test_both_have_the_limit_of_a_search() -> None:
    index = hr.Index.in_memory()
    index.upsert([hr.Chunk(str(n), f"{n}.md", "hedgehog") for n in range(30)])
    retriever = hr.Retriever(index)
    assert len(retriever.search("hedgehog")) == 10
    assert len(langchain.HedgerowRetriever(retriever=retriever).invoke("hedgehog")) == 10
    assert len(llama_index.HedgerowRetriever(retriever).retrieve("hedgehog")) == 10


def test_both_search_the_index_of_a_server(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with (
        hr.Retriever(path, create=True) as local,
        listening(IndexService(local)) as url,
        hr.connect(url, kind="index", token=READER) as remote,
    ):
        local.upsert([hr.Chunk("1", "garden.md", "The hedgehog sleeps.")])
        ids = [hit.id for hit in remote.search("hedgehog")]
        built = langchain.HedgerowRetriever(retriever=remote)
        assert [one.id for one in built.invoke("hedgehog")] == ids
        found = llama_index.HedgerowRetriever(remote).retrieve("hedgehog")
        assert [one.node.node_id for one in found] == ids


def test_langchain_takes_options_for_one_call() -> None:
    retriever = langchain.HedgerowRetriever(retriever=searching(), limit=2)
    assert len(retriever.invoke("hedgehog", limit=1)) == 1
    assert len(asyncio.run(retriever.ainvoke("hedgehog", limit=1))) == 1
    assert [len(found) for found in retriever.batch(["hedgehog", "nuts"], limit=1)] == [1, 1]
    with pytest.raises(TypeError, match="topk"):
        retriever.invoke("hedgehog", topk=1)


def test_langchain_composes() -> None:
    chain = langchain.HedgerowRetriever(retriever=searching()) | RunnableLambda(len)
    assert chain.invoke("hedgehog") == 2


@pytest.mark.parametrize("embedder", [Counting(), AsyncCounting()])
def test_asynchronous_embedders(embedder: Any) -> None:
    retriever = searching(embedder=embedder)
    expected = asyncio.run(retriever.asearch("hedgehog beech")).results
    found = asyncio.run(langchain.HedgerowRetriever(retriever=retriever).ainvoke("hedgehog beech"))
    assert [document.id for document in found] == [hit.id for hit in expected]
    assert all("vector_similarity" in document.metadata for document in found)
    asked = llama_index.HedgerowRetriever(retriever).aretrieve(QueryBundle("hedgehog beech"))
    assert [node.node_id for node in asyncio.run(asked)] == [hit.id for hit in expected]


def test_a_failed_search_is_not_an_empty_one() -> None:
    retriever = searching()
    retriever.index.close()
    with pytest.raises(hr.HedgerowError):
        langchain.HedgerowRetriever(retriever=retriever).invoke("hedgehog")
    with pytest.raises(hr.HedgerowError):
        llama_index.HedgerowRetriever(retriever).retrieve("hedgehog")


# Framework embeddings as embedders


@pytest.mark.parametrize("mode", ["plain", "awaited"])
@pytest.mark.parametrize(
    "embedder",
    [DeterministicFakeEmbedding(size=8), MockEmbedding(embed_dim=8)],
    ids=["langchain", "llama-index"],
)
def test_embeddings_of_a_framework_will_do_as_they_are(embedder: Any, mode: str) -> None:
    chunks = [hr.Chunk(name, f"{name}.md", text) for name, text in (("a", "oak"), ("b", "elm"))]
    index = hr.Index.in_memory()
    retriever = hr.Retriever(index, embedder=embedder)
    if mode == "plain":
        retriever.upsert(chunks)
        found = retriever.search("oak", mode="semantic")
    else:
        asyncio.run(retriever.aupsert(chunks))
        found = asyncio.run(retriever.asearch("oak", mode="semantic"))
    assert found.trace.embedder_used
    assert index.stats().vectors == len(found.results) == 2


def test_a_retriever_from_an_index_is_the_best() -> None:
    with hr.Index.in_memory() as index:
        index.upsert([hr.Chunk("1", "a.md", "The hedgehog sleeps"), hr.Chunk("2", "a.md", "Fine.")])
        one = langchain.HedgerowRetriever.from_index(index, limit=1)
        assert (one.retriever.search("hedgehog").trace.profile, one.limit) == ("best", 1)
        assert [document.id for document in one.invoke("hedgehog")] == ["1"]
        other = llama_index.HedgerowRetriever.from_index(index, ranking=hr.Ranking("spec"))
        assert [node.node.id_ for node in other.retrieve("hedgehog")] == ["1"]
