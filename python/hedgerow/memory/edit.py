"""Changing the front matter of a file that people write (spec/memory.md, "Edits").

A change touches the characters of one value, or adds a line: all other bytes stay. What the file
then says is compared with what it said before, and with a change that is not that one alone the
file is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.ingest.front_matter import (
    FrontMatter,
    append_item,
    read_front_matter,
    remove_items,
    update_front_matter,
)
from hedgerow.ingest.source import Source, UnreadableSourceError, read_bytes, text_of

from . import files

_BOM = "\ufeff"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def set_field(path: Path, name: str, value: Any) -> bool:
    """Set a field of front matter; returns whether the file said something else.

    `value` is a text, a number, a bool, or a list of these. Raises HedgerowError, with the code
    `invalid_front_matter`, where that has to be done by hand, and nothing is written then.
    """

    def change(block: str, fields: Mapping[str, Any], newline: str) -> tuple[str, Any]:
        if name in fields and fields[name] == value and type(fields[name]) is type(value):
            return block, value
        return update_front_matter(block, {name: value}, newline), value

    return _edit(path, name, change)


def change_items(
    path: Path, name: str, *, add: Sequence[Any] = (), drop: Callable[[Any], bool] | None = None
) -> bool:
    """Drop items from a list of front matter and add others, each once; returns whether it changed.

    A field that is no list becomes one, with what it held first. Raises as `set_field` does.
    """

    def change(block: str, fields: Mapping[str, Any], newline: str) -> tuple[str, Any]:
        items = _as_list(fields.get(name))
        dropped = [place for place, item in enumerate(items) if drop is not None and drop(item)]
        kept = [item for place, item in enumerate(items) if place not in dropped]
        new = [item for item in add if item not in kept]
        if not new and not dropped:
            return block, fields.get(name)
        if dropped:
            block = remove_items(block, name, dropped, kept, newline)
        for item in new:
            block = append_item(block, name, kept, item, newline)
            kept = [*kept, item]
        return block, kept

    return _edit(path, name, change)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


Change = Callable[[str, Mapping[str, Any], str], tuple[str, Any]]
"""From a block, its fields and the line end of the file to the new block and what the field is."""


def _edit(path: Path, name: str, change: Change) -> bool:
    """Change the block of a file, and write the file if it then says just what it is to say."""
    data = _read(path)
    mark, text = (_BOM, data[1:]) if data.startswith(_BOM) else ("", data)
    newline = "\r\n" if "\r\n" in text else "\n"
    matter = read_front_matter(_lines(text))
    if matter.problem:
        raise _refused(path, f"it is no valid YAML ({matter.problem})")
    head, block, rest = _parts(text, matter, newline)
    try:
        changed, value = change(block, matter.fields, newline)
    except HedgerowError as error:
        raise _refused(path, error.message) from error
    if changed == block:
        return False
    new = f"{head}{changed}{rest}"
    _check(path, text, new, {**matter.fields, name: value})
    if _read(path) != data:
        raise _refused(path, "somebody changed the file at the same time", "try again")
    files.replace(path, mark + new)
    return True


def _read(path: Path) -> str:
    try:
        data = read_bytes(Source(str(path), str(path)))
        text_of(data)
        return data.decode()
    except UnreadableSourceError as error:
        raise _refused(path, error.reason) from error


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _parts(text: str, matter: FrontMatter, newline: str) -> tuple[str, str, str]:
    """Give what is before the block, the block, and the rest; fences where there are none."""
    if not matter.body_start:
        return f"---{newline}", "", f"---{newline}{text}"
    lines = _LINE.findall(text)
    end = matter.body_start - 1
    return lines[0], "".join(lines[1:end]), "".join(lines[end:])


def _check(path: Path, old: str, new: str, wanted: Mapping[str, Any]) -> None:
    """Refuse what would change the text, or say anything else than what is wanted."""
    before, after = read_front_matter(_lines(old)), read_front_matter(_lines(new))
    same_text = _lines(old)[before.body_start :] == _lines(new)[after.body_start :]
    if after.problem or not same_text or dict(after.fields) != dict(wanted):
        raise _refused(path, "the change cannot be made without changing more")


def _refused(path: Path, problem: str, advice: str = "edit it by hand") -> HedgerowError:
    return HedgerowError(
        f"the front matter of {path} was not changed: {problem}; {advice}",
        code="invalid_front_matter",
    )
