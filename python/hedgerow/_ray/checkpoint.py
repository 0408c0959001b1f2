"""Answers that are kept in a folder, so that a run that was stopped can continue (docs/ray.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from struct import pack
from typing import Any

from hedgerow._engine import Candidate, Chunk, Hit
from hedgerow.errors import HedgerowError


@dataclass(frozen=True)
class Checkpoint:
    """The answers of one kind: of the same content, searched in the same way.

    The caller's folder has one for each kind, named by the digest of its settings. A file in that
    `folder` holds the answers to a batch of queries, of which its name is the digest.
    """

    folder: Path

    @classmethod
    def of(cls, folder: str | os.PathLike[str], settings: dict[str, Any]) -> Checkpoint:
        """Return the folder for these settings, with a file that lists them. Creates it if needed.

        Raises HedgerowError if the folder cannot be created.
        """
        text = json.dumps(
            {name: shape(value) for name, value in settings.items()}, indent=1, sort_keys=True
        )
        found = cls(Path(folder) / sha256(text.encode()).hexdigest()[:32])
        with _told(found.folder):
            found.folder.mkdir(parents=True, exist_ok=True)
        if found.read("settings.json") is None:
            found.write("settings.json", text.encode())
        return found

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        with _told(self.folder):
            try:
                return (self.folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that it is there whole or not at all, whatever ends the process.

        After a loss of power it may be damaged, which readers notice; waiting for the disk would take
        longer than searching.
        """
        partial = self.folder / f".{name}.{token_hex(8)}.partial"
        with _told(self.folder):
            try:
                partial.write_bytes(content)
                partial.replace(self.folder / name)
            except BaseException:
                with suppress(FileNotFoundError):
                    partial.unlink()
                raise


@dataclass(frozen=True)
class BatchQueries:
    """The queries of a batch, None for a row without one, and the values passed with each."""

    queries: Sequence[str | None]
    vectors: Sequence[Sequence[float]] | None = None
    dates: Sequence[Any] | None = None

    def digest(self) -> str:
        """A digest that any difference changes, and that is the same in every process."""
        found = sha256()

        def add(part: bytes | None) -> None:
            found.update(pack("<q", -1 if part is None else len(part)))
            found.update(part or b"")

        for query in self.queries:
            add(None if query is None else query.encode())
        found.update(b"." if self.vectors is None else b"v")
        for vector in self.vectors or ():
            add(pack(f"<{len(vector)}d", *vector))
        found.update(b"." if self.dates is None else b"d")
        for date in self.dates or ():
            add(repr(date).encode())
        return found.hexdigest()


def shape(value: Any) -> Any:
    """A value as JSON that is the same in every process, and differs for different values."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [shape(one) for one in value]
    if isinstance(value, (Chunk, Candidate, Hit)):
        # The reprs of fields leave out most of their options.
        return [type(value).__name__, repr(value.__reduce__()[1])]
    return repr(value)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Raise an error of the operating system as one of ours."""
    try:
        yield
    except OSError as error:
        raise HedgerowError(
            f"the checkpoint {folder} cannot be used: {error}; give checkpoint_path= a folder that "
            "every node sees and may write to",
            code="checkpoint_io",
        ) from error
