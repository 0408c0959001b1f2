"""Commands that take the embedder from the index instead of an option."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
import library_doubles
from command_line import as_json, failed, ok
from hub_double import Hub, install
from local_server import LocalServer, Reply
from retrieval_doubles import FnvEmbedder, fnv64

MODEL = "intfloat/e5-base-v2"
NAMED = f"sentence-transformers:{MODEL}"
PREFIX = 'Searched by keywords alone: n.db has vectors of the embedder "'


class Encoder(library_doubles.PromptedTransformer):
    """Fnv64, with a record of all encoded texts."""

    texts: list[str] = []  # noqa: RUF012 - what the tests look at

    def asked(self, form: str, inputs: list[str], prompt: str | None) -> Any:
        del form
        self.texts.extend((prompt or "") + text for text in inputs)
        return [fnv64(text) for text in inputs]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    return install(monkeypatch)


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub: Hub, libraries: None) -> Path:
    """Two notes, embedded with a cached model from the hub."""
    del libraries
    monkeypatch.setattr(sys.modules["sentence_transformers"], "SentenceTransformer", Encoder)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "hedge.md").write_text("# Hedges\n\nCut the hawthorn in winter.\n")
    (folder / "pond.md").write_text("# Pond\n\nWe watched the water freeze in winter.\n")
    hub.cached.add(MODEL)
    ok("index", "notes", "--db", "n.db", "--embedder", NAMED)
    Encoder.texts.clear()
    return folder


def indexed(name: str, server: LocalServer) -> None:
    server.answer = lambda request: Reply(
        {"embeddings": [fnv64(text) for text in request.body["input"]]}
    )
    Path("n.db").unlink()
    ok("index", "notes", "--db", "n.db", "--embedder", name)
    server.requests.clear()


def details(**changed: Any) -> None:
    """Change the embedder settings in the file, as the author of an index could."""
    with sqlite3.connect("n.db") as connection:
        [[text]] = connection.execute("SELECT value FROM settings WHERE name = 'embedder_details'")
        connection.execute(
            "UPDATE settings SET value = ? WHERE name = 'embedder_details'",
            (json.dumps(json.loads(text) | changed),),
        )
    connection.close()


def by_keywords(*args: str) -> str:
    """Return the notice of a search that falls back to keywords."""
    answer = as_json("search", "winter", "--db", "n.db", *args)
    assert (answer["trace"]["mode"], answer["count"]) == ("bm25", 2)
    [notice] = answer["notices"]
    shown = ok("search", "winter", "--db", "n.db", *args)
    assert shown.replace("\n", " ").startswith(notice.replace("\n", " ")[:40])
    return str(notice).replace(f"{Path.cwd()}/n.db", "n.db")


def test_a_search_uses_it_with_its_prompts() -> None:
    answer = as_json("search", "winter", "--db", "n.db")
    assert answer["trace"]["mode"] == "hybrid"
    assert all(hit["vectorSimilarity"] > 0 for hit in answer["results"])
    assert "notices" not in answer
    assert Encoder.texts == ["query: winter"]
    ok("search", "winter", "--db", "n.db", "--mode", "semantic", "--query-prompt", "ask: ")
    assert Encoder.texts[1:] == ["ask: winter"]


def test_keywords_alone_load_nothing() -> None:
    Encoder.loaded.clear()
    ok("search", "winter", "--db", "n.db", "--mode", "bm25")
    assert Encoder.loaded == []


def test_an_index_is_kept_up_to_date_with_it(notes: Path) -> None:
    Encoder.loaded.clear()
    assert "Embedded" not in ok("index", "notes", "--db", "n.db")
    assert Encoder.loaded == [], "there was nothing to embed"
    (notes / "new.md").write_text("# New\n\nA third note.\n")
    assert as_json("index", "notes", "--db", "n.db")["embedded"] == 1
    assert Encoder.texts == ["passage: New\nA third note.\n# New\n\nA third note."]


def test_prompts_may_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    del capsys
    ok("index", "--reembed", "--db", "n.db", "--embedder", NAMED, "--document-prompt", "text: ")
    assert Encoder.texts[0].startswith("text: Hedges")
    message = failed(1, "search", "winter", "--db", "n.db", "--embedder", NAMED)
    assert "give the embedder that prompt: --document-prompt 'text: '" in message
    named = ("--embedder", NAMED, "--document-prompt", "text: ")
    assert as_json("search", "winter", "--db", "n.db", *named)["trace"]["mode"] == "hybrid"
    assert as_json("search", "winter", "--db", "n.db")["trace"]["mode"] == "hybrid"


def test_prompts_go_with_an_embedder() -> None:
    ok("index", "notes", "--db", "plain.db")
    for command in (("search", "winter"), ("index", "notes")):
        message = failed(2, *command, "--db", "plain.db", "--query-prompt", "q")
        assert "--query-prompt and --document-prompt go with --embedder NAME." in message


def test_nothing_is_downloaded_for_a_file(hub: Hub) -> None:
    hub.cached.clear()
    notice = by_keywords()
    assert notice.startswith(
        f'{PREFIX}{MODEL}", which is not used: the model {MODEL} cannot be loaded: it has not been '
        "downloaded to this machine."
    )
    assert notice.endswith(f"To download it, name it: --embedder {NAMED}")
    assert hub.asked == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert by_keywords() == (
        f'{PREFIX}{MODEL}", which is not used: SentenceTransformerEmbedder needs the package '
        "sentence-transformers, which is not installed and comes with the extra "
        '"sentence-transformers"; run: pip install "hedgerow[sentence-transformers]"'
    )
    message = failed(2, "search", "winter", "--db", "n.db", "--mode", "semantic")
    assert "--mode semantic needs --embedder, which makes the vectors. /" in message
    assert 'run: pip install "hedgerow[sentence-transformers]"' in message


def test_a_model_that_cannot_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("weights of another shape")

    monkeypatch.setattr(sys.modules["sentence_transformers"], "SentenceTransformer", broken)
    assert "which is not used: it cannot be loaded (weights of another shape)" in by_keywords()


def test_a_folder_is_for_the_user_to_name(tmp_path: Path) -> None:
    """A model folder may contain code, and an attacker may send one along with a file."""
    (tmp_path / "models" / "own").mkdir(parents=True)
    Encoder.loaded.clear()
    for model in ("models/own", "./models/own", str(tmp_path / "models" / "own"), "../x"):
        details(model=model)
        assert by_keywords().endswith(
            "it is loaded from a folder, so name it yourself: --embedder "
            f"sentence-transformers:{model}"
        )
    # The library prefers a local folder over a model of the same name on the hub.
    (tmp_path / MODEL).mkdir(parents=True)
    details(model=MODEL)
    assert "it is loaded from a folder" in by_keywords()
    assert Encoder.loaded == []


def test_an_address_is_for_the_user_to_name(server: LocalServer) -> None:
    indexed(f"ollama:nomic-embed-text@{server.url}", server)
    assert by_keywords() == (
        f'{PREFIX}nomic-embed-text", which is not used: it sends texts to an address, so '
        "name it yourself: --embedder ollama:nomic-embed-text"
    )
    details(model=f"m@{server.url}")
    assert "so name it yourself: --embedder ollama:m@" in by_keywords()
    assert server.requests == []
    assert server.url not in Path("n.db").read_bytes().decode("latin-1").replace(
        f"m@{server.url}", ""
    )


@pytest.mark.parametrize("adapter", ["os", "", "model2vec\x1b[2J", "sentence-transformers:x"])
def test_an_adapter_of_the_files_own_making_is_none(adapter: str) -> None:
    details(adapter=adapter)
    Encoder.loaded.clear()
    notice = by_keywords()
    assert "so name it yourself" in notice or "does not say how to load it" in notice
    assert "\x1b" not in notice
    assert Encoder.loaded == []


def test_vectors_of_an_unknown_embedder_are_told() -> None:
    Path("n.db").unlink()
    with hr.Index.open("n.db") as index:
        chunks = [hr.Chunk(name, f"{name}.md", "winter") for name in "ab"]
        hr.Retriever(index, embedder=FnvEmbedder()).upsert(chunks)
    assert by_keywords() == (
        f'{PREFIX}fnv64", which is not used: the file does not say how to load it; name it with '
        f"--embedder ADAPTER:MODEL"
    )


def test_an_evaluation_uses_it() -> None:
    Path("q.jsonl").write_text('{"id": "1", "text": "winter"}\n')
    Path("j.tsv").write_text("1\tnotes/pond.md\t1\n")
    given = ("eval", "--db", "n.db", "--queries", "q.jsonl", "--qrels", "j.tsv")
    found = as_json(*given)
    assert {row["mode"] for row in found["results"]} == {"bm25", "hybrid"}
    assert Encoder.texts == ["query: winter"]


def test_an_evaluation_says_why_it_does_not(hub: Hub) -> None:
    Path("q.jsonl").write_text('{"id": "1", "text": "winter"}\n')
    Path("j.tsv").write_text("1\tnotes/pond.md\t1\n")
    given = ("eval", "--db", "n.db", "--queries", "q.jsonl", "--qrels", "j.tsv")
    hub.cached.clear()
    found = as_json(*given)
    assert {row["mode"] for row in found["results"]} == {"bm25"}
    assert "has not been downloaded to this machine" in found["notices"][0]
    assert "has not been downloaded to this machine" in ok(*given)
    assert "has not been downloaded" in failed(2, *given, "--modes", "semantic")
