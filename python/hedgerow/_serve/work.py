"""Threads that do the work of requests: a limited number, each for a limited time."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from .problems import Problem

T = TypeVar("T")


class Work:
    """Runs functions in threads. Calls beyond its limits are rejected without waiting."""

    def __init__(self, running: int, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(running, thread_name_prefix="hedgerow-serve")
        self._most = running + waiting
        self._seconds = seconds
        self.pending = 0
        """The functions that run or wait."""

    async def run(
        self, function: Callable[[], T], *, discard: Callable[[T], None] | None = None
    ) -> T:
        """Return the value of a function, called in a thread.

        Raises a Problem if that takes too long; the call counts as running until it has ended. `discard`
        is then called with its value.
        """
        return await self.wait(self.begin(function), discard=discard)

    def begin(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Call a function in a thread; raises a Problem if too many calls run or wait already."""
        if self.pending >= self._most:
            raise Problem(
                "too_many_requests", f"{self._most} requests run or wait already; try again later"
            )
        self.pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, function)
        future.add_done_callback(self._done)
        return future

    async def wait(
        self, future: asyncio.Future[T], *, discard: Callable[[T], None] | None = None
    ) -> T:
        """Return the value of a call.

        The call continues if this raises because it takes too long.
        """
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            if discard is not None:
                future.add_done_callback(partial(_discard, discard))
            if isinstance(error, asyncio.CancelledError):
                raise
            raise Problem(
                "too_slow",
                f"this took longer than {self._seconds:g} s; ask for less, or start the server with a "
                "longer --timeout",
            ) from None

    def close(self) -> None:
        """Wait for the functions that are running."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _done(self, future: asyncio.Future[T]) -> None:
        self.pending -= 1
        if not future.cancelled():
            future.exception()  # Retrieved, or asyncio would log it when no one awaits it any more.


class SharedCheck:
    """A check that takes one place of the work, however many requests wait for it."""

    def __init__(self, work: Work, check: Callable[[], None]) -> None:
        self._work = work
        self._check = check
        self._running: asyncio.Future[None] | None = None

    async def result(self) -> None:
        """Wait for the check, which is begun unless it is running; raises its error, or a Problem."""
        if self._running is None or self._running.done():
            self._running = self._work.begin(self._check)
        await self._work.wait(self._running)


def _discard(discard: Callable[[T], None], future: asyncio.Future[T]) -> None:
    if not future.cancelled() and future.exception() is None:
        discard(future.result())


Reply = tuple[bytes, dict[str, str]]
"""An answer: its JSON and its headers."""

_LONGEST_KEY = 200
_KEPT = 1_000
_LARGEST = 64 * 1024
"""The most bytes of an answer that is kept in memory; a thousand of these are 64 MiB."""
_RECORDED = 100_000
"""The most keys in the journal, the latest."""

State = Literal["new", "running", "done", "mismatch"]


class Journal:
    """The keys of requests, in a file, so that a server that was killed knows which ones it had begun.

    It has digests alone, no text of a request or an answer. Threads may share it.
    """

    def __init__(self, file: Path | None) -> None:
        """Open the journal; without a file it lasts as long as the process."""
        self._lock = threading.Lock()
        self._file = sqlite3.connect(
            ":memory:" if file is None else file, isolation_level=None, check_same_thread=False
        )
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = FULL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS requests "
            "(id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, digest BLOB NOT NULL, "
            "done INTEGER NOT NULL) STRICT"
        )

    def begin(self, key: bytes, digest: bytes) -> State:
        """Record that a request begins, unless its key is known. Returns the state of the key."""
        with self._lock:
            found = self._file.execute(
                "SELECT digest, done FROM requests WHERE key = ?", (key,)
            ).fetchone()
            if found is not None:
                if found[0] != digest:
                    return "mismatch"
                return "done" if found[1] else "running"
            last = self._file.execute(
                "INSERT INTO requests (key, digest, done) VALUES (?, ?, 0)", (key, digest)
            ).lastrowid
            self._file.execute("DELETE FROM requests WHERE id <= ?", ((last or 0) - _RECORDED,))
        return "new"

    def end(self, key: bytes, *, done: bool) -> None:
        """Record that a request was carried out, or that it failed and may be sent again."""
        with self._lock:
            if done:
                self._file.execute("UPDATE requests SET done = 1 WHERE key = ?", (key,))
            else:
                self._file.execute("DELETE FROM requests WHERE key = ?", (key,))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class _Known:
    digest: bytes
    reply: asyncio.Task[Reply]


class Once:
    """Carries out a write with an Idempotency-Key once, and answers each repetition with its answer."""

    def __init__(self, work: Work, journal: Journal) -> None:
        self.work = work
        self._journal = journal
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    async def reply(self, token: str, key: str, asked: bytes, write: Callable[[], Reply]) -> Reply:
        """Return the answer of a write, which is made unless an earlier request had its key.

        `token` names who asks, and `asked` is the request. Raises a Problem if the key was sent with
        another request, and if a server that was killed meanwhile had begun the write.
        """
        if not 0 < len(key) <= _LONGEST_KEY:
            raise Problem(
                "invalid_request", f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters"
            )
        place = hashlib.sha256(f"{token}\0{key}".encode()).digest()
        digest = hashlib.sha256(asked).digest()
        known = self._known.get(place)
        if known is None:
            task = asyncio.ensure_future(self._carried_out(place, digest, write))
            known = self._known[place] = _Known(digest, task)
            task.add_done_callback(lambda _: self._keep(place, known))
        if known.digest != digest:
            raise _mismatch()
        return await self.work.wait(known.reply)

    async def _carried_out(self, key: bytes, digest: bytes, write: Callable[[], Reply]) -> Reply:
        def recorded() -> Reply:
            _check(self._journal.begin(key, digest))
            done = False
            try:
                reply = write()
                done = True
            finally:
                self._journal.end(key, done=done)
            return reply

        return await self.work.begin(recorded)

    def _keep(self, key: bytes, known: _Known) -> None:
        """Keep an answer, if it is small and no failure; those before the last thousand go."""
        task = known.reply
        failed = task.cancelled() or task.exception() is not None
        if (failed or len(task.result()[0]) > _LARGEST) and self._known.get(key) is known:
            del self._known[key]
        while len(self._known) > _KEPT:
            oldest = next(iter(self._known))
            if not self._known[oldest].reply.done():
                break
            del self._known[oldest]


def _check(state: State) -> None:
    """Raise a Problem for a key that the journal knows."""
    if state == "mismatch":
        raise _mismatch()
    if state == "running":
        raise Problem(
            "outcome_unknown",
            "the server ended while it carried this out, and what it was going to write may be "
            "there; look for it, and send the request with a new Idempotency-Key if it is not",
        )
    if state == "done":
        raise Problem(
            "already_done",
            "this was carried out before, and its answer is not kept any more; nothing was done again",
        )


def _mismatch() -> Problem:
    return Problem(
        "idempotency_mismatch",
        "this Idempotency-Key was sent with another request; take a new one for each",
    )
