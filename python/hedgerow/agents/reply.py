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

import json
import re
import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hedgerow._checks import checked_text, shown
from hedgerow._engine import _nearest
from hedgerow.errors import HedgerowError, InvalidInputError

from .actions import (
    ACTIONS,
    Action,
    DirectiveReader,
    Note,
    RejectedPart,
    RequestedAction,
    WrongActionError,
    action_of,
    encodable,
)


class ReplyError(HedgerowError):
    """A reply cannot be read, so nothing in it is carried out and the run has failed."""

    def __init__(self, message: str, *, code: str = "unreadable_reply") -> None:
        super().__init__(message, code=code)


class Lines:
    """The lines of a text, which end in LF."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both from 1, in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def start(self, line: int) -> int:
        """Return the offset at which a line begins."""
        return self._starts[line - 1]


_BYTES = 8
_TOKEN = re.compile(r"[0-9A-Za-z]{8,64}")
_TRIES = 8
_BACKTICKS = 4
"""Four, so that ordinary code in the new text of a node does not end the block."""
_RUNS = re.compile(r"^`+", re.MULTILINE)


def new_token() -> str:
    """Return a random token."""
    return secrets.token_hex(_BYTES)


def token_for(prompt: str, make: Callable[[], str]) -> str:
    """Return the token of a run, which does not occur in its prompt; `make` makes tokens.

    Raises InvalidInputError for a token that is not 8 to 64 ASCII letters and digits.
    """
    for _ in range(_TRIES):
        token = make()
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise InvalidInputError(
                f"a token must be 8 to 64 ASCII letters and digits, not {shown(token)}",
                code="invalid_option",
            )
        if token not in prompt:
            return token
    raise HedgerowError(
        f"{_TRIES} tokens in a row occur in the prompt; let `token` return random ones",
        code="token_in_prompt",
    )


def fence_of(token: str, backticks: int = _BACKTICKS) -> tuple[str, str]:
    """Return the first and the last line of the block."""
    return f"{'`' * backticks}hedgerow {token}", "`" * backticks


def fenced(text: str, token: str) -> str:
    """Return the block with `text`, which is directives or actions as JSON.

    Its fence is longer than any run of backticks that begins a line of the text.
    """
    checked_text(token, "token")
    longest = max((len(run) for run in _RUNS.findall(checked_text(text, "text"))), default=0)
    first, last = fence_of(token, max(_BACKTICKS, longest + 1))
    return f"{first}\n{text}\n{last}"


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
        near = _nearest(op, ACTIONS)
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


_OUTSIDE = "it is outside the block with the token of this run, so it counts as quoted"
_MENTION = "it has the token of this run and is not the first line of a block; begin one with {}"
_UNCLOSED = "the block is not closed; end it with a line of as many backticks"
_SECOND = "a reply has one block with the token of this run; this is another one"
_NESTED = "the block is within another fence"
_INNER = "there is a fence within the block; only the new text of a node may have one"
_QUOTED = "the fence of the block is quoted; begin it at the start of a line"
_INDENTED = "the fence of the block is indented; begin it at the start of a line"
_OTHER_WORDS = "this is not the first line of a block; that is {}"
_OF_ANOTHER_RUN = "the block has another token than that of this run"
_NO_DIRECTIVE = "there is no such directive"
_NOTHING = "the block has no directive"
_BARE_JSON = (
    'JSON that is the whole reply needs the token of this run: {{"token": "{}", "actions": []}}'
)
_JSON_MORE = "JSON must be all of the block"

# In lists and quotations too, so that a block in an example does not count.
_FENCE = re.compile(
    r"(?P<prefix>[\s>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[\s>]+)*)(?P<run>`{3,}|~{3,})(?P<info>.*)"
)
_JSON_ACTION = re.compile(r'"(?:actions|op)"\s*:')


@dataclass(frozen=True, slots=True)
class ReplyBlock:
    """The parsed part of a reply: its text, with blank lines for all others.

    None if nothing is parsed.

    `rejected` lists lines that look like requests outside that part.
    """

    text: str | None
    rejected: tuple[RejectedPart, ...] = ()


def find_block(text: str, token: str) -> ReplyBlock:
    """Find the block with the token in a reply, whose lines end in LF.

    Raises ReplyError if all of the reply is JSON that is malformed or has no list of actions.
    """
    lines = text.split("\n")
    fences = _Fences(token)
    fences.read(lines)
    if not fences.blocks and not fences.wrong:
        whole = _whole_json(text, token)
        if whole is not None:
            return whole
    wrong = fences.wrong or (fences.mentions if not fences.blocks else [])
    block = fences.blocks[0] if len(fences.blocks) == 1 and not fences.wrong else None
    inside: list[tuple[int, str]] = []
    if block is not None:
        wrong, inside = _inspected(lines, block)
    counts = block if block is not None and not wrong else range(0)
    rejected = [_rejected(lines, index, reason) for index, reason in (*wrong, *inside)]
    rejected += [*fences.others(lines), *_outside(lines, counts)]
    kept = [line if index in counts else "" for index, line in enumerate(lines)]
    return ReplyBlock(
        "\n".join(kept) if any(line.strip() for line in kept) else None,
        tuple(sorted(rejected, key=lambda one: one.line)),
    )


def _rejected(lines: Sequence[str], index: int, reason: str) -> RejectedPart:
    return RejectedPart(index + 1, lines[index], reason)


@dataclass(slots=True)
class _Fences:
    """The fences of a reply; lines count from 0.

    `blocks` are the contents of those with the token, `wrong` lines that make the whole reply void,
    `mentions` other lines with the token, and `foreign` fences with another token.
    """

    token: str
    blocks: list[range] = field(default_factory=list)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    mentions: list[tuple[int, str]] = field(default_factory=list)
    foreign: list[int] = field(default_factory=list)

    def read(self, lines: Sequence[str]) -> None:
        """Visit all lines, from one fence to the next."""
        first = re.compile(rf"(`{{3,}})[ \t]*hedgerow[ \t]+{re.escape(self.token)}[ \t]*")
        index = 0
        while index < len(lines):
            block = first.fullmatch(lines[index])
            fence = None if block else _fence(lines[index])
            if block is not None:
                index = self._block(lines, index, len(block[1]), first)
            elif fence is not None:
                index = self._fenced(lines, index, fence)
            else:
                self._prose(lines[index], index)
                index += 1

    def _block(
        self, lines: Sequence[str], index: int, backticks: int, first: re.Pattern[str]
    ) -> int:
        """Take a block; returns the index after it."""
        last = re.compile(rf"`{{{backticks},}}[ \t]*")
        end = index + 1
        while end < len(lines) and not last.fullmatch(lines[end]):
            if first.fullmatch(lines[end]):
                self.wrong.append((end, _SECOND))
            end += 1
        if end == len(lines):
            self.wrong.append((index, _UNCLOSED))
        if self.blocks:
            self.wrong.append((index, _SECOND))
        self.blocks.append(range(index + 1, end))
        return end + 1

    def _fenced(self, lines: Sequence[str], index: int, fence: re.Match[str]) -> int:
        """Pass another fence, with all in it; returns the index after it."""
        if self.token in lines[index]:
            self.wrong.append((index, self._why(fence)))
        elif fence["info"].split()[:1] == ["hedgerow"]:
            self.foreign.append(index)
        end = index + 1
        while end < len(lines) and not _ends(lines[end], fence):
            if self.token in lines[end] and _fence(lines[end]):
                self.wrong.append((end, _NESTED))
            end += 1
        return end + 1

    def _why(self, fence: re.Match[str]) -> str:
        if ">" in fence["prefix"]:
            return _QUOTED
        if fence["prefix"]:
            return _INDENTED
        return _OTHER_WORDS.format(fence_of(self.token)[0])

    def _prose(self, line: str, index: int) -> None:
        if self.token in line:
            self.mentions.append((index, _MENTION.format(fence_of(self.token)[0])))

    def others(self, lines: Sequence[str]) -> Iterator[RejectedPart]:
        """Yield the fences with another token."""
        return (_rejected(lines, index, _OF_ANOTHER_RUN) for index in self.foreign)


def _fence(line: str) -> re.Match[str] | None:
    """The beginning of a fence in Markdown; None for other lines."""
    found = _FENCE.fullmatch(line)
    # Three backticks and three more on a line are code within a sentence.
    if found is None or (found["run"][0] == "`" and "`" in found["info"]):
        return None
    return found


def _ends(line: str, fence: re.Match[str]) -> bool:
    """Whether a line ends a fence; a fence in a quotation ends with the quotation."""
    depth = fence["prefix"].count(">")
    quoted = line[: len(line) - len(line.lstrip(" \t>"))].count(">")
    if quoted < depth:
        return True
    run = line.lstrip(" \t>").rstrip()
    return quoted == depth and set(run) == {fence["run"][0]} and len(run) >= len(fence["run"])


def _inspected(
    lines: Sequence[str], block: range
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the problem of a block as a whole, and lines in it that only look like directives."""
    content = "\n".join(lines[block.start : block.stop])
    if JSON_START.match(content.lstrip(" \t\n")):
        reason = _json_reason(content)
        return ([(block.start, reason)] if reason else []), []
    reader = DirectiveReader(lines[: block.stop])
    wrong: list[tuple[int, str]] = []
    unknown: list[tuple[int, str]] = []
    requests = 0
    index = block.start
    while index < block.stop:
        request, after = reader.read(index)
        requests += request is not None
        if request is None and _fence(lines[index]):
            wrong.append((index, _INNER))
        elif request is None and _is_foreign_capitals(lines[index]):
            unknown.append((index, _NO_DIRECTIVE))
        index = after
    if content.strip() and not (requests or wrong or unknown or JSON_START.search(content)):
        unknown.append((block.start, _NOTHING))
    return wrong, unknown


