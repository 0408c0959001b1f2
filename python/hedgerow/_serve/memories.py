"""The files of a root, read and edited by name."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, decode, read_bytes
from hedgerow.memory import MemoryRoot, files
from hedgerow.memory.lock import locked

from .problems import Problem

_LONGEST = 2_000_000
"""Characters of a memory that is written."""


def digest_of(data: bytes) -> str:
    """What tells one text of a memory from another."""
    return hashlib.sha256(data).hexdigest()


class Memories:
    """Names are those of the index: nothing else of the file system can be reached."""

    def __init__(self, root: MemoryRoot) -> None:
        self._root = root

    def listed(
        self, limit: int, offset: int, kind: str | None, *, superseded: bool = False
    ) -> dict[str, Any]:
        """The files, the last changed first; or those alone that another one supersedes."""
        store = self._root.store()
        if kind is not None and kind not in store.types:
            raise InvalidInputError(
                f"there are no memories of the type {kind!r}; there are {', '.join(store.types)}",
                code="invalid_option",
            )
        chosen = "all" if kind is None else f"all | type:{kind}"
        stages = f"{chosen} | sort:timestamp | select:key,type,timestamp"
        rows = store.query(stages, now=0).rows or []
        if superseded:
            old = self._superseded()
            rows = [row for row in rows if row[0] in old]
        page = rows[offset : offset + limit]
        return {
            "root": str(self._root.path),
            "count": len(rows),
            "memories": [{"file": key, "type": of, "timestamp": at} for key, of, at in page],
        }

    def _superseded(self) -> set[str]:
        """The files that a link of front matter says are superseded, on either side of it."""
        edges = self._root.graph(sync=False).edges
        by_new = {target for _, target, relation, _ in edges if relation == "supersedes"}
        return by_new | {source for source, _, relation, _ in edges if relation == "superseded_by"}

    def read(self, name: str) -> dict[str, Any]:
        """The text of a memory, and its digest."""
        file = self._root.resolve(name)
        data = self._data(file)
        return {"file": file, "text": _text(file, data), "digest": digest_of(data)}

    def edit(self, name: str, text: str, expected: str) -> dict[str, Any]:
        """Write another text, if the memory still has the one of that digest."""
        if not text.strip() or "\0" in text or len(text) > _LONGEST:
            raise InvalidInputError(
                f"a memory has a text, without NUL and of at most {_LONGEST:,} characters",
                code="invalid_note",
            )
        file = self._root.resolve(name)
        data, new = self._data(file), text.encode()
        if digest_of(data) != expected:
            raise self._changed(file, data)
        derived, path = self._root._derived(), self._path(file)  # noqa: SLF001 - of this package
        try:
            with locked(derived.lock):
                files.update(path, new, expected=data, root=derived.source_root)
        except HedgerowError as error:
            if error.code != "file_changed":
                raise
            raise self._changed(file, self._data(file)) from error
        self._root.sync()
        return {"file": file, "text": text, "digest": digest_of(new)}

    def _data(self, file: str) -> bytes:
        path = self._path(file)
        try:
            return read_bytes(Source(file, str(path)))
        except UnreadableSourceError as error:
            raise InvalidInputError(
                f"the memory {file} cannot be read: {error.reason}", code="unknown_node"
            ) from error

    def _path(self, file: str) -> Path:
        """Where a file of the index is; raises HedgerowError where a link has come into its path."""
        folder = self._root._derived().source_root  # noqa: SLF001 - of this package
        path: Path = folder / file
        files.check_no_link(path)
        for parent in path.relative_to(folder).parents:
            files.check_no_link(folder / parent)
        return path

    def _changed(self, file: str, data: bytes) -> Problem:
        return Problem(
            HTTPStatus.CONFLICT,
            "file_changed",
            f"{file} has another text by now; read it again, and make the edit anew",
            fields={"file": file, "text": _text(file, data), "digest": digest_of(data)},
        )


def _text(file: str, data: bytes) -> str:
    try:
        return decode(data)
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"the memory {file} cannot be read: {error.reason}", code="invalid_note"
        ) from error
