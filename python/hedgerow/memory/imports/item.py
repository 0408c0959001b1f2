"""The items that every form of export is read into."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from hedgerow._checks import checked_text
from hedgerow._times import utc
from hedgerow.ingest.source import Skip
from hedgerow.memory import note
from hedgerow.memory.names import DIRECTORIES
from hedgerow.memory.scope import FIELD, Scope
from hedgerow.memory.times import parse_time

_MARK = 8


@dataclass(frozen=True, slots=True)
class Item:
    """A memory of another tool: its id there, and the file that it becomes.

    `path` is below the root, `text` the whole file without what marks it as imported.
    """

    id: str
    path: str
    text: str


Items = Iterator[Item | Skip]


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as parts, for exports that are not Markdown."""

    id: str
    text: str
    title: str = ""
    kind: str = "note"
    tags: tuple[str, ...] = ()
    created: datetime | None = None
    updated: datetime | None = None
    scope: Scope = field(default_factory=Scope)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def item(self, tool: str) -> Item:
        """Return the file that it becomes, whose name ends with a hash of its id.

        Raises InvalidInputError for a blank text, and for half of a surrogate pair anywhere.
        """
        checked_text(self.id, "the id")
        title = note.checked_title(self.title or note.title_of(self.text), "Untitled memory")
        matter: dict[str, Any] = {"type": self.kind, "title": title, "source": tool}
        for name, time in (("created_at", self.created), ("updated_at", self.updated)):
            if time is not None:
                matter[name] = note.iso_time(time)
        if self.tags:
            matter["tags"] = list(self.tags)
        matter |= self.fields
        if self.scope:
            matter[FIELD] = self.scope.to_dict()
        mark = hashlib.sha256(f"{tool}\0{self.id}".encode()).hexdigest()[:_MARK]
        if self.created is None:
            name = note.undated_name(title, self.kind, "untitled")
        else:
            name = f"{self.created.date()}-{note.slug(title, 'untitled')}"
        path = f"{DIRECTORIES[self.kind]}/{name}-{mark}.md"
        text = note.render_note(matter, title, note.checked_body(self.text))
        return Item(self.id, path, checked_text(text, "the memory"))


def time_from(value: object) -> datetime | None:
    """Return a time given as ISO 8601 or as Unix seconds; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return datetime.fromtimestamp(value, timezone.utc)
        except (ValueError, OverflowError, OSError):
            return None
    found = parse_time(value)
    return None if found is None else utc(found)


def texts_from(value: object) -> tuple[str, ...]:
    """Return the texts of a list; none for anything else."""
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value if isinstance(one, str) and one.strip())
