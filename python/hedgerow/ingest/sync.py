"""One incremental sync of files, for everything that is made of them (spec/ingest.md, "Runs").

A sync reads the files that changed, each once, and has every target take what it makes of them. A
target writes in transactions of its own, each with the records of its files.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from .ledger import DIGEST, Record, digest_of, is_settled
from .source import JSONL_SUFFIXES, Skip, Source, UnreadableSourceError, read_bytes, why_unreadable

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from hedgerow.typing import Progress

_BLOCK = 1024 * 1024


@dataclass(slots=True)
class Reading:
    """A file that was read; `source` has its bytes, unless it is read as a stream.

    `error` says why it could not be. `parsed` keeps what one target made of it for another.
    """

    source: Source
    settled: bool
    digest: str = ""
    error: UnreadableSourceError | None = None
    parsed: Any = field(default=None, repr=False)

    def record(
        self, path: str, skips: Sequence[Skip] = (), facts: dict[str, Any] | None = None
    ) -> Record:
        """Make the record of the file."""
        return Record(
            path,
            self.source.signature,
            self.digest,
            self.settled,
            skips=tuple(skips),
            facts=facts or {},
        )


class Target(Protocol):
    """What is kept up to date with files: an index or a store."""

    def wants(self, source: Source) -> bool:
        """Tell whether a file has to be read: it is not known as it is now."""

    def take(self, reading: Reading, writer: Writer) -> None:
        """Queue what is made of a file."""

    def flush(self, writer: Writer, *, full: bool = False) -> None:
        """Have the queue written; with `full` only when there is enough in it."""


class Writer:
    """Runs one write after the other, on a thread of its own while files are read."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def __enter__(self) -> Writer:  # noqa: PYI034 - not for subclasses
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        if kind is None:
            self._wait()

    def write(self, work: Callable[[], None], *, meanwhile: bool) -> None:
        """Do the work after the work before it; with `meanwhile`, on a thread while more is read."""
        self._wait()
        if not meanwhile:
            work()
            return
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - slow to import

            self._pool = ThreadPoolExecutor(1)
        self._running = self._pool.submit(work)

    def _wait(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.result()


def sync_files(
    sources: Sequence[Source], targets: Sequence[Target], progress: Progress | None = None
) -> None:
    """Have the targets take the files that they have not read as they are now.

    Raises HedgerowError when a target cannot be written; what was committed before stays.
    """
    with Writer() as writer:
        for done, source in enumerate(sources, start=1):
            wanting = [target for target in targets if target.wants(source)]
            reading = read_source(source) if wanting else None
            if reading is not None:
                for target in wanting:
                    target.take(reading, writer)
                    target.flush(writer, full=True)
            if progress is not None:
                progress(done, len(sources))
        for target in targets:
            target.flush(writer)


def read_source(source: Source) -> Reading | None:
    """Read one file; None when it is gone meanwhile, which the next sync will see."""
    settled = is_settled(source.signature, time.time_ns())
    try:
        if source.path.lower().endswith(JSONL_SUFFIXES):
            return Reading(source, settled, _digest_of_stream(source))
        data = read_bytes(source)
    except UnreadableSourceError as error:
        return Reading(source, settled, error=error) if os.path.lexists(source.file) else None
    return Reading(replace(source, data=data), settled, digest_of(data))


def _digest_of_stream(source: Source) -> str:
    """Return the digest of a file that may be larger than memory."""
    digest = hashlib.sha256()
    try:
        with open(source.file, "rb") as stream:  # noqa: PTH123 - names may not be UTF-8
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise UnreadableSourceError("unreadable", why_unreadable(error)) from error
    return digest.hexdigest()[:DIGEST]


def in_steps(progress: Progress | None, step: int) -> Progress | None:
    """Report progress only now and then, and at the end."""
    if progress is None:
        return None

    def report(done: int, total: int) -> None:
        if done % step == 0 or done == total:
            progress(done, total)

    return report
