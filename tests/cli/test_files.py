"""`hedgerow stats`, `check` and `backup`, and HEDGEROW_DB."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from command_line import as_json, failed, failed_as_json, ok, run
from index_doubles import run_sql, without_ledger

COMMANDS = [
    ["stats"],
    ["check"],
    ["backup", "copy.db"],
    ["show", "a"],
    ["delete", "a", "--yes"],
]


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an index of two paths."""
    monkeypatch.chdir(tmp_path)
    with hr.Index.open("garden.db") as index:
        index.upsert(
            hr.Chunk(f"{path}#{n}", path, f"oak {n}", embedding=[n, 1.0])
            for path in ("a.md", "b.md")
            for n in range(2)
        )
    return tmp_path


class TestStats:
    def test_as_text(self, garden: Path) -> None:
        size = (garden / "garden.db").stat().st_size / 1000
        with hr.Index.open("garden.db") as index:
            stats = index.stats()
        assert ok("stats", "--db", "garden.db").splitlines() == [
            "index       garden.db",
            "chunks      4, of 2 paths",
            "vectors     4, 2 dimensions",
            f"size        {size:.1f} KB",
            "tokenizer   words",
            "stop words  en+nl",
            f"schema      version {stats.schema_version}, read by SQLite {stats.sqlite_version}",
        ]

    def test_as_json_has_what_is_of_the_file(self, garden: Path) -> None:
        answer = as_json("stats", "--db", "garden.db")
        assert list(answer) == [
            "chunks", "paths", "sizeBytes", "tokenizer", "schemaVersion", "sqliteVersion",
            "dimensions", "embedder", "vectors", "metadataIndex", "db", "stopwords",
        ]  # fmt: skip
        with hr.Index.open(garden / "garden.db") as index:
            stats = index.stats()
            told = {
                re.sub("_([a-z])", lambda one: one[1].upper(), name): name for name in dir(stats)
            }
            values = {name: getattr(stats, told[name]) for name in list(answer)[:-2]}
        given = {"metadataIndex": [], "stopwords": "en+nl"}
        assert answer == {"db": "garden.db"} | values | given

    def test_declared_keys(self, garden: Path) -> None:
        hr.Index.open(garden / "garden.db", metadata_index=["year", "tags"]).close()
        assert ok("stats", "--db", "garden.db").endswith("\ndeclared    year, tags\n")
        assert as_json("stats", "--db", "garden.db")["metadataIndex"] == ["year", "tags"]

    @pytest.mark.parametrize(
        ("stopwords", "text", "value"),
        [
            ("nl", "nl", "nl"),
            ("none", "none", "none"),
            (["oak"], "1 word: oak", ["oak"]),
            (["the", "a\x1b"], r"2 words: a\x1b, the", ["a\x1b", "the"]),
            ("ihgfedcba", "9 words: a, b, c, d, e, f, g, h, ...", list("abcdefghi")),
        ],
    )
    def test_stop_words(self, garden: Path, stopwords: Any, text: str, value: Any) -> None:
        chosen = list(stopwords) if len(stopwords) == 9 else stopwords
        hr.Index.open(garden / "own.db", stopwords=chosen).close()
        assert f"\nstop words  {text}\n" in ok("stats", "--db", "own.db")
        assert as_json("stats", "--db", "own.db")["stopwords"] == value

    def test_of_an_empty_index_made_by_a_named_embedder(self, garden: Path) -> None:
        hr.Index.open(garden / "empty.db").close()
        assert "chunks      0, of 0 paths\nvectors     none\n" in ok("stats", "--db", "empty.db")


class TestCheck:
    def test_a_sound_index(self, garden: Path) -> None:
        text = "hedgerow check: ok\nindex: ok: garden.db, 4 chunks\n"
        assert ok("check", "--db", "garden.db") == text
        assert as_json("check", "--db", "garden.db") == {
            "ok": True, "db": "garden.db", "chunks": 4, "readOnly": False, "problems": [],
        }  # fmt: skip
        assert [path.name for path in garden.iterdir()] == ["garden.db"]

    def test_damage_is_exit_code_1_and_named(self, garden: Path) -> None:
        run_sql(garden / "garden.db", "UPDATE knowledge_chunks SET content = 'elm' WHERE row = 1")
        with hr.Index.open(garden / "garden.db") as index:
            problems = index.check()
        assert problems
        result = run("check", "--db", "garden.db")
        assert (result.exit_code, result.stderr) == (1, "")
        assert result.stdout.splitlines() == [
            "hedgerow check: attention needed",
            *(f"index: FAILED: {problem}" for problem in problems),
        ]
        result = run("check", "--db", "garden.db", "--json")
        assert result.exit_code == 1
        found = json.loads(result.stdout)
        assert (found["ok"], found["problems"]) == (False, problems)

    def test_an_older_file_is_not_brought_up_to_date(self, garden: Path) -> None:
        without_ledger(garden / "garden.db")
        before = (garden / "garden.db").read_bytes()
        assert failed_as_json(1, "check", "--db", "garden.db")["code"] == "index_read_only"
        assert (garden / "garden.db").read_bytes() == before


