"""Front matter: written values read back unchanged, and a change leaves the rest as it is."""

from __future__ import annotations

import re
import string
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow import HedgerowError
from hedgerow._engine import (
    FrontMatter,
    _changed_front_matter,
    _render_front_matter,
    _yaml_value,
    read_front_matter,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
KEYS = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=8).filter(
    lambda key: key[0] != "-"
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
    written = _render_front_matter(fields)
    assert fields_of(written) == fields
    assert read_front_matter(written.split("\n")).body_start == len(fields) + 2


@given(TEXT)
def test_a_value_is_one_line(text: str) -> None:
    assert len(_yaml_value(text).splitlines()) == 1


class TestKeys:
    """Keys keep their text as written, because other programs read the file too."""

    @pytest.mark.parametrize(
        "key", ["007", "true", "1.50", "null", "~", "1e3", "0x1f", "2026-04-18", "no", "é", "a b"]
    )
    def test_stay_as_written(self, key: str) -> None:
        assert list(fields_of(f"---\n{key}: x\n---\n")) == [key]

    def test_stay_as_written_in_nested_mappings(self) -> None:
        matter = read_front_matter(["---", "a: {007: x, true: {1.50: y}}", "---"])
        assert matter.to_dict() == {"a": {"007": "x", "true": {"1.50": "y"}}}

    def test_that_yaml_calls_equal_are_not_duplicates(self) -> None:
        fields = fields_of("---\ntrue: a\n1: b\n1.0: c\n01: d\n---\n")
        assert [fields[key] for key in ("true", "1", "1.0", "01")] == ["a", "b", "c", "d"]

    @pytest.mark.parametrize(
        "block", ["a: 1\na: 2", "a: 1\n'a': 2", "b: {a: 1, a: 2}", "1: a\n'1': b"]
    )
    def test_that_are_written_twice_are_duplicates(self, block: str) -> None:
        matter = read_front_matter(["---", *block.split("\n"), "---"])
        assert "found duplicate key" in (matter.problem or "")

    def test_that_are_values_too_leave_the_value_as_it_is(self) -> None:
        assert fields_of("---\n&one 7: x\nb: *one\n---\n") == {"7": "x", "b": 7}

    def test_come_from_merged_mappings(self) -> None:
        fields = fields_of("---\nbase: &base {007: x, b: y}\nmore:\n  <<: *base\n  b: z\n---\n")
        assert fields["more"] == {"007": "x", "b": "z"}


class TestLoader:
    def test_threads_do_not_mix_what_they_read(self) -> None:
        def read(name: str) -> set[str]:
            lines = ["---", f"{name}: {{who: {name}}}", "rest: [a, {b: c}]", "---"]
            return {repr(read_front_matter(lines)) for _ in range(60)}

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            with ThreadPoolExecutor(4) as pool:
                results = list(pool.map(read, ["ann", "bob", "cid", "dot"]))
        finally:
            sys.setswitchinterval(interval)
        for name, found in zip(["ann", "bob", "cid", "dot"], results, strict=True):
            fields = {name: {"who": name}, "rest": ["a", {"b": "c"}]}
            assert found == {repr(FrontMatter(fields, 4))}

    def test_an_anchor_may_be_used_again(self) -> None:
        block = "a: &x 1\nb: *x\nc: &x 2\nd: *x"
        assert fields_of(f"---\n{block}\n---\n") == {"a": 1, "b": 1, "c": 2, "d": 2}

    @pytest.mark.parametrize("text", ["[" * 60_000, "{" * 60_000, "[\n" * 30_000, "- " * 30_000])
    def test_deep_nesting_is_refused_before_it_takes_minutes(self, text: str) -> None:
        started = time.process_time()
        block = f"b: 1\na: {text}" if text[0] != "-" else f"b: 1\na:\n  {text}"
        assert read_front_matter(["---", *block.split("\n"), "---"]).problem
        assert time.process_time() - started < 60

    def test_a_problem_is_short(self) -> None:
        matter = read_front_matter(["---", "b: 1", "a: !" + "x" * 1000, "---"])
        assert 0 < len(matter.problem or "") <= 200

    @pytest.mark.parametrize(
        ("block", "tags"),
        [
            ("tags: [\na,\n  'b: c'\n]\nc: d", ["a", "b: c"]),
            ("tags: [a,\n\nb]\nc: d", ["a", "b"]),
            ("tags: [\na,\nc: d", None),
        ],
    )
    def test_a_bracket_that_closes_at_the_margin_is_read_and_reported(
        self, block: str, tags: list[str] | None
    ) -> None:
        matter = read_front_matter(["---", *block.split("\n"), "---"])
        assert matter.problem
        assert (matter.fields.get("tags"), matter.fields["c"]) == (tags, "d")


def test_a_value_with_a_long_gap_is_read_in_one_pass() -> None:
    # Trying every space of the gap as the end of the line took minutes.
    gap = " " * 30_000
    started = time.process_time()
    fields = fields_of(f"---\ntitle: a{gap}b{gap}\n---\n")
    assert fields == {"title": f"a{gap}b"}
    assert time.process_time() - started < 60


def updated(block: str, fields: dict[str, object]) -> str:
    """Return a block with fields set."""
    text = _changed_front_matter(f"---\n{block}---\n", [], fields, [])
    return text.removeprefix("---\n").removesuffix("---\n")


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
        new = updated(self.BLOCK, {"updated_at": "2026-02-02"})
        assert new == self.BLOCK.replace("2026-01-01T00:00:00Z", '"2026-02-02"')

    def test_gives_an_empty_key_its_value(self) -> None:
        assert updated(self.BLOCK, {"empty": 1}) == self.BLOCK.replace("empty:\n", "empty: 1\n")

    def test_adds_new_keys_last(self) -> None:
        block = self.BLOCK + "end: 1\n"
        assert updated(block, {"new": ["x"]}) == block + 'new: ["x"]\n'
        assert updated("", {"new": 1}) == "new: 1\n"
        assert updated("# only a comment\n", {"a": 1}) == "# only a comment\na: 1\n"

    @pytest.mark.parametrize(
        ("block", "problem"),
        [
            ("a: b: c\nx: 1\n", "it is not valid YAML"),
            ("{flow: 1}\n", "it is not one `key: value` a line"),
            ("a: [1\nx: 1\n", "it is not valid YAML"),
        ],
    )
    def test_leaves_what_it_cannot_change(self, block: str, problem: str) -> None:
        with pytest.raises(HedgerowError, match=problem) as raised:
            updated(block, {"a": 1})
        assert raised.value.code == "invalid_front_matter"

    def test_an_anchor_may_be_used_again(self) -> None:
        block = "a: &x 1\nb: &x 2\nc: 3\n"
        assert updated(block, {"c": 4}) == "a: &x 1\nb: &x 2\nc: 4\n"

    def test_leaves_an_alias_rather_than_change_its_anchor(self) -> None:
        with pytest.raises(HedgerowError, match="the value of b is an alias"):
            updated("a: &x [1]\nb: *x\n", {"b": 3})
        with pytest.raises(HedgerowError, match="the value of b is an alias"):
            _changed_front_matter("---\na: &x [1]\nb: *x\n---\n", [("b", [2], None, False)], {}, [])

    @given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=5), st.data())
    def test_other_keys_read_as_before(
        self, fields: dict[str, object], data: st.DataObject
    ) -> None:
        key = data.draw(st.sampled_from(sorted(fields)))
        value = data.draw(VALUES)
        block = _render_front_matter(fields).removeprefix("---\n").removesuffix("---\n")
        new = updated(block, {key: value, "added": "x"})
        assert fields_of(f"---\n{new}---\n") == {**fields, key: value, "added": "x"}


