"""Roots that are pickled."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow.memory import MemoryRoots
from memory_doubles import put


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    put(tmp_path, "a/notes/ana.md", "---\nscope: {user: ana}\n---\nAna likes oaks.\n")
    put(tmp_path, "a/notes/bo.md", "---\nscope: {user: bo}\n---\nBo likes oaks.\n")
    put(tmp_path, "a/notes/all.md", "All like oaks.\n")
    return MemoryRoot.open(tmp_path / "a")


def found(root: MemoryRoot | MemoryRoots) -> list[str]:
    return sorted(one.file for one in root.recall("oaks"))


def test_a_root_opens_its_folder_again(root: MemoryRoot) -> None:
    again = pickle.loads(pickle.dumps(root))
    assert again.path == root.path
    assert found(again) == found(root) == ["notes/all.md", "notes/ana.md", "notes/bo.md"]


def test_the_scope_stays(root: MemoryRoot) -> None:
    for scoped in (root.scoped(user="ana"), MemoryRoot.open(root.path, scope={"user": "ana"})):
        again = pickle.loads(pickle.dumps(scoped))
        assert (again.scope, found(again)) == ({"user": "ana"}, ["notes/ana.md"])
        assert found(copy.copy(scoped)) == ["notes/ana.md"]
    shared = pickle.loads(pickle.dumps(root.scoped(user="ana", shared=True)))
    assert found(shared) == ["notes/all.md", "notes/ana.md"]


def test_arguments_stay(root: MemoryRoot) -> None:
    watched = MemoryRoot.open(root.path, watch=True, trust=False, durability="full")
    again = pickle.loads(pickle.dumps(watched))
    again.recall("oaks")
    assert again.status().watch is not None


def test_several_roots(root: MemoryRoot, tmp_path: Path) -> None:
    put(tmp_path, "b/notes/elm.md", "Oaks and elms.\n")
    both = MemoryRoots.open([root.path, tmp_path / "b"])
    again = pickle.loads(pickle.dumps(both))
    assert found(again) == found(both)
    assert "@@/notes/elm.md" in found(again)


def test_a_folder_that_is_gone_is_an_error(root: MemoryRoot, tmp_path: Path) -> None:
    data = pickle.dumps(root)
    root.path.rename(tmp_path / "moved")
    with pytest.raises(InvalidInputError, match="No such file"):
        pickle.loads(data)
