"""Changing one entry of a JSON text: every other character stays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object, or an item of an array: its key, its value, and its place in the text."""

    key: str | int
    value: Any
    start: int
    value_start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or an array: the offsets of its brackets and its members."""

    start: int
    end: int
    members: tuple[_Member, ...]
    is_array: bool


def added(text: str, path: Sequence[str], value: Any, *, to_array: bool = False) -> tuple[int, str]:
    """Return the offset and the text to insert, so that the value at `path` is `value`.

    With `to_array`, `path` is an array, and the value becomes its last item. Objects and arrays on the
    way are made if they are missing. The text must be a JSON object, and the value at `path` missing.
    Raises ValueError if something on the way is neither an object nor, at the end, an array.
    """
    at, depth = _BLANK.match(text).end(), 0  # type: ignore[union-attr]  # matches everywhere
    for position, key in enumerate(path):
        container = _container(text, at, path[:position])
        if container.is_array:
            raise ValueError(f"{'.'.join(path[:position])} is an array, not an object")
        found = _found(container, key)
        depth += 1
        if found is None:
            inner = [value] if to_array else value
            for name in reversed(path[position + 1 :]):
                inner = {name: inner}
            return _insertion(text, container, depth, f"{json.dumps(key)}: ", inner)
        at = found.value_start
    if not to_array:
        raise ValueError(f"{'.'.join(path)} is there already")
    container = _container(text, at, path)
    if not container.is_array:
        raise ValueError(f"{'.'.join(path)} is an object, not an array")
    return _insertion(text, container, depth + 1, "", value)


def removed(text: str, path: Sequence[str | int]) -> str:
    """Return a text without the member at `path`, and the comma that separates it from others."""
    at = _BLANK.match(text).end()  # type: ignore[union-attr]  # matches everywhere
    container, found = _container(text, at), None
    for position, key in enumerate(path):
        container = _container(text, at)
        found = _found(container, key)
        if found is None:
            raise ValueError(f"{'.'.join(map(str, path[: position + 1]))} is missing")
        at = found.value_start
    if found is None:
        raise ValueError("the path is empty")
    place = container.members.index(found)
    if place:
        return text[: container.members[place - 1].end] + text[found.end :]
    if len(container.members) > 1:
        return text[: found.start] + text[container.members[1].start :]
    return text[: container.start + 1] + text[container.end :]


def line_and_column(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return the line and the column of the value at a path, or of the last object or array on it."""
    at = _skip(text, 0)
    for key in path:
        found = _found(_container(text, at), key) if text[at] in "{[" else None
        if found is None:
            break
        at = found.value_start
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _insertion(
    text: str, container: _Container, depth: int, label: str, value: Any
) -> tuple[int, str]:
    """Return the offset after the last member, and the text of a new one in the style of the text."""
    members = container.members
    if members:
        before = text[container.start : members[0].start]
        if "\n" not in before:
            return members[-1].end, f", {label}{json.dumps(value, ensure_ascii=False)}"
        own = before.rpartition("\n")[2]
        unit = own[: len(own) // depth] or _INDENT if own else _INDENT
        return members[-1].end, f",\n{own}{label}{_indented(value, own, unit)}"
    outer = _INDENT * (depth - 1)
    own = outer + _INDENT
    return container.start + 1, f"\n{own}{label}{_indented(value, own, _INDENT)}\n{outer}"


def _indented(value: Any, own: str, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{own}")


def _found(container: _Container, key: str | int) -> _Member | None:
    # Of equal keys the last counts, as for every reader of JSON.
    return next((one for one in reversed(container.members) if one.key == key), None)


def _container(text: str, at: int, path: Sequence[str | int] = ()) -> _Container:
    """Return the object or array at an offset of a text that is JSON; `path` is its name in errors."""
    opening = text[at : at + 1]
    if opening not in {"{", "["}:
        problem = ".".join(map(str, path)) or "it"
        raise ValueError(f"{problem} is neither an object nor an array")
    members: list[_Member] = []
    position = _skip(text, at + 1)
    while text[position] not in "}]":
        if text[position] == ",":
            position = _skip(text, position + 1)
        start, key = position, len(members)
        name: str | int = key
        if opening == "{":
            name, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        value, end = _DECODER.raw_decode(text, position)
        members.append(_Member(name, value, start, position, end))
        position = _skip(text, end)
    return _Container(at, position, tuple(members), opening == "[")


def _skip(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]  # matches everywhere
