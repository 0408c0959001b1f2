"""The files of a root, read and edited by name."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.memory import MemoryRoot
from hedgerow.memory.texts import Memory

from .problems import Problem


class Memories:
    """Reads and edits files by their names in the index, so no other file can be reached."""

    def __init__(self, root: MemoryRoot) -> None:
        self._root = root

    def listed(
        self, limit: int, offset: int, kind: str | None, *, superseded: bool = False
    ) -> dict[str, Any]:
        """The memories, the last changed first; with `superseded`, only those that another one supersedes."""
        return self._root.memories(
            type=kind, limit=limit, offset=offset, superseded=superseded
        ).to_dict()

    def read(self, name: str) -> dict[str, Any]:
        """The text of a memory, and its digest."""
        return self._root.read(name).to_dict()

    def edit(self, name: str, text: str, expected: str) -> dict[str, Any]:
        """Replace the text of a memory, if its digest is still the expected one."""
        file = self._root.resolve(name)
        try:
            return self._root.edit(Memory(file, "", expected), text).to_dict()
        except HedgerowError as error:
            if error.code != "file_changed":
                raise
            present = self._root.read(file).to_dict()
            raise Problem(
                HTTPStatus.CONFLICT, "file_changed", error.message, fields=present
            ) from error
