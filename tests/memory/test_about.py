"""A folder's description is returned once with the results from that folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import as_json, ok
from hedgerow import MemoryRoot
from hedgerow.memory import About
from memory_doubles import put


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    put(tmp_path, "garden/_about.md", "---\ntype: note\n---\n# Garden\n\nMy own garden, in Kent.\n")
    put(tmp_path, "garden/beds/a.md", "The hedge is of hawthorn.\n")
    put(tmp_path, "garden/beds/b.md", "The hedge needs water.\n")
    put(tmp_path, "园子/_about.md", "奶奶的园子。\n")
    put(tmp_path, "园子/树篱.md", "hedge 树篱\n")
    put(tmp_path, "bare/c.md", "No hedge here.\n")
    return MemoryRoot.open(tmp_path)


def files(found: tuple[About, ...]) -> list[str]:
    return [one.file for one in found]


def test_each_folder_comes_once(root: MemoryRoot) -> None:
    found = root.recall("hedge")
    assert [(one.folder, one.file) for one in found.about] == [
        ("garden", "garden/_about.md"),
        ("园子", "园子/_about.md"),
    ]
    assert found.about[0].text == "# Garden\n\nMy own garden, in Kent."
    assert found.to_dict()["about"][1]["text"] == "奶奶的园子。"
    assert files(root.recall("树篱").about) == ["园子/_about.md"]
    assert root.recall("nothing").about == ()
    assert "about" not in root.recall("nothing").to_dict()


def test_folders_above_come_first(root: MemoryRoot) -> None:
    put(root.path, "_about.md", "Everything.\n")
    put(root.path, "garden/beds/_about.md", "The beds.\n")
    found = root.recall("hawthorn").about
    assert files(found) == ["_about.md", "garden/_about.md", "garden/beds/_about.md"]
    assert found[0].folder == "."


def test_a_file_that_is_a_result_is_not_repeated(root: MemoryRoot) -> None:
    found = root.recall("Kent")
    assert ([one.file for one in found], found.about) == (["garden/_about.md"], ())


def test_what_does_not_hold_says_nothing(root: MemoryRoot) -> None:
    put(root.path, "garden/_about.md", "---\nretracted: true\n---\nMine.\n")
    put(root.path, "园子/_about.md", "")
    assert root.recall("hedge").about == ()
    root.close()


def test_a_scope_sees_its_own(root: MemoryRoot) -> None:
    scoped = root.scoped(user="ana")
    put(root.path, "garden/hers.md", "---\nscope: {user: ana}\n---\nhedge\n")
    assert (len(scoped.recall("hedge")), scoped.recall("hedge").about) == (1, ())
    put(root.path, "garden/_about.md", "---\nscope: {user: ana}\n---\nHers.\n")
    assert scoped.recall("hedge").about[0].text == "Hers."
    assert root.scoped(user="bo").recall("hedge").about == ()


def test_a_long_text_is_cut(root: MemoryRoot) -> None:
    put(root.path, "garden/_about.md", "hawthorn " * 100_000)
    [found] = root.recall("water").about
    assert found.text.endswith("hawthorn…")
    assert len(found.text) <= 1_001


def test_the_number_of_folders_is_limited(tmp_path: Path) -> None:
    for number in range(30):
        put(tmp_path, f"f{number:02}/_about.md", "A folder.\n")
        put(tmp_path, f"f{number:02}/a.md", f"hedge {number}\n")
    found = MemoryRoot.open(tmp_path).recall("hedge", limit=30)
    assert (len(found), len(found.about)) == (30, 20)
    assert files(found.about) == sorted(files(found.about))


def test_a_context_begins_with_it(root: MemoryRoot) -> None:
    packed = root.context("hedge", budget=400)
    assert str(packed).startswith(
        "[about] garden/_about.md\n# Garden\n\nMy own garden, in Kent.\n\n[about] 园子/_about.md\n"
    )
    assert packed.tokens <= 400
    assert len(packed.passages) == 4
    for budget in range(40, 200, 7):
        packed = root.context("hedge", budget=budget)
        assert packed.tokens <= budget
        assert sum(-(-len(str(one).encode()) // 4) for one in packed.about) <= budget // 4
    tight = root.context("hedge", budget=44)
    assert files(tight.about) == ["园子/_about.md"]
    assert tight.left_out["budget"] >= 2


def test_on_the_command_line(root: MemoryRoot) -> None:
    put(root.path, "garden/_about.md", "Mine\x1b[2J\n\nand yours.\n")
    said = ok("recall", "water", "--root", str(root.path))
    assert "\nAbout garden/: Mine\\x1b[2J and yours.\n\n1. garden/beds/b.md:1-1" in said
    found = as_json("recall", "hedge", "--budget", "400", "--root", str(root.path))
    assert found["about"][0]["folder"] == "garden"
    assert found["text"].startswith("[about] garden/_about.md\n")
