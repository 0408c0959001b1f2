"""Commands with an embedder or a reranker, against a real server or without one."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, ok, run
from hedgerow.embedders import OllamaEmbedder, embedder_named
from hedgerow.rerankers import TEIReranker, reranker_named
from local_server import LocalServer, Reply, Request
from retrieval_doubles import fnv64


def ollama(request: Request) -> Reply:
    return Reply({"embeddings": [fnv64(text) for text in request.body["input"]]})


@pytest.fixture
def embedder_name(server: LocalServer) -> str:
    server.answer = ollama
    return f"ollama:fnv@{server.url}"


@pytest.fixture
def winter_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "hedge.md").write_text("# Hedges\n\nCut the hawthorn in winter.\n")
    (folder / "pond.md").write_text("# Pond\n\nWe watched the water freeze in winter.\n")
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
            f"{name!r} names no embedder; write ADAPTER:MODEL with one of local, model2vec, "
            "ollama, onnx, openai, sentence-transformers, static, as in "
            "model2vec:minishlab/potion-base-8M"
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
        self, winter_notes: Path, embedder_name: str, server: LocalServer
    ) -> None:
        out = ok("index", "notes", "--db", "n.db", "--embedder", embedder_name)
        assert "Embedded 2 chunks with fnv.\nThe index holds 2 chunks.\n" in out
        (winter_notes / "new.md").write_text("# New\n\nA third note.\n")
        out = ok("index", "notes", "--db", "n.db")
        assert (
            "1 chunk of them without a vector, which search by meaning does not find: "
            "add --embedder to make them." in out
        )
        counts = as_json("index", "notes", "--db", "n.db", "--embedder", embedder_name)
        assert counts["embedded"] == 1
        assert [len(body["input"]) for body in server.bodies] == [2, 1]

    def test_a_server_that_is_gone_leaves_the_files_indexed(
        self, winter_notes: Path, embedder_name: str, server: LocalServer
    ) -> None:
        assert winter_notes
        server.answer = lambda _: Reply({"error": "no such model"}, 404)
        result = run("index", "notes", "--db", "n.db", "--embedder", embedder_name)
        assert result.exit_code == 1
        assert "no such model" in result.stderr
        assert "hedge.md" in ok("search", "hawthorn", "--db", "n.db")


class TestSearch:
    @pytest.fixture(autouse=True)
    def indexed(self, winter_notes: Path, embedder_name: str) -> None:
        assert winter_notes
        ok("index", "notes", "--db", "n.db", "--embedder", embedder_name)

    def test_meaning_takes_part_with_an_embedder(self, embedder_name: str) -> None:
        answer = as_json("search", "pond winter", "--db", "n.db", "--embedder", embedder_name)
        assert answer["trace"]["mode"] == "hybrid"
        assert answer["trace"]["candidateK"] == 100
        assert [hit["path"] for hit in answer["results"]] == ["notes/pond.md", "notes/hedge.md"]
        assert all(hit["vectorSimilarity"] > 0 for hit in answer["results"])

    def test_explain_has_a_column_a_leg_and_the_steps(self, embedder_name: str) -> None:
        args = ["search", "pond winter", "--db", "n.db", "--embedder", embedder_name, "--explain"]
        shown = ok(*args, "--fusion", "score", "--group-by", "path", "--candidates", "5")
        header = next(line for line in shown.splitlines() if line.startswith("   hit "))
        assert header.split() == ["hit", "keywords", "meaning", "score"]
        row = next(line for line in shown.splitlines() if line.startswith("1  notes/pond.md#0"))
        assert "1st, BM25 " in row
        assert "100 % of the best: +1.0000" in row
        assert " deviations: +0.20" in row
        assert "mode hybrid, profile best, matching extended, fusion score, with nei" in shown
        steps = ["embed", "bm25", "vector", "fuse"]
        assert [line.split()[0] for line in shown.splitlines() if " ms  " in line] == steps
        shown = ok(*args, "--profile", "spec")
        assert "0.0328 (100 %)" in shown

    def test_multipliers_and_reranker_have_columns(self, server: LocalServer) -> None:
        server.answer = lambda request: Reply(
            [{"index": i, "score": float(i)} for i in range(len(request.body["texts"]))][::-1]
        )
        args = ["search", "list winter", "--db", "n.db", "--explain", "--profile", "spec"]
        shown = ok(*args, "--rerank", f"tei:{server.url}")
        assert "  multiplied by  " in shown
        assert "2.2 (the question asks for a fact and this is one)  0.000" in shown
        assert "  0.0355\n" in shown
        assert any(line.strip().startswith("rerank") for line in shown.splitlines()[-6:])

    def test_a_server_that_fails_is_said_above_the_results(
        self, embedder_name: str, server: LocalServer
    ) -> None:
        server.answer = lambda _: Reply({"error": "out of memory"}, 400)
        shown = run("search", "pond", "--db", "n.db", "--embedder", embedder_name).stdout
        assert shown.startswith("Search by meaning failed; these are the results without it.\n")
        assert "notes/pond.md" in shown

    def test_a_date_is_searched_for(self) -> None:
        args = ["search", "freeze 2 weeks ago", "--db", "n.db"]
        answer = as_json(*args, "--question-date", "2026-04-18")
        assert answer["trace"]["dateHints"] == ["2026/04/04"]
        assert '"2026 04 04"' in answer["match"]

    def test_meaning_needs_an_embedder(self) -> None:
        result = run("search", "pond", "--db", "n.db", "--mode", "semantic")
        assert result.exit_code == 2
        assert "--mode semantic needs --embedder, which makes the vectors." in result.stderr

    def test_nothing_found_says_what_was_tried(self) -> None:
        shown = ok("search", "zzzz yyyyy", "--db", "n.db")
        assert "Also tried, and compared with file names: yyyyy, zzzz yyyyy" in shown


class TestReembed:
    def test_all_vectors_are_replaced(self, winter_notes: Path, embedder_name: str) -> None:
        assert winter_notes
        ok("index", "notes", "--db", "n.db", "--embedder", embedder_name)
        other = embedder_name.replace(":fnv@", ":other@")
        refused = run("index", "notes", "--db", "n.db", "--embedder", other)
        assert refused.exit_code == 1
        assert "other" in refused.stderr
        assert "fnv" in refused.stderr
        out = ok("index", "--reembed", "--db", "n.db", "--embedder", other)
        assert out.startswith("Embedded 2 chunks of n.db in ")
        assert out.endswith(" with other, 64 dimensions; 2 vectors replaced.\n")
        counts = as_json("index", "--reembed", "--db", "n.db", "--embedder", embedder_name)
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
        result = run("index", "--reembed", "--db", str(path), "--embedder", "ollama:m")
        assert result.exit_code == 1
        assert f"there is no index at {path}; make it with: hedgerow index" in result.stderr
        assert not path.exists()

    def test_no_embedder_is_wrong_usage(self) -> None:
        result = run("index", "--reembed", "--db", "n.db")
        assert result.exit_code == 2
        assert "--embedder" in result.stderr
