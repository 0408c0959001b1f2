"""The marks in front matter that say what holds (spec/memory.md, "What holds").

A mark is a field that says from when and until when a memory holds, what took its place, or that
it was wrong. Nothing is guessed: without a mark, a memory holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hedgerow._engine import Index, _FileColumns, _Marks
from hedgerow.errors import InvalidInputError

from . import files, note
from .derived import Derived
from .documents import Document, parse_document
from .edit import Change, ListItems, planned
from .files import locked
from .links import leads_of, written_name
from .root_files import NodeState
from .scope import Scope
from .times import HOLDS, Validity, micros_of

SUPERSEDES, SUPERSEDED_BY = "supersedes", "superseded_by"
RETRACTED, REASON = "retracted", "retraction_reason"


class Marks:
    """The marks of all memories of a root, and which memories hold at a time.

    A memory can supersede only those of the same scope or a narrower one. Marks by which memories
    supersede each other in a cycle do not count, and neither do times of validity that end before
    they begin; lint names both.
    """

    def __init__(self, found: _Marks) -> None:
        self._found = found

    @classmethod
    def of(cls, index: Index, columns: _FileColumns) -> Marks:
        """Return the marks that an index knows."""
        return cls(columns.marks(index))

    def at(self, path: str, time: datetime, *, was_known: bool = False) -> Validity:
        """Return whether a memory holds at a time.

        With `was_known`, a memory without `valid_from` holds from its own time on.
        """
        found = self._found.at(path, micros_of(time), was_known)
        return HOLDS if found is None else Validity.of_texts(*found)

    def holds(self, path: str, time: datetime) -> bool:
        """Return whether a memory holds.

        Faster than `at`, which follows the memories it is derived from.
        """
        return self._found.holds(path, micros_of(time))

    def superseding(self, path: str) -> list[str]:
        """Return the memories that supersede a memory, without cycles.

        Names of missing files count too.
        """
        return self._found.superseding(path)

    def said_to_supersede(self, path: str) -> list[str]:
        """Return everything that is said to supersede a memory, also in a cycle."""
        in_cycles = [new for old, new in self.cycles if old == path]
        return sorted([*self.superseding(path), *in_cycles])

    @property
    def cycles(self) -> list[tuple[str, str]]:
        """The pairs (old, new) of memories that supersede each other, in path order."""
        return self._found.cycles

    def scope(self, path: str) -> Scope:
        """Return the scope that a memory states."""
        return Scope(*self._found.scope(path))


def supersede(derived: Derived, old: str, new: str) -> list[str]:
    """Mark `old` as superseded by `new` in both files; returns those that were changed."""
    if old == new:
        raise InvalidInputError(f"the memory {old!r} cannot supersede itself", code="invalid_edge")
    with locked(derived.lock):
        marks = {
            new: ListItems(SUPERSEDES, [written_name(old)]),
            old: ListItems(SUPERSEDED_BY, [written_name(new)]),
        }
        return _written(derived, {path: Change([items]) for path, items in marks.items()})


def check_no_circle(marks: Marks, old: str, new: str) -> None:
    """Raise InvalidInputError if `old` already supersedes `new`, directly or through others.

    Marks in a circle do not count: all memories in it would hold.
    """
    chain = [new]
    for path in chain:
        chain += [one for one in marks.said_to_supersede(path) if one not in chain]
    if old in chain and old != new:
        raise InvalidInputError(
            f"{old} supersedes {new}, perhaps through others: restore {new} first if it is true again",
            code="invalid_edge",
        )


def check_markable(derived: Derived, path: str) -> Document:
    """Read a memory that is to be marked; HedgerowError where its front matter cannot be edited."""
    planned(derived.source_root, path, Change([ListItems(SUPERSEDED_BY, ["[[_]]"])]))
    return parse_document(path, (derived.source_root / path).read_bytes())


def retract(derived: Derived, path: str, reason: str | None) -> list[str]:
    """Mark a memory as retracted; returns the files that were changed."""
    fields: dict[str, Any] = {RETRACTED: note.iso_time(note.now())}
    said = "" if reason is None else note.one_line(reason)
    if said:
        fields[REASON] = said
    with locked(derived.lock):
        return _written(derived, {path: Change(fields=fields)})


def restore(derived: Derived, state: NodeState, path: str, news: Sequence[str]) -> list[str]:
    """Remove the marks by which a memory is retracted or superseded, there and in `news`."""
    changes = {path: Change(removed=(RETRACTED, REASON, SUPERSEDED_BY))}
    for new in news:
        if new in state.nodes:
            leads = leads_of(state, new, path, SUPERSEDES)
            changes[new] = Change([ListItems(SUPERSEDES, drop=leads, removes_empty=True)])
    with locked(derived.lock):
        return _written(derived, changes)


def _written(derived: Derived, changes: Mapping[str, Change]) -> list[str]:
    """Write changes, all of which are checked first; returns the files that were changed."""
    edits = {path: planned(derived.source_root, path, one) for path, one in changes.items()}
    changed = {path: edit for path, edit in edits.items() if edit.new != edit.old}
    if changed:
        contents = {edit.path: (edit.new, edit.old) for edit in changed.values()}
        files.update_all(contents, root=derived.source_root)
    return list(changed)
