"""The possible states of a folder after a power failure, computed from recorded calls."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

Files = dict[str, bytes]
"""The files of a folder: content by path."""

Call = tuple[str, ...]
"""A call that changes names or syncs: its name and its paths below the folder."""

_NAMES = {"os.rename": "rename", "os.link": "link", "os.remove": "remove", "os.mkdir": "mkdir"}


@dataclass
class Recorder:
    """Records the calls on files below a folder, in order, except those below `.hedgerow`."""

    folder: Path
    calls: list[Call] = field(default_factory=list)
    contents: Files = field(default_factory=dict)
    """The content of each created file, by its first name."""
    is_on: bool = False

    def below(self, path: Any) -> str | None:
        """Return a path relative to the folder. None if it is not below the folder, or ignored."""
        try:
            found = Path(os.path.abspath(os.fsdecode(path))).relative_to(self.folder)  # noqa: PTH100
        except (TypeError, ValueError):
            return None
        return None if found.parts[:1] == (".hedgerow",) else found.as_posix()

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an audit event of the interpreter, which precedes the call."""
        if not self.is_on:
            return
        if event == "open":
            path, _, flags = arguments
            name = self.below(path)
            if name is not None and isinstance(flags, int) and flags & os.O_CREAT:
                self.calls.append(("create", name))
        elif event in _NAMES:
            two = event in {"os.rename", "os.link"}
            names = [self.below(path) for path in arguments[: 2 if two else 1]]
            if None not in names:
                self.calls.append((_NAMES[event], *map(str, names)))

    def synced(self, descriptor: int) -> None:
        """Record that a file or a folder was synced to disk."""
        if not self.is_on:
            return
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        name = self.below(path)
        if name is not None:
            self.calls.append(("sync", name))
            if path.is_file():
                self.contents[name] = path.read_bytes()


_recorders: list[Recorder] = []


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    for recorder in _recorders:
        recorder.heard(event, arguments)


@contextmanager
def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """Record changes of files below a folder. Every written file must be synced."""
    if not _recorders:
        sys.addaudithook(_heard)  # audit hooks cannot be removed
    recorder = Recorder(folder)
    _recorders[:] = [recorder]
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        recorder.synced(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", noted)
        recorder.is_on = True
        try:
            yield recorder
        finally:
            recorder.is_on = False


class Disk:
    """Names and contents, both synced and unsynced."""

    def __init__(self, files: Files, folders: set[str]) -> None:
        self._contents = list(files.values())
        self._synced = set(range(len(files)))
        self._names: dict[str, int | None] = {
            **dict(zip(files, range(len(files)), strict=True)),
            **dict.fromkeys(folders),
        }
        """The number of the file of each synced name. None for a folder."""
        self._live = dict(self._names)
        self._pending: list[Call] = []

    def apply(self, call: Call, contents: Files) -> None:
        """Apply a call."""
        name, *paths = call
        if name == "sync":
            path = paths[0]
            if path in self._live and self._live[path] is not None:
                self._synced.add(self._live[path] or 0)
                return
            for pending in list(self._pending):
                if _folder_of(pending[-1]) == path or (
                    pending[0] == "rename" and _folder_of(pending[1]) == path
                ):
                    self._pending.remove(pending)
                    self._do(self._names, pending)
            return
        if name == "create":
            self._contents.append(contents.get(paths[0], b""))
            call = ("create", str(len(self._contents) - 1), paths[0])
        elif name == "link":
            call = ("create", str(self._live[paths[0]]), paths[1])
        elif name == "rename":
            call = ("rename", *paths)
        self._do(self._live, call)
        self._pending.append(call)

    @staticmethod
    def _do(names: dict[str, int | None], call: Call) -> None:
        name, *paths = call
        if name == "create":
            names[paths[1]] = int(paths[0])
        elif name == "mkdir":
            names[paths[0]] = None
        elif name == "remove":
            names.pop(paths[0], None)
        elif name == "rename" and paths[0] in names:
            names[paths[1]] = names.pop(paths[0])

    def left(self) -> Iterator[Files]:
        """Yield the files that a power failure may leave.

        Any subset of the unsynced name changes may be applied, in order. A rename is atomic, as on
        journaling file systems. An unsynced file is empty, truncated or complete, and the content
        of an unsynced folder is lost.
        """
        for kept in itertools.product((False, True), repeat=len(self._pending)):
            names = dict(self._names)
            for call in itertools.compress(self._pending, kept):
                self._do(names, call)
            found = [
                (name, number)
                for name, number in names.items()
                if number is not None and all(parent in names for parent in _above(name))
            ]
            open_ = sorted({number for _, number in found} - self._synced)
            for cut in itertools.product((0.0, 0.5, 1.0), repeat=len(open_)):
                share = dict(zip(open_, cut, strict=True))
                yield {
                    name: self._contents[number][
                        : int(len(self._contents[number]) * share.get(number, 1.0))
                    ]
                    for name, number in found
                }


def _folder_of(path: str) -> str:
    return Path(path).parent.as_posix()


def _above(path: str) -> list[str]:
    return [parent.as_posix() for parent in Path(path).parents if parent.parts]


def files_in(folder: Path) -> Files:
    """Return the files below a folder, except `.hedgerow`."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and ".hedgerow" not in file.parts
    }


def folders_in(folder: Path) -> set[str]:
    """Return the folders below a folder, except `.hedgerow`."""
    found = (file.relative_to(folder) for file in folder.rglob("*") if file.is_dir())
    return {path.as_posix() for path in found if path.parts[0] != ".hedgerow"}