class TestBackup:
    def test_is_an_index_of_its_own(self, garden: Path) -> None:
        answer = as_json("backup", "copy.db", "--db", "garden.db")
        assert answer.pop("seconds") >= 0
        size = (garden / "copy.db").stat().st_size
        expected = {"db": "garden.db", "backup": "copy.db", "chunks": 4, "sizeBytes": size}
        assert answer == expected
        with hr.Index.open("copy.db") as copy, hr.Index.open("garden.db") as index:
            assert list(copy.chunks()) == list(index.chunks())

    def test_says_what_it_did(self, garden: Path) -> None:
        text = ok("backup", str(garden / "copy.db"), "--db", "garden.db")
        assert text.startswith(f"Copied garden.db to {garden / 'copy.db'} in 0.")
        assert " s: 4 chunks, " in text

    @pytest.mark.parametrize("target", ["garden.db", "note.txt"])
    def test_replaces_nothing(self, garden: Path, target: str) -> None:
        (garden / "note.txt").write_text("mine")
        before = (garden / target).read_bytes()
        error = failed_as_json(1, "backup", target, "--db", "garden.db")
        assert error["code"] == "backup_exists"
        assert "give the backup another name, or remove it first" in error["message"]
        assert (garden / target).read_bytes() == before

    @pytest.mark.usefixtures("garden")
    def test_asks_for_its_target(self) -> None:
        assert "Missing argument 'TARGET'" in failed(2, "backup", "--db", "garden.db")


class TestWhichFile:
    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
    def test_it_is_asked_for_and_must_be_there(self, garden: Path, command: list[str]) -> None:
        text = failed(2, *command)
        assert "Missing option '--db'" in text
        error = failed_as_json(1, *command, "--db", "none.db")
        assert error["code"] == "index_not_found"
        assert "make it with: hedgerow index PATH --db none.db" in error["message"]
        assert failed_as_json(1, *command, "--db", ".")["code"] == "index_io"
        assert [path.name for path in garden.iterdir()] == ["garden.db"]
        (garden / "empty.db").touch()
        error = failed_as_json(1, *command, "--db", "empty.db")
        assert (error["code"], error["message"]) == (
            "index_not_found",
            "the index empty.db is an empty file; make it with: hedgerow index PATH --db empty.db",
        )

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
    def test_the_variable_is_the_default(
        self, garden: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEDGEROW_DB", str(garden / "garden.db"))
        if command[0] in {"show", "delete"}:
            command = [command[0], "a.md#0", *command[2:]]
        assert as_json(*command)["db"] == str(garden / "garden.db")
        monkeypatch.setenv("HEDGEROW_DB", "none.db")
        assert failed_as_json(1, *command)["code"] == "index_not_found"
        with hr.Index.open("other.db"):
            pass
        found = run(*command, "--db", "other.db")
        assert "none.db" not in found.output

    def test_of_every_command_with_an_index(
        self, garden: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEDGEROW_DB", "garden.db")
        assert as_json("search", "oak")["db"] == "garden.db"
        (garden / "notes").mkdir()
        (garden / "notes" / "elm.md").write_text("Elm.")
        assert as_json("index", "notes")["db"] == "garden.db"
        assert as_json("search", "elm")["count"] == 1
        for blank in ("", " "):
            monkeypatch.setenv("HEDGEROW_DB", blank)
            assert "Missing option '--db'" in failed(2, "search", "oak")
            assert "--db must not be empty" in failed(2, "search", "oak", "--db", blank)

    @pytest.mark.usefixtures("garden")
    def test_a_root_that_is_named_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ok("init", "--root", "memory")
        monkeypatch.setenv("HEDGEROW_DB", "garden.db")
        assert as_json("search", "oak", "--root", "memory")["results"] == []
        assert as_json("query", "all", "--root", "memory")["root"].endswith("memory")
        monkeypatch.setenv("HEDGEROW_MEMORY_ROOT", "memory")
        assert as_json("search", "oak")["db"] == "garden.db"
        assert as_json("run", "memory:search", "oak")["results"] == []
        assert as_json("run", "memory:index")["root"].endswith("memory")
        both = failed(2, "search", "oak", "--root", "memory", "--db", "garden.db")
        assert "--db and --root exclude each other" in both

    @pytest.mark.parametrize(
        "command",
        ["index", "search", "eval", "query", "link", "visit", "graph", "stats", "check"],
    )
    def test_help_names_the_variable(self, command: str) -> None:
        assert "[env var: HEDGEROW_DB" in " ".join(ok(command, "--help").split())
