"""Searching a root's lines for a text or a regular expression (spec/memory.md, "Grep")."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import hedgerow as hr
from memory_doubles import put


@pytest.fixture
def notes(root: hr.MemoryRoot) -> hr.MemoryRoot:
    """A root with three files."""
    put(root.path, "notes/oak.md", "# Oak\n\nThe oak stands.\nIt is old.\nOAK again.\n")
    put(
        root.path,
        "decisions/hedge.md",
        "---\ntags: [infra/k8s]\n---\n# Hedge\n\nNo oak (a.b) here.\n",
    )
    put(root.path, "notes/جدار.md", "سياج الحديقة\n刺猬在树篱下\ncafe\u0301\n")
    return root


def lines(root: hr.MemoryRoot, pattern: str, **options: Any) -> list[tuple[str, int, str]]:
    return [
        (one.file.rsplit("/", 1)[1], one.line, one.text) for one in root.grep(pattern, **options)
    ]


def test_lines_come_by_file_and_number(notes: hr.MemoryRoot) -> None:
    assert lines(notes, "oak") == [
        ("hedge.md", 6, "No oak (a.b) here."),
        ("oak.md", 3, "The oak stands."),
    ]
    found = notes.grep("oak", ignore_case=True, limit=2)
    assert (found.count, found.files, len(found)) == (4, 2, 2)
    assert found.root == str(notes.path)


def test_a_text_is_no_pattern_unless_asked(notes: hr.MemoryRoot) -> None:
    assert lines(notes, "(a.b)") == [("hedge.md", 6, "No oak (a.b) here.")]
    assert lines(notes, r"^OAK|old\.$", regex=True) == [
        ("oak.md", 4, "It is old."),
        ("oak.md", 5, "OAK again."),
    ]


def test_every_script_and_both_unicode_forms(notes: hr.MemoryRoot) -> None:
    for pattern, number in [("سياج", 1), ("树篱", 2), ("caf\u00e9", 3)]:
        assert [line for _, line, _ in lines(notes, pattern)] == [number]
    assert len(lines(notes, r"\p{Arabic}+", regex=True)) == 1


def test_lines_around(notes: hr.MemoryRoot) -> None:
    [one] = notes.grep("old", context=1)
    assert (one.before, one.after) == (("The oak stands.",), ("OAK again.",))
    [one] = notes.grep("OAK", context=20)
    assert (len(one.before), one.after) == (4, ())


def test_lines_around_several_are_shown_once(notes: hr.MemoryRoot) -> None:
    found = notes.grep("(?i)oak", regex=True, types=["note"], context=1)
    assert [(number, matches) for _, number, _, matches in found.lines()] == [
        (1, True),
        (2, False),
        (3, True),
        (4, False),
        (5, True),
    ]


def test_by_type_and_tag(notes: hr.MemoryRoot) -> None:
    assert [file for file, _, _ in lines(notes, "oak", types=["decision"])] == ["hedge.md"]
    assert [file for file, _, _ in lines(notes, "oak", tags=["infra"])] == ["hedge.md"]
    assert lines(notes, "oak", tags=["other"]) == []
    with pytest.raises(hr.InvalidInputError, match="no memories of the type"):
        notes.grep("oak", types=["decisoin"])


def test_changes_are_seen(notes: hr.MemoryRoot) -> None:
    assert lines(notes, "elm") == []
    put(notes.path, "notes/elm.md", "elm\n")
    assert lines(notes, "elm", sync=False) == []
    assert lines(notes, "elm") == [("elm.md", 1, "elm")]


def test_memories_that_do_not_hold_are_found(notes: hr.MemoryRoot) -> None:
    notes.retract("Hedge")
    assert "hedge.md" in [file for file, _, _ in lines(notes, "(a.b)")]


def test_files_that_cannot_be_read_are_named(notes: hr.MemoryRoot) -> None:
    (put(notes.path, "notes/bad.md", "x")).write_bytes(b"oak \xff\n")
    found = notes.grep("oak")
    assert [(skip.path, skip.code) for skip in found.unreadable] == [("notes/bad.md", "not_utf8")]


def test_an_empty_root(root: hr.MemoryRoot) -> None:
    found = root.grep("oak")
    assert (found.count, found.matches) == (0, ())


@pytest.mark.parametrize(
    ("pattern", "options", "message"),
    [
        ("", {}, "the pattern is empty"),
        ("a(", {"regex": True}, "no regular expression: unclosed group; to find it as it is"),
        (r"(?<=a)b", {"regex": True}, "look-around"),
        (r"(\w)\1", {"regex": True}, "backreferences"),
        ("(x{999}){999}", {"regex": True}, "KiB compiled; make it shorter"),
        ("a", {"context": 21}, "context"),
        ("a", {"limit": 0}, "limit"),
    ],
)
def test_what_cannot_be_searched_for_says_why(
    notes: hr.MemoryRoot, pattern: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(hr.InvalidInputError, match=message):
        notes.grep(pattern, **options)


def test_a_hostile_pattern_takes_no_time(root: hr.MemoryRoot) -> None:
    put(root.path, "notes/long.md", "a" * 200_000 + "\n")
    assert root.grep("(a+)+$b", regex=True).count == 0
    [one] = root.grep("a$", regex=True)
    assert len(one.text) <= 402
    assert one.text.startswith("…")


def test_a_scope_sees_its_own(tmp_path: Any) -> None:
    hr.MemoryRoot.init(tmp_path / "scoped")
    mine, other = (
        hr.MemoryRoot.open(tmp_path / "scoped", scope={"user": user}) for user in ("ana", "bo")
    )
    mine.remember("A secret oak.", title="Secret")
    assert mine.grep("oak").count == 1
    assert other.grep("oak").count == 0


def test_asynchronously(notes: hr.MemoryRoot) -> None:
    assert asyncio.run(notes.agrep("oak")) == notes.grep("oak")
