"""Checked access to the values of a definition; problems are collected with their positions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar

from hedgerow._engine import _shorten, _TomlText
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import checked
from hedgerow.errors import InvalidInputError

from .definition import PERIODS, WITHHELD, period_of
from .problems import Problem, nearest
from .template import check_placeholder, parse_placeholder

T = TypeVar("T")

KeyPath = tuple[str | int, ...]
"""Keys from the top level down, and indexes of arrays."""

COUNT = Field(least=1, most=1_000_000_000)
MOST_PROBLEMS = 100
"""The most problems that are reported for one file."""

SCHEMA = 1
NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")

_LONGEST_MESSAGE = 300
_LONGEST_SHOWN = 60


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

    def __init__(self, file: Path, toml: _TomlText) -> None:
        self.file = file
        self.toml = toml
        self.problems: list[Problem] = []

    def wrong_key(self, path: KeyPath, message: str, suggestion: str | None = None) -> None:
        """Add a problem at a key, or at the nearest table above it that the file has."""
        while path and self.toml.key(path) is None:
            path = path[:-1]
        self._add(self.toml.key(path) if path else None, message, suggestion)

    def wrong_value(self, path: KeyPath, error: WrongValueError) -> None:
        """Add a problem at a value, or at the character of a string that the error names."""
        self._add(self.toml.value(path, error.index), str(error), error.suggestion)

    def _add(self, at: tuple[int, int] | None, message: str, suggestion: str | None) -> None:
        if len(self.problems) == MOST_PROBLEMS:
            raise TooManyProblemsError
        shortened = _shorten(message, _LONGEST_MESSAGE)
        self.problems.append(Problem(self.file, *(at or (1, 1)), shortened, suggestion))


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
        self._source.wrong_key((*self._path, name), f"{name} must be a table; write [{name}]")
        return None

    def take(
        self,
        key: str,
        of: type,
        default: T,
        check: Callable[[Any], T] | None = None,
        field: Field = COUNT,
    ) -> T:
        """Return the checked value of a key; the default if it is missing, or wrong (a problem).

        `field` has the bounds of a number, by default those of a count.
        """
        if key not in self.values:
            return default
        found = self._checked(
            (*self._path, key), partial(_typed, self.values[key], of, field), check
        )
        return default if found is None else found[0]

    def take_each(self, key: str, check: Callable[[str], T]) -> list[T] | None:
        """Return the checked strings of an array; None if it is missing or any of them is wrong."""
        if key not in self.values:
            return None
        path = (*self._path, key)
        values = self._checked(path, partial(_typed, self.values[key], tuple[Any, ...], Field()))
        if values is None:
            return None
        results = [
            self._checked((*path, index), partial(_typed, one, str, Field()), check)
            for index, one in enumerate(values[0])
        ]
        found = [one[0] for one in results if one is not None]
        return found if len(found) == len(results) else None

    def _checked(
        self,
        path: KeyPath,
        typed: Callable[[str], Any],
        check: Callable[[Any], Any] | None = None,
    ) -> tuple[Any] | None:
        """Return the checked value at a path; None, with a problem, for a wrong one."""
        name = path[-1] if isinstance(path[-1], str) else f"{path[-2]}[{path[-1]}]"
        try:
            value = typed(name)
            return (value if check is None else check(value),)
        except InvalidInputError as error:
            self._source.wrong_value(path, WrongValueError(error.message))
        except WrongValueError as error:
            self._source.wrong_value(path, error)
        return None

    def require(self, key: str, example: str) -> None:
        """Add a problem if a key is missing, with an example of it."""
        if key not in self.values:
            where = f" in [{'.'.join(map(str, self._path))}]" if self._path else ""
            self._source.wrong_key((*self._path, key), f"{key} is missing{where}; write {example}")


def _typed(value: Any, of: Any, field: Field, name: str) -> Any:
    found = checked(value, of, field, name)
    if of is str and not found.strip():
        raise WrongValueError(f"{name} is blank; write something or leave it out")
    return found


def quoted(text: str) -> str:
    """Return a text in quotes, cut if it is long."""
    return _shorten(json.dumps(text, ensure_ascii=False), _LONGEST_SHOWN)


def withheld(op: str) -> str:
    """Check an action of `allow`."""
    if op not in WITHHELD:
        message = f"allow takes {' and '.join(WITHHELD)}, and not {quoted(op)}"
        raise WrongValueError(message, nearest(op, WITHHELD))
    return op


def schema(number: int) -> int:
    """Check the schema of the file."""
    if number > SCHEMA:
        raise WrongValueError(
            f"the file is for a newer hedgerow (schema {number}; this one reads {SCHEMA}); "
            "upgrade hedgerow"
        )
    if number < SCHEMA:
        raise WrongValueError(f"schema must be {SCHEMA}, not {number}")
    return number


def agent_name(name: str) -> str:
    """Check the name of an agent."""
    if not NAME.fullmatch(name):
        raise WrongValueError(
            f"{quoted(name)} is not a name for an agent; use 1 to 64 of a-z, 0-9 and -, a letter first",
            like_a_name(name),
        )
    return name


def like_a_name(word: str) -> str | None:
    """Return the name that is most like a word; None if there is none."""
    name = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:64]
    return name if NAME.fullmatch(name) else None


def inner_path(name: str) -> str:
    """Check the path of a template, which must be inside the folder of its agent."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive
    if absolute or ".." in parts:
        raise WrongValueError(
            f'{quoted(name)} is outside the folder of the agents; name a file in it, without ".."'
        )
    if "\0" in name:
        raise WrongValueError(f"{quoted(name)} is not a file name")
    return name


def placeholder_label(written: str) -> str:
    """Check an entry of `placeholders`; returns the label of the placeholder."""
    name, key = parse_placeholder(written)
    wrong = check_placeholder(name, key)
    if wrong:
        raise WrongValueError(*wrong)
    return name if key is None else f"{name}:{key}"


def schedule_of(schedule: str) -> tuple[str, int | None]:
    """Check a schedule; returns it with its period in seconds."""
    try:
        return schedule, period_of(schedule)
    except ValueError as error:
        raise WrongValueError(str(error), nearest(schedule, PERIODS)) from error