class TestWhatLooksLikeFrontMatter:
    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("---\ntitle: Slugs\n\nThey eat.", "no line `---` ends it"),
            ("+++\ntitle = 'Slugs'\n+++\n", "it is TOML between lines `+++`; write YAML"),
            (
                "---\ntitle:Slugs\n\ntags:x\n---\n",
                "a space is missing after the colon of `title:Sl",
            ),
        ],
    )
    def test_is_reported_and_remains_text(self, text: str, problem: str) -> None:
        matter = read_front_matter(text.split("\n"))
        assert (matter.body_start, matter.fields, matter.problem_line) == (0, {}, 1)
        assert matter.problem is not None
        assert matter.problem.startswith(problem)
        with pytest.raises(HedgerowError, match=re.escape(problem)) as raised:
            _changed_front_matter(text, [], {"a": 1}, [])
        assert raised.value.code == "invalid_front_matter"

    @pytest.mark.parametrize(
        "text",
        [
            "---\nAna: hello\n\nBo: hi",
            "---\n\ntitle: after a rule",
            "+++\nnot closed",
            "---\nhttps://example.org\n---\n",
            "---\ntitle:Slugs\nA letterhead.\n---\n",
            "---\n# a comment alone\n---\n",
            "",
        ],
    )
    def test_text_is_no_problem(self, text: str) -> None:
        assert read_front_matter(text.split("\n")).problem is None


