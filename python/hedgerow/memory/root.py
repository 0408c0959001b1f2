"""`MemoryRoot`: a folder of Markdown memories, written, recalled and tidied."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError, IndexFileError
from hedgerow.index import Index

from . import config, depth, recall
from .config import Initialized, RootStatus
from .derived import Derived, is_of_no_use
from .freshness import IndexState, index_state, is_fresh
from .recall import Recall

if TYPE_CHECKING:
    from .process import Processed
    from .sync import SyncReport

__all__ = ["MemoryRoot", "Remembered", "WrappedUp"]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory that was written: its path below the root, and whether the index has it.

    When it has not, `problem` says why; the memory is safe, and the next recall reads it.
    """

    file: str
    indexed: bool
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON."""
        return {"file": self.file, "indexed": self.indexed}


@dataclass(frozen=True, slots=True)
class WrappedUp:
    """A wrapup that was written, with what was recalled about its topic first."""

    file: str
    title: str
    topic: str | None
    body: str
    related: Recall | None

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON."""
        topic = {} if self.topic is None else {"recallTopic": self.topic}
        if self.related is None:
            related: dict[str, Any] = {"skipped": True, "reason": "no topic was given"}
        else:
            results = [result.to_dict() for result in self.related.results]
            related = {"skipped": False, "query": self.related.query, "results": results}
        return {
            "file": self.file,
            "title": self.title,
            **topic,
            "body": self.body,
            "validation": {"valid": True, "missingSections": [], "emptySections": []},
            "relatedMemory": related,
        }


