"""Reading the files of agents, with all their problems, and again when they change (spec/agents.md).

From the bottom up: files, values with their positions, checks of single values, the reader of a
file, which follows its layout from top to bottom, and the files of a folder.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from os import PathLike
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any, TypeVar

from hedgerow._checks import checked_path
from hedgerow._engine import Pipeline, _nearest, _shorten, _TomlText, parse_pipeline
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import checked
from hedgerow._regular_files import FLAGS, KINDS
from hedgerow.errors import InvalidInputError, PipelineError

from .actions import ACTIONS, directives_in
from .definition import (
    PERIODS,
    WITHHELD,
    AgentDefinition,
    Bounds,
    DefinitionError,
    Problem,
    period_of,
)
from .prompt import Placeholder, TemplateMistake, check_placeholder, parse_placeholder, scan
from .reply import Lines

# Files.

LARGEST = 1 << 20
"""The most bytes of a definition or a template."""


class RefusedFileError(OSError):
    """A file that the system could read but this package refuses; the message says why."""


def read_inside(file: Path, folder: Path) -> bytes:
    """Read a regular file in a folder; a symbolic link may point elsewhere in it.

    Raises OSError if that is impossible, RefusedFileError for any other file.
    """
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise RefusedFileError(
            f"is a link to {real}, outside the folder of the agents; put the file itself there"
        )
    _check(real.lstat())
    with open(os.open(real, FLAGS | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:  # noqa: PTH123 - with flags
        # The file may have been replaced since it was checked.
        _check(os.fstat(stream.fileno()))
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise RefusedFileError(f"has more than {LARGEST:,} bytes; shorten it")
    return data


def _check(status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind == stat.S_IFLNK:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if kind != stat.S_IFREG:
        raise RefusedFileError(f"is {KINDS.get(kind, 'no file')}; put a regular file there")


# Values, with their positions.

T = TypeVar("T")

_KeyPath = tuple[str | int, ...]
"""Keys from the top level down, and indexes of arrays."""

_COUNT = Field(least=1, most=1_000_000_000)
_MOST_PROBLEMS = 100
"""The most problems that are reported for one file."""

_SCHEMA = 1
_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")

_LONGEST_MESSAGE = 300
_LONGEST_SHOWN = 60


class _WrongValueError(Exception):
    """A value cannot be used; in a string, `index` is the character at fault."""

    def __init__(
        self, message: str, suggestion: str | None = None, index: int | None = None
    ) -> None:
        super().__init__(message)
        self.suggestion = suggestion
        self.index = index


class _TooManyProblemsError(Exception):
    """The file exceeds the limit of problems, so that the rest is skipped."""


class _Source:
    """A file being read, with its positions and the problems found so far."""

    def __init__(self, file: Path, toml: _TomlText) -> None:
        self.file = file
        self.toml = toml
        self.problems: list[Problem] = []

    def wrong_key(self, path: _KeyPath, message: str, suggestion: str | None = None) -> None:
        """Add a problem at a key, or at the nearest table above it that the file has."""
        while path and self.toml.key(path) is None:
            path = path[:-1]
        self._add(self.toml.key(path) if path else None, message, suggestion)

    def wrong_value(self, path: _KeyPath, error: _WrongValueError) -> None:
        """Add a problem at a value, or at the character of a string that the error names."""
        self._add(self.toml.value(path, error.index), str(error), error.suggestion)

    def _add(self, at: tuple[int, int] | None, message: str, suggestion: str | None) -> None:
        if len(self.problems) == _MOST_PROBLEMS:
            raise _TooManyProblemsError
        shortened = _shorten(message, _LONGEST_MESSAGE)
        self.problems.append(Problem(self.file, *(at or (1, 1)), shortened, suggestion))


class _Table:
    """A table of the file."""

    def __init__(self, source: _Source, values: Mapping[str, Any], path: _KeyPath = ()) -> None:
        self._source = source
        self._path = path
        self.values = values

    def table(self, name: str) -> _Table | None:
        """Return a subtable, empty if the file has none; None, with a problem, for another type."""
        values = self.values.get(name, {})
        if isinstance(values, dict):
            return _Table(self._source, values, (*self._path, name))
        self._source.wrong_key((*self._path, name), f"{name} must be a table; write [{name}]")
        return None

    def take(
        self,
        key: str,
        of: type,
        default: T,
        check: Callable[[Any], T] | None = None,
        field: Field = _COUNT,
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
        path: _KeyPath,
        typed: Callable[[str], Any],
        check: Callable[[Any], Any] | None = None,
    ) -> tuple[Any] | None:
        """Return the checked value at a path; None, with a problem, for a wrong one."""
        name = path[-1] if isinstance(path[-1], str) else f"{path[-2]}[{path[-1]}]"
        try:
            value = typed(name)
            return (value if check is None else check(value),)
        except InvalidInputError as error:
            self._source.wrong_value(path, _WrongValueError(error.message))
        except _WrongValueError as error:
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
        raise _WrongValueError(f"{name} is blank; write something or leave it out")
    return found


# Checks of single values.


def _quoted(text: str) -> str:
    """Return a text in quotes, cut if it is long."""
    return _shorten(json.dumps(text, ensure_ascii=False), _LONGEST_SHOWN)


def _withheld(op: str) -> str:
    """Check an action of `allow`."""
    if op not in WITHHELD:
        message = f"allow takes {' and '.join(WITHHELD)}, and not {_quoted(op)}"
        raise _WrongValueError(message, _nearest(op, WITHHELD))
    return op


def _schema(number: int) -> int:
    if number > _SCHEMA:
        raise _WrongValueError(
            f"the file is for a newer hedgerow (schema {number}; this one reads {_SCHEMA}); "
            "upgrade hedgerow"
        )
    if number < _SCHEMA:
        raise _WrongValueError(f"schema must be {_SCHEMA}, not {number}")
    return number


def _agent_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise _WrongValueError(
            f"{_quoted(name)} is not a name for an agent; use 1 to 64 of a-z, 0-9 and -, a letter first",
            _like_a_name(name),
        )
    return name


def _like_a_name(word: str) -> str | None:
    """Return the name that is most like a word; None if there is none."""
    name = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:64]
    return name if _NAME.fullmatch(name) else None


def _inner_path(name: str) -> str:
    """Check the path of a template, which must be inside the folder of its agent."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive
    if absolute or ".." in parts:
        raise _WrongValueError(
            f'{_quoted(name)} is outside the folder of the agents; name a file in it, without ".."'
        )
    if "\0" in name:
        raise _WrongValueError(f"{_quoted(name)} is not a file name")
    return name


