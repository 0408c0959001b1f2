"""Embedders with models in this process, against doubles of their libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
import library_doubles
from hedgerow.embedders import Model2VecEmbedder, SentenceTransformerEmbedder

EMBEDDERS = pytest.mark.parametrize(
    ("adapter", "double"),
    [
        (SentenceTransformerEmbedder, library_doubles.SentenceTransformer),
        (Model2VecEmbedder, library_doubles.StaticModel),
    ],
)
pytestmark = pytest.mark.usefixtures("libraries")


@EMBEDDERS
def test_texts_become_an_array(adapter: Any, double: Any) -> None:
    vectors = adapter("org/model").embed(["oak", "hazel"])
    assert isinstance(vectors, np.ndarray)
    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[3, 1], [5, 1]]
    assert double.loaded[0][0] == "org/model"


@EMBEDDERS
def test_blank_texts_have_no_vector(adapter: Any, double: Any) -> None:
    del double
    embedder = adapter("org/model")
    assert [list(row) for row in embedder.embed(["", "oak", "\n"])] == [[], [3, 1], []]
    assert [list(row) for row in embedder.embed([" "])] == [[]]
    assert embedder.embed([]) == []
    assert len(embedder._model.calls) == 1


@EMBEDDERS
def test_a_vector_of_zeros_is_no_vector(adapter: Any, double: Any) -> None:
    del double
    embedder = adapter("org/model")
    embedder._model.answer = np.array([[0, 0], [1, 0]], dtype=np.float64)
    assert [list(row) for row in embedder.embed(["oak", "elm"])] == [[], [1, 0]]


@EMBEDDERS
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(2), "with an array of 2 for 2 texts"),
        (np.ones((3, 4)), "with an array of 3x4 for 2 texts"),
        (np.float32(1), "with a number for 2 texts"),
        ([[1, 2], [3]], "with something other than an array of numbers for 2 texts"),
        ([["oak"], ["elm"]], "with something other than an array of numbers for 2 texts"),
        (np.array([[1, 2], [1, np.nan]]), "with a number that is not finite for texts[2]"),
        (np.array([[1, 2], [1, np.inf]]), "with a number that is not finite for texts[2]"),
    ],
)
def test_answers_that_do_not_fit(adapter: Any, double: Any, answer: Any, message: str) -> None:
    del double
    embedder = adapter("org/model")
    embedder._model.answer = answer
    with pytest.raises(hr.HedgerowError) as raised:
        embedder.embed(["oak", "", "elm"])
    assert raised.value.code == "bad_answer"
    assert str(raised.value) == (
        f"the model org/model answered {message}; check that it serves a model of this kind"
    )


@EMBEDDERS
def test_names(adapter: Any, double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "small").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert adapter(Path("models") / "small").name == str(Path("models") / "small")
    assert adapter("models/small", name="small").name == "small"
    assert repr(adapter("org/model")) == f"{adapter.__name__}('org/model')"
    loaded = double() if double is library_doubles.StaticModel else double("org/model")
    assert adapter(loaded, name="mine").embed(["oak"]).tolist() == [[3, 1]]
    with pytest.raises(hr.InvalidInputError) as raised:
        adapter(loaded)
    assert raised.value.code == "invalid_option"
    assert str(raised.value) == (
        "name is required for a loaded model: it distinguishes its vectors from those of "
        "other models"
    )


@EMBEDDERS
def test_arguments_are_checked(adapter: Any, double: Any) -> None:
    del double
    with pytest.raises(hr.InvalidInputError, match="batch_size must be an integer of at least 1"):
        adapter("org/model", batch_size=0)
    with pytest.raises(TypeError, match="texts must be a sequence of str, not one str"):
        adapter("org/model").embed("oak")
    with pytest.raises(hr.InvalidInputError, match=r"texts\[0\] has half of a surrogate pair"):
        adapter("org/model").embed(["\ud83d"])


def test_what_sentence_transformers_is_asked() -> None:
    embedder = SentenceTransformerEmbedder(
        "org/model", device="cpu", batch_size=8, prompt_name="query"
    )
    embedder.embed(["oak"])
    assert library_doubles.SentenceTransformer.loaded == [("org/model", "cpu")]
    assert embedder._model.calls == [  # type: ignore[attr-defined]
        {
            "inputs": ["oak"],
            "prompt_name": "query",
            "batch_size": 8,
            "show_progress_bar": False,
            "convert_to_numpy": True,
        }
    ]


def test_what_model2vec_is_asked() -> None:
    embedder = Model2VecEmbedder("org/model", batch_size=8)
    embedder.embed(["oak"])
    assert library_doubles.StaticModel.loaded == [("org/model", False)]
    assert embedder._model.calls == [  # type: ignore[attr-defined]
        {"sentences": ["oak"], "batch_size": 8, "show_progress_bar": False}
    ]
