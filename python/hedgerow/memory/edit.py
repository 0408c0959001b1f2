"""Editing the front matter of files that people write (spec/memory.md, "Edits").

An edit changes the characters of one value, or adds a line: all other bytes stay. The new text is
parsed and compared with the old one; unless the field is the only difference, nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow._checks import checked_text, shown
from hedgerow._engine import (
    FrontMatter,
    _append_items,
    _remove_items,
    _remove_key,
    _update_front_matter,
    read_front_matter,
)
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, read_bytes, text_of

from . import files
from .note import iso_time, now, one_line

_BOM = "\ufeff"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


Change = Callable[[str, Mapping[str, Any], str], tuple[str, Mapping[str, Any]]]
"""From a block, its fields and the newline of the file to the new block and the new fields."""


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that can be made: `write` makes it, unless the file was changed in between."""

    path: Path
    old: bytes
    new: bytes
    root: Path

    def write(self) -> bool:
        """Write the file; returns whether it was changed. Raises HedgerowError (`file_changed`)."""
        if self.new == self.old:
            return False
        files.update(self.path, self.new, expected=self.old, root=self.root)
        return True


def set_field(path: Path, name: str, value: Any, *, root: Path | None = None) -> bool:
    """Set a field of front matter; returns whether the file was changed.

    `value` is a str, a number, a bool, or a list of these. A symbolic link is followed to a file
    inside `root`, by default the folder of `path`. Raises HedgerowError, and writes nothing, when
    the edit has to be done by hand (`invalid_front_matter`) or the file was changed at the same
    time (`file_changed`).
    """
    return planned(path, [with_fields({name: value})], root=root).write()


def change_items(
    path: Path,
    name: str,
    *,
    add: Sequence[Any] = (),
    drop: Callable[[Any], bool] | None = None,
    root: Path | None = None,
) -> bool:
    """Drop items from a list of front matter and append others that are not in it yet.

    Returns whether the file was changed. A single value becomes a list that begins with it.
    Follows links and raises as `set_field` does.
    """
    return planned(path, [with_items(name, add=add, drop=drop)], root=root).write()


def with_fields(values: Mapping[str, Any]) -> Change:
    """Set fields of front matter, in their order."""

    def change(
        block: str, fields: Mapping[str, Any], newline: str
    ) -> tuple[str, Mapping[str, Any]]:
        new = {
            name: value
            for name, value in values.items()
            if name not in fields or fields[name] != value or type(fields[name]) is not type(value)
        }
        return (_update_front_matter(block, new, newline) if new else block), {**fields, **new}

    return change


def without_fields(names: Collection[str]) -> Change:
    """Remove fields of front matter, each with its lines."""

    def change(block: str, fields: Mapping[str, Any], _: str) -> tuple[str, Mapping[str, Any]]:
        for name in names:
            if name in fields:
                block = _remove_key(block, name)
        return block, {name: value for name, value in fields.items() if name not in names}

    return change


def without_empty(name: str) -> Change:
    """Remove a list of front matter in which nothing is left."""

    def change(block: str, fields: Mapping[str, Any], _: str) -> tuple[str, Mapping[str, Any]]:
        if fields.get(name) != []:
            return block, fields
        return _remove_key(block, name), {key: fields[key] for key in fields if key != name}

    return change


def with_items(
    name: str, *, add: Sequence[Any] = (), drop: Callable[[Any], bool] | None = None
) -> Change:
    """Drop items from a list of front matter and append others, as `change_items` does."""

    def change(
        block: str, fields: Mapping[str, Any], newline: str
    ) -> tuple[str, Mapping[str, Any]]:
        items = _as_list(fields.get(name))
        dropped = {at for at, item in enumerate(items) if drop is not None and drop(item)}
        kept = [item for at, item in enumerate(items) if at not in dropped]
        new = [item for item in add if item not in kept]
        if not new and not dropped:
            return block, fields
        if dropped:
            block = _remove_items(block, name, sorted(dropped), kept, newline)
        if new:
            block = _append_items(block, name, kept, new, newline)
        return block, {**fields, name: [*kept, *new]}

    return change


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def planned(path: Path, changes: Iterable[Change], *, root: Path | None = None) -> Edit:
    """Prepare changes of the front matter of a file, of which nothing else may differ.

    Raises as `set_field` does for what has to be done by hand.
    """
    data = _read(path)
    decoded = data.decode()
    mark, text = (_BOM, decoded[1:]) if decoded.startswith(_BOM) else ("", decoded)
    new = changed_text(text, str(path), changes)
    return Edit(path, data, (mark + new).encode(), root or path.parent)


def changed_text(text: str, name: str, changes: Iterable[Change]) -> str:
    """Change the front matter of a text, the file `name`, of which nothing else may differ.

    Raises HedgerowError (`invalid_front_matter`) for what has to be done by hand.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    matter = read_front_matter(_lines(text))
    if matter.problem:
        raise _refused(name, f"it is not valid YAML ({matter.problem})")
    head, block, rest = _parts(text, matter, newline)
    changed = block
    fields: Mapping[str, Any] = matter.fields
    try:
        for change in changes:
            changed, fields = change(changed, fields, newline)
    except HedgerowError as error:
        raise _refused(name, error.message) from error
    if changed == block:
        return text
    new = f"{head}{changed}{rest}"
    _check(name, text, new, fields)
    return new


def without_block(text: str) -> str:
    """Return a text without front matter in which there is nothing."""
    lines = text.split("\n", 2)
    return lines[2] if len(lines) > 2 and lines[:2] == ["---", "---"] else text  # noqa: PLR2004


def _read(path: Path) -> bytes:
    try:
        data = read_bytes(Source(str(path), str(path)))
        text_of(data)
    except UnreadableSourceError as error:
        raise _refused(path, error.reason) from error
    return data


def lines_of(text: str) -> list[str]:
    """Split a text into lines, each with its line end."""
    return _LINE.findall(text)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _parts(text: str, matter: FrontMatter, newline: str) -> tuple[str, str, str]:
    """Split a text into what precedes the block, the block, and the rest; adds missing fences."""
    if not matter.body_start:
        return f"---{newline}", "", f"---{newline}{text}"
    lines = lines_of(text)
    end = matter.body_start - 1
    return lines[0], "".join(lines[1:end]), "".join(lines[end:])


def _check(name: str, old: str, new: str, wanted: Mapping[str, Any]) -> None:
    """Raise if the text after the front matter, or any field but the one edited, would change."""
    before, after = read_front_matter(_lines(old)), read_front_matter(_lines(new))
    same_text = _lines(old)[before.body_start :] == _lines(new)[after.body_start :]
    if after.problem or not same_text or dict(after.fields) != dict(wanted):
        raise _refused(name, "the change cannot be made without changing more")


def _refused(name: object, problem: str) -> HedgerowError:
    return HedgerowError(
        f"the front matter of {name} was not changed: {problem}; edit it by hand",
        code="invalid_front_matter",
    )


# The writers that a memory states: agents, sessions and tools (spec/memory.md, "Writers").


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
