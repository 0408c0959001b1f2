"""Checks of arguments, with the messages of their errors."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import TypeVar

from .errors import InvalidInputError
from .typing import Durability, Operator

Item = TypeVar("Item")
Function = TypeVar("Function")


def shown(value: object) -> str:
    """The repr of a value that a caller gave, for a message, cut after 300 characters; its type where
    repr fails, as for a value that is nested too deep.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - it may be any object's
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_LONGEST_SHOWN = 300
"""Characters of a value in a message. A longer one would bury the advice, and fill the context of an agent."""


def listed(items: Iterable[Item]) -> list[Item]:
    """The items as a list, whatever length they claim: `list` would reserve memory for that many.

    Raises InvalidInputError for anything that cannot be iterated.
    """
    if not isinstance(items, Iterable) and not hasattr(items, "__getitem__"):
        raise InvalidInputError(
            f"expected an iterable, not {type(items).__name__}", code="invalid_option"
        )
    return [item for item in items]  # noqa: C416


def checked_texts(texts: Sequence[str], what: str = "texts") -> list[str]:
    """The texts as a list; raises InvalidInputError for anything else, and for half a surrogate pair."""
    if isinstance(texts, (str, bytes)):
        raise InvalidInputError(
            f"{what} must be a sequence of str, not one {type(texts).__name__}",
            code="invalid_option",
        )
    found = listed(texts)
    for index, text in enumerate(found):
        checked_text(text, f"{what}[{index}]")
    return found


def checked_list(texts: Iterable[str], what: str, code: str) -> list[str]:
    """The texts as a list; raises InvalidInputError for one text, and for anything else.

    Iterated over, one text would be a list of its characters.
    """
    if isinstance(texts, str):
        raise InvalidInputError(f"{what} is one str; give a list of strings", code=code)
    if not isinstance(texts, Iterable):
        raise InvalidInputError(
            f"{what} must be an iterable of str, not {type(texts).__name__}", code="invalid_option"
        )
    return checked_texts(listed(texts), what)


def checked_text(text: str, what: str) -> str:
    """The text; raises InvalidInputError for anything else, and for half a surrogate pair."""
    if not isinstance(text, str):
        raise InvalidInputError(
            f"{what} must be a str, not {type(text).__name__}", code="invalid_option"
        )
    position = None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        position = error.start
    if position is not None:
        raise InvalidInputError(
            f"{what} has half of a surrogate pair at character {position}; decode its source as "
            'UTF-8 with errors="replace", or remove the character',
            code="lone_surrogate",
        )
    return text


