"""Names in answers: camelCase, as in the specification, made from the names of attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NEXT_WORD = re.compile(r"_([a-z0-9])")
_CAPITAL = re.compile(r"[A-Z]")


def named(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record under their names in answers, with the values unchanged."""
    return {_NEXT_WORD.sub(lambda word: word[1].upper(), name): record[name] for name in record}


def told(value: Any) -> Any:
    """The same at every depth; none of the keys may come from a user."""
    if isinstance(value, Mapping):
        return named({name: told(one) for name, one in value.items()})
    return [told(one) for one in value] if isinstance(value, (list, tuple)) else value


def read(value: Any) -> Any:
    """The record that `told` was called with."""
    if isinstance(value, Mapping):
        return {
            _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name): read(one)
            for name, one in value.items()
        }
    return [read(one) for one in value] if isinstance(value, (list, tuple)) else value
