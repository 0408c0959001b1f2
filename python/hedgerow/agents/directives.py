"""What a model's reply asks for (spec/agents.md, "Replies").

    reply     = { directive | block | json | text } ;          (* each begins a line *)
    directive = "LINK" , key , key , [ number ] | "WEIGHT" , key , number
              | "CATEGORIZE" , key , category | "DELETE" , key | "RENAME" , key , key
              | "NOTE" , ( quoted | text ) ;
    block     = "WRITE_NODE" , key , { header } , { text } , "END_NODE"
              | "REFINE" , key , { text } , "END_REFINE" ;      (* a line each *)
    header    = ( "CONFIDENCE" | "COVERS" | "TYPE" ) , ":" , text ;
    json      = '{"actions": [' , { '{"op": …}' } , "]}" , or the array alone ;
    key       = word | quoted ;                                (* quoted as in JSON *)

Text means nothing. Whatever looks like a directive becomes an action or a `Rejected`; there is
deliberately no way to ask for anything else.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import HedgerowError

from ._action_values import WrongActionError, action_of
from ._json_form import json_starts, read_json
from ._text_form import Asked, TextForm, write_action
from .actions import Action, Note, Rejected
from .positions import Lines

__all__ = ["Reply", "ReplyError", "parse_reply", "write_action"]


class ReplyError(HedgerowError):
    """A reply cannot be read at all, so that nothing of it may be done: the run has failed."""

    def __init__(self, message: str, *, code: str = "unreadable_reply") -> None:
        super().__init__(message, code=code)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply asks for and may have, in its order, and what was rejected, with reasons."""

    actions: tuple[Action, ...] = ()
    rejected: tuple[Rejected, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the notes among the actions."""
        return tuple(action.text for action in self.actions if isinstance(action, Note))

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON; the actions in the form in which a reply may have them."""
        return {
            "actions": [action.to_dict() for action in self.actions],
            "rejected": [rejected.to_dict() for rejected in self.rejected],
        }


def parse_reply(text: str, *, allowed: Collection[str], max_actions: int) -> Reply:
    """Read a reply: the actions that are `allowed`, at most `max_actions`, all else rejected.

    Values are checked here; whether nodes exist is not. Raises ReplyError for a blank reply and
    for JSON that is broken or has no list of actions.
    """
    text = _readable(text)
    actions: list[Action] = []
    rejected: list[Rejected] = []
    for found in _everything(text):
        judged = _judged(found, allowed)
        if isinstance(judged, Rejected):
            rejected.append(judged)
        elif len(actions) < max_actions:
            actions.append(judged)
        else:
            reason = f"an agent may do {max_actions} things in one run (max_actions)"
            rejected.append(Rejected(found.line, found.text, reason, judged.op))
    return Reply(tuple(actions), tuple(rejected))


def _readable(text: str) -> str:
    if not isinstance(text, str):
        raise ReplyError(f"the reply is no text but {type(text).__name__}")
    if not text.strip():
        raise ReplyError("the model replied with nothing")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        position = error.start
    else:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    raise ReplyError(f"the reply has half of a surrogate pair at character {position}")


def _everything(text: str) -> Iterator[Asked | Rejected]:
    """All that is asked for, in order."""
    form = TextForm(text.split("\n"))
    lines = Lines(text)
    starts = json_starts(text)

    def json_behind(position: int) -> int | None:
        """Where JSON begins at a place or behind it on its line."""
        place = bisect_left(starts, position)
        line = lines.line_and_column(position)[0]
        same = place < len(starts) and lines.line_and_column(starts[place])[0] == line
        return starts[place] if same else None

    index = 0
    while index < len(form.lines):
        start = None if form.has_directive(index) else json_behind(lines.start(index + 1))
        if start is None:
            asked, index = form.read(index)
            if asked is not None:
                yield asked
        while start is not None:
            found, end = _json(text, start)
            yield from found
            index = lines.line_and_column(end)[0]
            start = json_behind(end)


def _json(text: str, start: int) -> tuple[list[Asked | Rejected], int]:
    try:
        return read_json(text, start)
    except ValueError as error:
        raise ReplyError(str(error)) from error


def _judged(found: Asked | Rejected, allowed: Collection[str]) -> Action | Rejected:
    if isinstance(found, Rejected):
        return found
    if found.op not in allowed:
        reason = f'this agent may not {found.op}; "actions" of its definition does not list it'
        return Rejected(found.line, found.text, reason, found.op)
    try:
        return action_of(found.op, found.values, found.line)
    except WrongActionError as error:
        return Rejected(found.line, found.text, str(error), found.op)
