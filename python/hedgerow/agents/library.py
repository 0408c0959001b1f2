"""The agents of a folder, reloaded when they change (spec/agents.md, "A folder of agents")."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from hedgerow._checks import checked_path

from .definition import AgentDefinition, Bounds
from .definition_file import Reading, read_definition, read_inside
from .problems import Problem

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
