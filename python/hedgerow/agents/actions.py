"""Actions of an agent on nodes, their checks, and directives, their text form: one a line, and blocks.

See spec/agents.md, "Replies" and "Actions".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

from hedgerow._engine import _nearest
from hedgerow.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class _Action:
    op: ClassVar[str]
    _: KW_ONLY
    line: int = field(default=0, compare=False)
    """The line of the reply on which it begins, from 1; ignored by comparisons."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, `{"op": ..., ...}`, which replies may use too."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "line"}
        listed = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
        return {"op": self.op, **listed}


@dataclass(frozen=True, slots=True)
class LinkAdd(_Action):
    """Add an edge between two nodes; its strength is above 0 and at most 1."""

    op: ClassVar[str] = "link-add"
    a: str
    b: str
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Weight(_Action):
    """Set the weight of a node, from 0 to 1."""

    op: ClassVar[str] = "weight"
    key: str
    value: float


@dataclass(frozen=True, slots=True)
class Categorize(_Action):
    """Set the category of a node, one of those in spec/pipeline.md."""

    op: ClassVar[str] = "categorize"
    key: str
    category: str


@dataclass(frozen=True, slots=True)
class WriteNode(_Action):
    """Write a new node, linked to those it covers; `confidence` is high, medium, low or None."""

    op: ClassVar[str] = "write-node"
    key: str
    content: str
    confidence: str | None = None
    covers: tuple[str, ...] = ()
    type: str = "semantic"


@dataclass(frozen=True, slots=True)
class Refine(_Action):
    """Replace the content of a node."""

    op: ClassVar[str] = "refine"
    key: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete(_Action):
    """Mark a node as deleted."""

    op: ClassVar[str] = "delete"
    key: str


@dataclass(frozen=True, slots=True)
class Rename(_Action):
    """Change the key of a node."""

    op: ClassVar[str] = "rename"
    key: str
    new_key: str


@dataclass(frozen=True, slots=True)
class Note(_Action):
    """Leave a note in the log of the run; no node changes."""

    op: ClassVar[str] = "note"
    text: str


Action = LinkAdd | Weight | Categorize | WriteNode | Refine | Delete | Rename | Note

_CLASSES: dict[str, Callable[..., Action]] = {
    kind.op: kind for kind in (LinkAdd, Weight, Categorize, WriteNode, Refine, Delete, Rename, Note)
}

ACTIONS = tuple(_CLASSES)
"""Every action, by its name in definitions and JSON replies."""


@dataclass(frozen=True, slots=True)
class RequestedAction:
    """An action in a reply, before its values are checked."""

    line: int
    text: str
    op: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RejectedPart:
    """Part of a reply that is not carried out: its line (from 1), its text, and the reason.

    `op` is the intended action, or None if that is unknown.
    """

    line: int
    text: str
    reason: str
    op: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the action as JSON."""
        return asdict(self)


def encodable(word: str) -> str:
    """Return a word of a reply for a message.

    An escape in JSON may be half a surrogate pair, which stores and terminals reject.
    """
    return word.encode("utf-8", "backslashreplace").decode()


class WrongActionError(Exception):
    """The values of an action cannot be used; the message says why."""


_CATEGORIES = ("core", "general", "technical", "observation", "task")
_CONFIDENCES = ("high", "medium", "low")
_TYPES = ("episodic", "daily", "weekly", "monthly", "semantic")
_LONGEST_KEY = 512


def action_of(op: str, given: Mapping[str, Any], line: int) -> Action:
    """Make the action `op` from these values; None counts as left out.

    Raises WrongActionError for missing, unknown and invalid values.
    """
    known = {one.name: one for one in fields(_CLASSES[op]) if one.name != "line"}  # type: ignore[arg-type]  # each is a dataclass
    values = {name: value for name, value in given.items() if value is not None}
    for name in values:
        if name not in known:
            raise WrongActionError(f'{op} has no "{encodable(name)}"; it has {", ".join(known)}')
    for name, one in known.items():
        if name not in values and one.default is MISSING:
            raise WrongActionError(f'{op} lacks "{name}"')
    checked = {name: _CHECKS[name](name, value) for name, value in values.items()}
    _compare(op, checked)
    return _CLASSES[op](**checked, line=line)


def _compare(op: str, values: Mapping[str, Any]) -> None:
    if op == "link-add" and values["a"] == values["b"]:
        raise WrongActionError("a node cannot be linked to itself")
    if op == "rename" and values["key"] == values["new_key"]:
        raise WrongActionError("the new key is the old one")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongActionError(f"{name} must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise WrongActionError(f"{name} has an unpaired surrogate") from None
    return value


def _key(name: str, value: Any) -> str:
    key = _text(name, value)
    if not 1 <= len(key) <= _LONGEST_KEY or "\0" in key:
        raise WrongActionError(f"{name} must have 1 to {_LONGEST_KEY} characters and no NUL")
    return key


def _content(name: str, value: Any) -> str:
    content = _trimmed(_text(name, value))
    if not content or "\0" in content:
        raise WrongActionError(f"{name} {'has a NUL' if content else 'is blank'}")
    return content


def _trimmed(content: str) -> str:
    """The text as a node stores it: line ends are LF, and blank lines at both ends are dropped."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    said = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]) if said else ""


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongActionError(f"{name} must be a number from 0 to 1")
    if not 0 <= value <= 1:
        raise WrongActionError(f"{name} must be from 0 to 1")
    return float(value)


