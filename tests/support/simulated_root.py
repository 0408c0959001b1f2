"""A simulated root: its handles and files, and writing operations that are compared with a plan."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import hedgerow as hr
import root_model as model
from root_model import RefusedError, RootModel, Scope
from root_operations import WORDS, WRITES, Operation
from shrinking import MismatchError, expect
from simulated_world import TICK, Clock, CrashError

SCOPES = (Scope(), Scope(), Scope("ana"), Scope("ana", shared=True))
"""The scopes of the handles. The second handle has an embedder."""

MOST_FILES = 16
"""The model does not rank the candidates of a search for duplicates, so there must be few files."""

ALL = 1000
_PLACE = re.compile(r"\{(/?)(\d+)\}")
_OF_FAULTS = {"crash", "root_io", "index_io", "not_forgotten"}


class Embedder:
    """An embedder in plain Python: the counts of the simulation's words."""

    model = "counts"
    dimensions = len(WORDS) + 1

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [
            [1.0, *map(float, map(Counter(text.lower().split()).__getitem__, WORDS))]
            for text in texts
        ]


def opened(folder: Path, number: int) -> hr.MemoryRoot:
    """Open a handle of a root by its number."""
    scope = SCOPES[number]
    return hr.MemoryRoot.open(
        folder,
        scope=None if scope.user is None else {"user": scope.user},
        shared=scope.shared,
        embedder=Embedder() if number == 1 else None,
    )


@dataclass
class Plan:
    """The planned effect of an operation: the files after it, or the code of its error.

    `is_like` compares a found file with the planned one, for files that need not be equal.
    """

    files: dict[str, bytes]
    error: str | None = None
    is_like: Callable[[str, bytes | None, bytes | None], bool] = lambda _, found, planned: (
        found == planned
    )


@dataclass
class SimulatedRoot:
    """A root in a folder with several handles, and its model."""

    folder: Path
    clock: Clock = field(default_factory=Clock)
    files: dict[str, bytes] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)
    handles: list[hr.MemoryRoot] = field(default_factory=list)
    copies: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Any:
        self._stack.enter_context(self.clock.running())
        self.root = self.folder / "root"
        self.root.mkdir()
        self.handles = [opened(self.root, number) for number in range(len(SCOPES))]
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._stack.close()

    def _close(self) -> None:
        for handle in self.handles:
            handle.close()

    @property
    def model(self) -> RootModel:
        """The model of the current files."""
        return RootModel(self.files)

    def make(self, operation: Operation) -> None:
        """Apply an operation to both, and compare. Raises MismatchError."""
        self.clock.move(TICK)
        if operation.fault is not None and operation.name not in WRITES:
            self._fail(operation)
        method = getattr(self, f"_{operation.name.replace(' ', '_')}")
        method(operation, *operation.arguments)

    def _fail(self, operation: Operation) -> None:
        """Let a call within a recall fail. The next recall must succeed."""
        fault = operation.failing()
        with fault.active() if fault else nullcontext():
            try:
                self.handles[operation.handle].recall("acorn")
            except CrashError:
                pass
            except hr.HedgerowError as error:
                expect(error.code in _OF_FAULTS, True, f"the code {error.code}")

    # Files.

    def _on_disk(self) -> dict[str, bytes]:
        """Return the files of the root. Raises MismatchError for an unexpected file."""
        found: dict[str, bytes] = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".hedgerow"]
            for name in names:
                path = Path(folder, name)
                expect(path.suffix, ".md", f"the kind of {path}")
                found[path.relative_to(self.root).as_posix()] = path.read_bytes()
        return found

    def _write(
        self, operation: Operation, plan: Callable[[], Plan], call: Callable[[hr.MemoryRoot], Any]
    ) -> Any:
        """Make a writing operation. Return its result, or None if it failed.

        After a fault, each file is either unchanged or as planned.
        """
        before, fault = self.files, operation.failing()
        try:
            planned = plan()
        except RefusedError as refused:
            planned = Plan(before, refused.code)
        result, code = None, None
        with fault.active() if fault else nullcontext():
            try:
                result = call(self.handles[operation.handle])
            except CrashError:
                code = "crash"
            except hr.HedgerowError as error:
                code = error.code
        found = self._on_disk()
        # A rename and a dedupe continue with the other files, and report those they could not
        # change.
        has_failed = (
            fault is not None
            and fault.has_happened
            and (code in _OF_FAULTS or bool(_unchanged(result)))
        )
        if not has_failed and code != planned.error:
            raise MismatchError(f"the code of the error is {code!r}, expected {planned.error!r}")
        for path in before.keys() | planned.files.keys() | found.keys():
            one, old, new = found.get(path), before.get(path), planned.files.get(path)
            is_old = has_failed and (one == old or planned.is_like(path, one, old))
            if not (planned.is_like(path, one, new) or is_old):
                raise MismatchError(f"{path} is {one!r}, expected {new!r}, was {old!r}")
        self.files = found
        return None if has_failed else result

    def _save(self, path: str, data: bytes) -> None:
        """Write a file like an editor."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        self.files[path] = data

    def _picked(self, number: int) -> str:
        paths = sorted(self.files)
        return paths[number % len(paths)] if paths else "absent.md"

    def _filled(self, text: str, path: str = "") -> str:
        """Return a text with numbers replaced by memories: by names, or after `/` by paths.

        `path` is that of the text, which sometimes links to itself. Without it, paths are relative
        to the root.
        """

        def name(place: re.Match[str]) -> str:
            number = int(place[2])
            target = path if path and number % 7 == 0 else self._picked(number)
            if place[1]:
                folder = posixpath.dirname(path) or "."
                return quote(posixpath.relpath(target, folder) if path else f"/{target}")
            stem = posixpath.basename(target)[:-3]
            return (target[:-3], stem, stem.title(), target[:-3])[number % 4]

        return _PLACE.sub(name, text)

    def _file(self, path: str, fields: Mapping[str, Any], body: str, newline: str) -> bytes:
        """Return a user's file."""
        lines = (f"{key}: {model.compact(value)}\n" for key, value in fields.items())
        head = f"---\n{''.join(lines)}---\n" if fields else ""
        return self._filled(head + body, path).replace("\n", newline).encode()

    def _key(self, key: tuple[int, str]) -> str:
        """Return the key of a picked memory."""
        path, how = self._picked(key[0]), key[1]
        note = self.model.notes.get(path)
        if how == "title" and note is not None and note.title:
            return note.title
        return path.rpartition("/")[2][:-3] if how == "stem" else path

    def _resolve(
        self, operation: Operation, key: str, *, own: bool = True, ended: bool = False
    ) -> str:
        """Return the memory that a key resolves to for a handle. Raises RefusedError."""
        scope = SCOPES[operation.handle]
        searched = scope.own if own else scope
        return self.model.resolve(key, searched, self.clock.now, seen=scope, ended=ended)

    def _scope_of_new(self, operation: Operation) -> dict[str, Any]:
        user = SCOPES[operation.handle].user
        return {} if user is None else {"scope": {"user": user}}


def _unchanged(result: Any) -> Sequence[Any]:
    """Return the files that a result reports as unchanged."""
    return [*getattr(result, "by_hand", ()), *getattr(result, "unreadable", ())]
