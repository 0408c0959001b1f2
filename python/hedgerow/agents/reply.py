"""Reading a model's reply (spec/agents.md, "Replies").

    reply     = { directive | block | json | text } ;          (* each begins a line *)
    directive = "LINK" , key , key , [ number ] | "WEIGHT" , key , number
              | "CATEGORIZE" , key , category | "DELETE" , key | "RENAME" , key , key
              | "NOTE" , ( quoted | text ) ;
    block     = "WRITE_NODE" , key , { header } , { text } , "END_NODE"
              | "REFINE" , key , { text } , "END_REFINE" ;      (* a line each *)
    header    = ( "CONFIDENCE" | "COVERS" | "TYPE" ) , ":" , text ;
    json      = '{"actions": [' , { '{"op": …}' } , "]}" , or the array alone ;
    key       = word | quoted ;                                (* quoted as in JSON *)

Other text is ignored. Whatever looks like a directive becomes an action or a `Rejected`;
deliberately, there is no other way to request anything.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import HedgerowError

from .actions import ACTIONS, Action, Note, Rejected, Requested, WrongActionError, action_of
from .directives import DirectiveReader
from .problems import Lines, nearest

__all__ = ["Reply", "ReplyError", "parse_reply"]


LIMIT = 1024 * 1024
"""The most characters of a reply that is read."""


class ReplyError(HedgerowError):
    """A reply cannot be read, so nothing in it is carried out and the run has failed."""

    def __init__(self, message: str, *, code: str = "unreadable_reply") -> None:
        super().__init__(message, code=code)


@dataclass(frozen=True, slots=True)
class Reply:
    """The valid actions of a reply and what was rejected, with reasons, each in reply order."""

    actions: tuple[Action, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the notes among the actions."""
        return tuple(action.text for action in self.actions if isinstance(action, Note))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; actions have the form that replies may use."""
        return {
            "actions": [action.to_dict() for action in self.actions],
            "rejected": [rejected.to_dict() for rejected in self.rejected],
        }


def parse_reply(text: str, *, allowed: Collection[str], max_actions: int) -> Reply:
    """Parse a reply: up to `max_actions` actions, all of them `allowed`; the rest is rejected.

    Checks values, not whether nodes exist. Raises ReplyError for a blank reply and for JSON that
    is malformed or has no list of actions.
    """
    text = _readable(text)
    actions: list[Action] = []
    rejected: list[Rejected] = []
    for found in _requests(text):
        checked = _checked(found, allowed)
        if isinstance(checked, Rejected):
            rejected.append(checked)
        elif len(actions) < max_actions:
            actions.append(checked)
        else:
            reason = f"one run may have at most {max_actions} actions (max_actions)"
            rejected.append(Rejected(found.line, found.text, reason, checked.op))
    return Reply(tuple(actions), tuple(rejected))


def _readable(text: str) -> str:
    if not isinstance(text, str):
        raise ReplyError(f"the reply must be a string, not {type(text).__name__}")
    if not text.strip():
        raise ReplyError("the model replied with nothing")
    if len(text) > LIMIT:
        raise ReplyError(f"the reply has {len(text):,} characters; at most {LIMIT:,} are read")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        position = error.start
    else:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ReplyError(f"the reply has an unpaired surrogate at character {position}")


def _requests(text: str) -> Iterator[Requested | Rejected]:
    """Everything the reply requests, in order."""
    reader = DirectiveReader(text.split("\n"))
    lines = Lines(text)
    starts = [found.start() for found in _JSON_START.finditer(text)]

    def json_from(offset: int) -> int | None:
        """Where JSON begins at an offset or after it on the same line."""
        slot = bisect_left(starts, offset)
        line = lines.line_and_column(offset)[0]
        same = slot < len(starts) and lines.line_and_column(starts[slot])[0] == line
        return starts[slot] if same else None

    index = 0
    while index < len(reader.lines):
        start = None if reader.has_directive(index) else json_from(lines.start(index + 1))
        if start is None:
            request, index = reader.read(index)
            if request is not None:
                yield request
        while start is not None:
            found, end = _read_json(text, start, lines)
            yield from found
            index = lines.line_and_column(end)[0]
            start = json_from(end)


def _checked(found: Requested | Rejected, allowed: Collection[str]) -> Action | Rejected:
    if isinstance(found, Rejected):
        return found
    if found.op not in allowed:
        reason = f'this agent may not {found.op}; "actions" of its definition does not list it'
        return Rejected(found.line, found.text, reason, found.op)
    try:
        return action_of(found.op, found.values, found.line)
    except WrongActionError as error:
        return Rejected(found.line, found.text, str(error), found.op)


# Lines that begin an object or an array of objects, and `{"actions":` anywhere.
_JSON_START = re.compile(
    r"""
      ^[ \t]*(?: \{[ \t]*(?:["}]|$) | \[[ \t]*(?:\{|$) )
    | \{\s*"actions"\s*:
    """,
    re.VERBOSE | re.MULTILINE,
)
_SPACE = re.compile(r"[ \t\n\r]*")

# Models put unescaped line breaks into strings.
_DECODER = json.JSONDecoder(strict=False)


def _read_json(text: str, start: int, lines: Lines) -> tuple[list[Requested | Rejected], int]:
    """Read the JSON value at `start`: its actions, and where it ends."""
    try:
        start = _after_space(text, start)
        value, end = _DECODER.raw_decode(text, start)
        if isinstance(value, list):
            return _entries(text, start, lines), end
        if isinstance(value.get("actions"), list):
            return _entries(text, _start_of_actions(text, start), lines), end
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the reply has malformed JSON ({error})") from error
    raise ReplyError('the reply is JSON without a list "actions"')


def _entries(text: str, start: int, lines: Lines) -> list[Requested | Rejected]:
    return [
        _entry(lines.line_and_column(first)[0], text[first:end], value)
        for first, end, value in _elements(text, start)
    ]


def _entry(line: int, source: str, value: Any) -> Requested | Rejected:
    if not isinstance(value, dict):
        return Rejected(line, source, "an action must be an object")
    op = value.get("op")
    if not isinstance(op, str):
        return Rejected(line, source, f'"op" must be one of {", ".join(ACTIONS)}')
    if op not in ACTIONS:
        near = nearest(op, ACTIONS)
        meant = f'; did you mean "{near}"?' if near else f"; there are {', '.join(ACTIONS)}"
        return Rejected(line, source, f'there is no action "{op}"{meant}')
    values = {name: found for name, found in value.items() if name != "op"}
    return Requested(line, source, op, values)


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
    """The offset after white space, and after a comma and white space if there is one."""
    offset = _after_space(text, offset)
    return _after_space(text, offset + 1) if text[offset] == "," else offset


def _after_space(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return offset if found is None else found.end()
