"""The quick reading of simple Markdown is the parser's."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.ingest import simple_markdown
from hedgerow.ingest.markdown import _Document

LINES = st.one_of(
    st.just(""),
    st.sampled_from(
        [
            "# Title",
            "## A b",
            "###### f",
            "####### g",
            "#none",
            "# a #",
            "#",
            "Plain words.",
            "---",
            "===",
            "- item",
            "1. one",
            "1986. A year",
            "1986 was",
            "2) b",
            "> q",
            "```",
            "~~~",
            "<b>",
            "    code",
            " one space",
            "a | b",
            "|---|",
            "[x]: y",
            '"Quoted"',
            "(aside)",
            "3.14",
            "é",
            "Two  spaces  ",
            "tab\there",
            "* star",
            "+ plus",
            "_under_",
            "back\\slash",
            "# *em* `c`",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
)


@given(st.lists(LINES, max_size=8))
@example(["# Title", "words", "# Next", "", "more", "words"])
@example(["words", "---"])
@example(["1986. A year"])
@example(["a | b", "--- | ---"])
def test_it_finds_the_blocks_the_parser_finds(lines: list[str]) -> None:
    if simple_markdown.simple_blocks(lines) is None:
        return
    quick = told(lines)
    always = simple_markdown.simple_blocks, simple_markdown.has_markup
    try:
        import hedgerow.ingest.markdown as module  # noqa: PLC0415 - to take the quick way out

        module.simple_blocks = lambda _lines: None  # type: ignore[assignment, misc]
        module.has_markup = lambda _text: True
        assert quick == told(lines)
    finally:
        module.simple_blocks, module.has_markup = always


def told(lines: list[str]) -> object:
    document = _Document(lines)
    sections = list(document.sections(0))
    sentences = [document.first_sentence(section.start, section.end) for section in sections]
    return sections, sentences, document.boundaries


def test_most_notes_are_simple() -> None:
    lines = ["# Slugs", "", "They eat hostas.", "Put out beer.", "", "## Later", "", "Gone."]
    blocks = simple_markdown.simple_blocks(lines)
    assert blocks is not None
    assert [(block.level, block.start, block.end) for block in blocks] == [
        (1, 0, 1),
        (0, 2, 4),
        (2, 5, 6),
        (0, 7, 8),
    ]
