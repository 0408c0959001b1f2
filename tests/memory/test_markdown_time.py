"""Reading Markdown takes time that grows with the length of a text, whatever is in it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hedgerow.ingest.front_matter import FrontMatter
from hedgerow.ingest.markdown import markdown_chunks
from hedgerow.ingest.markdown_events import MOST_MARKERS, markdown_events
from hedgerow.ingest.source import Source
from hedgerow.memory.links import links_in_text, wikilinks
from hedgerow.memory.sections import first_heading, level_two_sections

SMALL = 8 * 1024
TIMES = 8

REPEATED = [
    *["[[", "[", "![", "[[a|", "[[a#b|c", "](", "[a](", "[a](<b", '[a](b "c', "[a][", "[[a]] "],
    *["[](", "[[a]](b.md) ", "\\[", "\\", "&a", "&#91;", "*a **b ", "_a*", "|a"],
    *["`", "``a`", "<!--", "x <!-- ", "x <a b='", "x <?", "<div>\n", "~~~\n```\n"],
    *["> ", "> > > a\n", "- ", "- > ", "1. ", "- a\n  > b\n", "|a|[[b\\|c]]|\n", "|-", "a|b\n-|\n"],
    *["[a]: b\n", "[a]: <\n", '[a]: b "\n', "a\n-\n", "# a\n", "#", "# ", " ", "\n", "\t-"],
]


def link_every_line(size: int) -> str:
    return "[a]: " + "b" * (size // 2) + ".md\n\n" + "[a] " * (size // 8)


SHAPES: dict[str, Callable[[int], str]] = {
    **{repr(part): lambda size, part=part: part * (size // len(part)) for part in REPEATED},
    "one reference, used often": link_every_line,
    "brackets in brackets": lambda size: "[" * (size // 2) + "a" + "]" * (size // 2),
    "backticks, ever more": lambda size: "".join("a" + "`" * n for n in range(int(size**0.5))),
    "a table of many columns": lambda size: (
        "|a" * (size // 6) + "|\n" + "|-" * (size // 6) + "|\n" + "|\n" * (size // 6)
    ),
    "quotations, then lines": lambda size: "> " * (size // 4) + "a\n" + "a\n" * (size // 4),
    "lists, then lines": lambda size: "- " * (size // 4) + "a\n" + "a\n" * (size // 4),
    "a heading and spaces": lambda size: "# a" + " " * size + "b",
    "a heading and signs": lambda size: "# a " + "#" * size + " " * size + "b",
    "a fence and spaces": lambda size: "```" + " " * size + "`",
}


def read_chunks(text: str) -> None:
    lines = text.split("\n")
    for _ in markdown_chunks(Source("a.md", "/a.md"), lines, FrontMatter({"title": "a"}), {}):
        pass


def read_sections(text: str) -> None:
    first_heading(text)
    level_two_sections(text)


READERS = [links_in_text, wikilinks, read_sections, read_chunks]


def seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started


def is_linear(read: Callable[[str], object], shape: Callable[[int], str]) -> bool:
    """Whether a text TIMES as long takes rather TIMES as long than the square of that.

    What disturbs a measurement makes it longer, so one that is good is enough.
    """
    # Brackets without a target would not be looked at for links.
    short, long = (f"{shape(size)}\n\n[[end]]" for size in (SMALL, SMALL * TIMES))
    at_least = max(0.002, min(seconds(read, short) for _ in range(2)))
    return any(seconds(read, long) < at_least * TIMES * 3 for _ in range(4))


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_text_eight_times_as_long_takes_about_eight_times_as_long(
    read: Callable[[str], object], shape: Callable[[int], str]
) -> None:
    assert is_linear(read, shape)


def test_what_takes_the_square_of_the_length_is_told() -> None:
    def square(text: str) -> None:
        for _ in range(len(text) // 8):
            text[::-1]

    assert not is_linear(square, lambda size: "x" * size)


@pytest.mark.parametrize("marker", ["> ", ">", "- ", "+\t", "1. ", "123456789) ", "- > 1. "])
def test_blocks_nest_no_deeper_than_the_markers_of_a_line(marker: str) -> None:
    depth = deepest = 0
    for kind, *_ in markdown_events(marker * 5000 + "a\n" + marker * 5000 + "b\n"):
        depth += (kind == "Start") - (kind == "End")
        deepest = max(deepest, depth)
    # A list and its item for each marker.
    assert deepest <= 2 * MOST_MARKERS


def test_a_link_nested_as_deep_as_anybody_writes_is_found() -> None:
    assert [link.target for link in links_in_text("> " * 60 + "- " * 30 + "[[a]]")] == ["a"]
    assert links_in_text("> " * MOST_MARKERS + "[[a]]\n\n[x](b.md)")[0].target == "b.md"


def test_offsets_after_a_line_that_is_too_deep_are_those_of_the_text() -> None:
    text = ">" * 500 + "é — 🦔\n\n# Ends\n"
    [span] = [
        slice(start, end)
        for kind, value, start, end in markdown_events(text)
        if kind == "Start" and value[0] == "Heading"
    ]
    assert text.encode()[span] == b"# Ends\n"


def test_a_long_line_of_dashes_is_not_a_list() -> None:
    assert [kind for kind, *_ in markdown_events("-" * 1000)] == ["Rule"]
    assert next(markdown_events("a\n" + "-" * 1000))[1][0] == "Heading"
