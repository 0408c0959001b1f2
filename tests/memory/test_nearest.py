"""The search for a root from a folder upward, and skipped roots (spec/memory.md, "Which root")."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from command_line import as_json, failed, ok, run
from hedgerow.memory import config
from hedgerow.memory.config import Nearest, nearest_root
from memory_doubles import put

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")

CONFIG = '{"schemaVersion": 1}'


@pytest.fixture
def deep(here: Path) -> Path:
    """A folder with a root two levels above it."""
    put(here, "project/hedgerow.json", CONFIG)
    put(here, "project/a/b/c.txt", "")
    return (here / "project/a/b").resolve()


def passed(found: Nearest) -> list[tuple[str, str]]:
    return [(one.path.name, one.reason) for one in found.passed]


def test_one_of_this_user_is_taken(deep: Path) -> None:
    assert nearest_root(deep) == Nearest(deep.parents[1], ())


@posix
class TestOwners:
    def test_one_that_another_user_owns_is_passed_by(
        self, deep: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mine = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
        found = nearest_root(deep)
        assert found.root is None
        assert passed(found) == [("project", "another user owns the folder")]

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
    def test_a_configuration_of_another_user_counts_too(self, deep: Path) -> None:
        os.chown(deep.parents[1] / "hedgerow.json", 12345, -1)
        assert passed(nearest_root(deep)) == [("project", "another user owns hedgerow.json")]

    @pytest.mark.parametrize("mode", [0o777, 0o1777])
    def test_one_that_anybody_may_write_to_is_passed_by(self, deep: Path, mode: int) -> None:
        deep.parents[1].chmod(mode)
        assert passed(nearest_root(deep)) == [("project", "anybody may write to the folder")]

    def test_a_configuration_that_anybody_may_write_to_counts_too(self, deep: Path) -> None:
        (deep.parents[1] / "hedgerow.json").chmod(0o666)
        assert passed(nearest_root(deep)) == [("project", "anybody may write to hedgerow.json")]

    def test_one_of_this_user_below_a_sticky_folder_is_taken(self, deep: Path) -> None:
        deep.parents[2].chmod(0o1777)
        assert nearest_root(deep).root == deep.parents[1]

    def test_the_next_one_upward_is_taken(self, deep: Path) -> None:
        put(deep.parent, "memory/hedgerow.json", CONFIG)
        (deep.parent / "memory").chmod(0o777)
        found = nearest_root(deep)
        assert found.root == deep.parents[1]
        assert passed(found) == [("memory", "anybody may write to the folder")]

    def test_a_linked_memory_that_leads_out_is_passed_by(self, deep: Path, here: Path) -> None:
        put(here, "private/hedgerow.json", CONFIG)
        (deep / "memory").symlink_to(here / "private")
        found = nearest_root(deep)
        assert found.root == deep.parents[1]
        assert passed(found) == [("memory", f"it is a link to {here.resolve()}/private")]
        put(deep, "real/hedgerow.json", CONFIG)
        (deep / "memory").unlink()
        (deep / "memory").symlink_to("real")
        assert nearest_root(deep).root == deep / "memory"


class TestBorders:
    def test_none_above_the_home_folder(self, deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(deep.parent))
        monkeypatch.setenv("USERPROFILE", str(deep.parent))
        found = nearest_root(deep)
        assert (found.root, passed(found)) == (None, [("project", "it is above the home folder")])
        put(deep.parent, "hedgerow.json", CONFIG)
        assert nearest_root(deep) == Nearest(deep.parent, ())

    def test_outside_of_the_home_folder_it_is_no_border(
        self, deep: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(deep / "home"))
        assert nearest_root(deep).root == deep.parents[1]

    def test_none_on_another_file_system(self, deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(config, "_device", lambda folder: int(folder == deep))
        found = nearest_root(deep)
        assert found.root is None
        assert passed(found) == [("project", f"{deep} is on another file system")]


@posix
class TestCommands:
    @pytest.fixture
    def shared(self, deep: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A root above the working directory that every user can write to."""
        monkeypatch.chdir(deep)
        deep.parents[1].chmod(0o1777)
        return deep.parents[1]

    def test_say_which_was_passed_by_where_there_is_no_other(self, shared: Path) -> None:
        message = failed(2, "recall", "--topic", "x")
        assert "there is no memory root here" in message
        assert (
            f"Note: the memory root {shared} was passed by: anybody may write to the folder; "
            f"to use it: --root {shared}"
        ) in message
        assert not (shared / ".hedgerow").exists()

    def test_say_which_was_passed_by_and_take_the_next(self, shared: Path, here: Path) -> None:
        put(here, "memory/hedgerow.json", CONFIG)
        result = run("status", "--json")
        assert result.exit_code == 0
        assert f'"root": "{here.resolve()}/memory"' in result.stdout
        assert f"the memory root {shared} was passed by" in result.stderr

    def test_doctor_says_so_and_falls_back(self, shared: Path) -> None:
        result = run("doctor")
        assert f"the memory root {shared} was passed by" in result.stderr
        assert ".hedgerow/memory" in result.stdout

    def test_take_one_that_is_named(self, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert as_json("status", "--root", str(shared))["root"] == str(shared)
        monkeypatch.setenv("HEDGEROW_MEMORY_ROOT", str(shared))
        assert as_json("status")["root"] == str(shared)
        assert f"Memory root: {shared}\n" in ok("recall", "--topic", "x")
