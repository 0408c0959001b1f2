"""Random operations on a memory root through several handles, compared with a model.

After each operation the files equal those of the model, and each result follows from them. A newly
indexed copy of the files gives the same results and scores. simulate.py runs it.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import hedgerow as hr
import root_operations
from root_model import with_fields
from root_operations import NewMemory, Operation
from shrinking import Simulation, expect
from simulated_root import MOST_FILES, opened
from simulated_world import TICK, largest_file, set_zone
from simulated_writes import Writes

LENGTH = 80
"""The number of operations of a history."""


class Run(Writes):
    """A root, its user's own edits, and faults in its environment."""

    # Edits of a user.

    def _write_a_file(self, _: Operation, path: str, *file: Any) -> None:
        if path in self.files or len(self.files) < MOST_FILES:
            self._save(path, self._file(path, *file))

    def _set_a_field(self, _: Operation, picked: int, key: str, value: Any) -> None:
        path = self._picked(picked)
        if path in self.model.notes:
            data = with_fields(self.files[path], {key: value})
            self._save(path, self._filled(data.decode(), path).encode())

    def _write_another_word(
        self, _: Operation, picked: int, words: list[str], keeps_time: bool
    ) -> None:
        """Replace a word by one of the same length, and perhaps restore the file's time."""
        path = self._picked(picked)
        if path in self.model.notes:
            before = (self.root / path).stat()
            old, new = (word.encode() for word in words)
            self._save(path, self.files[path].replace(old, new))
            if keeps_time:
                os.utime(self.root / path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _move_a_file(self, _: Operation, picked: int, to: str, keeps: bool) -> None:
        path = self._picked(picked)
        if (
            path in self.files
            and to not in self.files
            and (not keeps or len(self.files) < MOST_FILES)
        ):
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copy2 if keeps else os.rename)(self.root / path, self.root / to)
            self.files[to] = self.files[path] if keeps else self.files.pop(path)

    def _move_a_folder(self, _: Operation, folders: list[str]) -> None:
        """Rename a folder, or swap two folders."""
        one, other = (self.root / name for name in folders)
        if not one.is_dir():
            return
        if other.is_dir():
            other.rename(self.root / "between")
        one.rename(other)
        if (self.root / "between").is_dir():
            (self.root / "between").rename(one)
        self.files = self._on_disk()

    def _delete_a_file(self, _: Operation, picked: int) -> None:
        path = self._picked(picked)
        if len(self.files) > 1:
            (self.root / path).unlink()
            del self.files[path]

    def _write_bytes(self, _: Operation, path: str) -> None:
        if path in self.files or len(self.files) < MOST_FILES:
            self._save(path, b"acorn \xff bramble")

    def _touch(self, _: Operation, picked: int, days: int) -> None:
        path = self.root / self._picked(picked)
        if path.exists():
            status = path.stat()
            os.utime(path, (status.st_atime, status.st_mtime + days * 86_400))

    # Faults and changes in the environment.

    def _move_the_clock(self, _: Operation, seconds: int) -> None:
        self.clock.move(timedelta(seconds=seconds))

    def _move_the_clock_to_a_border(self, _: Operation, picked: int, which: int, by: int) -> None:
        """Set the clock to a time of a memory, or one microsecond before or after it."""
        note = self.model.notes.get(self._picked(picked))
        if note is not None and note.borders:
            border = note.borders[which % len(note.borders)]
            self.clock.now = border.astimezone(timezone.utc) + timedelta(microseconds=by)
            self.clock.move(-TICK)

    def _recall_without_space(self, operation: Operation, space: int) -> None:
        """Recall while no file can grow by more than a number of bytes."""
        derived = (self.root / ".hedgerow").glob("*.db*")
        largest = max((file.stat().st_size for file in derived), default=0)
        with largest_file(largest + space):
            try:
                self.handles[operation.handle].recall("acorn")
            except hr.HedgerowError as error:
                expect(error.code in {"root_io", "index_io"}, True, f"the code {error.code}")

    def _change_the_zone(self, _: Operation, name: str) -> None:
        set_zone(name)

    def _reopen(self, operation: Operation) -> None:
        self.handles[operation.handle].close()
        self.handles[operation.handle] = opened(self.root, operation.handle)

    def _lose_files(self, _: Operation, name: str) -> None:
        """Delete index, store or all derived files while handles have them open."""
        if name == "*":
            shutil.rmtree(self.root / ".hedgerow", ignore_errors=True)
        for suffix in ("", "-wal", "-shm"):
            (self.root / ".hedgerow" / f"{name}{suffix}").unlink(missing_ok=True)
        if name != "index.db":
            self.visited.clear()

    def _damage(self, _: Operation, name: str, how: str) -> None:
        """Damage a file that no handle has open."""
        self._close()
        file = self.root / ".hedgerow" / name
        if file.exists():
            data = file.read_bytes()
            changed = {
                "zeros": bytes(100) + data[100:],
                "half": data[: len(data) // 2 + 1],
                "noise": random.Random(len(data)).randbytes(len(data)),  # noqa: S311 - no secrets
            }
            file.write_bytes(changed[how])
            if name == "store.db":
                self.visited.clear()

    def _block(self, operation: Operation, name: str) -> None:
        """Put a file in the place of a folder.

        Operations that need the folder must fail without changing files, and work again once it is
        removed.
        """
        path = self.root / name
        if name != ".hedgerow" and path.exists():
            return
        self._close()
        shutil.rmtree(path, ignore_errors=True)
        path.write_bytes(b"in the way")
        root = self.handles[operation.handle]
        try:
            if name == ".hedgerow":
                root.recall("acorn")
            else:
                root.remember(
                    "a preference", title="Preference", type="preference", on_duplicate="keep"
                )
        except hr.HedgerowError as error:
            expect(error.code, "root_io", f"the code of an error, {error.message}")
        else:
            expect(None, "root_io", "the code of an error")
        path.unlink()
        expect(self._on_disk(), self.files, "the files")
        if name == ".hedgerow":
            self.visited.clear()

    def _remember_without_space(self, operation: Operation, new: NewMemory, space: int) -> None:
        """Remember while no file can grow by more than a number of bytes."""
        if len(self.files) >= MOST_FILES:
            return
        derived = (self.root / ".hedgerow").glob("*.db*")
        largest = max((file.stat().st_size for file in derived), default=0)
        body, code = self._filled(new.body), None
        further = {**self._stated(new.stated), **self._scope_of_new(operation)}
        path, data = self._new_file(new, body, further)
        named: Any = {"title": new.title, "type": new.kind, "tags": new.tags, **new.stated}
        with largest_file(largest + space):
            try:
                self.handles[operation.handle].remember(body, on_duplicate="keep", **named)
            except hr.HedgerowError as error:
                code = error.code
        expect(code in {None, "root_io", "index_io"}, True, f"the code {code}")
        found = self._on_disk()
        planned = {**self.files, path: data}
        expect(found, self.files if code and path not in found else planned, "the files")
        self.files = found


def failure_of(operations: Sequence[Operation]) -> str | None:
    """Return the first failure of some operations, with its position. None if there is none."""
    with tempfile.TemporaryDirectory() as folder, Run(Path(folder)) as run:
        for number, operation in enumerate(operations):
            try:
                run.make(operation)
            except Exception as error:  # noqa: BLE001, PERF203 - any error is a failure
                return f"operation {number}, {operation.name}: {type(error).__name__}: {error}"
    return None


SIMULATION = Simulation(
    "simulation of roots", lambda chance: root_operations.drawn(chance, LENGTH), failure_of
)
