"""Plain text to chunks, and unreadable files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow._engine import PASSAGE_LIMIT, _first_sentence
from hedgerow.ingest import UnreadableSourceError

if TYPE_CHECKING:
    from pathlib import Path
from ingest_runs import read


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


@given(st.text())
def test_a_first_sentence_is_short_and_from_the_text(text: str) -> None:
    sentence = _first_sentence(text)
    assert len(sentence) <= 280
    assert sentence.removesuffix("…") in " ".join(text.split())