class TestMetadata:
    def test_items_of_lists_are_text_and_exponents_stay(self) -> None:
        matter = read_front_matter(["---", "t: [1, true, x]", "n: 1e3", "d: 2026-04-18", "---"])
        assert matter.to_dict() == {"t": ["1", "true", "x"], "n": "1e3", "d": "2026-04-18"}

    def test_a_set_is_the_same_in_every_process(self) -> None:
        matter = read_front_matter(["---", "s: !!set {g, c, 2, f, a, h, d, b, e, 1}", "---"])
        assert matter.to_dict() == {"s": ["1", "2", "a", "b", "c", "d", "e", "f", "g", "h"]}

    def test_numbers_beyond_json_are_text(self) -> None:
        matter = read_front_matter(["---", "a: .inf", "b: 99999999999999999999", "---"])
        assert matter.to_dict() == {"a": ".inf", "b": "99999999999999999999"}

    @pytest.mark.parametrize(
        "text", ["007", "1.10", "0x1F", "1_000", "+5", "1.", ".5", "0o17", "-0"]
    )
    def test_numbers_that_would_be_written_in_another_way_are_text(self, text: str) -> None:
        matter = read_front_matter(["---", f"a: {text}", f"b: [{text}]", "---"])
        assert matter.fields == {"a": text, "b": [text]}

    def test_aliases_that_multiply_are_left_out(self) -> None:
        lines = ["---", "a: &a [x, x, x, x, x, x, x, x, x, x]"]
        for before, name in zip("abcdef", "bcdefg", strict=True):
            lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
        matter = read_front_matter([*lines, "title: T", "---"])
        kept = matter.to_dict()
        assert kept["title"] == "T"
        assert "g" not in kept

    def test_a_value_that_holds_itself_is_left_out(self) -> None:
        matter = read_front_matter(["---", "a: &a [*a]", "b: 1", "---"])
        assert matter.to_dict() == {"b": 1}


def test_a_bad_item_costs_no_other() -> None:
    lines = ["---", "tags:", " - a", " - b: c: d", " - pond", "title: [x", "---"]
    matter = read_front_matter(lines)
    assert matter.fields["tags"] == ["a", "b: c: d", "pond"]


@pytest.mark.parametrize(
    ("value", "title"), [("[kumquat, pear]", "kumquat, pear"), ("true", "true"), ("", "")]
)
def test_a_title_of_any_form_is_text(value: str, title: str) -> None:
    assert read_front_matter(["---", f"title: {value}", "---"]).text("title") == title
    assert "kumquat" in read_front_matter(["---", "title: {a: kumquat}", "---"]).text("title")
