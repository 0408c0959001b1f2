"""`static:FOLDER`: a table of word-piece vectors, which the engine looks up."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.embedders import StaticEmbedder, embedder_named
from model_folders import WORDS, static_folder


def unit(*numbers: float) -> list[float]:
    vector = np.array(numbers, np.float32)
    return (vector / np.linalg.norm(vector)).tolist()


@pytest.mark.parametrize("kind", ["I8", "F16", "F32"])
def test_a_vector_is_the_direction_of_the_sum(tmp_path: Path, kind: str) -> None:
    embedder = StaticEmbedder(static_folder(tmp_path / "words", kind=kind))
    rows = embedder.embed(["Oak", "oaks winter!", "unheard", "  "])
    # "oaks" consists of pieces 2 and 6, and "winter" is piece 5.
    assert np.allclose(rows[0], unit(2, 1, -2))
    assert np.allclose(rows[1], unit(13, 3, -13))
    assert [len(row) for row in rows] == [3, 3, 0, 0]


def test_it_finds_without_any_package(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "words")
    with hr.Retriever(hr.Index.in_memory(), embedder=f"static:{folder}") as retriever:
        retriever.upsert([hr.Chunk("a", "a", "winter bird"), hr.Chunk("b", "b", "[PAD]")])
        [hit] = retriever.search("hedge", mode="semantic")
        assert (hit.id, retriever.index.stats().embedder) == ("a", "words")


def test_names_prompts_and_pickles(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "words")
    embedder = StaticEmbedder(folder, name="mine", query_prompt="oak ")
    again = pickle.loads(pickle.dumps(embedder))
    assert (again.name, again.query_prompt, again.document_prompt) == ("mine", "oak ", "")
    assert list(again.embed_query("elm")) == list(embedder.embed(["oak elm"])[0])
    assert repr(embedder_named(f"static:{folder}")) == "StaticEmbedder('words')"


def test_long_texts_are_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder = StaticEmbedder(static_folder(tmp_path / "words"))
    with caplog.at_level(logging.WARNING, "hedgerow.embedding"):
        embedder.embed(["oak " * 512])
        embedder.embed(["oak " * 513, "elm"])
        embedder.embed(["oak " * 513])
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 2 texts have more than the 512 word pieces that count for the model words; index "
        "shorter chunks to embed all of them. Further texts are cut without a warning"
    ]


def test_a_vocabulary_of_lines_will_do(tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "words")
    expected = StaticEmbedder(folder).embed(["Oaks in winter"])[0]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    assert list(StaticEmbedder(folder).embed(["Oaks in winter"])[0]) == list(expected)


def test_folders_without_a_table_say_why(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidInputError, match="there is no folder"):
        StaticEmbedder(tmp_path / "none")
    for change, message in [
        (
            lambda folder: (folder / "tokenizer.json").unlink(),
            "it has no tokenizer.json or vocab.txt",
        ),
        (
            lambda folder: (folder / "tokenizer.json").write_text("{"),
            "tokenizer.json cannot be read",
        ),
        (lambda folder: (folder / "model.safetensors").unlink(), "No such file"),
        (
            lambda folder: (folder / "model.safetensors").write_text("x"),
            "is not one, or is cut off",
        ),
    ]:
        folder = static_folder(tmp_path / "words")
        change(folder)
        with pytest.raises(hr.HedgerowError, match=message) as raised:
            StaticEmbedder(folder)
        assert raised.value.code == "model_unavailable"
