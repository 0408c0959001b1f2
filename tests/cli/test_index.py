"""`hedgerow index`: its counts, and its reports of skipped files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, failed, ok, run

pytestmark = pytest.mark.usefixtures("in_examples")


def test_reports_counts_as_json() -> None:
    report = as_json("index", "notes", "--db", "fresh.db")
    assert report.pop("seconds") >= 0
    chunks = report["chunks"]
    assert report == {
        "db": "fresh.db",
        "files": 35,
        "removedFiles": 0,
        "ignored": 0,
        "chunks": chunks,
        "added": chunks,
        "changed": 0,
        "unchanged": 0,
        "removed": 0,
        "skipped": [],
    }
    assert chunks > 60


def test_names_what_was_left_out_and_goes_on(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\ntext\n")
    (folder / "bad.md").write_bytes(b"\xff\xff")
    (folder / "empty.txt").write_text("")
    (folder / "lines.jsonl").write_text('{"content": "x"}\n' + "{\n" * 5)
    (folder / "picture.png").write_bytes(b"")
    args = ["index", str(folder), "--db", str(db)]
    result = run(*args)
    assert result.exit_code == 0
    assert "2 chunks added" in result.stdout
    assert "Skipped 1 file of another kind; --verbose names them." in result.stdout
    assert f"{folder.as_posix()}/bad.md: the file is not UTF-8" in result.stderr
    assert "empty.txt: the file is empty" in result.stderr
    assert "lines.jsonl:2: not JSON" in result.stderr
    assert "and 2 more; --json names them all" in result.stderr
    assert len(as_json(*args)["skipped"]) == 7
    strict = run(*args, "--strict")
    assert strict.exit_code == 1
    assert "lines.jsonl:2" in strict.stderr


def test_nothing_to_read_and_nothing_readable_differ(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    db = str(tmp_path / "x.db")
    assert ok("index", str(tmp_path / "none"), "--db", db).startswith("Nothing to index:")
    (tmp_path / "none" / "bad.md").write_bytes(b"\xff\xff")
    result = run("index", str(tmp_path / "none"), "--db", db)
    assert result.exit_code == 1
    assert "bad.md: the file is not UTF-8" in result.stderr
    (tmp_path / "none" / "bad.md").unlink()
    (tmp_path / "none" / "bad.jsonl").write_text("{\n")
    assert run("index", str(tmp_path / "none"), "--db", db).exit_code == 1


def test_says_what_was_removed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    args = ["index", str(tmp_path), "--db", str(tmp_path / "x.db")]
    ok(*args)
    (tmp_path / "a.md").unlink()
    assert "Removed 1 chunk that no file holds (1 file gone)." in ok(*args)


def test_what_is_passed_by_is_named_on_request(tmp_path: Path) -> None:
    for name in ("a.md", "b.png", ".hidden.md", "drafts/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    args = ["index", str(tmp_path), "--db", str(tmp_path / "x.db"), "--exclude", "drafts"]
    result = run(*args, "--verbose")
    base = tmp_path.as_posix()
    assert result.stderr.splitlines() == [
        f"Skipped (hidden): {base}/.hidden.md",
        f"Skipped (other): {base}/b.png",
        f"Skipped (excluded): {base}/drafts/",
    ]
    assert "Skipped 1 file of another kind, 1 hidden name, 1 excluded name." in result.stdout
    counts = as_json(*args, "--verbose")
    assert counts["named"][0] == {"path": f"{base}/.hidden.md", "code": "hidden"}
    assert as_json(*args, "--include", "drafts")["added"] == 1


def test_a_folder_that_lost_everything_needs_an_option(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name in "abc":
        (tmp_path / "notes" / f"{name}.md").write_text("x")
    args = ["index", str(tmp_path / "notes"), "--db", str(tmp_path / "x.db")]
    ok(*args)
    for name in "abc":
        (tmp_path / "notes" / f"{name}.md").unlink()
    result = run(*args)
    assert result.exit_code == 1
    assert "the index has 3 files from there" in result.stderr
    assert "--allow-empty" in result.stderr
    assert "Removed 3 chunks that no file holds (3 files gone)." in ok(*args, "--allow-empty")


def test_a_note_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# T\x1b[31m\n\nred \x1b]0;title\x07 text \u202e\n")
    db = str(tmp_path / "x.db")
    ok("index", str(tmp_path), "--db", db)
    text = ok("search", "red", "--db", db, "--explain")
    assert not set("\x1b\x07\u202e") & set(text)
    assert r"red \x1b]0;title\x07 text" in text


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_no_link_leads_out_of_what_was_named(tmp_path: Path) -> None:
    for folder in ("named", "memory"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.md").write_text("badger\n")
        (tmp_path / folder / "folder").symlink_to(tmp_path / "private")
        (tmp_path / folder / "file.md").symlink_to(tmp_path / "private" / "p.md")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "p.md").write_text("badger\n")
    db = str(tmp_path / "x.db")
    assert as_json("index", str(tmp_path / "named"), "--db", db)["files"] == 1
    [hit] = as_json("search", "badger", "--db", db)["results"]
    assert hit["path"].endswith("named/own.md")
    root = str(tmp_path / "memory")
    assert as_json("index", "--root", root)["documents"] == 1
    [hit] = as_json("recall", "--root", root, "--topic", "badger")["results"]
    assert hit["provenance"]["file"] == "own.md"


def test_retokenize_gives_an_index_another_tokenizer(tmp_path: Path) -> None:
    db = str(tmp_path / "old.db")
    with hr.Index.open(db, tokenizer="porter unicode61") as index:
        index.upsert([hr.Chunk("a", "a.md", "刺猬在树篱下冬眠。")])
    refused = failed(2, "index", "notes", "--db", db, "--retokenize")
    assert "--retokenize reads no files" in refused
    assert ok("index", "--db", db, "--retokenize") == (
        f"{db} has the tokenizer words now, in place of porter unicode61.\n"
    )
    assert ok("index", "--db", db, "--retokenize") == f"{db} has the tokenizer words already.\n"
    answer = as_json("index", "--db", db, "--retokenize", "--tokenizer", "words")
    assert answer == {"db": db, "tokenizer": "words", "before": "words", "changed": False}
    assert "刺猬" in ok("search", "冬眠", "--db", db)


def test_a_stop_word_alone_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("oak\n")
    command = ("index", str(tmp_path / "a.md"), "--db", str(tmp_path / "x.db"), "--stopwords")
    assert "'de' is no list of stop words: give en+nl, en, nl, none" in failed(2, *command, "de")
    ok(*command, "de,")
    assert as_json("stats", "--db", str(tmp_path / "x.db"))["stopwords"] == ["de"]


def test_a_pipeline_of_an_index_points_to_search(tmp_path: Path) -> None:
    with hr.Index.open(tmp_path / "x.db") as index:
        index.upsert([hr.Chunk("a", "a.md", "oak")])
    result = run("query", "all", "--db", str(tmp_path / "x.db"))
    assert result.stdout == "No nodes, of 0.\n"
    assert "This file is an index of 1 chunk: search it with hedgerow search --db" in result.stderr
