"""Discovery of files."""

from __future__ import annotations

import inspect
import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import InvalidInputError
from hedgerow._engine import _title_from_name
from hedgerow.ingest import Rules, discover
from hedgerow.ingest.source import list_folder, passes_by

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX")


def put(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"Text of {name}.\n")


def found(*paths: Path | str) -> list[str]:
    return [source.path for source in discover([str(path) for path in paths]).sources]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `notes` in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


class TestDiscover:
    def test_finds_our_kinds_in_any_case_in_order_of_names(self, notes: Path) -> None:
        put(notes, "b.md", "a/z.TXT", "a/y.markdown", "c.rst", "d.jsonl", "e.ndjson", "f.html")
        result = discover(["notes"])
        assert [source.path for source in result.sources] == [
            "notes/a/y.markdown",
            "notes/a/z.TXT",
            "notes/b.md",
            "notes/c.rst",
            "notes/d.jsonl",
            "notes/e.ndjson",
        ]
        assert result.passed_by["other"] == 1
        assert result.skips == []

    def test_paths_are_as_given(self, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(notes, "a.md")
        assert found("notes/") == ["notes/a.md"]
        assert found("./notes") == ["notes/a.md"]
        assert found(notes) == [f"{notes.as_posix()}/a.md"]
        monkeypatch.chdir(notes)
        assert found(".") == ["a.md"]
        assert found("../notes") == ["../notes/a.md"]

    def test_hidden_names_and_folders_of_tools_are_passed_by(self, notes: Path) -> None:
        put(
            notes,
            ".git/a.md",
            ".hidden.md",
            "node_modules/a.md",
            "cache/a.md",
            "cache/CACHEDIR.TAG",
            "env/a.md",
            "env/pyvenv.cfg",
            "build/a.md",
        )
        assert found("notes") == ["notes/build/a.md"]

    def test_what_is_named_is_taken(self, notes: Path) -> None:
        put(notes, ".hidden/a.md", "plain.cfg", ".b.md")
        assert found("notes/.hidden", "notes/plain.cfg", "notes/.b.md") == [
            "notes/.hidden/a.md",
            "notes/plain.cfg",
            "notes/.b.md",
        ]

    def test_each_file_is_found_once(self, notes: Path) -> None:
        put(notes, "a/x.md")
        assert found("notes", "notes/a", notes, "notes/a/x.md") == ["notes/a/x.md"]

    def test_the_same_name_in_two_folders_is_two_paths(self, notes: Path) -> None:
        put(notes, "a/x.md", "b/x.md")
        assert found("notes/a", "notes/b") == ["notes/a/x.md", "notes/b/x.md"]

    @posix
    def test_links_lead_nowhere_unless_they_are_named(self, notes: Path) -> None:
        put(notes, "a/x.md")
        put(notes.parent, "elsewhere/y.md")
        (notes / "a" / "loop").symlink_to(notes)
        (notes / "link").symlink_to(notes.parent / "elsewhere")
        (notes / "z.md").symlink_to(notes.parent / "elsewhere" / "y.md")
        (notes / "broken.md").symlink_to("nowhere.md")
        result = discover(["notes"], named=True)
        assert [source.path for source in result.sources] == ["notes/a/x.md"]
        assert (result.skips, result.passed_by) == ([], {"link": 4})
        assert [one.path for one in result.named] == [
            "notes/a/loop", "notes/broken.md", "notes/link", "notes/z.md",
        ]  # fmt: skip
        assert found("notes/link", "notes/z.md") == ["notes/link/y.md", "notes/z.md"]

    @posix
    def test_a_broken_link_that_is_named_is_unreadable(self, notes: Path) -> None:
        (notes / "a.md").symlink_to("nowhere.md")
        result = discover(["notes/a.md"])
        assert [(skip.path, skip.code) for skip in result.skips] == [("notes/a.md", "unreadable")]
        assert "broken link" in result.skips[0].reason

    @pytest.mark.parametrize(
        ("pattern", "left"),
        [
            ("a", ["b/a.txt", "b/c.md"]),
            ("/b", ["a/x.md"]),
            ("b/c.md", ["a/x.md", "b/a.txt"]),
            ("c.md", ["a/x.md", "b/a.txt"]),
            ("*.md", ["b/a.txt"]),
            ("x", ["a/x.md", "b/a.txt", "b/c.md"]),
        ],
    )
    def test_names_can_be_excluded(self, notes: Path, pattern: str, left: list[str]) -> None:
        put(notes, "a/x.md", "b/a.txt", "b/c.md")
        result = discover(["notes"], Rules(exclude=(pattern,)))
        assert [source.path for source in result.sources] == [f"notes/{name}" for name in left]
        assert (result.passed_by["excluded"] > 0) == (pattern != "x")
        every = ("a/x.md", "b/a.txt", "b/c.md")
        taken = [path for path in every if not passes_by(Rules(exclude=(pattern,)), path)]
        assert taken == left

    @pytest.mark.parametrize(
        ("patterns", "left"),
        [
            (["**/Private/**"], ["notes/a.md"]),
            (["Private/"], ["notes/a.md"]),
            (["Private"], ["notes/a.md"]),
            (["./Private"], ["area/Private/q.md", "notes/a.md"]),
            (["/Private/"], ["area/Private/q.md", "notes/a.md"]),
            (["area/**/q.md"], ["Private/p.md", "notes/a.md"]),
            (["area/**"], ["Private/p.md", "notes/a.md"]),
            (["**/q.md"], ["Private/p.md", "notes/a.md"]),
            (["area/*.md"], ["Private/p.md", "area/Private/q.md", "notes/a.md"]),
            (["a?ea"], ["Private/p.md", "notes/a.md"]),
            (["[!a-n]*.md"], ["notes/a.md"]),
            (["[z-a]", "[", "\\", "!", "#a.md", "/"], ["Private/p.md", "area/Private/q.md", "notes/a.md"]),
            (["*.md", "!p.md"], ["Private/p.md"]),
            (["!p.md", "*.md"], []),
            (["Private", "!p.md"], ["notes/a.md"]),
            (["a.md/"], ["Private/p.md", "area/Private/q.md", "notes/a.md"]),
            (["a.md  "], ["Private/p.md", "area/Private/q.md"]),
            (["\\a.md"], ["Private/p.md", "area/Private/q.md"]),
        ],
    )  # fmt: skip
    def test_patterns_are_those_of_gitignore(
        self, notes: Path, patterns: list[str], left: list[str]
    ) -> None:
        put(notes, "Private/p.md", "area/Private/q.md", "notes/a.md")
        rules = Rules(exclude=tuple(patterns))
        assert [one.path for one in discover(["notes"], rules).sources] == [
            f"notes/{name}" for name in left
        ]
        every = ("Private/p.md", "area/Private/q.md", "notes/a.md")
        assert [path for path in every if not passes_by(rules, path)] == left

    def test_patterns_that_match_nothing_are_known(self, notes: Path) -> None:
        put(notes, "a/x.md", ".hidden/b.md")
        rules = Rules(exclude=("x.md", "gone", "./gone/x", ".hidden"))
        assert list_folder(str(notes), rules).unused == ["gone", "./gone/x"]

    @given(st.text("ab*?[]!^-/\\.# ", max_size=12), st.text("ab/-^", min_size=1, max_size=8))
    def test_no_pattern_fails(self, pattern: str, path: str) -> None:
        passes_by(Rules(exclude=(pattern,)), path.strip("/") or "a")

    def test_what_is_passed_by_can_be_included(self, notes: Path) -> None:
        put(notes, ".a/x.md", ".b.md", "env/a.md", "env/pyvenv.cfg", ".git/c.md", ".hedgerow/d.md")
        rules = Rules(include=(".*", "env"))
        assert [source.path for source in discover(["notes"], rules).sources] == [
            "notes/.a/x.md", "notes/.b.md", "notes/env/a.md",
        ]  # fmt: skip

    @posix
    def test_what_is_no_regular_file_is_named(self, notes: Path) -> None:
        os.mkfifo(notes / "a.md")
        assert str(discover(["notes"]).skips[0]) == "notes/a.md: not a regular file"

    @pytest.mark.skipif(sys.platform != "linux", reason="names there are bytes")
    def test_a_name_that_is_not_utf8_is_named(self, notes: Path) -> None:
        with open(os.fsencode(notes) + b"/caf\xe9.md", "w") as file:  # noqa: PTH123
            file.write("text")
        skips = discover(["notes"]).skips
        assert [(skip.path, skip.code) for skip in skips] == [("notes/caf\\xe9.md", "bad_name")]

    def test_a_folder_that_looks_like_a_file_is_a_folder(self, notes: Path) -> None:
        put(notes, "x.md/y.md")
        assert found("notes") == ["notes/x.md/y.md"]

    def test_folders_may_nest_deeper_than_calls(self, notes: Path) -> None:
        below = notes.joinpath(*["d"] * 150)
        os.makedirs(below)  # noqa: PTH103 - as deep as it gets
        (below / "deep.md").write_text("x")
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(len(inspect.stack(0)) + 100)
        try:
            found = discover([str(notes)])
        finally:
            sys.setrecursionlimit(limit)
        assert any(source.path.endswith("d/d/deep.md") for source in found.sources)

    def test_a_missing_path_is_an_error_before_anything_else(self, notes: Path) -> None:
        with pytest.raises(InvalidInputError, match=r"nots: no such file or folder") as error:
            discover([str(notes), "nots"])
        assert error.value.code == "path_not_found"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("a/winter-feeding.md", "winter feeding"),
        ("2025-03-04.md", "2025-03-04"),
        ("2025-03-04-frost_again.md", "2025-03-04 frost again"),
        (".env", ".env"),
        ("Makefile", "Makefile"),
        ("-.md", "-"),
    ],
)
def test_titles_from_names(name: str, title: str) -> None:
    assert _title_from_name(name) == title
