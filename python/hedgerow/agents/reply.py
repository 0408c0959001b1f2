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

In a run, only the content of the block with its token is read (see `block`).

Other text is ignored. Text that looks like a directive becomes an action or a `RejectedPart`.
Deliberately, nothing else can request an action.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from .actions import Action, Note, RejectedPart, RequestedAction, WrongActionError, action_of
from .block import ReplyBlock, find_block
from .directives import DirectiveReader
from .json_reply import JSON_START, read_json
from .problems import Lines, ReplyError

__all__ = ["Reply", "ReplyError", "parse_reply", "readable"]

LIMIT = 1024 * 1024
"""The length in characters of the longest reply that is read."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The valid actions of a reply and the rejected ones, with reasons, each in reply order."""

    actions: tuple[Action, ...] = ()
    rejected: tuple[RejectedPart, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the notes among the actions."""
        return tuple(action.text for action in self.actions if isinstance(action, Note))

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON; actions have the form that replies may use."""
        return {
            "actions": [action.to_dict() for action in self.actions],
            "rejected": [rejected.to_dict() for rejected in self.rejected],
        }


def parse_reply(
    text: str,
    *,
    allowed: Collection[str],
    max_actions: int,
    withheld: Collection[str] = (),
    token: str | None = None,
) -> Reply:
    """Parse a reply: up to `max_actions` actions, all of them `allowed`; the rest is rejected.

    With the `token` of a run, directives count only in the block with that token; without one they
    count everywhere, so pass one wherever actions are applied. `withheld` are the actions that a
    definition lists but does not allow.

    Checks values, not whether nodes exist. Raises ReplyError for a blank reply and for JSON that
    is malformed or has no list of actions.
    """
    text = readable(text)
    counts = ReplyBlock(text) if token is None else find_block(text, token)
    actions: list[Action] = []
    rejected: list[RejectedPart] = list(counts.rejected)
    for found in () if counts.text is None else _requests(counts.text):
        checked = _checked(found, allowed, withheld)
        if isinstance(checked, RejectedPart):
            rejected.append(checked)
        elif len(actions) < max_actions:
            actions.append(checked)
        else:
            reason = f"one run may have at most {max_actions} actions (max_actions)"
            rejected.append(RejectedPart(found.line, found.text, reason, checked.op))
    return Reply(tuple(actions), tuple(sorted(rejected, key=lambda one: one.line)))


def readable(text: str) -> str:
    """Return a reply with LF at the end of each line; raises ReplyError if it is not text."""
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


def _requests(text: str) -> Iterator[RequestedAction | RejectedPart]:
    """Everything the reply requests, in order."""
    reader = DirectiveReader(text.split("\n"))
    lines = Lines(text)
    starts = [found.start() for found in JSON_START.finditer(text)]

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
            found, end = read_json(text, start, lines)
            yield from found
            index = lines.line_and_column(end)[0]
            start = json_from(end)


def _checked(
    found: RequestedAction | RejectedPart, allowed: Collection[str], withheld: Collection[str]
) -> Action | RejectedPart:
    if isinstance(found, RejectedPart):
        return found
    if found.op in withheld:
        reason = f'this agent may not {found.op}; "allow" of its definition does not list it'
        return RejectedPart(found.line, found.text, reason, found.op)
    if found.op not in allowed:
        reason = f'this agent may not {found.op}; "actions" of its definition does not list it'
        return RejectedPart(found.line, found.text, reason, found.op)
    try:
        return action_of(found.op, found.values, found.line)
    except WrongActionError as error:
        return RejectedPart(found.line, found.text, str(error), found.op)