def _placeholder_label(written: str) -> str:
    """Check an entry of `placeholders`; returns the label of the placeholder."""
    name, key = parse_placeholder(written)
    wrong = check_placeholder(name, key)
    if wrong:
        raise _WrongValueError(*wrong)
    return name if key is None else f"{name}:{key}"


def _schedule_of(schedule: str) -> tuple[str, int | None]:
    """Check a schedule; returns it with its period in seconds."""
    try:
        return schedule, period_of(schedule)
    except ValueError as error:
        raise _WrongValueError(str(error), _nearest(schedule, PERIODS)) from error


# The definition.

_KEYS = {
    "": ("schema", "name", "enabled", "query", "prompt", "execution"),
    "query": ("pipeline", "min_results"),
    "prompt": ("template", "inline", "placeholders", "max_chars", "node_chars"),
    "execution": (
        "model",
        "actions",
        "allow",
        "schedule",
        "max_runs_per_period",
        "timeout_s",
        "max_actions",
    ),
}

_TIMEOUT = Field(above=0, most=86_400)
"""The bounds of a timeout, in seconds."""

Read = Callable[[Path], bytes]


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a file: a definition, or problems.

    `name_at` is the line and column of its name.
    """

    sha: str
    definition: AgentDefinition | None
    problems: tuple[Problem, ...]
    name_at: tuple[int, int] = (1, 1)


def load_definition(
    path: str | PathLike[str],
    bounds: Bounds = Bounds(),  # noqa: B008 - it is frozen
) -> AgentDefinition:
    """Read the file of an agent and the template it names; `bounds` are those of its store.

    Raises DefinitionError, which lists all problems found.
    """
    reading = read_definition(Path(path), bounds=bounds)
    if reading.definition is None:
        raise DefinitionError(reading.problems)
    return reading.definition


def read_definition(
    file: Path,
    read: Read | None = None,
    bounds: Bounds = Bounds(),  # noqa: B008 - it is frozen
) -> Reading:
    """Read a file and the template it names; `bounds` are those of its store.

    `read` replaces how files are read: by default, regular ones in the folder of the file.
    """
    read = partial(read_inside, folder=file.parent) if read is None else read
    try:
        data = read(file)
    except OSError as error:
        return _unusable(b"", Problem(file, 1, 1, _refusal(error)))
    try:
        # No value may contain CRLF.
        toml = _TomlText(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        return _unusable(data, Problem(file, *_position_of(data, error), _NOT_UTF8))
    except ValueError as error:
        message, line, column = error.args
        return _unusable(data, Problem(file, line, column, f"this is not TOML: {message}"))
    return _Reader(_Source(file, toml), data, read, bounds).reading()


class _Reader:
    """Reads a file that is valid TOML."""

    def __init__(self, source: _Source, data: bytes, read: Read, bounds: Bounds) -> None:
        self._bounds = bounds
        self._source = source
        self._file = source.file
        self._read = read
        self._template_file = source.file
        self._hash = sha256(data)
        self._template_problems: list[Problem] = []
        self._is_inline = False

    def reading(self) -> Reading:
        try:
            return self._reading(self._source.toml.values())
        except _TooManyProblemsError:
            problems = sorted(self._source.problems, key=_order)
            last = problems[-1].line, problems[-1].column
            more = Problem(self._file, *last, f"there are more problems than {_MOST_PROBLEMS}")
            return Reading(self._hash.hexdigest(), None, (*problems, more))

    def _reading(self, values: dict[str, Any]) -> Reading:
        top = _Table(self._source, values)
        self._unknown_keys(values)
        top.take("schema", int, _SCHEMA, _schema, Field())
        name = self._name(top)
        enabled = top.take("enabled", bool, default=True)
        query, prompt, execution = (top.table(name) for name in ("query", "prompt", "execution"))
        taken: dict[str, Any] = {"name": name, "enabled": enabled}
        if query:
            taken |= self._query(query)
        if prompt:
            taken |= self._prompt(prompt)
        if execution:
            taken |= self._execution(execution)
        problems = (*sorted(self._source.problems, key=_order), *self._template_problems)
        sha = self._hash.hexdigest()
        definition = None
        if not problems:
            definition = AgentDefinition(file=self._file, sha=sha, **taken)
            definition = replace(definition, warnings=self._warnings(definition))
        name_at = self._source.toml.value(("name",)) or (1, 1)
        return Reading(sha, definition, problems, name_at)

    def _unknown_keys(self, values: dict[str, Any]) -> None:
        for table, known in _KEYS.items():
            found = values if table == "" else values.get(table)
            for key in found if isinstance(found, dict) else ():
                if key not in known:
                    path = (table, key) if table else (key,)
                    self._source.wrong_key(path, *_unknown(key, table))

    def _name(self, top: _Table) -> str:
        stem = self._file.stem
        if "name" not in top.values and not _NAME.fullmatch(stem):
            message = f"the file's name, {_quoted(stem)}, is not a name for an agent; write name = "
            self._source.wrong_key(("name",), f'{message}"…" or rename it', _like_a_name(stem))
        return top.take("name", str, stem, _agent_name)

    def _query(self, query: _Table) -> dict[str, Any]:
        query.require("pipeline", 'pipeline = "all | limit:20"')
        return {
            "pipeline": query.take("pipeline", str, None, self._pipeline),
            "min_results": query.take("min_results", int, 1),
        }

    def _pipeline(self, written: str) -> Pipeline:
        try:
            pipeline = parse_pipeline(written, types=self._bounds.types)
        except PipelineError as error:
            message = error.message.partition("\n")[0]
            meant = f'; did you mean "{error.suggestion}"?'
            raise _WrongValueError(
                message.removesuffix(meant), error.suggestion, error.start
            ) from error
        if pipeline.to_string().endswith("| count"):
            message = "an agent works on nodes and count returns a number; leave it out"
            raise _WrongValueError(message, index=written.rindex("count"))
        return pipeline

    def _execution(self, execution: _Table) -> dict[str, Any]:
        execution.require("model", 'model = "…", a name that the model client knows')
        on_demand: tuple[str, int | None] = ("on-demand", None)
        schedule, period = execution.take("schedule", str, on_demand, _schedule_of)
        return {
            "model": execution.take("model", str, ""),
            "actions": tuple(dict.fromkeys(execution.take_each("actions", self._action) or ())),
            "allow": tuple(dict.fromkeys(execution.take_each("allow", _withheld) or ())),
            "schedule": schedule,
            "period_s": period,
            "max_runs_per_period": execution.take("max_runs_per_period", int, 1),
            "timeout_s": execution.take("timeout_s", float, 120.0, float, _TIMEOUT),
            "max_actions": execution.take("max_actions", int, 50),
        }

    def _warnings(self, definition: AgentDefinition) -> tuple[Problem, ...]:
        """The actions that the definition or its template asks for without permission."""
        for op in definition.withheld:
            path = ("execution", "actions", definition.actions.index(op))
            message = f'the agent may not {op}, which "allow" does not list; add {op} to allow'
            self._source.wrong_value(path, _WrongValueError(message))
        asked = [
            TemplateMistake(offset, f"the template asks for {word}, and the agent may not {op}")
            for word, op, offset in directives_in(definition.template)
            if op not in definition.permitted
        ]
        self._add_mistakes(definition.template, asked)
        return (*sorted(self._source.problems, key=_order), *self._template_problems)

    def _action(self, op: str) -> str:
        if op not in ACTIONS:
            message = f"there is no action {_quoted(op)}; there are {', '.join(ACTIONS)}"
            raise _WrongValueError(message, _nearest(op, ACTIONS))
        if op not in self._bounds.actions:
            known = ", ".join(self._bounds.actions)
            raise _WrongValueError(f"no agent of {self._bounds.place} can {op}; it can {known}")
        return op

    def _prompt(self, prompt: _Table) -> dict[str, Any]:
        max_chars = prompt.take("max_chars", int, 60_000)
        node_chars = prompt.take("node_chars", int, 4_000)
        listed = prompt.take_each("placeholders", _placeholder_label)
        template = self._template(prompt)
        found, mistakes = scan(template or "")
        self._is_inline = "inline" in prompt.values
        self._add_mistakes(template, mistakes)
        if listed is not None and template is not None and not mistakes:
            self._compare(listed, found)
        fixed = len(template or "") - sum(
            placeholder.end - placeholder.start for placeholder in found
        )
        if fixed > max_chars:
            message = f"the template alone has {fixed} characters and max_chars is {max_chars}"
            self._source.wrong_key(
                ("prompt", "max_chars"), f"{message}; raise max_chars or shorten the template"
            )
        return {
            "template": template,
            "placeholders": tuple(dict.fromkeys(placeholder.label for placeholder in found)),
            "max_chars": max_chars,
            "node_chars": node_chars,
        }

    def _template(self, prompt: _Table) -> str | None:
        """The text of the template; None, with a problem, if there is none."""
        if "template" in prompt.values and "inline" in prompt.values:
            message = "template and inline exclude each other; leave one out"
            self._source.wrong_key(("prompt", "inline"), message)
        elif "inline" in prompt.values:
            return prompt.take("inline", str, None)
        else:
            prompt.require("template", f'template = "{self._file.stem}.md", or inline = """…"""')
            return prompt.take("template", str, None, self._template_text)
        return None

    def _template_text(self, name: str) -> str:
        file = self._file.parent / _inner_path(name)
        self._template_file = file
        try:
            data = self._read(file)
        except FileNotFoundError as error:
            message = (
                f"there is no file {_quoted(name)} next to this one; write it, or correct the name"
            )
            raise _WrongValueError(message) from error
        except OSError as error:
            raise _WrongValueError(f"the template {_refusal(error)}") from error
        self._hash.update(b"\0")
        self._hash.update(data)
        try:
            template = data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            self._template_problems.append(Problem(file, *_position_of(data, error), _NOT_UTF8))
            raise _WrongValueError(f"the template {_quoted(name)} cannot be read") from error
        if not template.strip():
            raise _WrongValueError(f"the template {_quoted(name)} is blank; write the prompt there")
        return template

    def _add_mistakes(self, template: str | None, mistakes: Sequence[TemplateMistake]) -> None:
        """Add the mistakes in the template, which is part of this file or a separate file."""
        for found in mistakes:
            if self._is_inline:
                error = _WrongValueError(found.message, found.suggestion, found.offset)
                self._source.wrong_value(("prompt", "inline"), error)
            else:
                at = Lines(template or "").line_and_column(found.offset)
                problem = Problem(self._template_file, *at, found.message, found.suggestion)
                self._template_problems.append(problem)

    def _compare(self, listed: list[str], found: Sequence[Placeholder]) -> None:
        """Add the differences between the listed placeholders and those of the template."""
        used = dict.fromkeys(placeholder.label for placeholder in found)
        path = ("prompt", "placeholders")
        for index, label in enumerate(listed):
            if label not in used:
                message = f'"{label}" is listed, but not used in the template; remove it'
                self._source.wrong_value((*path, index), _WrongValueError(message))
        known = set(listed)
        for label in used:
            if label not in known:
                message = f'the template uses {{{{{label}}}}}; add "{label}" to the list'
                self._source.wrong_value(path, _WrongValueError(message))


def _unknown(key: str, table: str) -> tuple[str, str | None]:
    """Return the message for an unknown key of a table, and the probable intention."""
    where = f" in [{table}]" if table else ""
    for home, keys in _KEYS.items():
        if key in keys:
            belongs = f"in [{home}]" if home else "at the top"
            return f"{key} is{where or ' at the top'} and belongs {belongs}", None
    return f"there is no key {_quoted(key)}{where}", _nearest(key, _KEYS[table])


_NOT_UTF8 = "this is not UTF-8; save the file as UTF-8"


def _refusal(error: OSError) -> str:
    if isinstance(error, RefusedFileError):
        return str(error)
    return f"cannot be read ({error.strerror or error}); check the file and its permissions"


def _position_of(data: bytes, error: UnicodeDecodeError) -> tuple[int, int]:
    before = data[: error.start].decode("utf-8-sig").replace("\r\n", "\n")
    return Lines(before).line_and_column(len(before))


def _unusable(data: bytes, problem: Problem) -> Reading:
    return Reading(sha256(data).hexdigest(), None, (problem,))


def _order(problem: Problem) -> tuple[int, int]:
    return problem.line, problem.column


_LOG = logging.getLogger("hedgerow.agents")

_Stamp = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class _File:
    """A file as last read, with the stamps of every file it depends on."""

    reading: Reading
    stamps: Mapping[Path, _Stamp]

    def unchanged(self) -> bool:
        return all(_stamp(path) == stamp for path, stamp in self.stamps.items())


@dataclass(frozen=True, slots=True)
class _State:
    """The result of a reload, replaced as a whole by the next."""

    files: Mapping[Path, _File]
    in_use: Mapping[Path, AgentDefinition]
    problems: tuple[Problem, ...]


class AgentLibrary:
    """The definitions `*.toml` of a folder, without subfolders.

    Files are read by `reload` only. `bounds` are those of the store that the agents work on.
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        bounds: Bounds = Bounds(),  # noqa: B008 - it is frozen
    ) -> None:
        self.folder = checked_path(folder, "folder")
        self._bounds = bounds
        self._state = _State({}, {}, ())

    @property
    def definitions(self) -> Mapping[str, AgentDefinition]:
        """The agents by name; for a file that has become invalid, its last valid definition."""
        return MappingProxyType({found.name: found for found in self._state.in_use.values()})

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the files as of the last reload, by file and position."""
        return self._state.problems

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The actions that agents request without permission, by file and position."""
        return tuple(one for found in self._state.in_use.values() for one in found.warnings)

    def reload(self) -> list[Problem]:
        """Read changed files, and return the new problems.

        A file is read again if its time or size, or that of its template, changed. A folder that
        cannot be listed is a problem and changes nothing else.
        """
        before = self._state
        try:
            paths = sorted(path for path in self.folder.iterdir() if _is_definition(path))
        except OSError as error:
            what = (
                f"the folder cannot be read ({error.strerror or error}); create it, or name another"
            )
            problem = Problem(self.folder, 1, 1, what)
            problems = tuple(dict.fromkeys([problem, *before.problems]))
            self._state = _State(before.files, before.in_use, problems)
        else:
            files = {path: _read(path, before.files.get(path), self._bounds) for path in paths}
            self._state = _accepted(files, before.in_use)
        known = set(before.problems)
        return [problem for problem in self._state.problems if problem not in known]


