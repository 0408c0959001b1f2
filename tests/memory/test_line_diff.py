"""Unified diffs: what they say leads from one text to the other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.memory import history
from hedgerow.memory.history import unified

TEXT = st.lists(st.sampled_from(["a", "b", "c", "", "-a", "+b", "@@ -1 +1 @@"]), max_size=30)


def applied(old: list[str], diff: str) -> list[str]:
    """Apply a unified diff as `patch` does; a line that does not match fails."""
    new, at = [], 0
    for line in diff.split("\n")[2:-1]:
        found = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if found and (start := int(found[1]) - (found[2] != "0")) >= at:
            new += old[at:start]
            at = start
            assert len(new) == int(found[3]) - (found[4] != "0")
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            new += old[at : at + 1] if line[0] == " " else []
            at += 1
    return new + old[at:]


@given(TEXT, TEXT)
def test_a_diff_leads_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    diff = unified(old, new, "a", "b")
    assert (diff == "") == (old == new)
    assert applied(old, diff) == new if diff else old == new


@pytest.mark.parametrize("limit", ["MOST_CHANGES", "MOST_LINES"])
def test_too_many_changes_are_one(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(history, limit, 2)
    old, new = list("abcdef"), list("aXcYeZf")
    assert unified(old, new, "a", "b") == (
        "--- a\n+++ b\n@@ -1,6 +1,7 @@\n a\n-b\n-c\n-d\n-e\n+X\n+c\n+Y\n+e\n+Z\n f\n"
    )


def test_the_fewest_lines_change() -> None:
    diff = unified(list("abcabba"), list("cbabac"), "a", "b")
    assert sum(line[0] in "+-" for line in diff.splitlines()[2:]) == 5


def test_distant_changes_are_apart() -> None:
    old = [str(number) for number in range(20)]
    new = ["x", *old[1:10], "y", *old[10:]]
    assert unified(old, new, "a", "b").count("@@ -") == 2
    near = ["x", *old[1:7], "y", *old[7:]]
    assert unified(old, near, "a", "b").count("@@ -") == 1


def test_hostile_texts_take_little_time() -> None:
    old, new = ["a", "b"] * 5_000, ["b", "a"] * 5_000
    assert unified(old, new, "a", "b").count("\n") < 20
    old, new = [f"{n}" for n in range(9_000)], [f"{n}" for n in range(9_000, 0, -1)]
    assert unified(old, new, "a", "b").startswith("--- a\n+++ b\n@@ -1,9000 +1,9000 @@\n")
