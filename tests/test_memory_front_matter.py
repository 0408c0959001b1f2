"""Front matter: what is written reads back the same, and a change changes nothing else."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow import HedgerowError
from hedgerow.ingest.front_matter import _load, read_front_matter
from hedgerow.ingest.simple_yaml import simple_fields
from hedgerow.memory.front_matter import (
    metadata_of,
    render_front_matter,
    update_front_matter,
    yaml_value,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
KEYS = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=8).filter(
    lambda key: key[0].isalpha() and key.lower() not in {"true", "false", "null", "y", "n"}
)
VALUES = st.one_of(
    TEXT,
    st.booleans(),
    st.none(),
    st.integers(-(2**62), 2**62),
    st.lists(TEXT, max_size=4),
    st.dictionaries(KEYS, TEXT, max_size=3),
)


def fields_of(text: str) -> dict[str, object]:
    matter = read_front_matter(text.split("\n"))
    assert matter.problem is None
    return dict(matter.fields)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
@example({"title": 'He said "no" \\ and left: # not a comment'})
@example({"title": "\u2028 \u0085 \ufeff \x7f \t line\nend"})
@example({"a": "---", "b": "- x", "c": "2026-04-18", "d": "1e3", "e": "null"})
def test_what_is_written_is_what_is_read(fields: dict[str, object]) -> None:
    written = render_front_matter(fields)
    assert fields_of(written) == fields
    assert read_front_matter(written.split("\n")).body_start == len(fields) + 2


@given(TEXT)
def test_a_value_is_one_line(text: str) -> None:
    assert len(yaml_value(text).splitlines()) == 1


SPECIAL = """
true|True|null|~|no|2026-04-18|2026-04-18T09:30:00.000Z|2026-04-18 09:30:00|2026-04-18T09:30:00+02:00
007|-0|0|12|1.5|-0.25|1.|.5|1e3|0x1f|.inf|1_000|"a"|"a" |["a", "b"]|[]|['a']|"\\n"|'it''s'|'plain'|''
a: b|a #b|a#b|a:b|a::b|a:|-|- a|a  b|[a, b c]|[a,b]|[a, true]|[a, 1]|[a, b: c]|[a , b]|{a: b}|&a b|*a|!b|? c
What's new, in v2|Say "no" (again)|C# and F#|http://x.y/z#part|é ü|庭|a @b|a, b|a [b]|a {b}|% x|`x`|> x|| x
"""
LINE_VALUES = st.one_of(
    st.text(string.ascii_letters + string.digits + " ._/-\"'#:[],()&?!@|", max_size=12),
    st.sampled_from([value for line in SPECIAL.strip().split("\n") for value in line.split("|")]),
)
LINES = st.one_of(
    st.tuples(KEYS, LINE_VALUES).map(lambda pair: f"{pair[0]}: {pair[1]}"),
    KEYS.map(lambda key: f"{key}:"),
    st.tuples(st.sampled_from(["- ", "  - ", "  -  "]), LINE_VALUES).map("".join),
)


@given(st.lists(LINES, min_size=1, max_size=6))
@example(["tags:", "  - a", "  - b c", "title: x"])
@example(["tags:", "- a", "- 'b'", "- 1.5"])
@example(["tags:", "  - a", "- b"])
@example(["tags:", "title: x"])
@example(["a: 1", "- b"])
def test_the_quick_way_reads_what_the_yaml_library_reads(block: list[str]) -> None:
    quick = simple_fields(block)
    if quick is not None:
        assert quick == _load("\n".join(block))


@pytest.mark.parametrize(
    "value", [value for line in SPECIAL.strip().split("\n") for value in line.split("|")]
)
def test_every_special_value_reads_the_same_both_ways(value: str) -> None:
    for block in ([f"key: {value}"], ["key:", f"  - {value}"], [f"key: {value}", "more: x"]):
        quick = simple_fields(block)
        if quick is not None:
            assert quick == _load("\n".join(block))


def test_most_front_matter_is_simple() -> None:
    block = ["title: What's new, in v2", "tags:", "  - a", "date: 2026-04-18", "aliases: [b, c d]"]
    assert simple_fields([*block, 'type: "note"', "done: false", "weight: 0.8"]) == {
        "title": "What's new, in v2",
        "tags": ["a"],
        "date": "2026-04-18",
        "aliases": ["b", "c d"],
        "type": "note",
        "done": False,
        "weight": 0.8,
    }


class TestUpdate:
    BLOCK = (
        "# mine\n"
        "title: 'Slugs' # by hand\n"
        "updated_at: 2026-01-01T00:00:00Z # when\n"
        "unknown: {deep: [1, 2]}\n"
        "tags:\n"
        "  - a\n"
        "  # between\n"
        "  - b\n"
        "empty:\n"
        "last: |\n"
        "  two\n"
        "  lines\n"
    )

    def test_replaces_one_value_and_no_other_character(self) -> None:
        updated = update_front_matter(self.BLOCK, {"updated_at": "2026-02-02"})
        assert updated == self.BLOCK.replace("2026-01-01T00:00:00Z", '"2026-02-02"')

    def test_gives_an_empty_key_its_value(self) -> None:
        assert update_front_matter(self.BLOCK, {"empty": 1}) == self.BLOCK.replace(
            "empty:\n", "empty: 1\n"
        )

    def test_adds_new_keys_last(self) -> None:
        assert update_front_matter(self.BLOCK, {"new": ["x"]}) == self.BLOCK + 'new: ["x"]\n'
        assert update_front_matter("", {"new": 1}) == "new: 1\n"
        assert update_front_matter("# only a comment", {"a": 1}) == "# only a comment\na: 1\n"

    @pytest.mark.parametrize("block", ["a: b: c", "- a list", "{flow: 1}", "a: [1"])
    def test_leaves_what_it_cannot_change(self, block: str) -> None:
        with pytest.raises(HedgerowError, match="mend it by hand") as raised:
            update_front_matter(block, {"a": 1})
        assert raised.value.code == "invalid_front_matter"

    @given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5), st.data())
    def test_other_keys_read_as_before(
        self, fields: dict[str, object], data: st.DataObject
    ) -> None:
        key = data.draw(st.sampled_from(sorted(fields)))
        value = data.draw(VALUES)
        block = render_front_matter(fields).removeprefix("---\n").removesuffix("---\n")
        updated = update_front_matter(block, {key: value, "added": "x"})
        assert fields_of(f"---\n{updated}---\n") == {**fields, key: value, "added": "x"}


class TestMetadata:
    def test_items_of_lists_are_text_and_exponents_stay(self) -> None:
        matter = read_front_matter(["---", "t: [1, true, x]", "n: 1e3", "d: 2026-04-18", "---"])
        assert metadata_of(matter) == {"t": ["1", "true", "x"], "n": "1e3", "d": "2026-04-18"}

    def test_numbers_beyond_json_are_text(self) -> None:
        matter = read_front_matter(["---", "a: .inf", "b: 99999999999999999999", "---"])
        assert metadata_of(matter) == {"a": "inf", "b": "99999999999999999999"}

    def test_aliases_that_multiply_are_left_out(self) -> None:
        lines = ["---", "a: &a [x, x, x, x, x, x, x, x, x, x]"]
        for before, name in zip("abcdef", "bcdefg", strict=True):
            lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
        matter = read_front_matter([*lines, "title: T", "---"])
        kept = metadata_of(matter)
        assert kept["title"] == "T"
        assert "g" not in kept

    def test_a_value_that_holds_itself_is_left_out(self) -> None:
        matter = read_front_matter(["---", "a: &a [*a]", "b: 1", "---"])
        assert metadata_of(matter) == {"b": 1}