class MemoryRoot:
    """A folder whose Markdown files are memories (spec/memory.md).

    The files are what counts: people read, edit and commit them. What is derived from them lies
    in `.hedgerow/`, may be deleted at any time and is made again. Threads and processes may use
    one root at the same time.

    `depth_policy` replaces how kinds of memory are preferred. Paths in results are below the
    root, with `/`. Raises HedgerowError with the codes of spec/errors.md.
    """

    def __init__(self, root: Path, *, depth_policy: depth.DepthPolicy = depth.depth_boost) -> None:
        self._root = root
        self._depth_policy = depth_policy
        self._opening = threading.Lock()
        self._reader: Index | None = None
        self._reader_file: tuple[int, int] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        depth_policy: depth.DepthPolicy = depth.depth_boost,
    ) -> MemoryRoot:
        """Open the root at `path`, set up or not; InvalidInputError when there is no folder."""
        return cls(config.existing_root(path), depth_policy=depth_policy)

    @classmethod
    def init(cls, path: str | os.PathLike[str], *, force: bool = False) -> MemoryRoot:
        """Set up a root: configuration, folders, `.gitignore`; then open it.

        What is there stays; `force` writes the configuration afresh, but never over a newer
        schema.
        """
        config.initialize(path, force=force)
        return cls.open(path)

    @staticmethod
    def initialize(path: str | os.PathLike[str], *, force: bool = False) -> Initialized:
        """Set up a root as `init` does, and say what was done."""
        return config.initialize(path, force=force)

    @property
    def path(self) -> Path:
        """The folder, absolute and without links."""
        return self._root

    def status(self) -> RootStatus:
        """Say whether the root is set up, and whether this hedgerow can work with it."""
        return config.read_status(self._root)

    def sync(self) -> SyncReport:
        """Bring the index up to date with the files; read only what changed."""
        from .sync import sync  # noqa: PLC0415 - slow to import

        return sync(self._derived())

    def index(self) -> SyncReport:
        """Sync, and write the manifest `.hedgerow/index.json` for other programs."""
        from .manifest import write_manifest  # noqa: PLC0415 - slow to import
        from .sync import sync  # noqa: PLC0415

        derived = self._derived()
        report = sync(derived)
        write_manifest(derived)
        return report

    def remember(
        self,
        text: str,
        *,
        title: str,
        type: str = "note",  # noqa: A002 - what it is called in the file
        tags: Sequence[str] = (),
    ) -> Remembered:
        """Write a memory as a new file, then index it.

        `type` is note, session, finding, decision, preference or page. A failing index loses no
        memory: the file is there, and the result says what went wrong.
        """
        from .sync import sync_one  # noqa: PLC0415 - slow to import
        from .writer import write_memory  # noqa: PLC0415

        derived = self._derived()
        file = write_memory(self._root, text, title=title, kind=type, tags=tags)
        inside = os.path.relpath(self._root / file, derived.source_root).replace(os.sep, "/")
        if inside.startswith("../"):
            return Remembered(file, indexed=False, problem="it lies outside indexRoot")
        try:
            sync_one(derived, inside)
        except HedgerowError as error:
            return Remembered(file, indexed=False, problem=error.message)
        return Remembered(file, indexed=True)

    def recall(
        self, query: str, *, limit: int = 5, depth: str = "normal", sync: bool = True
    ) -> Recall:
        """Find what the root knows about a text, the best first.

        `depth` is shallow (condensed memory first), normal or deep (raw sessions too). Without
        `sync` the index is read as it stands; IndexFileError when there is none.
        """
        wanted = recall.checked_query(query)
        checked = _checked_depth(depth)
        derived = self._derived()
        if sync:
            _bring_up_to_date(derived)
        try:
            return self._search(derived, wanted, limit, checked)
        except IndexFileError as error:
            if not (sync and is_of_no_use(error)):
                raise
        _rebuild(derived)
        return self._search(derived, wanted, limit, checked)

    def wrapup(
        self,
        text: str,
        *,
        title: str,
        topic: str | None = None,
        limit: int = 5,
        tags: Sequence[str] = (),
    ) -> WrappedUp:
        """Write the wrapup of a session, with the four sections it must have.

        With a `topic`, what is known about it is recalled first. Raises InvalidInputError that
        names every section that is missing or empty; nothing is written then.
        """
        from . import note, writer  # noqa: PLC0415 - slow to import

        self._derived()
        body = writer.checked_wrapup(text)
        related = None if topic is None else self.recall(topic, limit=limit)
        file = writer.write_wrapup(self._root, body, title=title, topic=topic, tags=tags)
        line = note.checked_title(title, "Session wrapup")
        stored = note.with_heading(line, body)
        return WrappedUp(file, line, topic, stored, related)

    def process(
        self,
        mode: str,
        *,
        apply: bool = False,
        topic: str | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> Processed:
        """Look through the memories: `lint` reports, `synthesize` makes a page about a topic.

        Without `apply` nothing is written, and the result says what would be. `since` is a date
        or an age such as `30d` or `2w`.
        """
        from . import process, synthesize  # noqa: PLC0415 - slow to import
        from .scope import Scope  # noqa: PLC0415

        process.checked_mode(mode)
        derived = self._derived()
        scope = Scope.of(topic, since, process.LIMITS[mode] if limit is None else limit)
        if mode == "lint":
            return process.run_lint(derived, scope, apply=apply)
        synthesize.checked_topic(scope)

        def candidates(wanted: str, count: int) -> list[str]:
            if not (apply or derived.index.exists()):
                return []
            return [one.file for one in self.recall(wanted, limit=count, depth="deep", sync=apply)]

        return process.run_synthesize(derived, scope, candidates, apply=apply)

    def index_state(self) -> IndexState | None:
        """Say how many documents the index has and how many files differ; None without one."""
        return index_state(self._derived())

    @property
    def retrieval(self) -> str:
        """How memories are found: `keywords`, or `hybrid` with the embedder that is configured."""
        return "keywords"

    def close(self) -> None:
        """Close the index; the next call opens it again."""
        if self._reader is not None:
            self._reader.close()
        self._reader = self._reader_file = None

    def __enter__(self) -> MemoryRoot:  # noqa: PYI034 - not for subclasses
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryRoot({str(self._root)!r})"

    def _derived(self) -> Derived:
        """Give where the derived files are; HedgerowError when the root is not for us."""
        found = config.read_config(self._root)
        found.check()
        return Derived.of(found)

    def _search(self, derived: Derived, query: str, limit: int, depth: str) -> Recall:
        return recall.recall(
            self._index(derived),
            query,
            root=str(self._root),
            limit=limit,
            depth=depth,
            policy=self._depth_policy,
        )

    def _index(self, derived: Derived) -> Index:
        """Give the open index, opened again when its file was deleted and made anew."""
        try:
            status = derived.index.stat()
        except FileNotFoundError as error:
            raise IndexFileError(
                f"{self._root} has no index yet; make it with: hedgerow index --root {self._root}",
                code="index_not_found",
            ) from error
        identity = (status.st_dev, status.st_ino)
        with self._opening:
            if self._reader is None or self._reader_file != identity:
                self.close()
                self._reader = Index.open(derived.index, read_only=True)
                self._reader_file = identity
            return self._reader


def _checked_depth(wanted: str) -> str:
    return depth.checked_depth(wanted)


def _bring_up_to_date(derived: Derived) -> None:
    if not is_fresh(derived):
        from .sync import sync  # noqa: PLC0415 - slow to import

        sync(derived)


def _rebuild(derived: Derived) -> None:
    from .sync import rebuild  # noqa: PLC0415 - slow to import

    rebuild(derived)