def _is_definition(path: Path) -> bool:
    return path.suffix == ".toml" and not path.name.startswith(".")


def _read(path: Path, known: _File | None, bounds: Bounds) -> _File:
    if known is not None and known.unchanged():
        return known
    stamps: dict[Path, _Stamp] = {}

    def read(file: Path) -> bytes:
        # The stamp from before the read, so that after a change during it, or a failure, the next reload
        # reads the file again.
        before = _stamp(file)
        stamps[file] = None
        data = read_inside(file, path.parent)
        stamps[file] = before
        return data

    try:
        reading = read_definition(path, read, bounds)
    except Exception as error:  # noqa: BLE001 - our own fault; the other agents go on
        _LOG.warning("%s could not be read: %s", path, error, exc_info=error)
        what = f"cannot be read ({type(error).__name__}: {error}); please report it"
        reading = Reading("", None, (Problem(path, 1, 1, what),))
    same = known is not None and (reading.sha, reading.problems) == (
        known.reading.sha,
        known.reading.problems,
    )
    return _File(known.reading if known and same else reading, stamps)


def _stamp(path: Path) -> _Stamp:
    """The modification time of a file in nanoseconds and its size; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _accepted(files: Mapping[Path, _File], before: Mapping[Path, AgentDefinition]) -> _State:
    """Decide which definition of each file is in use; names are unique.

    A file that already has a name keeps it; otherwise the first by path gets it.
    """

    def wants_a_name(path: Path) -> bool:
        wanted = files[path].reading.definition
        return wanted is not None and (path not in before or before[path].name != wanted.name)

    in_use: dict[Path, AgentDefinition] = {}
    owners: dict[str, Path] = {}
    problems: dict[Path, tuple[Problem, ...]] = {}
    for path in sorted(files, key=lambda path: (wants_a_name(path), path)):
        reading = files[path].reading
        problems[path] = reading.problems
        wanted = reading.definition
        if wanted is not None and wanted.name in owners:
            owner = owners[wanted.name].name
            message = f'the name "{wanted.name}" is also used by {owner}; change one of them'
            problems[path] = (Problem(path, *reading.name_at, message),)
            wanted = None
        chosen = wanted or before.get(path)
        if chosen is not None and chosen.name not in owners:
            in_use[path] = chosen
            owners[chosen.name] = path
    listed = tuple(problem for path in files for problem in problems[path])
    return _State(files, dict(sorted(in_use.items())), listed)
