"""CrossEncoder against a double of its library, and TEI against a real local server."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
import library_doubles
from hedgerow.rerankers import CrossEncoderReranker, TEIReranker, best_first
from local_server import LocalServer, Reply, Request

KEY = "hf-hedge-0123456789"
FITS = "; check that it serves a model that reranks, with one label"


def documents(*texts: str) -> list[hr.RerankDocument]:
    return [hr.RerankDocument(f"id{place}", "", text, 0.0) for place, text in enumerate(texts)]


def pairs(scores: Any) -> list[tuple[int, float]]:
    return [(score.index, score.score) for score in scores]


def refused(call: Callable[[], object]) -> hr.HedgerowError:
    with pytest.raises(hr.HedgerowError) as raised:
        call()
    return raised.value


def test_documents_and_scores_are_plain_data() -> None:
    document = hr.RerankDocument("a", "Trees", "oak", 0.5)
    assert document == pickle.loads(pickle.dumps(document))
    assert repr(document) == "RerankDocument(id='a', title='Trees', text='oak', score=0.5)"
    assert repr(hr.RerankScore(3, 0.5)) == "RerankScore(index=3, score=0.5)"
    with pytest.raises(AttributeError):
        document.text = "elm"  # type: ignore[misc]


def test_best_first_keeps_the_order_of_equals() -> None:
    assert pairs(best_first([1, 3, 1, 3, 0])) == [(1, 3), (3, 3), (0, 1), (2, 1), (4, 0)]
    assert best_first([]) == []


# CrossEncoder


with_doubles = pytest.mark.usefixtures("libraries")


@with_doubles
def test_a_cross_encoder_scores_every_pair() -> None:
    reranker = CrossEncoderReranker("org/model", device="cpu", batch_size=8)
    assert pairs(reranker.rerank("tree", documents("oak", "hazel", "", "elm"))) == [
        (1, 5),
        (0, 3),
        (3, 3),
        (2, 0),
    ]
    assert library_doubles.CrossEncoder.loaded == [("org/model", "cpu")]
    assert reranker._model.calls == [  # type: ignore[attr-defined]
        {
            "inputs": [("tree", "oak"), ("tree", "hazel"), ("tree", ""), ("tree", "elm")],
            "batch_size": 8,
            "show_progress_bar": False,
            "convert_to_numpy": True,
        }
    ]
    assert reranker.rerank("tree", []) == []
    assert reranker.name == "org/model"
    assert repr(reranker) == "CrossEncoderReranker('org/model')"


@with_doubles
def test_a_loaded_cross_encoder() -> None:
    reranker = CrossEncoderReranker(library_doubles.CrossEncoder("org/model"))
    assert reranker.name == "cross-encoder"
    assert pairs(reranker.rerank("tree", documents("oak"))) == [(0, 3)]


@with_doubles
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones(3), "with 3 scores for 2 documents"),
        (np.ones((2, 3)), "with something other than a finite score for document 0"),
        ([1.0, 10**400], "with something other than a finite score for document 1"),
        ([1.0, None], "with something other than a finite score for document 1"),
        (np.float32(1), "with something other than scores for 2 documents"),
        (np.array([1, np.nan]), "with something other than a finite score for document 1"),
    ],
)
def test_cross_encoder_scores_that_do_not_fit(answer: Any, message: str) -> None:
    reranker = CrossEncoderReranker("org/model")
    reranker._model.answer = answer  # type: ignore[attr-defined]
    error = refused(lambda: reranker.rerank("tree", documents("oak", "elm")))
    assert error.code == "bad_answer"
    assert str(error) == f"the model org/model answered {message}{FITS}"


# text-embeddings-inference


def tei_answer(request: Request) -> Reply:
    """Return the scores like the server: best first."""
    scores = [
        {"index": index, "score": len(text) / 10}
        for index, text in enumerate(request.body["texts"])
    ]
    return Reply(sorted(scores, key=lambda entry: -entry["score"]))


def tei(server: LocalServer, **options: Any) -> TEIReranker:
    server.answer = tei_answer
    return server.closes(TEIReranker(server.url, **options))


def test_a_server_scores_in_batches(server: LocalServer) -> None:
    with tei(server, batch_size=2, api_key=KEY) as reranker:
        found = reranker.rerank("tree", documents("oak", "hazel", "", "elm", "alder"))
        assert pairs(found) == [(1, 0.5), (4, 0.5), (0, 0.3), (3, 0.3), (2, 0)]
        assert reranker.rerank("tree", []) == []
    assert server.bodies == [
        {"query": "tree", "texts": texts, "raw_scores": False, "truncate": True}
        for texts in (["oak", "hazel"], ["", "elm"], ["alder"])
    ]
    assert {request.path for request in server.requests} == {"/rerank"}
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_the_servers_name_and_repr(server: LocalServer) -> None:
    reranker = tei(server, api_key=KEY, truncate=False)
    assert reranker.name == "text-embeddings-inference"
    assert tei(server, name="bge").name == "bge"
    assert repr(reranker) == f"TEIReranker(url='{server.url}/rerank')"
    assert KEY.encode() not in pickle.dumps(reranker)
    reranker.rerank("tree", documents("oak"))
    assert server.bodies[0]["truncate"] is False


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": "?"}, "without a list of scores"),
        ([0.5, 0.5], "without a list of scores"),
        ([{"index": 0, "score": 1}], "with 1 score for 2 documents, none for document 1"),
        ([{"index": 1, "score": 1}], "with 1 score for 2 documents, none for document 0"),
        (
            [{"index": 0, "score": 1}, {"index": 0, "score": 1}],
            "with 2 scores for 2 documents, none for document 1",
        ),
        (
            [{"index": 0, "score": 1}, {"index": 2, "score": 1}],
            "with 2 scores for 2 documents, none for document 1",
        ),
        (
            [{"index": index, "score": 1} for index in (0, 1, 1)],
            "with 3 scores for 2 documents",
        ),
        (
            [{"index": 0, "score": 1}, {"index": 1, "score": "1"}],
            "with something other than a finite score for document 1",
        ),
        (
            [{"index": 0, "score": 1}, {"index": 1, "score": math.nan}],
            "with something other than a finite score for document 1",
        ),
    ],
)
def test_server_scores_that_do_not_fit(server: LocalServer, body: Any, message: str) -> None:
    server.replies = [Reply(body)]
    error = refused(lambda: tei(server).rerank("tree", documents("oak", "elm")))
    assert error.code == "bad_answer"
    assert str(error) == f"{server.url}/rerank answered {message}{FITS}"


@pytest.mark.usefixtures("no_waiting")
def test_a_server_that_refuses(server: LocalServer) -> None:
    reranker = tei(server, retries=1)
    server.replies = [Reply({"error": "Model is overloaded"}, 429)]
    assert pairs(reranker.rerank("tree", documents("oak"))) == [(0, 0.3)]
    server.answer = lambda _: Reply({"error": "batch too large"}, 413)
    error = refused(lambda: reranker.rerank("tree", documents("oak")))
    assert error.code == "endpoint_refused"
    assert str(error).startswith(f"{server.url}/rerank answered 413 ")
    assert str(error).endswith(" (batch too large); lower batch_size")


@with_doubles
def test_texts_are_checked(server: LocalServer) -> None:
    for reranker in (tei(server), CrossEncoderReranker("org/model")):
        error = refused(lambda: reranker.rerank("winter \ud83d", []))  # noqa: B023 - called at once
        assert str(error).startswith("the query has half of a surrogate pair at character 7; ")
        error = refused(lambda: reranker.rerank("oak", documents("x", "\ud83d")))  # noqa: B023
        assert str(error).startswith("documents[1] has half of a surrogate pair at character 0; ")
    assert server.requests == []
