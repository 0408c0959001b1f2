"""The JSON form of actions: `{"actions": [{"op": ...}]}` (spec/agents.md, "Replies")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ._nearest import nearest
from ._text_form import Asked
from .actions import ACTIONS, Rejected

_START = re.compile(
    r"""
      ^[ \t]*(?: \{[ \t]*(?:["}]|$) | \[[ \t]*(?:\{|$) )
    | \{\s*"actions"\s*:
    """,
    re.VERBOSE | re.MULTILINE,
)
_SPACE = re.compile(r"[ \t\n\r]*")

# Models write line ends into strings as they are.
_DECODER = json.JSONDecoder(strict=False)


def json_starts(text: str) -> list[int]:
    """Where JSON may begin: lines that begin an object or an array of objects, and `{"actions":`
    wherever it stands.
    """
    return [found.start() for found in _START.finditer(text)]


def read_json(text: str, start: int) -> tuple[list[Asked | Rejected], int]:
    """Read the value that begins at `start`: what it asks for, and where it ends.

    Raises ValueError, in words, for what is no JSON or has no list of actions.
    """
    try:
        start = _after_space(text, start)
        value, end = _DECODER.raw_decode(text, start)
        if isinstance(value, list):
            return _entries(text, start), end
        if isinstance(value.get("actions"), list):
            return _entries(text, _start_of_actions(text, start)), end
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the reply is JSON that cannot be read ({error})") from error
    raise ValueError('the reply is JSON without a list "actions"')


def _entries(text: str, start: int) -> list[Asked | Rejected]:
    """What the elements of an array ask for."""
    return [_entry(text, *element) for element in _elements(text, start)]


def _entry(text: str, start: int, end: int, value: Any) -> Asked | Rejected:
    line = text.count("\n", 0, start) + 1
    source = text[start:end]
    if not isinstance(value, dict):
        return Rejected(line, source, "an action is an object")
    op = value.get("op")
    if not isinstance(op, str) or op not in ACTIONS:
        near = nearest(op, ACTIONS) if isinstance(op, str) else None
        meant = f'; did you mean "{near}"?' if near else f"; there are {', '.join(ACTIONS)}"
        known = 'there is no action "' + op + '"' if isinstance(op, str) else 'no text "op"'
        return Rejected(line, source, known + meant)
    return Asked(line, source, op, {name: found for name, found in value.items() if name != "op"})


def _start_of_actions(text: str, start: int) -> int:
    """Where the array of the last key "actions" begins, in an object that has been read."""
    found = start
    position = _after_space(text, start + 1)
    while text[position] != "}":
        key, position = _DECODER.raw_decode(text, position)
        position = _after_space(text, _after_space(text, position) + 1)  # the colon
        if key == "actions":
            found = position
        _, position = _DECODER.raw_decode(text, position)
        position = _after_mark(text, position)
    return found


def _elements(text: str, start: int) -> Iterator[tuple[int, int, Any]]:
    """The elements of an array that has been read, with where each begins and ends."""
    position = _after_space(text, start + 1)
    while text[position] != "]":
        value, end = _DECODER.raw_decode(text, position)
        yield position, end, value
        position = _after_mark(text, end)


def _after_mark(text: str, position: int) -> int:
    """The place after white space, and after a comma and white space where there is one."""
    position = _after_space(text, position)
    return _after_space(text, position + 1) if text[position] == "," else position


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()
