"""Checked access to the values of a TOML file; problems are collected with their positions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .problems import Problem
from .toml_positions import KeyPath, Positions

__all__ = [
    "MOST_PROBLEMS",
    "Source",
    "Table",
    "TooManyProblemsError",
    "WrongValueError",
    "count",
    "flag",
    "seconds",
    "shown",
    "text",
]

T = TypeVar("T")

_LONGEST_SHOWN = 60
_LARGEST = 1_000_000_000
_LONGEST_INTEGER = 64
"""In bits; longer ones are not shown, and Python refuses to write very long ones."""

MOST_PROBLEMS = 100
"""The most problems that are reported for one file."""


class WrongValueError(Exception):
    """A value cannot be used; in a string, `index` is the character at fault."""

    def __init__(
        self, message: str, suggestion: str | None = None, index: int | None = None
    ) -> None:
        super().__init__(message)
        self.suggestion = suggestion
        self.index = index


class TooManyProblemsError(Exception):
    """The file exceeds the limit of problems, so that the rest is skipped."""


class Source:
    """A file being read, with its positions and the problems found so far."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        self.positions = Positions(text)
        self.problems: list[Problem] = []

    def wrong_key(self, path: KeyPath, message: str, suggestion: str | None = None) -> None:
        """Add a problem at a key, or at the nearest table above it that the file has."""
        position = self.positions.of(path)
        while path and position is None:
            path = path[:-1]
            position = self.positions.of(path)
        self.wrong_at(0 if position is None else position.key, message, suggestion)

    def wrong_value(self, path: KeyPath, error: WrongValueError, value: Any) -> None:
        """Add a problem at a value, or at the character of it that the error names."""
        position = self.positions.of(path)
        offset = 0 if position is None else position.value
        if error.index is not None and isinstance(value, str):
            offset = self.positions.in_text(offset, error.index)
        self.wrong_at(offset, str(error), error.suggestion)

    def wrong_at(self, offset: int, message: str, suggestion: str | None = None) -> None:
        """Add a problem at an offset in the file."""
        if len(self.problems) == MOST_PROBLEMS:
            raise TooManyProblemsError
        line, column = self.positions.line_and_column(offset)
        self.problems.append(Problem(self.file, line, column, message, suggestion))


class Table:
    """A table of the file."""

    def __init__(self, source: Source, values: Mapping[str, Any], path: KeyPath = ()) -> None:
        self._source = source
        self._path = path
        self.values = values

    def table(self, name: str) -> Table | None:
        """Return a subtable, empty if the file has none; None, with a problem, for another type."""
        values = self.values.get(name, {})
        if isinstance(values, dict):
            return Table(self._source, values, (*self._path, name))
        message = f"{name} must be a table, not {shown(values)}; write [{name}]"
        self._source.wrong_key((*self._path, name), message)
        return None

    def take(self, key: str, check: Callable[[Any], T], default: T) -> T:
        """Return the checked value of a key; the default if it is missing, or wrong (a problem)."""
        if key not in self.values:
            return default
        found = self._checked((*self._path, key), check, self.values[key])
        return found[0] if found else default

    def take_each(self, key: str, check: Callable[[str], T]) -> list[T] | None:
        """Return the checked strings of an array; None if it is missing or any of them is wrong."""
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

    def require(self, key: str, example: str) -> None:
        """Add a problem if a key is missing, with an example of it."""
        if key not in self.values:
            where = f" in [{'.'.join(map(str, self._path))}]" if self._path else ""
            self._source.wrong_key((*self._path, key), f"{key} is missing{where}; write {example}")


def text(name: str) -> Callable[[Any], str]:
    """Check for a string that is not blank."""

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise WrongValueError(f"{name} must be a string, not {shown(value)}")
        if not value.strip():
            raise WrongValueError(f"{name} is blank; write something or leave it out")
        return value

    return check


def _array(name: str) -> Callable[[Any], list[Any]]:
    def check(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise WrongValueError(f"{name} must be an array of strings, not {shown(value)}")
        return value

    return check


def _element(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValueError(f"{name} must be an array of strings, and {shown(value)} is not one")
    return value


def flag(name: str) -> Callable[[Any], bool]:
    """Check for true or false."""

    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise WrongValueError(f"{name} must be true or false, not {shown(value)}")
        return value

    return check


def count(name: str) -> Callable[[Any], int]:
    """Check for an integer of at least 1."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
            message = f"{name} must be an integer from 1 to {_LARGEST}, not {shown(value)}"
            raise WrongValueError(message)
        return value

    return check


def seconds(name: str, most: float) -> Callable[[Any], float]:
    """Check for a number of seconds above 0 and up to `most`."""

    def check(value: Any) -> float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # Compared before the conversion: a long integer as a float raises OverflowError.
        if not number or not 0 < value <= most:
            message = f"{name} must be a number of seconds above 0 and up to {most:g}"
            raise WrongValueError(f"{message}, not {shown(value)}")
        return float(value)

    return check


def shown(value: Any) -> str:
    """Return a value as TOML writes it, or its type; long strings are cut."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        written = json.dumps(value, ensure_ascii=False)
        return written if len(written) <= _LONGEST_SHOWN else written[:_LONGEST_SHOWN] + "…"
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        return "a number that long"
    return str(value)
