"""Values taken out of a TOML file: each is checked, and what is wrong is noted with its place."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .positions import Path as KeyPath
from .positions import Positions
from .problems import Problem

T = TypeVar("T")

_LONGEST_SHOWN = 60
_MOST = 1_000_000_000


class WrongValueError(Exception):
    """A value cannot be used; `index` is the character of a text at which it is wrong."""

    def __init__(
        self, message: str, suggestion: str | None = None, index: int | None = None
    ) -> None:
        super().__init__(message)
        self.suggestion = suggestion
        self.index = index


class Source:
    """A file that is read: its places, and what was wrong so far."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.positions = Positions(text)
        self.problems: list[Problem] = []

    def wrong_key(self, path: KeyPath, message: str, suggestion: str | None = None) -> None:
        """Note a problem at a key, or at the nearest table above that is written down."""
        place = self.positions.of(path)
        while path and place is None:
            path = path[:-1]
            place = self.positions.of(path)
        self.wrong_at(0 if place is None else place.key, message, suggestion)

    def wrong_value(self, path: KeyPath, error: WrongValueError, value: Any) -> None:
        """Note a problem at a value, or within it at the character that the error names."""
        place = self.positions.of(path)
        offset = 0 if place is None else place.value
        if error.index is not None and isinstance(value, str):
            offset = self.positions.in_text(offset, error.index)
        self.wrong_at(offset, str(error), error.suggestion)

    def wrong_at(self, offset: int, message: str, suggestion: str | None = None) -> None:
        """Note a problem at a character of the file."""
        line, column = self.positions.line_and_column(offset)
        self.problems.append(Problem(self.file, line, column, message, suggestion))


class Table:
    """One table of the file."""

    def __init__(self, source: Source, values: Mapping[str, Any], path: KeyPath = ()) -> None:
        self._source = source
        self._path = path
        self.values = values

    def table(self, name: str) -> Table | None:
        """Give a table in this one, empty when it is not written; None, noted, for what is none."""
        values = self.values.get(name, {})
        if isinstance(values, dict):
            return Table(self._source, values, (*self._path, name))
        message = f"{name} must be a table, not {shown(values)}; write [{name}]"
        self._source.wrong_key((*self._path, name), message)
        return None

    def take(self, key: str, check: Callable[[Any], T], default: T) -> T:
        """Give the checked value of a key; the default where it is not written, or wrong and noted."""
        if key not in self.values:
            return default
        found = self._checked((*self._path, key), check, self.values[key])
        return found[0] if found else default

    def take_each(self, key: str, check: Callable[[str], T]) -> list[T] | None:
        """Give the checked texts of an array; None where it is not written, or one was wrong."""
        path = (*self._path, key)
        values = self._checked(path, _array(key), self.values.get(key, []))
        if key not in self.values or values is None:
            return None
        checked = [
            self._checked((*path, index), lambda value: check(_element(key, value)), element)
            for index, element in enumerate(values[0])
        ]
        found = [one[0] for one in checked if one is not None]
        return found if len(found) == len(checked) else None

    def _checked(self, path: KeyPath, check: Callable[[Any], T], value: Any) -> tuple[T] | None:
        try:
            return (check(value),)
        except WrongValueError as error:
            self._source.wrong_value(path, error, value)
            return None

    def needs(self, key: str, example: str) -> None:
        """Note a key that is not written, with how to write it."""
        if key not in self.values:
            where = f" in [{'.'.join(map(str, self._path))}]" if self._path else ""
            self._source.wrong_key((*self._path, key), f"{key} is missing{where}; write {example}")


def text(name: str) -> Callable[[Any], str]:
    """Check for a text that is not blank."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise WrongValueError(f"{name} must be a text in quotes, not {shown(value)}")
        if not value.strip():
            raise WrongValueError(f"{name} is blank; write something or leave it out")
        return value

    return check


def _array(name: str) -> Callable[[Any], list[Any]]:
    def check(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise WrongValueError(f"{name} must be an array of texts, not {shown(value)}")
        return value

    return check


def _element(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValueError(f"{name} must be an array of texts, and {shown(value)} is none")
    return value


def flag(name: str) -> Callable[[Any], bool]:
    """Check for true or false."""

    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise WrongValueError(f"{name} must be true or false, not {shown(value)}")
        return value

    return check


def count(name: str) -> Callable[[Any], int]:
    """Check for an integer from 1."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
            message = f"{name} must be an integer from 1 to {_MOST}, not {shown(value)}"
            raise WrongValueError(message)
        return value

    return check


def seconds(name: str, most: float) -> Callable[[Any], float]:
    """Check for a number of seconds above 0."""

    def check(value: Any) -> float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= most:
            message = f"{name} must be a number of seconds above 0 and up to {most:g}"
            raise WrongValueError(f"{message}, not {shown(value)}")
        return float(value)

    return check


def shown(value: Any) -> str:
    """Write a value as TOML has it, or what kind it is; long texts are cut."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        written = json.dumps(value, ensure_ascii=False)
        return written if len(written) <= _LONGEST_SHOWN else written[:_LONGEST_SHOWN] + "…"
    return str(value)
