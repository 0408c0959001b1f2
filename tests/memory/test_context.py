"""Context: evidence packed into a budget of tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._engine import _repeats, _structures
from hedgerow.memory.context import Context, estimated_tokens
from memory_doubles import put

PLAN = (
    """---
title: Hedge plan
date: 2026-01-02
---

# Hedge plan

## When

We cut in August.

- The north side first, the hedge is thick there.
- Then the south side.

## Tools

The saw is at the smith. """
    + "Oil it often. " * 60
    + """

```sh
cut --hedge
```
"""
)


@pytest.fixture
def hedges(tmp_path: Path) -> MemoryRoot:
    """A root with a plan that has sections, and two short notes with equal text."""
    put(tmp_path, "notes/plan.md", PLAN)
    put(tmp_path, "notes/old.md", "---\ndate: 2020-01-01\n---\nThe hedge was low.\n")
    put(tmp_path, "notes/new.md", "---\ndate: 2024-01-01\n---\nThe hedge was low.\n")
    return MemoryRoot.open(tmp_path)


def words(text: str) -> int:
    return len(text.split())


class TestContext:
    def test_it_says_where_each_passage_is_from(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("hedge low", budget=92)
        assert str(packed) == (
            "[1] notes/new.md:4 (2024-01-01)\nThe hedge was low.\n\n"
            "[2] notes/old.md:4 (2020-01-01)\nThe hedge was low.\n\n"
            "[3] notes/plan.md:6-13 (2026-01-02)\n# Hedge plan\n\n## When\n\nWe cut in August.\n\n"
            "- The north side first, the hedge is thick there.\n- Then the south side.\n\n"
            "Left out: 1 did not fit the budget."
        )
        assert packed.tokens == estimated_tokens(str(packed))
        assert packed.left_out == {"budget": 1}

    def test_structures_are_whole(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("thick hedge", budget=46)
        plan = next(one for one in packed.passages if one.file == "notes/plan.md")
        assert plan.text == ("## When\n…\n- The north side first, the hedge is thick there.")
        assert plan.lines == ((8, 8), (12, 12))
        assert plan.source == "notes/plan.md:8,12"
        lines = PLAN.split("\n")
        assert lines[7] == "## When"
        assert "thick" in lines[11]

    def test_what_has_no_room_is_counted(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("oil saw", budget=60)
        assert packed.left_out == {"budget": 1}
        assert "cut --hedge" not in str(packed)
        assert str(packed).endswith("Left out: 1 did not fit the budget.")

    def test_a_paragraph_larger_than_the_budget_is_cut(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("oil saw", budget=60)
        [passage] = packed.passages
        assert passage.text.startswith("The saw is at the smith. Oil it often.")
        assert passage.text.endswith(" Oil it often.…")
        assert (passage.lines, packed.tokens <= 60) == (((17, 17),), True)

    @pytest.mark.parametrize("count", [None, words])
    def test_it_is_cut_around_the_words_of_the_query(
        self, tmp_path: Path, count: Callable[[str], int] | None
    ) -> None:
        text = "\n".join(["wood " * 9] * 40 + ["A zebra crosses."] + ["grass " * 9] * 40)
        put(tmp_path, "notes/long.md", text)
        packed = MemoryRoot.open(tmp_path).context("zebra", budget=50, count_tokens=count)
        [passage] = packed.passages
        assert passage.text.startswith("…zebra crosses.")
        assert passage.text.endswith("grass…")
        assert passage.lines[0][0] == 41
        assert 20 < packed.tokens <= 50

    def test_of_equals_the_newest_is_first(self, hedges: MemoryRoot) -> None:
        files = [one.file for one in hedges.context("low").passages]
        assert files[:2] == ["notes/new.md", "notes/old.md"]

    def test_at_most_ten_passages_are_of_a_file(self, tmp_path: Path) -> None:
        sections = "\n\n".join(f"## Part {n}\n\nThe hedge, part {n}." for n in range(15))
        for name in ("many", "more", "most"):
            put(tmp_path, f"notes/{name}.md", sections)
        root = MemoryRoot.open(tmp_path)
        counts = Counter(passage.file for passage in root.context("hedge part").passages)
        assert max(counts.values()) == 10
        assert len(root.context("hedge part", limit=1, per_file=4).passages) == 4

    def test_what_does_not_hold_is_left_out(self, hedges: MemoryRoot) -> None:
        hedges.retract("old", "It was high.")
        packed = hedges.context("hedge low")
        assert packed.left_out == {"retracted": 1}
        assert str(packed).endswith("Left out: 1 retracted.")
        both = hedges.context("hedge low", include_superseded=True)
        assert "(2020-01-01; retracted since " in str(both)

    def test_a_tokenizer_may_be_given(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("hedge", budget=40, count_tokens=words)
        assert packed.tokens == words(str(packed)) <= 40

    def test_nothing_found_is_empty(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("zebra")
        assert (str(packed), packed.tokens, packed.passages) == ("", 0, ())

    def test_parts_of_a_long_paragraph_are_joined(self, tmp_path: Path) -> None:
        lines = [f"Sentence {n} is about otters and rivers." for n in range(90)]
        for text in (" ".join(lines), "\n".join(lines)):
            put(tmp_path, "notes/long.md", f"{text}\n\nAnother paragraph.\n")
            packed = MemoryRoot.open(tmp_path).context("sentence 88 otters", budget=4000)
            assert " ".join(lines) in " ".join(packed.passages[0].text.split())

    def test_what_could_not_be_read_is_named(self, hedges: MemoryRoot) -> None:
        put(hedges.path, "notes/bad.md", "hedge \0")
        packed = hedges.context("hedge last year", question_date="2021-06-01")
        assert [one.path for one in packed.unreadable] == ["notes/bad.md"]
        assert Context.from_dict(packed.to_dict()) == packed

    def test_json_holds_all(self, hedges: MemoryRoot) -> None:
        hedges.retract("old")
        packed = hedges.context("hedge", include_superseded=True)
        assert Context.from_dict(packed.to_dict()) == packed

    @pytest.mark.parametrize("options", [{"budget": 39}, {"budget": 0}, {"per_file": 0}])
    def test_what_holds_nothing_is_refused(
        self, hedges: MemoryRoot, options: dict[str, int]
    ) -> None:
        with pytest.raises(InvalidInputError, match=r"at least|budget|per_file") as raised:
            hedges.context("hedge", **options)
        assert raised.value.code in {"invalid_option", "invalid_limit"}

    @given(st.integers(40, 600), st.sampled_from(["hedge", "oil saw", "august low north"]))
    def test_the_budget_is_kept(self, budget: int, query: str) -> None:
        with MemoryRoot.open(self.folder()) as root:
            for count in (None, len, words):
                packed = root.context(query, budget=budget, count_tokens=count, sync=False)
                text = str(packed)
                assert (count or estimated_tokens)(text) == packed.tokens <= budget
                assert [one.number for one in packed.passages] == list(
                    range(1, len(packed.passages) + 1)
                )

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _folder(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        cls._path = tmp_path_factory.mktemp("root")
        put(cls._path, "notes/plan.md", PLAN)
        put(cls._path, "notes/old.md", "The hedge was low.\n")
        MemoryRoot.open(cls._path).sync()

    def folder(self) -> Path:
        return self._path


@given(st.text(alphabet="ab#-*1. |`>\n\t é字", max_size=200))
def test_structures_are_the_text(text: str) -> None:
    assert "\n".join(_structures(text)) == text


def test_structures_are_headings_paragraphs_items_tables_and_code() -> None:
    text = "# H\nText\nmore\n\n- a\n  b\n- c\n\n```\n# no\n\nx\n```\n\n|a|b|\n|-|-|\n|1|2|\n|3|4|"
    assert [re.sub(r"\s+", " ", one).strip() for one in _structures(text)] == [
        "# H",
        "Text more",
        "- a b",
        "- c",
        "``` # no x ```",
        "|a|b| |-|-| |1|2| |3|4|",
    ]


class TestDiversity:
    def test_a_passage_that_repeats_a_better_one_is_left_out(self, tmp_path: Path) -> None:
        said = "Cut the hedge in August, after the birds have left it, and never in March or April"
        put(tmp_path, "notes/a.md", f"{said}.\n")
        put(tmp_path, "notes/b.md", f"{said}!\n")
        put(tmp_path, "notes/c.md", f"{said} again.\n")
        put(tmp_path, "notes/d.md", "The hedge is of hawthorn.\n")
        root = MemoryRoot.open(tmp_path)
        assert len(root.context("cut the hedge").passages) == 4
        packed = root.context("cut the hedge", diversify=True)
        assert len(packed.passages) == 2
        assert packed.left_out == {"similar": 2}
        assert str(packed).endswith("Left out: 2 near-duplicates.")
        assert packed.tokens <= packed.budget

    def test_only_repeats_of_a_better_passage_are_left_out(self) -> None:
        words = [f"w{n}" for n in range(50)]
        chain = [words[:36], words[6:42], words[12:48]]
        assert _repeats([" ".join(one) for one in chain]) == [1]
        assert _repeats(["", "", "a b", "b a", "a b", "砍树篱", "砍树篱"]) == [4, 6]
        assert _repeats([]) == []


class TestRecallWithABudget:
    def test_it_has_the_text_of_the_context(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("hedge", limit=1, budget=200, depth="deep")
        assert found.context == hedges.context("hedge", budget=200, depth="deep").text
        assert found.results == hedges.recall("hedge", limit=1, depth="deep").results
        assert found.to_dict()["context"] == found.context

    def test_without_one_there_is_none(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("hedge")
        assert found.context is None
        assert "context" not in found.to_dict()

    def test_nothing_found_is_an_empty_text(self, hedges: MemoryRoot) -> None:
        assert hedges.recall("zeppelin", budget=200).context == ""

    def test_a_small_budget_is_refused(self, hedges: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="budget must be an integer of at least 40"):
            hedges.recall("hedge", budget=39)
