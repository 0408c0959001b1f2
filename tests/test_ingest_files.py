"""Which files are found, and what becomes of plain text and JSON Lines."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Chunk, InvalidInputError
from hedgerow.ingest import (
    PASSAGE_LIMIT,
    Rules,
    Skip,
    Source,
    UnreadableSourceError,
    discover,
    read_chunks,
)
from hedgerow.ingest.discovery import passes_by
from hedgerow.ingest.passages import SUMMARY_LIMIT, first_sentence
from hedgerow.ingest.source import title_from_name

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


def read(file: Path, name: str | None = None) -> tuple[list[Chunk], list[Skip]]:
    skips: list[Skip] = []
    return list(read_chunks(Source(name or file.name, str(file)), skips)), skips


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
        assert result.ignored == 1
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

    @posix
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


class TestUnreadable:
    @pytest.mark.parametrize(
        ("data", "code", "reason"),
        [
            (b"", "empty", "the file is empty"),
            (b" \n\t\n", "empty", "the file is empty"),
            (b"a\0b", "binary", "binary"),
            ("text".encode("utf-16"), "not_utf8", "UTF-16"),
            (b"one\ntwo \xff\n", "not_utf8", r"byte 0xff on line 2.*convert it to UTF-8"),
        ],
    )
    @pytest.mark.parametrize("name", ["a.md", "a.txt"])
    def test_says_why(self, tmp_path: Path, name: str, data: bytes, code: str, reason: str) -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UnreadableSourceError, match=reason) as error:
            read(tmp_path / name)
        assert error.value.code == code

    def test_a_file_that_vanished(self, tmp_path: Path) -> None:
        for name in ("a.md", "a.jsonl"):
            with pytest.raises(UnreadableSourceError, match="no such file"):
                read(tmp_path / name)

    def test_a_very_large_file(self, tmp_path: Path) -> None:
        with (tmp_path / "a.txt").open("wb") as file:
            file.truncate(16 * 1024 * 1024 + 1)
        with pytest.raises(UnreadableSourceError, match="larger than 16 MiB; split it"):
            read(tmp_path / "a.txt")


class TestPlainText:
    def test_is_named_after_a_first_line_that_stands_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "x.txt"
        file.write_text("A title\n=======\n\nFirst sentence. Second.\n")
        (chunk,), _ = read(file)
        assert (chunk.title, chunk.summary) == ("A title", "First sentence.")
        assert chunk.content == "A title\n=======\n\nFirst sentence. Second."

    def test_a_heading_between_two_rules_counts(self, tmp_path: Path) -> None:
        file = tmp_path / "x.rst"
        file.write_text("*****\nTitle\n*****\n\nText.\n")
        assert read(file)[0][0].title == "Title"

    @pytest.mark.parametrize("text", [".. _label:\n\nTitle\n=====\n", "----\n", "x" * 101])
    def test_what_is_no_title_is_not_taken_for_one(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "the-name.rst"
        file.write_text(text)
        assert read(file)[0][0].title == "the name"

    def test_else_after_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "winter-feeding_2.txt"
        file.write_text("Running text that\ngoes on.\n")
        (chunk,), _ = read(file)
        assert chunk.title == "winter feeding 2"

    def test_is_cut_at_blank_lines(self, tmp_path: Path) -> None:
        file = tmp_path / "x.txt"
        paragraphs = [f"Paragraph {n} " + "word " * 80 for n in range(15)]
        file.write_text("\n\n\n".join(paragraphs))
        chunks, _ = read(file)
        assert len(chunks) > 2
        assert all(chunk.content.startswith("Paragraph") for chunk in chunks)
        assert all(len(chunk.content) <= PASSAGE_LIMIT for chunk in chunks)
        assert [chunk.id for chunk in chunks] == [f"x.txt#{n}" for n in range(len(chunks))]

    @given(st.text(min_size=1, max_size=3000))
    def test_loses_nothing(self, tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
        file = tmp_path_factory.mktemp("text") / "x.txt"
        file.write_bytes(text.encode("utf-8", "replace"))
        try:
            chunks, _ = read(file)
        except UnreadableSourceError:
            return
        whole = file.read_bytes().decode("utf-8-sig")
        assert "".join("".join(c.content for c in chunks).split()) == "".join(whole.split())


class TestJsonLines:
    def test_every_key_has_its_place(self, tmp_path: Path) -> None:
        record = {
            "id": "n1",
            "path": "a/b.md",
            "title": "T",
            "summary": "S",
            "tags": ["x", "y z"],
            "content": "Text.",
            "metadata": {"year": 2025},
            "ordinal": 7,
            "extra": [1, {"deep": None}],
        }
        file = tmp_path / "x.jsonl"
        file.write_text(json.dumps(record))
        (chunk,), skips = read(file)
        assert skips == []
        assert (chunk.id, chunk.path, chunk.title, chunk.summary) == ("n1", "a/b.md", "T", "S")
        assert (chunk.content, chunk.tags, chunk.ordinal) == ("Text.", ("x", "y z"), 7)
        assert chunk.metadata == {
            "year": 2025,
            "extra": [1, {"deep": None}],
            "source_file": str(file),
            "line_start": 1,
            "line_end": 1,
        }

    def test_content_is_enough(self, tmp_path: Path) -> None:
        file = tmp_path / "my-notes.jsonl"
        file.write_text('{"content": "One."}\n\n{"content": "Two."}\n')
        chunks, _ = read(file)
        assert [(c.id, c.path, c.title, c.ordinal) for c in chunks] == [
            ("my-notes.jsonl#0", "my-notes.jsonl", "my notes", 0),
            ("my-notes.jsonl#2", "my-notes.jsonl", "my notes", 2),
        ]

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("{", "not JSON"),
            ("[1]", "not a JSON object"),
            ("{}", '"content" is missing or blank'),
            ('{"content": " "}', '"content" is missing or blank'),
            ('{"content": 1}', '"content" must be text'),
            ('{"content": "x", "id": 3}', '"id" must be text'),
            ('{"content": "x", "ordinal": -1}', '"ordinal" must be a whole number from 0'),
            ('{"content": "x", "ordinal": true}', '"ordinal" must be a whole number from 0'),
            ('{"content": "x", "tags": 1}', '"tags" must be a list'),
            ('{"content": "x", "tags": [1]}', '"tags" must be a list'),
            ('{"content": "x", "metadata": []}', '"metadata" must be an object'),
            ('{"content": "x", "a": 1, "metadata": {"a": 2}}', '"a" is both outside and inside'),
            ('{"content": "x", "a": NaN}', "NaN is not a JSON number"),
            ('{"content": "x", "embedding": 1}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": "1,2"}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": {"0": 1}}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [[1, 2]]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, "2"]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, null]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, true]}', '"embedding" must be one list of numbers'),
            ('{"content": "x", "embedding": [1, 1e999]}', "embedding"),
            ('{"content": "x", "content": "y"}', 'the key "content" is repeated'),
            ('{"content": "x", "a": 1e999}', "not a finite number"),
            ('{"content": "x", "a": ' + "9" * 30 + "}", "more than 64 bits"),
            ('{"content": "x", "a": ' + "9" * 5000 + "}", "more than 64 bits"),
            ('{"content": "x", "a": ' + "[" * 900 + "]" * 900 + "}", "metadata"),
            ('{"content": "\\ud800"}', "half of a surrogate pair"),
            ('{"content": "\udcff"}', "not UTF-8"),
            ('{"content": ' + "[" * 100_000, "nested too deep|not JSON"),
        ],
    )
    def test_a_bad_line_is_named_and_the_rest_goes_on(
        self, tmp_path: Path, line: str, reason: str
    ) -> None:
        file = tmp_path / "x.jsonl"
        text = f'{{"content": "before"}}\n{line}\n{{"content": "after"}}\n'
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        chunks, skips = read(file)
        assert [chunk.content for chunk in chunks] == ["before", "after"]
        assert [(skip.code, skip.line) for skip in skips] == [("bad_line", 2)]
        assert any(part in skips[0].reason for part in reason.split("|"))
        assert str(skips[0]).startswith("x.jsonl:2: ")

    def test_an_embedding_is_that_of_the_chunk(self, tmp_path: Path) -> None:
        file = tmp_path / "x.jsonl"
        given = ["[1, -0.5, 2]", "null", "[]"]
        file.write_text("\n".join(f'{{"content": "x", "embedding": {one}}}' for one in given))
        chunks, skips = read(file)
        assert skips == []
        assert [None if c.embedding is None else list(c.embedding) for c in chunks] == [
            [1.0, -0.5, 2.0],
            None,
            [],
        ]
        assert all("embedding" not in chunk.metadata for chunk in chunks)

    def test_an_embedding_in_the_metadata_stays_there(self, tmp_path: Path) -> None:
        file = tmp_path / "x.jsonl"
        file.write_text('{"content": "x", "metadata": {"embedding": [1]}}')
        (chunk,), _ = read(file)
        assert (chunk.embedding, chunk.metadata["embedding"]) == (None, [1])

    def test_a_line_of_many_keys_with_one_repeated_is_read_in_one_pass(
        self, tmp_path: Path
    ) -> None:
        # With a scan of all keys for each of them this took a quarter of an hour.
        keys = "".join(f'"k{n}": 0, ' for n in range(200_000))
        file = tmp_path / "x.jsonl"
        file.write_text(f'{{{keys}"content": "x", "content": "y"}}')
        started = time.process_time()
        _, skips = read(file)
        assert 'the key "content" is repeated' in skips[0].reason
        assert time.process_time() - started < 60

    def test_an_empty_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "x.jsonl").write_text("\n \n")
        with pytest.raises(UnreadableSourceError, match="empty"):
            read(tmp_path / "x.jsonl")


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
    assert title_from_name(name) == title


@given(st.text())
def test_a_first_sentence_is_short_and_from_the_text(text: str) -> None:
    sentence = first_sentence(text)
    assert len(sentence) <= SUMMARY_LIMIT
    assert sentence.removesuffix("…") in " ".join(text.split())