def _strength(name: str, value: Any) -> float:
    strength = _number(name, value)
    if strength == 0:
        raise WrongActionError(f"{name} must be above 0")
    return strength


def _keys(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise WrongActionError(f"{name} must be a list of keys")
    return tuple(dict.fromkeys(_key(name, key) for key in value))


def _one_of(words: tuple[str, ...]) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        word = _text(name, value).lower()
        if word not in words:
            near = _nearest(word, words)
            meant = f'; did you mean "{near}"?' if near else ""
            raise WrongActionError(f"{name} must be one of {', '.join(words)}{meant}")
        return word

    return check


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "a": _key,
    "b": _key,
    "key": _key,
    "new_key": _key,
    "strength": _strength,
    "value": _number,
    "category": _one_of(_CATEGORIES),
    "content": _content,
    "confidence": _one_of(_CONFIDENCES),
    "covers": _keys,
    "type": _one_of(_TYPES),
    "text": _content,
}


class _Form(NamedTuple):
    """The form of a directive: its action, its arguments, the same in words, and the end of its block."""

    op: str
    parameters: tuple[str, ...] = ()
    usage: str = ""
    closer: str = ""


_FORMS = {
    "LINK": _Form("link-add", ("a", "b", "strength"), "two keys and an optional strength"),
    "WEIGHT": _Form("weight", ("key", "value"), "a key and a number"),
    "CATEGORIZE": _Form("categorize", ("key", "category"), "a key and a category"),
    "WRITE_NODE": _Form("write-node", ("key",), "one key", "END_NODE"),
    "REFINE": _Form("refine", ("key",), "one key", "END_REFINE"),
    "DELETE": _Form("delete", ("key",), "one key"),
    "RENAME": _Form("rename", ("key", "new_key"), "the old key and the new key"),
    "NOTE": _Form("note"),
}
"""The directives by their words. The strength of a link is optional; a note is not split into words."""

_NAMES_OF = {form.op: name for name, form in _FORMS.items()}
_CLOSERS = {form.closer for form in _FORMS.values() if form.closer}
_NAMES = "|".join(_FORMS)
_DIRECTIVE = re.compile(rf"({_NAMES})(?:\s+(.*))?\s*")
_MISPLACED = re.compile(rf"[\s>*+\-`_#\d.)]*({_NAMES})(?=[\s:*`]|$)")
_NAMED = re.compile(rf"(?<![\w-])({_NAMES})(?![\w-])")
_UPPER = re.compile(r"([A-Z][A-Z0-9_]{2,})(?=\s|$)")
# Lines that end or begin a block; a backslash before the word makes the line part of the body.
_MARK = re.compile(r"(\s*)(\\*)(?:(END_NODE|END_REFINE)\s*$|(WRITE_NODE|REFINE)(?=\s|$))")
_HEADER = re.compile(r"(CONFIDENCE|COVERS|TYPE)\s*:(.*)")
_LISTED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",][^\s,]*))\s*(?:,|$)')
_WORD = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"(?=\s|$)|([^\s"]\S*))')
_NUMBERS = ("strength", "value")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_BARE = re.compile(r'[^\s",\\]+')


