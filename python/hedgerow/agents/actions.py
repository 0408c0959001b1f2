"""Actions of an agent on nodes: a class for each action, and checks of its values.

See spec/agents.md, "Replies" and "Actions".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, asdict, dataclass, field, fields
from typing import Any, ClassVar

from .problems import encodable, nearest


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
            near = nearest(word, words)
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
