"""A root with a configured embedder is also searched by meaning."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import hedgerow.embedders
from hedgerow import HedgerowError, Index, InvalidInputError, MemoryRoot
from hedgerow.memory import files
from hedgerow.memory.doctor import diagnose
from memory_doubles import put
from model_folders import static_folder
from prompted_double import Adapter

ANIMALS = {"hedgehog": 0, "urchin": 0, "slug": 1, "snail": 1}


class ToyEmbedder:
    """An embedder that knows two kinds of animals, and counts the texts it embeds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.embedded = 0
        self.fails = False

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        if self.fails:
            raise HedgerowError("the model is away; try later", code="endpoint_unreachable")
        self.embedded += len(texts)
        return [
            [
                sum(animal in text.lower() for animal in ANIMALS if ANIMALS[animal] == kind)
                for kind in (0, 1)
            ]
            + [0.1]
            for text in texts
        ]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, ToyEmbedder]:
    made: dict[str, ToyEmbedder] = {}

    def named(name: str) -> ToyEmbedder:
        return made.setdefault(name, ToyEmbedder(name))

    monkeypatch.setattr(hedgerow.embedders, "embedder_named", named)
    return made


@pytest.fixture
def embedded_root(tmp_path: Path, models: dict[str, ToyEmbedder]) -> MemoryRoot:
    assert models == {}
    put(tmp_path, "a.md", "A hedgehog came by.")
    put(tmp_path, "b.md", "Slugs ate the hostas.")
    configure(tmp_path, {"adapter": "toy", "model": "one"})
    return MemoryRoot.open(tmp_path)


def configure(root: Path, embedder: object) -> None:
    put(root, "hedgerow.json", json.dumps({"schemaVersion": 1, "embedder": embedder}))


def test_finds_what_is_put_in_other_words(embedded_root: MemoryRoot) -> None:
    best = embedded_root.recall("urchin").results[0]
    assert (best.file, best.parts.driver) == ("a.md", "hybrid:a.md")
    assert 0 <= best.parts.retrieval <= 1
    assert embedded_root.retrieval == "hybrid, with toy:one"


def test_only_what_is_new_is_embedded(
    embedded_root: MemoryRoot, models: dict[str, ToyEmbedder]
) -> None:
    embedded_root.sync()
    assert models["toy:one"].embedded == 2
    put(embedded_root.path, "c.md", "A snail.")
    embedded_root.recall("urchin")
    assert models["toy:one"].embedded == 4  # the new memory and the query
    embedded_root.recall("urchin")
    assert models["toy:one"].embedded == 4, "an equal query is embedded once"
    embedded_root.recall("snail")
    assert models["toy:one"].embedded == 5


def test_an_embedder_may_come_later_and_change(
    embedded_root: MemoryRoot, models: dict[str, ToyEmbedder]
) -> None:
    configure(embedded_root.path, None)
    assert [one.file for one in embedded_root.recall("urchin")] == []
    configure(embedded_root.path, "toy:two")
    assert embedded_root.recall("urchin").results[0].file == "a.md"
    configure(embedded_root.path, {"adapter": "toy", "model": "three"})
    assert embedded_root.recall("urchin").results[0].file == "a.md"
    embedded_root.close()
    with Index.open(embedded_root.path / ".hedgerow/index.db", read_only=True) as index:
        assert (index.stats().embedder, index.stats().vectors) == ("toy:three", 2)
    assert models["toy:three"].embedded == 3


def test_vectors_of_an_earlier_version_are_made_anew_with_prompts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "a.md", "A hedgehog came by.")
    with MemoryRoot.open(tmp_path, embedder=ToyEmbedder("e5")) as root:
        root.sync()
    embedder = Adapter()
    with (
        caplog.at_level(logging.WARNING, "hedgerow"),
        MemoryRoot.open(tmp_path, embedder=embedder) as root,
    ):
        assert root.recall("hedgehog").results[0].parts.driver == "hybrid:a.md"
        root.recall("urchin")
    assert [call[0].partition(": ")[0] for call in embedder.calls] == ["passage", "query", "query"]
    assert caplog.records == []


