"""A `~` that no shell expanded, as in the JSON of MCP clients, is the home folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hedgerow
from command_line import as_json, ok
from hedgerow import MemoryRoot
from hedgerow._checks import checked_path, from_home
from hedgerow.memory.config import root_from_environment
from hedgerow.memory.identity import user_folder
from memory_doubles import put


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with notes, and another folder as the current one."""
    home = tmp_path / "home"
    put(home, "notes/a.md", "Pears.\n")
    (tmp_path / "work").mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("HEDGEROW_MEMORY_ROOT", "HEDGEROW_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path / "work")
    return home


@pytest.mark.parametrize(
    ("path", "expanded"),
    [
        ("~", "{home}"),
        ("~/", "{home}/"),
        ("~/a b/~", "{home}/a b/~"),
        ("~ana/x", "~ana/x"),
        ("~x", "~x"),
        ("a/~/b", "a/~/b"),
        ("./~/b", "./~/b"),
        ("", ""),
    ],
)
def test_only_a_first_part_that_is_a_tilde_is_home(home: Path, path: str, expanded: str) -> None:
    assert from_home(path) == expanded.format(home=home)
    if path:
        assert checked_path(path, "path") == Path(expanded.format(home=home))
        assert checked_path(Path(path), "path") == Path(path)


def test_roots_are_in_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"Memory root: {home / 'memory'}" in ok("init", "~/memory")
    assert f"Memory root: {home / 'other'}" in ok("init", "--root", "~/other")
    put(home, "memory/notes/b.md", "Quinces.\n")
    for root in (["--root", "~/memory"], ["--root=~/memory"]):
        assert (
            as_json("recall", "quinces", *root)["results"][0]["provenance"]["file"] == "notes/b.md"
        )
    assert MemoryRoot.open("~/memory").path == home / "memory"
    root = hedgerow.connect("~/memory")
    assert len(root.recall("quinces")) == 1
    assert ok("import", "obsidian", "~/notes", "--root", "~/memory").startswith("New")
    assert root.import_from("~/notes", "obsidian").counts == {"new": 1}
    monkeypatch.setenv("HEDGEROW_MEMORY_ROOT", "~/memory")
    assert root_from_environment() == home / "memory"
    assert as_json("status")["root"] == str(home / "memory")
    assert list(Path.cwd().iterdir()) == []


def test_files_are_in_the_home_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ok("index", "~/notes", "--db", "~/notes.db")
    monkeypatch.setenv("HEDGEROW_DB", "~/notes.db")
    assert as_json("search", "pears")["results"][0]["path"] == f"{home}/notes/a.md"
    ok("search", "pears", "--report", "~/report.html")
    ok("backup", "~/copy.db")
    put(home, "queries.jsonl", json.dumps({"id": "q", "text": "pears"}))
    put(home, "qrels.tsv", f"q\t{home}/notes/a.md\t1\n")
    files = ["--queries", "~/queries.jsonl", "--qrels", "~/qrels.tsv"]
    ok("eval", *files, "--per-query", "~/figures.tsv", "--chart", "~/chart.svg", "--by", "path")
    made = {"notes.db", "report.html", "copy.db", "figures.tsv", "chart.svg"}
    assert made <= {one.name for one in home.iterdir()}
    assert list(Path.cwd().iterdir()) == []


def test_the_folders_of_the_user_are_in_the_home_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_CONFIG_DIR", "~/config")
    assert user_folder() == home / "config"
