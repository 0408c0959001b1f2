"""`rerankers.max_sim`, and ONNX cross-encoders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.rerankers import MaxSimReranker, OnnxCrossEncoderReranker, max_sim, reranker_named
from model_folders import onnx_folder


def documents(*texts: str) -> list[hr.RerankDocument]:
    return [hr.RerankDocument(f"id{place}", "", text, 0.0) for place, text in enumerate(texts)]


class Letters:
    """An embedder with a token for each letter, in a separate dimension."""

    name = "letters"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed_tokens(self, texts: list[str]) -> Any:
        self.calls.append(list(texts))
        return (np.eye(26, dtype=np.float16)[[ord(c) - 97 for c in text]] for text in texts)


def pairs(scores: list[hr.RerankScore]) -> list[tuple[int, float]]:
    return [(score.index, pytest.approx(score.score)) for score in scores]


def test_each_token_of_the_query_counts_by_its_nearest() -> None:
    reranker = max_sim(Letters())
    assert reranker.name == "max_sim(letters)"
    found = reranker.rerank("oak", documents("kayak", "elm", "oak", "oaks", ""))
    assert pairs(found) == [(2, 1), (3, 1), (0, 2 / 3), (1, 0), (4, 0)]
    assert reranker.rerank("oak", []) == []


def test_a_document_is_embedded_once() -> None:
    embedder = Letters()
    reranker = MaxSimReranker(embedder)
    many = reranker.rerank_many(
        ["oak", "elm", "oak"], [documents("oak"), documents("oak", "elm"), []]
    )
    assert [pairs(one) for one in many] == [[(0, 1)], [(1, 1), (0, 0)], []]
    assert embedder.calls == [["oak", "elm"], ["oak", "elm"]]
    reranker.rerank("ash", documents("elm", "yew"))
    assert embedder.calls[2:] == [["yew"], ["ash"]]
    forgetful = MaxSimReranker(embedder, cache_bytes=0, name="forgetful")
    forgetful.rerank("a", documents("b"))
    forgetful.rerank("a", documents("b"))
    assert embedder.calls[4:] == [["b"], ["a"]] * 2
    assert repr(forgetful) == "MaxSimReranker('forgetful')"


def test_queries_and_documents_may_have_methods_of_their_own() -> None:
    class Both:
        def embed_query_tokens(self, texts: list[str]) -> Any:
            return [[[1.0, 0.0]] for _ in texts]

        def embed_document_tokens(self, texts: list[str]) -> Any:
            return [[[0.5, 1.0]] for _ in texts]

    assert pairs(max_sim(Both()).rerank("q", documents("d"))) == [(0, 0.5)]  # type: ignore[arg-type]


def test_what_gives_no_tokens_is_refused() -> None:
    with pytest.raises(TypeError, match="must have a method embed_tokens"):
        max_sim(3)  # type: ignore[arg-type]

    class Flat:
        def embed_tokens(self, texts: list[str]) -> Any:
            return [[1.0, 2.0] for _ in texts]

    with pytest.raises(hr.HedgerowError, match="without a matrix for each of 1 texts"):
        max_sim(Flat()).rerank("q", documents("d"))


@pytest.mark.usefixtures("onnx_libraries")
def test_a_cross_encoder_in_onnx_scores_pairs(tmp_path: Path) -> None:
    reranker = OnnxCrossEncoderReranker(onnx_folder(tmp_path / "m", "scores", name="mine"))
    assert repr(reranker) == "OnnxCrossEncoderReranker('mine')"
    # The ids are 1, those of "oak" and "|", those of the document, and 1.
    assert pairs(reranker.rerank("oak", documents("elm", "a longer text"))) == [(1, 27), (0, 15)]
    assert reranker.rerank("oak", []) == []
    named = reranker_named(f"cross-encoder:{tmp_path / 'm'}")
    assert type(named) is OnnxCrossEncoderReranker


@pytest.mark.usefixtures("onnx_libraries")
def test_a_model_of_another_kind_is_a_bad_answer(tmp_path: Path) -> None:
    reranker = OnnxCrossEncoderReranker(onnx_folder(tmp_path / "m"))
    with pytest.raises(hr.HedgerowError, match="with more than one number for a document"):
        reranker.rerank("oak", documents("elm"))
