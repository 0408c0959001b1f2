"""Reading Markdown takes linear time for any text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hedgerow._engine import (
    FrontMatter,
    _first_heading,
    _inline_tags,
    _level_two_sections,
    _link_positions,
    _links_in_fields,
    _links_in_text,
    _markdown_chunks,
    _with_section_names,
    read_front_matter,
)

SMALL = 8 * 1024
TIMES = 8

REPEATED = [
    *["[[", "[", "![", "[[a|", "[[a#b|c", "](", "[a](", "[a](<b", '[a](b "c', "[a][", "[[a]] "],
    *["[](", "[[a]](b.md) ", "\\[", "\\", "&a", "&#91;", "*a **b ", "_a*", "|a"],
    *["`", "``a`", "<!--", "x <!-- ", "x <a b='", "x <?", "<div>\n", "~~~\n```\n"],
    *["> ", "> > > a\n", "- ", "- > ", "1. ", "- a\n  > b\n", "|a|[[b\\|c]]|\n", "|-", "a|b\n-|\n"],
    *["[a]: b\n", "[a]: <\n", '[a]: b "\n', "a\n-\n", "# a\n", "#", "# ", " ", "\n", "\t-"],
    *[
        "## User\n",
        "## User\n\na b\n\n",
        "A: so it is\n",
        "**a**\n\n",
        "a b\n\n",
        "- a\n\n",
        "---\n",
        "[a]\n",
    ],
    *["a:: b\n", "a ^b\n", "%% a %%\n", "%%", "<<<<<<< a\n", "a\n=\n", "#a ", "#[[a b]] "],
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
    "equal keys": lambda size: "key: a\n" * (size // 7),
    "other keys": lambda size: "".join(f"key{n}: a\n" for n in range(size // 10)),
    "equal items": lambda size: "tags:\n" + "  - a\n" * (size // 6),
    "a heading and spaces": lambda size: "# a" + " " * size + "b",
    "a heading and signs": lambda size: "# a " + "#" * size + " " * size + "b",
    "a fence and spaces": lambda size: "```" + " " * size + "`",
}


def read_chunks(text: str) -> None:
    lines = text.split("\n")
    _markdown_chunks("a.md", "/a.md", lines, FrontMatter({"title": "a"}), {})


def read_sections(text: str) -> None:
    _first_heading(text)
    _level_two_sections(text)
    _with_section_names(text, ["User"])
    _inline_tags(text)
    _link_positions(text)


def read_stated_links(text: str) -> None:
    _links_in_fields(FrontMatter({"about": text}))


def read_named_paths(text: str) -> None:
    _links_in_text(text, has_named_paths=True)


def read_matter(text: str) -> None:
    read_front_matter(["---", *text.split("\n"), "---"])


READERS = [
    *[_links_in_text, read_named_paths, read_stated_links, read_sections, read_chunks, read_matter]
]


def seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started


def is_linear(read: Callable[[str], object], shape: Callable[[int], str]) -> bool:
    """Whether the time for a text TIMES as long grows about TIMES, and not quadratically.

    Other load only makes a measurement longer, so one good measurement is enough.
    """
    # Brackets without a target are not searched for links.
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


def test_a_link_nested_as_deep_as_anybody_writes_is_found() -> None:
    assert [target for target, _ in _links_in_text("> " * 60 + "- " * 30 + "[[a]]")] == ["a"]
    assert _links_in_text("> " * 200 + "[[a]]\n\n[x](b.md)")[0][0] == "b.md"
