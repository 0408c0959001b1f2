"""Why a memory is not among the results of a recall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from command_line import as_json, ok
from hedgerow import InvalidInputError, MemoryRoot
from memory_doubles import put


@pytest.fixture
def garden(tmp_path: Path) -> MemoryRoot:
    put(tmp_path, "notes/best.md", "# Hedge\n\nhedge hedge\n")
    put(tmp_path, "notes/next.md", "# Other\n\nA hedge among many other words of a longer note.\n")
    put(
        tmp_path, "notes/old.md", "---\nretracted: true\nretraction_reason: wrong bed\n---\nhedge\n"
    )
    put(tmp_path, "notes/slugs.md", "# Slugs\n\nbeer\n")
    put(tmp_path, "notes/empty.md", "---\nx: 1\n---\n")
    return MemoryRoot.open(tmp_path)


def test_a_result_has_its_rank(garden: MemoryRoot) -> None:
    found = garden.why_not("hedge", "best")
    assert (found.cut, found.result_rank, found.rank) == (None, 0, 0)
    assert str(found) == "notes/best.md is among the results: number 1."


def test_one_behind_the_limit_has_its_rank_and_the_score_it_lacked(garden: MemoryRoot) -> None:
    found = garden.why_not("hedge", "notes/next.md", limit=1)
    assert (found.cut, found.result_rank, found.rank) == ("limit", None, 1)
    assert found.score is not None
    assert found.needed is not None
    assert found.score <= found.needed
    assert str(found) == (
        f"notes/next.md is number 2, with a score of {found.score:.4f}; the last of 1 results has "
        f"{found.needed:.4f}."
    )


@pytest.mark.parametrize(
    ("file", "options", "cut", "reason"),
    [
        ("old", {}, "retracted", "notes/old.md does not hold (retracted: wrong bed); "
         "only a recall that includes superseded memories finds it."),
        ("next", {"types": ["decision"]}, "filtered",
         "notes/next.md is filtered out by type, tag or date."),
        ("slugs", {}, "no_match", "'notes/slugs.md#0' holds none of \"hedge\"."),
        ("empty", {}, "no_match", "notes/empty.md has no text that a recall could find."),
    ],
)  # fmt: skip
def test_what_keeps_a_memory_out_is_named(
    garden: MemoryRoot, file: str, options: Any, cut: str, reason: str
) -> None:
    put(garden.path, "decisions/d.md", "other words")
    found = garden.why_not("hedge", file, **options)
    assert found.cut == cut
    assert str(found) == reason


def test_a_file_that_cannot_be_read_says_so(garden: MemoryRoot) -> None:
    (garden.path / "notes/next.md").write_bytes(b"\xff\xfe")
    found = garden.why_not("hedge", "notes/next.md")
    assert found.cut == "unreadable"
    assert str(found).startswith("notes/next.md could not be read: the file is UTF-16")
    with pytest.raises(InvalidInputError, match="there is no memory"):
        garden.why_not("hedge", "nothing")


def test_the_command_says_it(garden: MemoryRoot) -> None:
    command = ["recall", "hedge", "--root", str(garden.path), "--why-not", "slugs"]
    assert ok(*command) == "'notes/slugs.md#0' holds none of \"hedge\".\n"
    told = as_json(*command, "--json")
    assert (told["file"], told["cut"]) == ("notes/slugs.md", "no_match")


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("notes/x.txt", "only Markdown is (.md)"),
        (".private/x.md", "its name, or that of a folder above it, begins with a dot"),
        ("notes/drafts/x.md", "hedgerow.json excludes it"),
    ],
)
def test_a_file_that_is_not_read_is_named(garden: MemoryRoot, file: str, reason: str) -> None:
    put(garden.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["drafts"]}')
    put(garden.path, file, "hedge")
    found = garden.why_not("hedge", file)
    assert (found.cut, found.reason) == ("passed_by", f"{file} is not read: {reason}.")


def test_paths_of_other_folders(garden: MemoryRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert garden.why_not("hedge", str(garden.path / "notes/best.md")).file == "notes/best.md"
    with pytest.raises(InvalidInputError, match="there is no memory"):
        garden.why_not("hedge", "x" * 300)
    monkeypatch.chdir(garden.path / "notes")
    assert garden.why_not("hedge", "best.md").file == "notes/best.md"


def test_within_a_scope_only_its_memories_count(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nscope: {user: ana}\n---\n# Hedge\n\nslugs\n")
    put(tmp_path, "b.md", "---\nscope: {user: ben}\n---\nhedge\n")
    with MemoryRoot.open(tmp_path, scope={"user": "ana"}) as root:
        assert root.why_not("hedge", "a").result_rank == 0
        assert str(root.why_not("beer", "a")) == "'a.md#0' holds none of \"beer\"."
        with pytest.raises(InvalidInputError, match="there is no memory"):
            root.why_not("hedge", "b")
