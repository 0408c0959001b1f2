"""Conflict copies of sync programs are named with their original, and stay memories."""

from __future__ import annotations

import pytest

from hedgerow import MemoryRoot
from hedgerow.memory.doctor import diagnose
from memory_doubles import put

COPIES = [
    "note.sync-conflict-20261102-101010-ABCDEFG.md",
    "note (Ana's conflicted copy 2026-11-02).md",
    "note (conflicted copy 2026-11-02 101010).md",
    "note (Conflicted copy Laptop 202611021010).md",
    "note_conflict-20181102-101010.md",
    "note (SFConflict ana@example.org 2026-11-02-10-10-10).md",
    "note (conflict).md",
]
ADVICE = (
    "a sync program kept it as another version of notes/note.md: put what is missing into "
    "notes/note.md, and delete the copy"
)


@pytest.mark.parametrize("copy", COPIES)
def test_every_face_names_a_copy(root: MemoryRoot, copy: str) -> None:
    put(root.path, "notes/note.md", "The walrus sleeps.\n")
    put(root.path, f"notes/{copy}", "The walrus swims.\n")
    said = f"notes/{copy}: {ADVICE}"
    found = root.recall("walrus")
    assert sorted(one.file for one in found) == sorted([f"notes/{copy}", "notes/note.md"])
    assert found.notices == (said,)
    assert root.context("walrus").notices == (said,)
    files = diagnose(root.path).files
    assert (files.ok, files.message) == (False, f"1 problem: {said}.")
    assert root.process("lint").summary[1:] == (f"[conflict-copy] `notes/{copy}`: {ADVICE}",)
    assert root.process("lint", topic="zebra").summary[1:] == ()


@pytest.mark.parametrize("name", ["note (1).md", "note 2.md", "note-LAPTOP.md", "Conflict.md"])
def test_other_names_are_no_copies(root: MemoryRoot, name: str) -> None:
    put(root.path, "notes/note.md", "The walrus sleeps.\n")
    put(root.path, f"notes/{name}", "The walrus swims.\n")
    assert root.recall("walrus").notices == ()
    assert diagnose(root.path).files.ok
    assert root.process("lint").summary == ("0 findings.",)


@pytest.mark.parametrize("copy", COPIES)
def test_a_file_whose_original_is_gone_is_no_copy(root: MemoryRoot, copy: str) -> None:
    put(root.path, f"notes/{copy}", "The walrus sleeps.\n")
    put(root.path, "note.md", "The walrus swims.\n")
    assert root.recall("walrus").notices == ()
    assert diagnose(root.path).files.ok
    assert root.process("lint").summary == ("0 findings.",)


def test_the_original_need_not_be_found(root: MemoryRoot) -> None:
    put(root.path, "notes/note.md", "The seal sleeps.\n")
    put(root.path, "notes/note (conflict).md", "The walrus swims.\n")
    assert root.recall("walrus").notices == (f"notes/note (conflict).md: {ADVICE}",)


def test_within_a_scope_copies_of_others_are_not_named(root: MemoryRoot) -> None:
    put(root.path, "notes/note.md", "---\nscope: {user: ben}\n---\nThe walrus sleeps.\n")
    put(root.path, "notes/note (conflict).md", "---\nscope: {user: ana}\n---\nThe walrus swims.\n")
    put(root.path, f"notes/{COPIES[0]}", "---\nscope: {user: ben}\n---\nThe walrus dives.\n")
    ana = root.scoped(user="ana")
    assert ana.recall("walrus").notices == ()
    assert ana.process("lint").summary[1:] == ()
