"""The marks in front matter that say what holds (spec/memory.md, "What holds").

A mark is a field that says from when and until when a memory holds, what took its place, or that
it was wrong. Nothing is guessed: without a mark, a memory holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from hedgerow._engine import _Marks

from .documents import Document
from .scope import Scope
from .times import micros_of
from .validity import HOLDS, Validity

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
    def of_documents(cls, documents: Iterable[Document]) -> Marks:
        """Read the marks of documents."""
        return cls(_Marks([(one.path, one.title, one.aliases, one.matter) for one in documents]))

    def at(self, path: str, time: datetime, *, was_known: bool = False) -> Validity:
        """Return whether a memory holds at a time.

        With `was_known`, a memory without `valid_from` holds from its own time on.
        """
        found = self._found.at(path, micros_of(time), was_known)
        return HOLDS if found is None else Validity.of_texts(*found)

    def holds(self, path: str, time: datetime) -> bool:
        """Tell whether a memory holds; quicker than `at`, which follows what it is derived from."""
        return self._found.holds(path, micros_of(time))

    def superseding(self, path: str) -> list[str]:
        """Return what supersedes a memory, without cycles; names that lead to no file count too."""
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

    def contradicts_itself(self, path: str) -> bool:
        """Tell whether the `valid_until` of a memory is before its `valid_from`."""
        return self._found.contradicts_itself(path)

    def unreadable(self, path: str) -> list[tuple[str, str]]:
        """Return the marks (field, value) of a memory that should be a time and are not."""
        return self._found.unreadable(path)
