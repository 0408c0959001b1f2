"""Rerankers of LangChain and LlamaIndex, against doubles. tests/extras checks the real ones."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.rerankers import LangChainReranker, LlamaIndexReranker

DOCUMENTS = [
    hr.RerankDocument(f"id{place}", "T", text, place / 10)
    for place, text in enumerate(["oak", "elm", "hazel"])
]


@dataclass
class Document:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


def module(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: Any) -> None:
    parts = name.split(".")
    for end in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    last = ModuleType(name)
    vars(last).update(attributes)
    monkeypatch.setitem(sys.modules, name, last)


@pytest.fixture(autouse=True)
def frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "langchain_core.documents", Document=Document)
    nodes = {"TextNode": TextNode, "NodeWithScore": SimpleNamespace}
    module(monkeypatch, "llama_index.core.schema", **nodes)


class TextNode:
    def __init__(self, *, id_: str, text: str) -> None:
        self.node_id, self.text = id_, text


class Compressor:
    """Drops short documents, and puts the longest first."""

    def __init__(self, *, scored: bool) -> None:
        self.scored = scored
        self.asked: list[tuple[str, list[Document]]] = []

    def compress_documents(self, documents: list[Document], query: str) -> list[Document]:
        self.asked.append((query, documents))
        best = sorted(documents, key=lambda one: -len(one.page_content))[:2]
        more = [Document("of its own")]
        if not self.scored:
            return [*best, *more]
        return [
            Document(one.page_content, one.metadata | {"relevance_score": len(one.page_content)})
            for one in best
        ]


class Postprocessor:
    def __init__(self, *, scored: bool) -> None:
        self.scored = scored
        self.asked: list[str] = []

    def postprocess_nodes(self, nodes: list[Any], *, query_str: str) -> list[Any]:
        self.asked.append(query_str)
        best = sorted(nodes, key=lambda one: -len(one.node.text))[:2]
        other = SimpleNamespace(node=SimpleNamespace(node_id="other"), score=9.0)
        scores = [len(one.node.text) if self.scored else None for one in best]
        found = [SimpleNamespace(node=b.node, score=s) for b, s in zip(best, scores, strict=True)]
        return [*found, other]


@pytest.mark.parametrize(
    ("adapter", "theirs"), [(LangChainReranker, Compressor), (LlamaIndexReranker, Postprocessor)]
)
def test_scores_are_theirs_or_follow_from_their_order(adapter: Any, theirs: Any) -> None:
    scored = adapter(theirs(scored=True)).rerank("tree", DOCUMENTS)
    assert scored == [hr.RerankScore(2, 5.0), hr.RerankScore(0, 3.0)]
    ordered = adapter(theirs(scored=False)).rerank("tree", DOCUMENTS)
    assert ordered == [hr.RerankScore(2, 1.0), hr.RerankScore(0, 2 / 3)]
    assert adapter(theirs(scored=True)).name == theirs.__name__
    assert repr(adapter(theirs(scored=True), name="mine")) == f"{adapter.__name__}('mine')"
    with pytest.raises(TypeError, match="must have a method"):
        adapter(3)


def test_langchain_gets_what_hedgerow_knows() -> None:
    compressor = Compressor(scored=True)
    LangChainReranker(compressor).rerank("tree", DOCUMENTS)
    [(query, documents)] = compressor.asked
    assert (query, documents[1].page_content) == ("tree", "elm")
    assert documents[1].metadata == {
        "hedgerow_index": 1, "id": "id1", "title": "T", "score": 0.1
    }  # fmt: skip


def test_a_retriever_reranks_with_them() -> None:
    index = hr.Index.in_memory()
    lengths = {"a": 1, "b": 9, "c": 5}
    index.upsert([hr.Chunk(name, name, f"oak {'x' * n}") for name, n in lengths.items()])
    reranker = LangChainReranker(Compressor(scored=False))
    response = hr.Retriever(
        index, reranker=reranker, ranking=hr.Ranking("spec", rerank_chars=99)
    ).search("oak")
    assert ([hit.id for hit in response], response.error) == (["b", "c"], None)
