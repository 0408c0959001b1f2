"""A memory as a node: what its file, its folder and its front matter say (spec/memory.md, "Nodes")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hedgerow._engine import Node, _shorten
from hedgerow.errors import InvalidInputError

from .documents import Document
from .names import DIRECTORIES
from .times import day_in_name, event_time, parse_time

LONGEST_KEY = 512
CATEGORIES = ("core", "general", "technical", "observation", "task")

_TIME_LIMIT = 2**63
_LONGEST_SHOWN = 60
_UPDATED = ("updated_at", "created_at", "created", "date")
_CREATED = ("created_at", "created", "date", "updated_at")


def node_of(document: Document, modified: int) -> tuple[Node, list[str]]:
    """Make the node of a document last modified at `modified`, in Unix seconds.

    Also gives what could not be taken from its front matter, for which the default stands.
    """
    fields = _Fields(document.matter.fields)
    metadata = document.metadata
    named = day_in_name(document.path)
    updated = event_time(metadata, *_UPDATED) or named
    created = event_time(metadata, *_CREATED) or named
    node = Node(
        document.path,
        type=_type_of(document.path, fields),
        content=document.body.strip(),
        weight=fields.number("weight", 0.7, 0, 1),
        category=fields.take("category", "general", f"one of {', '.join(CATEGORIES)}", _category),
        emotion=fields.number("emotion", 0.0, 0, 10),
        provenance=document.matter.text("provenance", "source") or "manual",
        updated_at=int(updated.timestamp()) if updated else modified,
        created_at=int(created.timestamp()) if created else modified,
        last_replayed=fields.take("last_replayed", 0, "a date, or Unix seconds", _seconds),
        replay_interval=fields.take("replay_interval", 1, "a whole number of days from 1", _days),
    )
    return node, fields.problems


def _type_of(path: str, fields: _Fields) -> str:
    """Return the type a memory states, else that of its folder, else `note`."""
    first = path.partition("/")[0]
    usual = next((kind for kind, folder in DIRECTORIES.items() if folder == first), "note")
    kind: str = fields.take("type", usual, "a word of up to 64 letters, digits, - and _", _type)
    return "episodic" if kind == "session" else kind


class _Fields:
    """Front matter, read field by field; what cannot be used is noted."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self.problems: list[str] = []

    def take(self, name: str, usual: Any, what: str, read: Callable[[Any], Any]) -> Any:
        """Return what a field holds, as `read` has it.

        Where it holds nothing, or `read` gives None, the usual value counts.
        """
        value = self._fields.get(name)
        if value is None or value == "":
            return usual
        taken = read(value)
        if taken is None:
            given = _shorten(repr(value), _LONGEST_SHOWN)
            self.problems.append(f"{name} must be {what}, not {given}; {usual!r} is used")
            return usual
        return taken

    def number(self, name: str, usual: float, least: float, most: float) -> float:
        """Return a number of a range."""

        def read(value: Any) -> float | None:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return float(value) if is_number and least <= value <= most else None

        number: float = self.take(name, usual, f"a number from {least} to {most}", read)
        return number


def _type(value: Any) -> str | None:
    """Read a type: small letters, with `-` for what stands between words."""
    if not isinstance(value, str):
        return None
    kind = "-".join(value.lower().split())
    try:
        return kind if kind == "session" else Node("a", type=kind).type
    except InvalidInputError:
        return None


def _category(value: Any) -> str | None:
    return value if value in CATEGORIES else None


def _seconds(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < _TIME_LIMIT else None
    time = parse_time(value)
    return int(time.timestamp()) if time else None


def _days(value: Any) -> int | None:
    is_days = isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31
    return value if is_days else None
