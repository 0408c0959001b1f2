"""Markdown to chunks: boundaries, titles, and no lost text."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow._engine import PASSAGE_LIMIT, _first_sentence
from hedgerow.ingest import Skip, Source, UnreadableSourceError, read_chunks

if TYPE_CHECKING:
    from hedgerow import Chunk


def read(text: str | bytes, name: str = "note.md") -> tuple[list[Chunk], list[Skip]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        skips: list[Skip] = []
        return list(read_chunks(Source(name, str(file)), skips)), skips


def chunks_of(text: str | bytes, name: str = "note.md") -> list[Chunk]:
    chunks, skips = read(text, name)
    assert skips == []
    return chunks


def titles(text: str) -> list[str]:
    return [chunk.title for chunk in chunks_of(text)]


class TestSections:
    def test_each_heading_starts_a_chunk_with_its_source(self) -> None:
        chunks = chunks_of("# A\n\nFirst.\n\n## B\n\nSecond.\n")
        assert [chunk.content for chunk in chunks] == ["# A\n\nFirst.", "## B\n\nSecond."]
        assert [chunk.id for chunk in chunks] == ["note.md#0", "note.md#1"]
        assert [chunk.ordinal for chunk in chunks] == [0, 1]
        assert {chunk.path for chunk in chunks} == {"note.md"}

    def test_titles_are_the_path_of_headings(self) -> None:
        text = "# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne\n"
        assert titles(text) == ["A", "A > B", "A > B > C", "A > D", "E"]

    def test_a_level_may_be_left_out(self) -> None:
        assert titles("# A\na\n#### B\nb\n## C\nc\n") == ["A", "A > B", "A > C"]

    def test_text_before_the_first_heading_is_a_chunk_named_after_the_file(self) -> None:
        assert titles("Before.\n\n# A\n\nx\n") == ["note", "A"]

    def test_setext_headings_count(self) -> None:
        chunks = chunks_of("Above\n=====\n\nx\n\nBelow\n-----\n\ny\n")
        assert [chunk.title for chunk in chunks] == ["Above", "Above > Below"]
        assert chunks[0].content == "Above\n=====\n\nx"

    @pytest.mark.parametrize(
        "text",
        [
            "```sh\n# no heading\n```\n",
            "~~~\n# no heading\n~~~\n",
            "    # no heading\n",
            "<!--\n# no heading\n-->\n",
            "<pre>\n# no heading\n</pre>\n",
            "- # in a list\n",
            "> # in a quotation\n",
            "#no space\n",
            "\\# escaped\n",
            "####### seven\n",
        ],
    )
    def test_what_only_looks_like_a_heading_is_none(self, text: str) -> None:
        assert titles("# A\n\n" + text + "\nend\n") == ["A"]

    def test_headings_lose_their_mark_up(self) -> None:
        text = "# The *bold* `code` [link](x) ![picture](y) &amp; more #\n\nx\n"
        assert titles(text) == ["The bold code link & more"]

    def test_an_empty_section_is_carried_into_its_first_subsection(self) -> None:
        chunks = chunks_of("# A\n\n## B\n\n### C\n\ntext\n")
        assert [(c.title, c.content) for c in chunks] == [
            ("A > B > C", "# A\n\n## B\n\n### C\n\ntext")
        ]

    def test_an_empty_section_without_subsection_stays(self) -> None:
        assert titles("## A\n\n## B\n\ntext\n\n## C\n") == ["A", "B", "C"]

    def test_lines_are_those_of_the_file(self) -> None:
        chunks = chunks_of("---\ntags: a\n---\n\n# A\n\nx\n\n\n# B\ny\n")
        lines = [(c.metadata["line_start"], c.metadata["line_end"]) for c in chunks]
        assert lines == [(5, 7), (10, 11)]

    @pytest.mark.parametrize("ending", ["\r\n", "\r"])
    def test_line_ends_and_a_byte_order_mark_change_nothing(self, ending: str) -> None:
        text = "---\ntitle: T\n---\n# A\n\nx\n\n# B\n\ny\n"
        changed = b"\xef\xbb\xbf" + text.replace("\n", ending).encode()
        assert without_file(chunks_of(changed)) == without_file(chunks_of(text))


def without_file(chunks: list[Chunk]) -> list[tuple[object, ...]]:
    return [
        (c.id, c.title, c.summary, c.content, c.metadata["line_start"], c.metadata["line_end"])
        for c in chunks
    ]


class TestSummary:
    def test_is_the_first_sentence_of_each_section(self) -> None:
        chunks = chunks_of("# A\n\nOne *thing*. Two.\n\n## B\n\n- A point! More.\n")
        assert [chunk.summary for chunk in chunks] == ["One thing.", "A point!"]

    def test_front_matter_speaks_for_the_first_chunk(self) -> None:
        chunks = chunks_of("---\nsummary: Said here.\n---\n# A\n\nOne.\n\n# B\n\nTwo.\n")
        assert [chunk.summary for chunk in chunks] == ["Said here.", "Two."]

    def test_description_is_taken_where_there_is_no_summary(self) -> None:
        assert chunks_of("---\ndescription: Said.\n---\nText.\n")[0].summary == "Said."

    def test_abbreviations_and_initials_end_no_sentence(self) -> None:
        chunk = chunks_of("By Dr. W. Hudson, e.g. on birds. Then more.\n")[0]
        assert chunk.summary == "By Dr. W. Hudson, e.g. on birds."

    def test_pictures_code_and_comments_are_passed_by(self) -> None:
        text = "# A\n\n[![Build](b.svg)](ci)\n\n<!-- x -->\n\n```\ncode\n```\n\nWords. More.\n"
        assert chunks_of(text)[0].summary == "Words."

    def test_a_long_sentence_is_cut_at_a_space(self) -> None:
        summary = chunks_of("word " * 200 + "\n")[0].summary
        assert len(summary) <= 280
        assert summary.endswith("word…")

    def test_japanese_sentences_end_without_a_space(self) -> None:
        assert chunks_of("だしをとる。火を止める。\n")[0].summary == "だしをとる。"

    def test_a_section_without_words_has_none(self) -> None:
        assert chunks_of("# A\n\n```\ncode\n```\n")[0].summary == ""


class TestFrontMatter:
    def test_is_in_no_content_and_its_fields_are_in_metadata(self) -> None:
        text = "---\nstatus: done\nyear: 2025\nopen: true\nratio: 0.5\n---\nText.\n"
        chunk = chunks_of(text)[0]
        assert chunk.content == "Text."
        metadata = {k: v for k, v in chunk.metadata.items() if k != "source_file"}
        assert metadata == {
            "status": "done",
            "year": 2025,
            "open": True,
            "ratio": 0.5,
            "line_start": 7,
            "line_end": 7,
        }

    @pytest.mark.parametrize(
        ("written", "kept"),
        [
            ("2025-03-04", "2025-03-04"),
            ("2025-03-04 05:06:07", "2025-03-04T05:06:07"),
            ("2025-03-04T05:06:07Z", "2025-03-04T05:06:07Z"),
            ("2025-02-31", "2025-02-31"),
            ("yes", "yes"),
            ("[a, 1]", ["a", 1]),
            (".inf", ".inf"),
            ("1" + "0" * 30, "1" + "0" * 30),
        ],
    )
    def test_values_become_plain_json(self, written: str, kept: object) -> None:
        assert chunks_of(f"---\nvalue: {written}\n---\nx\n")[0].metadata["value"] == kept

    def test_nested_and_empty_values_are_left_out(self) -> None:
        chunk = chunks_of("---\nnested: {a: {b: c}}\nnothing:\n---\nx\n")[0]
        assert not chunk.metadata.keys() & {"nested", "nothing"}

    @pytest.mark.parametrize(
        "written", ["[a, 'b c']", "a, b c", "\n  - a\n  - b c\n  - a", "['#a', 'b c', '']"]
    )
    def test_tags_are_a_list_or_one_text_with_commas(self, written: str) -> None:
        assert chunks_of(f"---\ntags: {written}\n---\nx\n")[0].tags == ("a", "b c")

    def test_title_stands_above_the_headings_and_not_twice(self) -> None:
        text = "---\ntitle: My note\n---\nx\n# my note\ny\n# Other\nz\n"
        assert titles(text) == ["My note", "My note", "My note > Other"]

    def test_our_facts_win_over_fields_of_the_same_name(self) -> None:
        chunk = chunks_of("---\nline_start: 99\n---\nx\n")[0]
        assert chunk.metadata["line_start"] == 4

    @pytest.mark.parametrize(
        "text", ["---\nno end\n\ntext\n", "---\nrunning text\n---\nx\n", "text\n---\na: b\n---\n"]
    )
    def test_what_is_none_is_text(self, text: str) -> None:
        chunks = chunks_of(text)
        lines = [line for line in text.split("\n") if line.strip()]
        assert all(any(line in chunk.content for chunk in chunks) for line in lines)

    def test_bad_yaml_is_reported_and_the_lines_that_read_are_used(self) -> None:
        text = "---\ntitle: a: b\ntags: [x, y]\nok: 3\n---\nText.\n"
        chunks, skips = read(text)
        assert [(c.title, c.tags, c.metadata["ok"], c.content) for c in chunks] == [
            ("a: b", ("x", "y"), 3, "Text.")
        ]
        assert [(skip.code, skip.line) for skip in skips] == [("bad_front_matter", 2)]
        assert "front matter is not valid YAML" in skips[0].reason

    @pytest.mark.parametrize(
        "block",
        [
            "a: 1\na: 2",
            "a: " + "[" * 3000,
            "a: !!python/object/apply:os.system [echo]",
            "a: &x [*x]",
            "a: " + "x" * 70_000,
            "a: *unknown",
            "a: \x07",
        ],
    )
    def test_hostile_yaml_loses_no_text(self, block: str) -> None:
        chunks, _ = read(f"---\n{block}\n---\nText.\n")
        assert chunks[-1].content.endswith("Text.")

    def test_a_note_that_is_all_front_matter_can_be_found(self) -> None:
        (chunk,) = chunks_of("---\ntitle: T\ntags: [a]\ndescription: D\n---\n")
        assert (chunk.title, chunk.summary, chunk.tags, chunk.content) == ("T", "D", ("a",), "")
        assert chunk.metadata["line_end"] == 5

    @pytest.mark.parametrize("text", ["---\n---\n", "---\nyear: 1\n---\n \n"])
    def test_one_that_says_nothing_is_named(self, text: str) -> None:
        with pytest.raises(UnreadableSourceError, match="only front matter"):
            read(text)


class TestLongSections:
    def test_are_cut_at_paragraphs(self) -> None:
        paragraphs = [f"Paragraph {n}. " + "word " * 60 for n in range(20)]
        chunks = chunks_of("# A\n\n" + "\n\n".join(paragraphs))
        assert len(chunks) > 1
        assert {chunk.title for chunk in chunks} == {"A"}
        for chunk in chunks[1:]:
            assert chunk.content.startswith("Paragraph ")
            assert chunk.summary.startswith("Paragraph ")
        assert all(len(chunk.content) <= PASSAGE_LIMIT for chunk in chunks)

    def test_parts_are_of_like_size(self) -> None:
        chunks = chunks_of("\n\n".join("word " * 20 for _ in range(25)))
        sizes = [len(chunk.content) for chunk in chunks]
        assert max(sizes) < 2 * min(sizes)

    def test_a_long_list_is_cut_between_its_items(self) -> None:
        chunks = chunks_of("\n".join(f"- item {n} " + "x " * 50 + "\n  more" for n in range(40)))
        assert len(chunks) > 1
        assert all(chunk.content.startswith("- item") for chunk in chunks)

    def test_a_fence_is_kept_whole_where_it_fits(self) -> None:
        fence = "```\n" + "code line\n\n" * 90 + "```"
        chunks = chunks_of("word " * 250 + "\n\n" + fence + "\n\n" + "word " * 250)
        assert any(fence in chunk.content for chunk in chunks)

    def test_a_line_longer_than_a_passage_is_cut_at_sentences(self) -> None:
        line = "This is a sentence of some length. " * 200
        chunks = chunks_of(line)
        assert all(len(chunk.content) <= PASSAGE_LIMIT for chunk in chunks)
        assert all(chunk.content.startswith("This is") for chunk in chunks)
        assert "".join(chunk.content for chunk in chunks) == line
        assert {chunk.metadata["line_start"] for chunk in chunks} == {1}

    def test_a_line_without_spaces_is_cut_all_the_same(self) -> None:
        chunks = chunks_of("x" * 5001)
        assert "".join(chunk.content for chunk in chunks) == "x" * 5001


class TestVeryLongLines:
    def test_a_file_of_one_line_is_read(self) -> None:
        # Reading the whole line for each of its passages took minutes.
        started = time.process_time()
        chunks = chunks_of("word " * 3_000_000)
        assert len(chunks) == 7500
        assert {chunk.summary for chunk in chunks} == {chunks[0].summary}
        assert time.process_time() - started < 60

    @pytest.mark.parametrize(
        "text",
        ["*a ", "[", "[a](", "`a", ">", "- ", "_a*", "<a ", "<!--", "![", "\\", "&a", "|a"],
    )
    def test_no_mark_up_makes_a_parser_look_back_for_ever(self, text: str) -> None:
        started = time.process_time()
        read(text * 100_000)
        assert time.process_time() - started < 60


class TestSentences:
    def test_a_long_text_is_not_read_to_its_end(self) -> None:
        assert _first_sentence("One. " + "x\n" * 10) == "One."
        assert _first_sentence("\n\n  One\ntwo.\n\nThree.") == "One two."
        assert _first_sentence("x" * 10_000_000) == "x" * 279 + "…"


BLOCKS = st.sampled_from(
    [
        "# One",
        "## Two",
        "### Three",
        "Setext\n======",
        "Text of a paragraph. And more.",
        "```\n# code\n\nmore\n```",
        "```\nnever closed",
        "- item\n- item\n\n  more",
        "> quoted\n> # heading",
        "---",
        "***",
        "<div>\n# html",
        "    indented",
        "[link]: target",
        "",
        "   ",
        "| a | b |\n|---|---|\n| c | d |",
        "1. one\n2. two",
        "word " * 700,
        "x" * 2500,
        "\u2028 \x0c odd spaces",
        "title: value",
    ]
)
COMMENTS = re.compile(r"---\s*\n(\s*(#[^\n]*)?\n)*---")
SOURCES = st.lists(st.one_of(BLOCKS, st.text(max_size=40)), min_size=1, max_size=12)


@settings(max_examples=300)
@example(["---", "\x1f", "---"], "\n")
@example(["---", "\t", "---"], "\n")
@example(["---", "# One", "---"], "\n")
@example(["---", "Setext\n======", "title: value", "---"], "\n")
@example(["---", " \x85\u2028", "---"], "\n")
@given(SOURCES, st.sampled_from(["\n", "\n\n", "\r\n"]))
def test_no_text_is_lost_and_order_is_kept(blocks: list[str], joint: str) -> None:
    text = joint.join(blocks)
    encoded = text.encode("utf-8", "replace")
    try:
        chunks, skips = read(encoded)
    except UnreadableSourceError as error:
        assert error.code in {"empty", "binary", "not_utf8"}  # noqa: PT017
        return
    assert without_file(chunks) == without_file(read(encoded)[0])
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    assert [chunk.id for chunk in chunks] == [f"note.md#{n}" for n in range(len(chunks))]
    assert all(len(chunk.content) <= PASSAGE_LIMIT for chunk in chunks)
    starts = [chunk.metadata["line_start"] for chunk in chunks]
    assert starts == sorted(starts)
    found, expected = squeezed("".join(chunk.content for chunk in chunks)), squeezed(body(encoded))
    if any(skip.code == "bad_front_matter" for skip in skips) or COMMENTS.match(text):
        # Front matter that YAML cannot read is kept as text, before the rest, and so are comments alone.
        assert found.endswith(expected)
    else:
        assert found == expected


def squeezed(text: str) -> str:
    return "".join(text.split())


def body(data: bytes) -> str:
    """Return the text after front matter, independently of the code under test."""
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip(" \t") != "---":
        return "\n".join(lines)
    closing = [n for n, line in enumerate(lines) if n and line.rstrip(" \t") in {"---", "..."}]
    if not closing:
        return "\n".join(lines)
    block = lines[1 : closing[0]]
    is_mapping = any(line.startswith("title: value") for line in block)
    # YAML treats only these as white space and line breaks here.
    is_blank = all(not line.strip(" \x85\u2028\u2029") or line.startswith("#") for line in block)
    return "\n".join(lines[closing[0] + 1 :] if is_mapping or is_blank else lines)
