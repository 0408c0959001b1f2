"""What is asked of arguments, and in which words."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from .errors import InvalidInputError


def checked_texts(texts: Sequence[str], what: str = "texts") -> list[str]:
    """The texts as a list; raises TypeError, or InvalidInputError for half a surrogate pair."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{what} must be a sequence of str, not one {type(texts).__name__}")
    listed = list(texts)
    for place, text in enumerate(listed):
        checked_text(text, f"{what}[{place}]")
    return listed


def checked_text(text: str, what: str) -> str:
    """The text; raises TypeError, or InvalidInputError for half a surrogate pair."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
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
    """The integer; raises InvalidInputError when it is none, or below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(
            f"{name} must be an integer of at least {least}, not {value!r}", code="invalid_option"
        )
    return value


def checked_seconds(value: float, name: str) -> float:
    """The duration; raises InvalidInputError when it is no finite number above 0."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise InvalidInputError(
            f"{name} must be a number of seconds above 0, not {value!r}", code="invalid_option"
        )
    return float(value)


def checked_model_name(model: object, name: str | None, fallback: str | None = None) -> str:
    """What to call the model: `name`, or what it is loaded by; InvalidInputError for neither."""
    found = name or (os.fspath(model) if isinstance(model, (str, os.PathLike)) else fallback)
    if not found:
        raise InvalidInputError(
            "name is needed with a model that is loaded already: it tells its vectors from those "
            "of other models",
            code="invalid_option",
        )
    return str(found)
