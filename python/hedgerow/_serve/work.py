"""Threads that do the work of requests: a limited number, each for a limited time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import TypeVar

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
                HTTPStatus.TOO_MANY_REQUESTS,
                "too_many_requests",
                f"{self._most} requests run or wait already; try again later",
                headers={"Retry-After": "1"},
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
                HTTPStatus.GATEWAY_TIMEOUT,
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