def _json_reason(content: str) -> str | None:
    """Return the problem of a block that is JSON; its actions are checked later."""
    value, end = decoded(content, 0)
    if content[end:].strip():
        return _JSON_MORE
    return _unknown_key(value, ("actions",))


def _unknown_key(value: object, known: Sequence[str]) -> str | None:
    unknown = [key for key in value if key not in known] if isinstance(value, dict) else []
    if not unknown:
        return None
    return f'the reply has no "{encodable(unknown[0])}"; it has {", ".join(known)}'


def _is_foreign_capitals(line: str) -> bool:
    """Whether a line begins with capitals that are not all ASCII, like a directive in disguise."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.isupper() and not word.isascii()


def _whole_json(text: str, token: str) -> ReplyBlock | None:
    """Return the parsed part of a reply that is only JSON with the token; None for other replies."""
    if not JSON_START.match(text.lstrip(" \t\n")):
        return None
    value, end = decoded(text, 0)
    if text[end:].strip():
        return None
    if isinstance(value, dict) and not isinstance(value.get("actions"), list):
        raise ReplyError('the reply is JSON without a list "actions"')
    reason = _unknown_key(value, ("token", "actions"))
    if not isinstance(value, dict) or value.get("token") != token:
        reason = _BARE_JSON.format(token)
    if reason is None:
        return ReplyBlock(text)
    line = len(text[: len(text) - len(text.lstrip())].split("\n"))
    return ReplyBlock(None, (RejectedPart(line, text.strip(), reason),))


def _outside(lines: Sequence[str], block: range) -> Iterator[RejectedPart]:
    """Yield lines outside the block that look like requests."""
    skipped = range(block.start - 1, block.stop + 1) if block else block
    reader = DirectiveReader(["" if i in skipped else line for i, line in enumerate(lines)])
    index = 0
    while index < len(reader.lines):
        request, after = reader.read(index)
        if request is not None and request.op is not None:
            yield RejectedPart(index + 1, request.text.rstrip(), _OUTSIDE, request.op)
        elif _JSON_ACTION.search(reader.lines[index]):
            yield _rejected(reader.lines, index, _OUTSIDE)
        index = after


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
    if token is not None:
        checked_text(token, "token")
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
