"""`supersede`, `retract`, `restore`, and how `recall` marks memories that no longer hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import as_json, failed, ok
from memory_doubles import put

pytestmark = pytest.mark.usefixtures("here")

QUESTION = "when do we cut the hedge?"


@pytest.fixture
def notes(here: Path) -> Path:
    ok("init", "--root", ".")
    put(here, "notes/march.md", "---\ndate: 2025-01-01\n---\nWe cut the hedge in March.\n")
    return here / "notes"


@pytest.mark.usefixtures("notes")
def test_a_day_in_the_life_of_a_memory() -> None:
    said = ok("supersede", "march", "We cut the hedge in August.", "--title", "August")
    [new] = re.findall("notes/.*-august.md", said.split("\n")[0])
    assert said.startswith(f"Remembered: {new}\nChanged: notes/march.md\n")
    assert f"notes/march.md: superseded by {new} since " in said

    found = ok("recall", QUESTION)
    assert "August" in found
    assert "March" not in found
    said = "Left out: 1 superseded; --include-superseded shows what does not hold."
    assert found.endswith(f"\n{said}\n")

    none = ok("recall", QUESTION, "--type", "page")
    assert none.endswith("Filtered out: 2 (by type, tag or date).\n")

    both = ok("recall", QUESTION, "--include-superseded")
    assert f"\n   [superseded by {new} since " in both
    assert "Left out" not in both

    then = ok("recall", QUESTION, "--as-of", "2025-06-30")
    assert "March" in then
    assert "Left out: 1 not valid yet" in then

    said = ok("restore", "march")
    assert said == (
        f"Changed: notes/march.md\nChanged: {new}\nRemoved: superseded by {new}\nnotes/march.md: holds\n"
    )
    assert ok("restore", "march").startswith("Nothing to change: the files say so already.")

    said = ok("retract", "march", "--reason", "The wrong hedge.")
    assert re.search(r"march.md: retracted since [0-9-]{10}: The wrong hedge\.\n", said)
    ok("supersede", "march", "--by", new)
    said = ok("restore", "march")
    assert re.search(r"\nRemoved: retracted since [0-9-]{10}: The wrong hedge\.\n", said)
    assert f"\nRemoved: superseded by {new}\n" in said


def test_an_existing_memory_takes_the_place(notes: Path) -> None:
    put(notes, "august.md", "We cut the hedge in August.\n")
    done = as_json("supersede", "march", "--by", "august")
    assert sorted(done["changed"]) == ["notes/august.md", "notes/march.md"]
    assert done["validity"] == {"holds": False, "why": "superseded", "by": ["notes/august.md"]}


def test_a_text_may_come_from_standard_input(notes: Path) -> None:
    ok("supersede", "march", stdin=b"In August.\n")
    assert "In August." in next(notes.glob("20*-in-august.md")).read_text()


@pytest.mark.usefixtures("notes")
def test_remember_takes_a_text() -> None:
    file = as_json("remember", "# No pellets\n\nThey harm the hedgehogs.")["file"]
    assert file.endswith("-no-pellets.md")
    long = as_json("remember", "word " * 100)["file"]
    assert len(Path(long).name) < 100


def test_graph_names_what_is_in_doubt(notes: Path) -> None:
    put(notes, "plan.md", "---\nderived_from: march\n---\nplan\n")
    assert "validities" not in as_json("graph", "plan")
    ok("retract", "march")
    validities = as_json("graph", "plan")["validities"]
    assert validities["notes/plan.md"] == {"holds": True, "doubtful": ["notes/march.md"]}
    text = ok("graph", "plan")
    assert "Not to be relied on as it is:" in text
    assert "notes/plan.md: in doubt: derived from notes/march.md" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["recall", "x", "--as-of", "2026-02-30"], "as_of must be a date that exists"),
        (["recall", "x", "--after", "never"], "after must be a date that exists"),
        (["recall", "x", "--topic", "y"], "Pass what to recall once"),
        (["supersede", "march", "x", "--by", "y"], "leave out the text and options of a new one"),
        (
            ["supersede", "march", "--by", "y", "--title", "z"],
            "leave out the text and options of a new one",
        ),
        (["supersede"], "Missing argument 'OLD'"),
        (["retract"], "Missing argument 'KEY'"),
    ],
)
def test_wrong_usage(notes: Path, args: list[str], message: str) -> None:
    assert message in failed(2, *args)
    assert len(list(notes.glob("*.md"))) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["supersede", "march", "--by", "march"], "cannot supersede itself"),
        (["retract", "gone"], "there is no memory 'gone' in this root"),
        (["restore", "gone"], "there is no memory 'gone' in this root"),
    ],
)
def test_what_fails(notes: Path, args: list[str], message: str) -> None:
    assert message in failed(1, *args)
    assert "supersede" not in (notes / "march.md").read_text()


@pytest.mark.usefixtures("notes")
def test_a_memory_that_supersedes_nothing_says_so() -> None:
    supersede = ("--on-duplicate", "supersede")
    said = ok("remember", "Rabbits may enter the lower meadow in June.", *supersede)
    assert "Superseded: nothing, since no memory is like it" in said
    again = "Rabbits may enter the lower meadow in June, always."
    assert "Superseded: notes/" in ok("remember", again, *supersede)


@pytest.mark.usefixtures("notes")
def test_similar_memories_are_named_with_the_command_that_supersedes_one() -> None:
    ok("remember", "Rabbits may enter the lower meadow in June.", "--title", "Rabbits")
    said = ok("remember", "Rabbits may enter the upper meadow in June.", "--title", "Upper")
    old, new = "notes/{}-rabbits.md", "notes/{}-upper.md"
    day = re.search(r"\d{4}-\d\d-\d\d", said)
    assert day is not None
    old, new = old.format(day[0]), new.format(day[0])
    assert f"Similar: {old} (70 %)\n" in said
    command = f"hedgerow supersede {old} --by {new}"
    assert f"If it replaces one of them: {command}\n" in said
    assert f"{old}: superseded by {new}" in ok(*command.split()[1:])
