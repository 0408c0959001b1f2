"""The writers that a memory states: agents, sessions and tools (spec/memory.md, "Writers")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow._checks import checked_text, shown
from hedgerow.errors import InvalidInputError

from .edit import Change, changed_text, with_fields, with_items
from .note import iso_time, now, one_line

WRITTEN_BY = "written_by"
"""The field of front matter with one name, or a list of names."""

LONGEST_NAME = 200
"""The most characters of the name of a writer. Longer ones would fill lists."""


def checked_writer(name: str) -> str:
    """Return the name of a writer on one line; InvalidInputError for a blank or a long one."""
    line = one_line(checked_text(name, WRITTEN_BY))
    if not line.strip("#/ ") or len(line) > LONGEST_NAME:
        raise InvalidInputError(
            f"written_by must be a name of 1 to {LONGEST_NAME} characters, as in codex or "
            f"codex/session-1, not {shown(name)[:LONGEST_NAME]}",
            code="invalid_option",
        )
    return line


def writers_of(fields: Mapping[str, Any]) -> list[str]:
    """Return the writers that front matter states, in order."""
    stated = fields.get(WRITTEN_BY)
    names = stated if isinstance(stated, list) else [stated]
    return [
        one_line(name)[:LONGEST_NAME] for name in names if isinstance(name, str) and name.strip()
    ]


def with_writer(text: str, file: str, name: str) -> str:
    """Return a text whose front matter states one more writer, and the present as its change.

    Raises HedgerowError (`invalid_front_matter`) for front matter that has to be edited by hand.
    """
    writer = checked_writer(name)
    return changed_text(text, file, [with_items(WRITTEN_BY, add=[writer]), _touched()])


def _touched() -> Change:
    """Set `updated_at` where it is, or where `created_at` is."""

    def change(
        block: str, fields: Mapping[str, Any], newline: str
    ) -> tuple[str, Mapping[str, Any]]:
        if "updated_at" not in fields and "created_at" not in fields:
            return block, fields
        return with_fields({"updated_at": iso_time(now())})(block, fields, newline)

    return change