def checked_count(value: int, name: str, *, least: int = 1) -> int:
    """The integer; raises InvalidInputError unless it is one, of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidInputError(
            f"{name} must be an integer of at least {least}, not {shown(value)}",
            code="invalid_option",
        )
    return int(value)


def checked_flag(value: bool, name: str) -> bool:
    """The flag; raises InvalidInputError unless it is a bool, since a text such as "no" is true."""
    if not isinstance(value, bool):
        raise InvalidInputError(
            f"{name} must be True or False, not {shown(value)}", code="invalid_option"
        )
    return value


def checked_callable(value: Function, name: str) -> Function:
    """The function; raises InvalidInputError for anything that cannot be called."""
    if not callable(value):
        raise InvalidInputError(
            f"{name} must be a function, not {shown(value)}", code="invalid_option"
        )
    return value


def checked_path(value: str | os.PathLike[str], name: str, *, code: str = "invalid_option") -> Path:
    """Return a path, with the home folder for the `~` of a str.

    A `Path` stays: it does not tell `./~` from `~`. Raises InvalidInputError unless it is a str or a path of one that a system can have.
    """
    found = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if found == "":
        raise InvalidInputError(f"{name} is an empty text; give a path", code=code)
    if not isinstance(found, str):
        raise InvalidInputError(f"{name} must be a str or a path, not {shown(value)}", code=code)
    try:
        # Not `os.fsencode`: a locale of another encoding is not the fault of the path.
        is_path = b"\0" not in found.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise InvalidInputError(
            f"{found!r} is not a path: it has a NUL character or half of a surrogate pair",
            code=code,
        )
    return Path(from_home(value) if isinstance(value, str) else found)


def from_home(path: str) -> str:
    """Return a path with the home folder for a `~` at its beginning, as of JSON that no shell reads.

    `~ana`, the home folder of another user, stays, and so does everything without a home folder.
    """
    first = path.replace(os.sep, "/").partition("/")[0]
    return os.path.expanduser(path) if first == "~" else path  # noqa: PTH111 - it may be no str of a path


def checked_operator(operator: Operator | None) -> Operator:
    """The operator that joins tokens, "OR" if not given; raises InvalidInputError for another value."""
    if operator not in ("OR", "AND", None):
        raise InvalidInputError(
            f'operator must be "OR" or "AND", not {shown(operator)}', code="invalid_option"
        )
    return "AND" if operator == "AND" else "OR"


def checked_durability(durability: Durability) -> Durability:
    """Return a durability. Raises InvalidInputError for anything else, with the choices."""
    if durability not in ("normal", "full"):
        raise InvalidInputError(
            f'durability must be "normal" or "full", not {shown(durability)}',
            code="invalid_option",
        )
    return durability


def checked_seconds(value: float, name: str) -> float:
    """The duration; raises InvalidInputError unless it is a finite number above 0."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    # Compared first: not every integer has a float.
    if number and TIMEOUT_MAX < value <= sys.float_info.max:
        raise InvalidInputError(
            f"{name} must be at most {TIMEOUT_MAX:,.0f} seconds, not {shown(value)}",
            code="invalid_option",
        )
    if not number or not 0 < value <= TIMEOUT_MAX:
        raise InvalidInputError(
            f"{name} must be a number of seconds above 0, not {shown(value)}", code="invalid_option"
        )
    return float(value)


def checked_model_name(model: object, name: str | None, fallback: str | None = None) -> str:
    """What to call the model: `name`, or what it is loaded by; InvalidInputError for neither."""
    found = name or (os.fspath(model) if isinstance(model, (str, os.PathLike)) else fallback)
    if not found:
        raise InvalidInputError(
            "name is required for a loaded model: it distinguishes its vectors from those "
            "of other models",
            code="invalid_option",
        )
    return str(found)


@dataclass(frozen=True, slots=True)
class AdapterName:
    """ADAPTER:MODEL, or ADAPTER:MODEL@URL."""

    adapter: str
    model: str
    url: str | None

    def without_url(self) -> str:
        """The model, of an adapter that has no server; InvalidInputError for one with a URL."""
        if self.url is not None:
            raise InvalidInputError(
                f"{self.adapter} runs in this process and takes no URL; write "
                f"{self.adapter}:{self.model}",
                code="invalid_option",
            )
        return self.model


def checked_adapter_name(
    name: str, kind: str, adapters: Collection[str], *, example: str
) -> AdapterName:
    """Split a name; raises InvalidInputError unless it names one of these adapters."""
    if not isinstance(name, str):
        raise InvalidInputError(
            f"the name of a {kind} must be a str, not {type(name).__name__}", code="invalid_option"
        )
    adapter, _, rest = name.partition(":")
    if adapter not in adapters or not rest:
        raise InvalidInputError(
            f"{name!r} names no {kind}; write ADAPTER:MODEL with one of "
            f"{', '.join(adapters)}, as in {example}",
            code="invalid_option",
        )
    # Models have names like `user/model@revision`: only what looks like a URL is one.
    found = re.fullmatch(r"(.+?)@(https?://.+)", rest)
    return AdapterName(adapter, found[1], found[2]) if found else AdapterName(adapter, rest, None)
