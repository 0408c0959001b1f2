"""`--embedder local` with real packages: the wheels from `make model-wheels`, and onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents.compressor import BaseDocumentCompressor
from llama_index.core.postprocessor import SimilarityPostprocessor

import hedgerow as hr
from hedgerow.embedders import embedder_named
from hedgerow.rerankers import LangChainReranker, LlamaIndexReranker, max_sim

TEXTS = [
    "Hedgehogs sleep under the hedge from November to March.",
    "The revenue of the third quarter grew by ten percent.",
    "Boil the beets for an hour and peel them.",
]


@pytest.fixture(autouse=True)
def installed(model_site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(model_site))


@pytest.mark.parametrize("name", ["local", "local:all-minilm-l6-v2"])
def test_the_nearest_text_says_the_same_in_other_words(name: str) -> None:
    with hr.Retriever(hr.Index.in_memory(), embedder=name, ranking=hr.Ranking("best")) as retriever:
        retriever.upsert([hr.Chunk(str(i), str(i), text) for i, text in enumerate(TEXTS)])
        for query, best in [
            ("spiky animals in winter", "0"),
            ("company profits", "1"),
            ("cooking", "2"),
        ]:
            assert retriever.search(query, mode="semantic")[0].id == best


def test_vectors_do_not_depend_on_the_batch() -> None:
    embedder: Any = embedder_named("local")
    together = embedder.embed([*TEXTS, "a " * 900])
    for text, row in zip(TEXTS, together, strict=False):
        assert np.array_equal(embedder.embed([text])[0], row)
    assert embedder.name == "bge-small-en-v1.5-int8"


def test_late_interaction_over_token_states() -> None:
    reranker = max_sim(embedder_named("local:all-minilm-l6-v2"))  # type: ignore[arg-type]
    documents = [hr.RerankDocument(str(i), "", text, 0.0) for i, text in enumerate(TEXTS)]
    assert reranker.rerank("how long do beets cook", documents)[0].index == 2


class Longest(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        del query, callbacks
        return sorted(documents, key=lambda one: -len(one.page_content))[:2]


def test_rerankers_of_the_frameworks() -> None:
    documents = [hr.RerankDocument(str(i), "", text, i / 10) for i, text in enumerate(TEXTS)]
    found = LangChainReranker(Longest()).rerank("q", documents)
    assert [score.index for score in found] == [0, 1]
    kept = LlamaIndexReranker(SimilarityPostprocessor(similarity_cutoff=0.15))
    assert kept.rerank("q", documents) == [hr.RerankScore(2, 0.2)]
