"""Finding the one block of a reply that counts (spec/agents.md, "The block").

It runs before the parser of directives, which sees the lines of the block, and blank lines in
place of all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .actions import RejectedPart
from .directives import DirectiveReader
from .fence import fence_of
from .json_reply import JSON_START, decoded
from .problems import ReplyError, encodable

__all__ = ["ReplyBlock", "find_block"]

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
