"""Malicious files: reading takes linear time, or stops at a documented limit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._engine import FrontMatter, _changed_front_matter, _first_sentence, read_front_matter
from hedgerow.ingest import IndexRun, Skip, Source, UnreadableSourceError, discover, read_chunks
from hostile import assert_linear, seconds

Make = Callable[[int], str]

LIMIT = 64 * 1024
"""The maximum of characters in front matter."""


def matter_of(block: str) -> FrontMatter:
    return read_front_matter(["---", *block.split("\n"), "---"])


def bomb(levels: int = 9, width: int = 10) -> str:
    """Return nested aliases: a short text that expands to `width` to the power of `levels`."""
    lines = [f"a0: &a0 [{', '.join(['x'] * width)}]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merge_bomb(levels: int = 9, width: int = 10) -> str:
    """Return nested merge keys, each of which expands everything below it."""
    lines = ["a0: &a0 {x: 1, y: 2}"]
    lines += [
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * width)}]}}" for n in range(1, levels)
    ]
    return "\n".join(lines)


BLOCKS: dict[str, Make] = {
    "spaces before a value": lambda n: f"a: {' ' * n}x",
    "spaces in a value": lambda n: f"a: x{' ' * n}x",
    "spaces for a value": lambda n: f"a: {' ' * n}",
    "spaces after a quote": lambda n: f'a: "x"{" " * n}y',
    "spaces for an item": lambda n: f"a:\n  - {' ' * n}",
    "spaces in an item": lambda n: f"a:\n  - x{' ' * n}# y",
    "spaces in a date": lambda n: f"b: {{}}\na: 2026-04-18{' ' * n}10:30",
    "tabs": lambda n: f"b: {{}}\na: x{chr(9) * n}y",
    "keys": lambda n: "\n".join(f"k{i}: v" for i in range(n // 10)),
    "keys for the library": lambda n: "b: {}\n" + "\n".join(f"k{i}: v" for i in range(n // 10)),
    "aliases": lambda n: "b: &a v\n" + "\n".join(f"k{i}: *a" for i in range(n // 12)),
    "blank lines": lambda n: "b: {}\na: x\n" + "\n" * n + "  y",
    "comments": lambda n: "b: {}\n" + "# c\n" * (n // 4),
    "hash signs": lambda n: "b: {} " + " #" * (n // 2),
    "colons": lambda n: "b: {}\na: " + "x:" * (n // 2),
    "dashes": lambda n: "a:\n  " + "- " * (n // 2),
    "question marks": lambda n: "? " * (n // 2),
    "an open list": lambda n: "a: [" + "x," * (n // 4),
    "open lists": lambda n: "a: " + "[" * n,
    "digits": lambda n: "b: {}\na: " + "1" * n,
    "a hexadecimal number": lambda n: "b: {}\na: 0x" + "f" * n,
    "escapes": lambda n: 'a: "' + "\\u0041" * (n // 6) + '"',
    "a literal": lambda n: "a: |\n" + " x\n" * (n // 3),
}


@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS)
def test_front_matter_takes_linear_time(make: Make) -> None:
    assert_linear(matter_of, make, LIMIT - 100)


@pytest.mark.parametrize("line", ["a: [", "a: {b", "k: x: y", "a: b", "- x", "a", "#", "---x"])
def test_front_matter_without_an_end_in_sight_is_not_read_whole(line: str) -> None:
    """Megabytes of lines that the YAML library would have to parse one by one."""
    lines = ["---", *[line] * (2**22 // (len(line) + 1)), "---"]
    start = time.process_time()
    read_front_matter(lines)
    assert time.process_time() - start < 15


def test_front_matter_that_is_too_long_is_named_and_begins_to_be_read() -> None:
    lines = ["---", "title: T", *(f"k{n}: v" for n in range(10_000)), "---", "text"]
    matter = read_front_matter(lines)
    assert matter.problem == "it is longer than 64 KiB"
    assert matter.text("title") == "T"
    assert len(matter.fields) <= 1001
    assert matter.body_start == len(lines) - 1


def test_nesting_has_a_limit() -> None:
    for block in (
        "a: " + "[" * 150 + "]" * 150,
        "a:\n" + "".join(" " * n + "- \n" for n in range(150)),
    ):
        assert matter_of(f"b: 1\n{block}").problem == "it is nested too deep: at most 100 levels"
    assert matter_of("a: " + "[" * 90 + "]" * 90).problem is None


@pytest.mark.parametrize("value", ['["a\tb"]', '["a\x01b"]', '"a\x01b"', "[a\x85b]"])
def test_a_control_character_in_a_line_that_is_read_alone_ends_no_run(value: str) -> None:
    matter = matter_of(f"x: [\ntags: {value}\ntitle: T")
    assert matter.problem
    assert matter.text("title") == "T"


def test_a_tab_in_quotes_is_read_alone_as_in_a_whole_block() -> None:
    assert matter_of('x: [\nkeys: ["a\tb"]').fields["keys"] == ["a\tb"]
    assert matter_of('keys: ["a\tb"]').fields["keys"] == ["a\tb"]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("a: " + "[" * 20_000, "it is nested too deep: at most 100 levels"),
        ("a: " + "[" * 3000 + "]" * 3000, "it is nested too deep: at most 100 levels"),
        ("b: 1\na:\n  " + "- " * 5000 + "x", "it is nested too deep: at most 100 levels"),
        ("k: v\n" * 20_000, "it is longer than 64 KiB"),
        ('a: "\\UFFFFFFFF"', "invalid Unicode"),
        ("b: 1\na: [1", "expected ',' or '\\]'"),
    ],
)
def test_front_matter_that_cannot_be_changed_is_refused_in_time(block: str, problem: str) -> None:
    start = time.process_time()
    with pytest.raises(hr.HedgerowError, match=problem) as raised:
        _changed_front_matter(f"---\n{block}\n---\n", [], {"a": 1}, [])
    assert raised.value.code == "invalid_front_matter"
    assert time.process_time() - start < 5


class TestAliases:
    @pytest.mark.parametrize("block", [bomb(), merge_bomb(), bomb(20, 3), merge_bomb(20, 3)])
    def test_that_stand_for_too_much_are_refused(self, block: str) -> None:
        start = time.process_time()
        problem = matter_of(block).problem or ""
        assert "with its aliases written out it is longer than 256 KiB" in problem
        assert time.process_time() - start < 2

    @pytest.mark.parametrize("block", [bomb(), merge_bomb()])
    def test_are_named_and_cost_only_themselves(self, block: str) -> None:
        matter = matter_of(f"title: T\n{block}\ntags: [x, y]\nrelated: *a8\nweight: *a8")
        assert matter.problem == "with its aliases written out it is longer than 256 KiB"
        assert (matter.text("title"), matter.tags) == ("T", ("x", "y"))
        assert not {"a8", "related", "weight"} & set(matter.fields)

    def test_of_many_keys_for_one_long_value(self) -> None:
        block = "a: &a [" + "x, " * 1000 + "]\n" + "\n".join(f"k{n}: *a" for n in range(4000))
        assert "aliases" in str(matter_of(block).problem)

    def test_of_a_long_text(self) -> None:
        block = f"a: &a {'x' * 10_000}\nb: [" + "*a, " * 10_000 + "]"
        assert "aliases" in str(matter_of(block).problem)

    @pytest.mark.parametrize("block", ["a: &a [*a]", "a: &a {b: [x, *a]}", "a: &a {<<: *a}"])
    def test_inside_of_what_they_stand_for(self, block: str) -> None:
        assert matter_of(block).problem

    def test_in_a_chain_nest_no_deeper_than_lists(self) -> None:
        block = "a0: &a0 x\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 300))
        assert "nested too deep" in (matter_of(block).problem or "")

    def test_that_people_write_are_read(self) -> None:
        matter = matter_of("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc: *a")
        assert matter.problem is None
        assert dict(matter.fields["b"]) == {"x": 1, "y": 3}
        assert dict(matter.fields["c"]) == {"x": 1, "y": 2}


@pytest.mark.parametrize("number", ["1" * 41, "0x" + "f" * 5000, "-" + "9" * 5000, "1." + "1" * 50])
def test_numbers_that_nothing_holds_are_text(number: str) -> None:
    matter = matter_of(f"a: [{number}]\nb: {number}")
    assert matter.fields["b"] == number
    assert matter.text("b") == number
    assert matter.to_dict() == {"a": [number], "b": number}


@pytest.mark.parametrize(
    "value", ['!!int ""', "!!float [a]", "!!timestamp [a]", "!!int x", "!!set x"]
)
def test_what_the_library_stumbles_over_is_a_problem(value: str) -> None:
    matter = matter_of(f"a: {value}\nb: 1")
    assert matter.problem
    assert matter.fields["b"] == 1


def test_a_file_with_a_bomb_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"---\ntitle: A\n{bomb()}\n---\nBeer.\n")
    (tmp_path / "b.md").write_text("Beer.\n")
    with hr.Index.in_memory() as index:
        report = IndexRun(index, discover([str(tmp_path)])).run()
        assert report.added == 2
        (skip,) = report.skips
        assert (skip.code, Path(skip.path).name) == ("bad_front_matter", "a.md")
        assert "aliases written out it is longer than 256 KiB" in skip.reason


TEXTS: dict[str, Make] = {
    "one word": lambda n: "x" * n,
    "spaces": lambda n: "x" + " " * n + "x",
    "full stops": lambda n: "." * n,
    "full stops and a word": lambda n: "..........a" * (n // 11),
    "stops and quotes": lambda n: '."' * (n // 2),
    "initials": lambda n: "a. " * (n // 3),
    "CJK stops": lambda n: "。" * n,
    "sentences": lambda n: "A sentence. " * (n // 12),
    "blank lines": lambda n: "x\n" + "\n" * n + "x",
    "lines of spaces": lambda n: "x\n" + "  \n" * (n // 3) + "x",
    "short lines": lambda n: "x\n" * (n // 2),
    "headings": lambda n: "# a\n" * (n // 4),
    "list items": lambda n: "- a\n" * (n // 4),
    "underlines": lambda n: "=" * n,
}


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_texts_take_linear_time(make: Make, name: str) -> None:
    def chunks(text: str) -> object:
        return list(read_chunks(Source(name, f"/{name}", data=text.encode()), []))

    assert_linear(chunks, make, 200_000)


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_a_first_sentence_takes_no_time(make: Make) -> None:
    assert seconds(lambda: _first_sentence(make(400_000))) < 1


class TestFrontMatterInEachChunk:
    """A file must not take much more space in the index than on disk."""

    def read(self, sections: int, keys: int) -> int:
        block = "\n".join(f"key{n}: {'value' * 20}" for n in range(keys))
        text = f"---\n{block}\n---\n" + "# a\n\nx\n\n" * sections
        return len(list(read_chunks(Source("a.md", "/a.md", data=text.encode()), [])))

    def test_has_a_limit_that_is_said(self) -> None:
        with pytest.raises(
            UnreadableSourceError, match=r"front matter, .* come to more than 64 MiB"
        ) as e:
            self.read(20_000, 500)
        assert e.value.code == "too_large"

    def test_which_a_long_file_does_not_reach(self) -> None:
        assert self.read(5000, 10) == 5000

    def test_in_a_root_the_file_is_named(self, tmp_path: Path) -> None:
        root = hr.MemoryRoot.open(tmp_path)
        block = f"a: {'x' * 60_000}"
        (tmp_path / "a.md").write_text(f"---\n{block}\n---\n" + "# a\n\nBeer.\n\n" * 1200)
        (tmp_path / "b.md").write_text("Beer.\n")
        found = root.recall("beer")
        assert [one.file for one in found] == ["b.md"]
        assert [(skip.path, skip.code) for skip in found.unreadable] == [("a.md", "too_large")]


class TestJsonLines:
    def read(self, tmp_path: Path, text: str) -> tuple[list[str], list[Skip]]:
        file = tmp_path / "x.jsonl"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        skips: list[Skip] = []
        return [c.content for c in read_chunks(Source("x.jsonl", str(file)), skips)], skips

    @pytest.mark.parametrize(
        "make",
        [
            lambda n: '{"content": "x", ' + '"a": 1, ' * (n // 8) + '"b": 1}',
            lambda n: '{"content": "x", "a": ' + '{"b": 1, "b": 2}, ' * (n // 18),
            lambda n: '{"content": "x", "a": ' + "[" * n,
            lambda n: '{"content": "x", "a": ' + '{"a":' * (n // 5),
            lambda n: '{"content": "x", "a": ' + "9" * n + "}",
            lambda n: '{"content": "x", "a": ' + "9" * n + ".5}",
            lambda n: '{"content": "x", "a": 1e' + "9" * n + "}",
            lambda n: '{"content": "x", "a": [' + "1," * (n // 2) + "1]}",
            lambda n: '{"content": "' + "\\u0041" * (n // 6) + '"}',
            lambda n: '{"content": "x"' + " " * n + "}",
            lambda n: '{"content": "x", "tags": "' + ", " * (n // 2) + '"}',
            lambda n: '{"content": "x", "title": "' + "a" * n + '"}',
            lambda n: "\n".join(['{"content": "x"}'] * (n // 17)),
            lambda n: " \n" * (n // 2),
        ],
    )
    def test_take_linear_time(self, tmp_path: Path, make: Make) -> None:
        assert_linear(lambda text: self.read(tmp_path, text), make, 200_000)

    @pytest.mark.parametrize("depth", [101, 500, 900, 950, 980, 985, 990, 1000, 5000])
    def test_nesting_has_a_limit_whatever_python_can(self, tmp_path: Path, depth: int) -> None:
        deep = '{"content": "x", "a": ' + "[" * depth + "]" * depth + "}"
        texts, skips = self.read(tmp_path, deep + '\n{"content": "y"}')
        assert texts == ["y"]
        assert skips[0].code == "bad_line"


# Syntax that parsers react to, and unusual characters.
PIECES = st.sampled_from(
    ["---\n", "...\n", "a: ", "- ", "b:\n", "&a ", "*a", "<<: ", "[", "]", "{", "}", "? ", "!!int ",
     "!!set ", "!!binary ", "!!omap ", "%YAML 1.1\n", "--- ", "| ", ">\n", '"', "'", "\\", "#", "\t",
     "\n", "\r", "\x85", "\u2028", "\ufeff", "\x00", "\x1b", "0x1", "1e3", ".inf", "~",
     "2026-04-18 10:30:45", "title: x\n", "tags: [a, b]\n", "é", "🦔", "- - -\n", "# h\n", "```\n",
     "<!--", "![", "](x)", "[[a]]", "|a|b|\n|-|-|\n"]
)  # fmt: skip
TEXTS_OF_PIECES = st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join)


@given(TEXTS_OF_PIECES)
@example("---\n!!int \n---\n")
def test_any_front_matter_is_read_or_is_text(text: str) -> None:
    for block in (f"---\n{text}", f"---\na: {text}\n---\n", f"---\n{text}\n---\n"):
        matter = read_front_matter(block.split("\n"))
        assert json.dumps([matter.to_dict(), matter.metadata, matter.tags, matter.text("a", "b")])


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@given(
    data=st.binary(max_size=60)
    | TEXTS_OF_PIECES.map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_chunks_or_named(name: str, data: bytes) -> None:
    try:
        chunks = list(read_chunks(Source(name, f"/{name}", data=data), []))
    except UnreadableSourceError as error:
        assert str(error)  # noqa: PT017
    else:
        assert chunks


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "path", "title", "content", "tags", "metadata", "ordinal", "embedding", "x"]),
        inner, max_size=4,
    ),
    max_leaves=10,
).map(json.dumps)  # fmt: skip


@given(data=st.lists(JSON.map(str.encode) | st.binary(max_size=30), max_size=5).map(b"\n".join))
def test_any_line_of_json_is_a_chunk_or_named(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_bytes(data)
    skips: list[Skip] = []
    lines = sum(1 for line in data.split(b"\n") if line.strip())
    try:
        chunks = list(read_chunks(Source("any.jsonl", str(file)), skips))
    except UnreadableSourceError as error:
        assert (error.code, lines) == ("empty", 0)  # noqa: PT017
    else:
        assert len(chunks) + len(skips) == lines