class DirectiveReader:
    """Reads the directives and blocks in lines, from any line on."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    def has_directive(self, index: int) -> bool:
        """Whether a line begins with a directive, valid or not."""
        return _DIRECTIVE.fullmatch(self.lines[index]) is not None

    def read(self, index: int) -> tuple[RequestedAction | RejectedPart | None, int]:
        """Read the directive at a line: the action, None for plain text, and the index after it."""
        line = self.lines[index]
        found = _DIRECTIVE.fullmatch(line)
        if found is None:
            return _not_a_directive(index + 1, line), index + 1
        if _FORMS[found[1]].closer:
            return self._block(index, found[1], found[2] or "")
        return _requested(
            index + 1, line, found[1], lambda: _values(found[1], found[2] or "")
        ), index + 1

    def _block(
        self, index: int, name: str, rest: str
    ) -> tuple[RequestedAction | RejectedPart, int]:
        end, reason = self._end_of_block(index + 1, name)
        text = "\n".join(self.lines[index:end])
        if reason:
            return RejectedPart(index + 1, text, reason, _FORMS[name].op), end
        inside = self.lines[index + 1 : end - 1]
        return _requested(index + 1, text, name, lambda: _block_values(name, rest, inside)), end

    def _end_of_block(self, index: int, name: str) -> tuple[int, str]:
        """Return the index after the block, and the problem with its end, if any."""
        closer = _FORMS[name].closer
        for end in range(index, len(self.lines)):
            mark = _MARK.match(self.lines[end])
            if mark is None or mark[2]:
                continue
            if mark[3] == closer:
                return end + 1, ""
            if mark[3]:
                return end + 1, f"line {end + 1} has {mark[3]} where {closer} should be"
            if not mark[1]:
                return end, f"{closer} is missing before {mark[4]} in line {end + 1}"
        return len(self.lines), f"{closer} is missing; everything after it was read as its text"


def directives_in(template: str) -> Iterator[tuple[str, str, int]]:
    """Yield each directive that a text names: its word, its action and the offset of the first."""
    seen = set()
    for found in _NAMED.finditer(template):
        if found[1] not in seen:
            seen.add(found[1])
            yield found[1], _FORMS[found[1]].op, found.start()


def _requested(line: int, text: str, name: str, values: Any) -> RequestedAction | RejectedPart:
    try:
        return RequestedAction(line, text, _FORMS[name].op, values())
    except WrongActionError as error:
        return RejectedPart(line, text, str(error), _FORMS[name].op)


def _not_a_directive(line: int, text: str) -> RejectedPart | None:
    """A line that only looks like a directive; None for plain text."""
    misplaced = _MISPLACED.match(text)
    if misplaced:
        reason = f"{misplaced[1]} must begin its line, with a space after it"
        return RejectedPart(line, text, reason, _FORMS[misplaced[1]].op)
    upper = _UPPER.match(text)
    if upper is None:
        return None
    name = upper[1]
    if name in _CLOSERS:
        return RejectedPart(line, text, f"{name} closes nothing")
    near = _nearest(name, _FORMS)
    meant = f'; did you mean "{near}"?' if near else f"; there are {', '.join(_FORMS)}"
    return RejectedPart(line, text, f'there is no directive "{name}"{meant}')


def _values(name: str, rest: str) -> dict[str, Any]:
    if name == "NOTE":
        return {"text": _note(rest)}
    words = _words(rest, name)
    parameters = _FORMS[name].parameters
    least = len(parameters) - (name == "LINK")
    if not least <= len(words) <= len(parameters):
        raise WrongActionError(f"{name} takes {_FORMS[name].usage}; quote keys with spaces")
    return {
        parameter: _parsed_number(word) if parameter in _NUMBERS else word
        for parameter, word in zip(parameters, words, strict=False)
    }


def _note(rest: str) -> str:
    """Return the text of a note: one quoted string, or the unchanged rest of the line."""
    quoted = _WORD.fullmatch(rest)
    return rest if quoted is None or quoted[1] is None else _unquoted(quoted[1])


def _block_values(name: str, rest: str, inside: Sequence[str]) -> dict[str, Any]:
    values = _values(name, rest)
    start = 0
    while name == "WRITE_NODE" and start < len(inside):
        header = _HEADER.fullmatch(inside[start])
        if header is None:
            break
        field = header[1].lower()
        if field in values:
            raise WrongActionError(f"{header[1]} appears twice")
        values[field] = _listed_keys(header[2]) if field == "covers" else header[2].strip()
        start += 1
    values["content"] = "\n".join(_without_backslash(line) for line in inside[start:])
    return values


def _words(rest: str, name: str) -> list[str]:
    """The words of a line, unquoted."""
    words = []
    position = 0
    rest = rest.rstrip()
    while position < len(rest):
        word = _WORD.match(rest, position)
        if word is None:
            raise WrongActionError(f"{name} has an unclosed quote, or text right after a quote")
        words.append(word[2] if word[1] is None else _unquoted(word[1]))
        position = word.end()
    return words


def _listed_keys(listed: str) -> list[str]:
    """The keys of a comma-separated list."""
    keys = []
    position = 0
    listed = listed.strip()
    while position < len(listed):
        key = _LISTED.match(listed, position)
        if key is None:
            raise WrongActionError("COVERS takes keys separated by commas; quote keys with spaces")
        keys.append(key[2] if key[1] is None else _unquoted(key[1]))
        position = key.end()
    return keys


def _unquoted(inner: str) -> str:
    try:
        text: str = json.loads(f'"{inner}"', strict=False)
    except ValueError:
        raise WrongActionError(
            r"within quotes, write \" for a quote and \\ for a backslash"
        ) from None
    return text


def _parsed_number(word: str) -> float:
    if not _NUMBER.fullmatch(word):
        raise WrongActionError(f'"{encodable(word)}" is not a number')
    return float(word)


def _without_backslash(line: str) -> str:
    mark = _MARK.match(line)
    return line.replace("\\", "", 1) if mark and mark[2] else line


def write_action(action: Action) -> str:
    """Write an action as its directive; parsing that returns an equal action.

    Raises InvalidInputError for an action with values that a reply could not have.
    """
    if not isinstance(action, Action):
        raise InvalidInputError(
            f"action must be an action of a reply, not {type(action).__name__}",
            code="invalid_option",
        )
    try:
        action_of(action.op, action.to_dict() | {"op": None}, action.line)
    except WrongActionError as error:
        raise InvalidInputError(
            f"action cannot be written: {error}", code="invalid_option"
        ) from None
    name = _NAMES_OF[action.op]
    if isinstance(action, Note):
        return f"{name} {json.dumps(action.text, ensure_ascii=False)}"
    values = [getattr(action, parameter) for parameter in _FORMS[name].parameters]
    words = [quoted(value) if isinstance(value, str) else repr(value) for value in values]
    lines = [" ".join([name, *words])]
    if isinstance(action, WriteNode):
        lines += [*_headers(action), ""]
    if isinstance(action, (WriteNode, Refine)):
        lines += [*map(_with_backslash, action.content.split("\n")), _FORMS[name].closer]
    return "\n".join(lines)


def _headers(node: WriteNode) -> Iterator[str]:
    if node.confidence is not None:
        yield f"CONFIDENCE: {node.confidence}"
    if node.covers:
        yield f"COVERS: {', '.join(map(quoted, node.covers))}"
    yield f"TYPE: {node.type}"


def quoted(key: str) -> str:
    """Write a key as replies have it, quoted only if it has to be."""
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _with_backslash(line: str) -> str:
    mark = _MARK.match(line)
    if mark is None:
        return line
    indent = len(mark[1])
    return f"{line[:indent]}\\{line[indent:]}"
