"""Actions as JSON in a reply (spec/agents.md, "Replies")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .actions import ACTIONS, RejectedPart, RequestedAction
from .problems import Lines, ReplyError, encodable, nearest

__all__ = ["JSON_START", "decoded", "read_json"]

JSON_START = re.compile(
    r"""
      ^[ \t]*(?: \{[ \t]*(?:["}]|$) | \[[ \t]*(?:\{|$) )
    | \{\s*"actions"\s*:
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Lines that begin an object or an array of objects, and `{"actions":` anywhere."""

_SPACE = re.compile(r"[ \t\n\r]*")

# Models put unescaped line breaks into strings.
_DECODER = json.JSONDecoder(strict=False)


def decoded(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value at `start`, after white space, and where it ends.

    Raises ReplyError for malformed JSON.
    """
    try:
        value, end = _DECODER.raw_decode(text, _after_space(text, start))
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the reply has malformed JSON ({error})") from error
    return value, end


def read_json(
    text: str, start: int, lines: Lines
) -> tuple[list[RequestedAction | RejectedPart], int]:
    """Read the JSON value at `start`: its actions, and where it ends. `lines` are those of `text`.

    Raises ReplyError for malformed JSON, and for JSON without a list of actions.
    """
    value, end = decoded(text, start)
    start = _after_space(text, start)
    if isinstance(value, list):
        return _entries(text, start, lines), end
    if isinstance(value, dict) and isinstance(value.get("actions"), list):
        return _entries(text, _start_of_actions(text, start), lines), end
    raise ReplyError('the reply is JSON without a list "actions"')


def _entries(text: str, start: int, lines: Lines) -> list[RequestedAction | RejectedPart]:
    return [
        _entry(lines.line_and_column(first)[0], text[first:end], value)
        for first, end, value in _elements(text, start)
    ]


def _entry(line: int, source: str, value: Any) -> RequestedAction | RejectedPart:
    if not isinstance(value, dict):
        return RejectedPart(line, source, "an action must be an object")
    op = value.get("op")
    if not isinstance(op, str):
        return RejectedPart(line, source, f'"op" must be one of {", ".join(ACTIONS)}')
    if op not in ACTIONS:
        near = nearest(op, ACTIONS)
        meant = f'; did you mean "{near}"?' if near else f"; there are {', '.join(ACTIONS)}"
        return RejectedPart(line, source, f'there is no action "{encodable(op)}"{meant}')
    values = {name: found for name, found in value.items() if name != "op"}
    return RequestedAction(line, source, op, values)


def _start_of_actions(text: str, start: int) -> int:
    """Where the array of the last key "actions" begins, in an object known to be valid."""
    found = start
    offset = _after_space(text, start + 1)
    while text[offset] != "}":
        key, offset = _DECODER.raw_decode(text, offset)
        offset = _after_space(text, _after_space(text, offset) + 1)  # the colon
        if key == "actions":
            found = offset
        _, offset = _DECODER.raw_decode(text, offset)
        offset = _after_comma(text, offset)
    return found


def _elements(text: str, start: int) -> Iterator[tuple[int, int, Any]]:
    """The elements of an array known to be valid, with where each begins and ends."""
    offset = _after_space(text, start + 1)
    while text[offset] != "]":
        value, end = _DECODER.raw_decode(text, offset)
        yield offset, end, value
        offset = _after_comma(text, end)


def _after_comma(text: str, offset: int) -> int:
    """Return the offset after white space, and after a comma and white space if any."""
    offset = _after_space(text, offset)
    return _after_space(text, offset + 1) if text[offset] == "," else offset


def _after_space(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return offset if found is None else found.end()
