"""Reading the file of an agent, with all its problems (spec/agents.md, "Definitions").

The code follows the layout of the file, from top to bottom.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow._engine import Pipeline, _TomlText, parse_pipeline
from hedgerow._operations.fields import Field
from hedgerow.errors import PipelineError

from .actions import ACTIONS
from .definition import AgentDefinition, Bounds
from .definition_fields import (
    MOST_PROBLEMS,
    NAME,
    SCHEMA,
    Source,
    Table,
    TooManyProblemsError,
    WrongValueError,
    agent_name,
    inner_path,
    like_a_name,
    placeholder_label,
    quoted,
    schedule_of,
    schema,
    withheld,
)
from .directives import directives_in
from .problems import DefinitionError, Lines, Problem, nearest
from .template import Placeholder, TemplateMistake, scan

LARGEST = 1 << 20
"""The most bytes of a definition or a template."""

# Without O_NONBLOCK, opening a FIFO waits until another process writes to it.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")
)

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


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
    with open(os.open(real, _FLAGS), "rb") as stream:  # noqa: PTH123 - with flags
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
        raise RefusedFileError(f"is {_KINDS.get(kind, 'no file')}; put a regular file there")


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
    return _Reader(Source(file, toml), data, read, bounds).reading()


class _Reader:
    """Reads a file that is valid TOML."""

    def __init__(self, source: Source, data: bytes, read: Read, bounds: Bounds) -> None:
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
        except TooManyProblemsError:
            problems = sorted(self._source.problems, key=_order)
            last = problems[-1].line, problems[-1].column
            more = Problem(self._file, *last, f"there are more problems than {MOST_PROBLEMS}")
            return Reading(self._hash.hexdigest(), None, (*problems, more))

    def _reading(self, values: dict[str, Any]) -> Reading:
        top = Table(self._source, values)
        self._unknown_keys(values)
        top.take("schema", int, SCHEMA, schema, Field())
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

    def _name(self, top: Table) -> str:
        stem = self._file.stem
        if "name" not in top.values and not NAME.fullmatch(stem):
            message = f"the file's name, {quoted(stem)}, is not a name for an agent; write name = "
            self._source.wrong_key(("name",), f'{message}"…" or rename it', like_a_name(stem))
        return top.take("name", str, stem, agent_name)

    def _query(self, query: Table) -> dict[str, Any]:
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
            raise WrongValueError(
                message.removesuffix(meant), error.suggestion, error.start
            ) from error
        if pipeline.to_string().endswith("| count"):
            message = "an agent works on nodes and count returns a number; leave it out"
            raise WrongValueError(message, index=written.rindex("count"))
        return pipeline

    def _execution(self, execution: Table) -> dict[str, Any]:
        execution.require("model", 'model = "…", a name that the model client knows')
        on_demand: tuple[str, int | None] = ("on-demand", None)
        schedule, period = execution.take("schedule", str, on_demand, schedule_of)
        return {
            "model": execution.take("model", str, ""),
            "actions": tuple(dict.fromkeys(execution.take_each("actions", self._action) or ())),
            "allow": tuple(dict.fromkeys(execution.take_each("allow", withheld) or ())),
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
            self._source.wrong_value(path, WrongValueError(message))
        asked = [
            TemplateMistake(offset, f"the template asks for {word}, and the agent may not {op}")
            for word, op, offset in directives_in(definition.template)
            if op not in definition.permitted
        ]
        self._add_mistakes(definition.template, asked)
        return (*sorted(self._source.problems, key=_order), *self._template_problems)

    def _action(self, op: str) -> str:
        if op not in ACTIONS:
            message = f"there is no action {quoted(op)}; there are {', '.join(ACTIONS)}"
            raise WrongValueError(message, nearest(op, ACTIONS))
        if op not in self._bounds.actions:
            known = ", ".join(self._bounds.actions)
            raise WrongValueError(f"no agent of {self._bounds.place} can {op}; it can {known}")
        return op

    def _prompt(self, prompt: Table) -> dict[str, Any]:
        max_chars = prompt.take("max_chars", int, 60_000)
        node_chars = prompt.take("node_chars", int, 4_000)
        listed = prompt.take_each("placeholders", placeholder_label)
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

    def _template(self, prompt: Table) -> str | None:
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
        file = self._file.parent / inner_path(name)
        self._template_file = file
        try:
            data = self._read(file)
        except FileNotFoundError as error:
            message = (
                f"there is no file {quoted(name)} next to this one; write it, or correct the name"
            )
            raise WrongValueError(message) from error
        except OSError as error:
            raise WrongValueError(f"the template {_refusal(error)}") from error
        self._hash.update(b"\0")
        self._hash.update(data)
        try:
            template = data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            self._template_problems.append(Problem(file, *_position_of(data, error), _NOT_UTF8))
            raise WrongValueError(f"the template {quoted(name)} cannot be read") from error
        if not template.strip():
            raise WrongValueError(f"the template {quoted(name)} is blank; write the prompt there")
        return template

    def _add_mistakes(self, template: str | None, mistakes: Sequence[TemplateMistake]) -> None:
        """Add the mistakes in the template, which is part of this file or a separate file."""
        for found in mistakes:
            if self._is_inline:
                error = WrongValueError(found.message, found.suggestion, found.offset)
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
                self._source.wrong_value((*path, index), WrongValueError(message))
        known = set(listed)
        for label in used:
            if label not in known:
                message = f'the template uses {{{{{label}}}}}; add "{label}" to the list'
                self._source.wrong_value(path, WrongValueError(message))


def _unknown(key: str, table: str) -> tuple[str, str | None]:
    """Return the message for an unknown key of a table, and the probable intention."""
    where = f" in [{table}]" if table else ""
    for home, keys in _KEYS.items():
        if key in keys:
            belongs = f"in [{home}]" if home else "at the top"
            return f"{key} is{where or ' at the top'} and belongs {belongs}", None
    return f"there is no key {quoted(key)}{where}", nearest(key, _KEYS[table])


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
