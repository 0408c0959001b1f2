"""Makes actions of what a reply says, whichever form it has: the values are checked here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ._nearest import nearest
from .actions import (
    Action,
    Categorize,
    Delete,
    LinkAdd,
    Note,
    Refine,
    Rename,
    Weight,
    WriteNode,
)

CATEGORIES = ("core", "general", "technical", "observation", "task")
CONFIDENCES = ("high", "medium", "low")
TYPES = ("episodic", "daily", "weekly", "monthly", "semantic")

_LONGEST_KEY = 512

_CLASSES: dict[str, Callable[..., Action]] = {
    kind.op: kind for kind in (LinkAdd, Weight, Categorize, WriteNode, Refine, Delete, Rename, Note)
}


class WrongActionError(Exception):
    """Something that was asked for cannot be done, for the reason of the message."""


def action_of(op: str, given: Mapping[str, Any], line: int) -> Action:
    """Make the action `op` with these values; WrongActionError says what is wrong with them.

    A value of None is one that was not given.
    """
    known = {field.name: field for field in fields(_CLASSES[op]) if field.name != "line"}  # type: ignore[arg-type]  # a dataclass, called by its type
    values = {name: value for name, value in given.items() if value is not None}
    for name in values:
        if name not in known:
            raise WrongActionError(f'{op} has no "{name}"; it has {", ".join(known)}')
    for name, field in known.items():
        if name not in values and field.default is MISSING:
            raise WrongActionError(f'{op} lacks "{name}"')
    checked = {name: _CHECKS[name](name, value) for name, value in values.items()}
    _compare(op, checked)
    return _CLASSES[op](**checked, line=line)


def _compare(op: str, values: Mapping[str, Any]) -> None:
    if op == "link-add" and values["a"] == values["b"]:
        raise WrongActionError("a node cannot be linked to itself")
    if op == "rename" and values["key"] == values["new_key"]:
        raise WrongActionError("the new key is the old one")


def trimmed(content: str) -> str:
    """Give a text as a node keeps it: lines end in LF, and none is blank at either end."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    return "\n".join(lines)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongActionError(f"{name} must be a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise WrongActionError(f"{name} has half of a surrogate pair") from None
    return value


def _key(name: str, value: Any) -> str:
    key = _text(name, value)
    if not 1 <= len(key) <= _LONGEST_KEY or "\0" in key:
        raise WrongActionError(f"{name} must have 1 to {_LONGEST_KEY} characters and no NUL")
    return key


def _content(name: str, value: Any) -> str:
    content = trimmed(_text(name, value))
    if not content or "\0" in content:
        raise WrongActionError(f"{name} {'has a NUL' if content else 'is blank'}")
    return content


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
    "category": _one_of(CATEGORIES),
    "content": _content,
    "confidence": _one_of(CONFIDENCES),
    "covers": _keys,
    "type": _one_of(TYPES),
    "text": _content,
}