def test_objects_with_forms_will_do(tmp_path: Path) -> None:
    class TwoForms(ToyEmbedder):
        def embed_query(self, text: str) -> list[float]:
            return self.embed([text])[0]

        embed_documents = ToyEmbedder.embed

    put(tmp_path, "a.md", "A hedgehog came by.")
    with MemoryRoot.open(tmp_path, embedder=TwoForms("two")) as root:
        assert root.recall("urchin").results[0].parts.driver == "hybrid:a.md"


def test_keywords_answer_when_it_fails_and_a_warning_says_so(
    embedded_root: MemoryRoot, models: dict[str, ToyEmbedder], caplog: pytest.LogCaptureFixture
) -> None:
    embedded_root.recall("x")
    models["toy:one"].fails = True
    put(embedded_root.path, "c.md", "A snail.")
    with caplog.at_level(logging.WARNING, "hedgerow"):
        [one] = embedded_root.recall("snail")
    assert (one.file, one.parts.driver) == ("c.md", "keywords:c.md")
    assert "searched by keywords alone: the model is away" in caplog.text
    with pytest.raises(HedgerowError, match="away") as raised:
        embedded_root.sync()
    assert raised.value.code == "endpoint_unreachable"
    models["toy:one"].fails = False
    assert embedded_root.recall("slugs").results[0].parts.driver.startswith("hybrid")


