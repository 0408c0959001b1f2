"""Commands with an embedder or a reranker: a real server in the test, or none at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import hedgerow as hr
from hedgerow.cli import cli
from hedgerow.embedders import OllamaEmbedder, embedder_named
from hedgerow.rerankers import TEIReranker, reranker_named
from local_server import LocalServer, Reply, Request
from retrieval_doubles import fnv64


def run(*args: str) -> Result:
    result = CliRunner().invoke(cli, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ok(*args: str) -> str:
    result = run(*args)
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return result.stdout


def ollama(request: Request) -> Reply:
    return Reply({"embeddings": [fnv64(text) for text in request.body["input"]]})


@pytest.fixture
def embedder(server: LocalServer) -> str:
    server.answer = ollama
    return f"ollama:fnv@{server.url}"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "hedge.md").write_text("# Hedges\n\nCut the hawthorn in winter.\n")
    (folder / "pond.md").write_text("# Pond\n\nThe water froze in winter.\n")
    return folder


class TestNames:
    def test_a_name_is_an_adapter_a_model_and_maybe_a_url(self, server: LocalServer) -> None:
        embedder = embedder_named(f"ollama:user/model:tag@{server.url}")
        server.closes(embedder)
        assert isinstance(embedder, OllamaEmbedder)
        assert embedder.model == "user/model:tag"
        reranker = reranker_named(f"tei:{server.url}")
        server.closes(reranker)
        assert isinstance(reranker, TEIReranker)

    @pytest.mark.parametrize("name", ["", "ollama", "ollama:", "word2vec:x", ":x"])
    def test_what_is_no_name_says_what_is(self, name: str) -> None:
        with pytest.raises(hr.InvalidInputError) as info:
            embedder_named(name)
        assert str(info.value) == (
            f"{name!r} names no embedder; write ADAPTER:MODEL with one of model2vec, ollama, "
            "openai, sentence-transformers, as in model2vec:minishlab/potion-base-8M"
        )
        with pytest.raises(hr.InvalidInputError, match="with one of cross-encoder, tei, as in tei"):
            reranker_named(name)

    def test_what_runs_here_has_no_url(self) -> None:
        with pytest.raises(hr.InvalidInputError, match="write model2vec:potion"):
            embedder_named("model2vec:potion@http://localhost")
        with pytest.raises(hr.InvalidInputError, match="write cross-encoder:m"):
            reranker_named("cross-encoder:m@http://localhost")


class TestIndex:
    def test_only_what_has_no_vector_is_embedded(
        self, notes: Path, embedder: str, server: LocalServer
    ) -> None:
        out = ok("index", "notes", "--db", "n.db", "--embedder", embedder)
        assert "Embedded 2 chunks with fnv.\nThe index holds 2 chunks.\n" in out
        (notes / "new.md").write_text("# New\n\nA third note.\n")
        out = ok("index", "notes", "--db", "n.db")
        assert (
            "1 chunk of them without a vector, which search by meaning does not find: "
            "add --embedder to give them one." in out
        )
        counts = json.loads(ok("index", "notes", "--db", "n.db", "--embedder", embedder, "--json"))
        assert counts["embedded"] == 1
        assert [len(body["input"]) for body in server.bodies] == [2, 1]

    def test_a_server_that_is_gone_leaves_the_files_indexed(
        self, notes: Path, embedder: str, server: LocalServer
    ) -> None:
        assert notes
        server.answer = lambda _: Reply({"error": "no such model"}, 404)
        result = run("index", "notes", "--db", "n.db", "--embedder", embedder)
        assert result.exit_code == 1
        assert "no such model" in result.stderr
        assert "hedge.md" in ok("search", "hawthorn", "--db", "n.db")


class TestReembed:
    def test_all_vectors_are_replaced(self, notes: Path, embedder: str) -> None:
        assert notes
        ok("index", "notes", "--db", "n.db", "--embedder", embedder)
        other = embedder.replace(":fnv@", ":other@")
        refused = run("index", "notes", "--db", "n.db", "--embedder", other)
        assert refused.exit_code == 1
        assert "other" in refused.stderr
        assert "fnv" in refused.stderr
        out = ok("reembed", "--db", "n.db", "--embedder", other)
        assert out.startswith("Embedded 2 chunks of n.db in ")
        assert out.endswith(" with other, 64 dimensions; 2 vectors replaced.\n")
        counts: Any = json.loads(ok("reembed", "--db", "n.db", "--embedder", embedder, "--json"))
        counts.pop("seconds")
        assert counts == {
            "db": "n.db",
            "embedded": 2,
            "chunks": 2,
            "dimensions": 64,
            "embedder": "fnv",
            "replaced": 2,
        }

    def test_an_index_that_is_not_there_is_not_made(self, tmp_path: Path) -> None:
        path = tmp_path / "none.db"
        result = run("reembed", "--db", str(path), "--embedder", "ollama:m")
        assert result.exit_code == 1
        assert f"there is no index at {path}; make it with: hedgerow index" in result.stderr
        assert not path.exists()

    def test_no_embedder_is_wrong_usage(self) -> None:
        result = run("reembed", "--db", "n.db")
        assert result.exit_code == 2
        assert "--embedder" in result.stderr