def test_the_root_is_free_while_an_embedder_works(
    embedded_root: MemoryRoot, models: dict[str, ToyEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    embedded_root.recall("x")
    meanwhile: list[object] = []
    embed = ToyEmbedder.embed

    def slow(self: ToyEmbedder, texts: Sequence[str], /) -> list[list[float]]:
        if not meanwhile:
            meanwhile.append(None)
            put(embedded_root.path, "d.md", "An urchin.")
            with MemoryRoot.open(embedded_root.path) as other:
                meanwhile.append(other.sync().added)
                meanwhile.append([one.file for one in other.recall("urchin")])
                meanwhile.append(other.remember("A slug.", title="S").indexed)
                meanwhile.append(other.link("a.md", "b.md").a)
        return embed(self, texts)

    monkeypatch.setattr(ToyEmbedder, "embed", slow)
    put(embedded_root.path, "c.md", "A snail.")
    embedded_root.sync()
    # The other handle embedded only its query, and searched with the existing vectors.
    assert meanwhile[1:] == [1, ["d.md", "a.md", "b.md"], True, "a.md"]
    assert models["toy:one"].embedded == 3 + 1 + 3  # the initial texts, a query, and the new texts
    assert embedded_root.recall("urchin").results[0].parts.driver.startswith("hybrid")


def test_vectors_that_were_paid_for_are_kept_when_the_embedder_changes_and_fails(
    embedded_root: MemoryRoot, models: dict[str, ToyEmbedder], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hedgerow._retrieval import embedding  # noqa: PLC0415 - for this test

    monkeypatch.setattr(embedding, "_BLOCK", 1)
    embedded_root.sync()
    configure(embedded_root.path, "toy:two")
    models["toy:two"] = ToyEmbedder("toy:two")
    embed = ToyEmbedder.embed

    def once(self: ToyEmbedder, texts: Sequence[str], /) -> list[list[float]]:
        if self.embedded:
            raise HedgerowError("the model is away; try later", code="endpoint_unreachable")
        return embed(self, texts)

    monkeypatch.setattr(ToyEmbedder, "embed", once)
    with pytest.raises(HedgerowError, match="away"):
        embedded_root.sync()
    monkeypatch.setattr(ToyEmbedder, "embed", embed)
    embedded_root.sync()
    assert models["toy:two"].embedded == 2


def test_a_name_that_is_none_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "x")
    configure(tmp_path, "toy:one")
    with pytest.raises(InvalidInputError, match="ADAPTER:MODEL"):
        MemoryRoot.open(tmp_path).recall("x")


def test_pipelines_search_by_meaning_too(
    embedded_root: MemoryRoot, models: dict[str, ToyEmbedder], caplog: pytest.LogCaptureFixture
) -> None:
    result = embedded_root.query("search:urchin,k=1")
    assert (result.keys, result.warnings) == (["a.md"], [])
    assert embedded_root.query("search:snail,mode=semantic | limit:1").keys == ["b.md"]
    assert embedded_root.query("search:snail,mode=bm25").keys == []
    assert embedded_root.query("all | rank:snail,mode=hybrid").keys == ["b.md", "a.md"]
    models["toy:one"].fails = True
    with caplog.at_level(logging.WARNING, "hedgerow"):
        result = embedded_root.query("search:hedgehog,mode=hybrid")
    assert result.keys == ["a.md"]
    assert result.warnings == [
        "search: mode=hybrid has no ranking by meaning and searches by words alone"
    ]
    assert "the model is away" in caplog.text


def test_a_model_that_is_not_here_leaves_keywords(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root.path, "hedgerow.json", '{"schemaVersion": 1, "embedder": "model2vec:nobody/none"}')
    put(root.path, "notes/a.md", "The hedge is cut.\n")
    tried = []

    def load(name: str, **_: object) -> object:
        tried.append(name)
        raise HedgerowError(
            "the model nobody/none is not on this machine", code="model_unavailable"
        )

    monkeypatch.setattr("hedgerow.embedders.embedder_named", load)
    trusted = MemoryRoot.open(root.path, trust=True)
    for _ in range(2):
        found = trusted.recall("hedge")
        assert [one.file for one in found] == ["notes/a.md"]
        assert found.notices == (
            "Searched by keywords alone: the model nobody/none is not on this machine",
        )
    assert trusted.context("hedge").notices == found.notices
    assert len(trusted.recall("hedge", sync=False)) == 1
    assert tried == ["model2vec:nobody/none"]
    with pytest.raises(HedgerowError, match="not on this machine"):
        trusted.sync()


@pytest.mark.parametrize("embedder", ["onnx:/nowhere", "static:/nowhere.bin", "model2vec:/nowhere"])
def test_a_folder_that_is_gone_leaves_keywords(root: MemoryRoot, embedder: str) -> None:
    pytest.importorskip(
        {"onnx": "onnxruntime", "model2vec": "model2vec"}.get(embedder.partition(":")[0], "json")
    )
    put(root.path, "hedgerow.json", json.dumps({"schemaVersion": 1, "embedder": embedder}))
    put(root.path, "notes/a.md", "The hedge is cut.\n")
    trusted = MemoryRoot.open(root.path, trust=True)
    found = trusted.recall("hedge")
    assert [one.file for one in found] == ["notes/a.md"]
    assert found.notices[0].startswith("Searched by keywords alone: there is no ")
    said = diagnose(root.path, trust=True).index.message
    assert (
        f"Retrieval: hybrid, with {embedder}. Keywords alone are searched while it fails: " in said
    )
    assert "there is no " in said


@pytest.mark.parametrize(
    ("embedder", "reason"),
    [
        ("static:empty", "the folder .*empty has no usable model: it has no tokenizer.json or vocab.txt"),
        ("local:nothing", "no .*"),
        ("ollama:nobody@http://127.0.0.1:9", "http://127.0.0.1:9/.*"),
        ("model2vec:nobody/none", ".*model2vec.*|the model nobody/none cannot be loaded: it has not been downloaded .*"),
    ],
)  # fmt: skip
def test_doctor_says_that_keywords_alone_are_searched(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch, embedder: str, reason: str
) -> None:
    (root.path / "empty").mkdir()
    monkeypatch.chdir(root.path)
    put(root.path, "hedgerow.json", json.dumps({"schemaVersion": 1, "embedder": embedder}))
    index = diagnose(root.path, trust=True).index
    named = re.escape(embedder).replace("empty", ".*empty")
    said = f"Retrieval: hybrid, with {named}. Keywords alone are searched while it fails: {reason}."
    assert re.search(said, index.message)
    assert index.is_warning


def test_doctor_says_that_recall_fails_with_an_invalid_embedder(root: MemoryRoot) -> None:
    put(root.path, "hedgerow.json", '{"schemaVersion": 1, "embedder": "toy:one"}')
    said = diagnose(root.path, trust=True).index.message
    assert "Retrieval: hybrid, with toy:one. Recall fails: " in said
    with pytest.raises(InvalidInputError) as raised:
        MemoryRoot.open(root.path, trust=True).recall("x")
    assert raised.value.message in said


def test_doctor_says_hybrid_of_a_model_that_works(root: MemoryRoot, tmp_path: Path) -> None:
    folder = static_folder(tmp_path / "model")
    put(
        root.path, "hedgerow.json", json.dumps({"schemaVersion": 1, "embedder": f"static:{folder}"})
    )
    said = diagnose(root.path, trust=True).index.message
    assert said.endswith(f"Retrieval: hybrid, with static:{folder}.")
