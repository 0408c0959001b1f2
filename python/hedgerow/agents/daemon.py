"""Running agents as they become due (spec/agents.md, "The daemon")."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from hedgerow.errors import HedgerowError

from .service import Agents, Tick

__all__ = ["TICK_S", "serve", "stopped_by_signals"]

_LOG = logging.getLogger("hedgerow.agents")

TICK_S = 60.0
"""Seconds to wait if no agent is due."""


def log_tick(tick: Tick) -> None:
    """Log a tick: problems and failures as warnings, everything else as information."""
    for problem in tick.problems:
        _LOG.warning("%s", problem)
    report = tick.report
    if report is None:
        return
    if report.status == "failed":
        _LOG.warning("the agent %s failed: %s", report.agent, report.error)
    else:
        done = len(report.applied)
        _LOG.info("the agent %s: %s, %d actions applied", report.agent, report.status, done)


def serve(
    agents: Agents,
    *,
    tick_s: float = TICK_S,
    sleep: Callable[[float], object] | None = None,
    on_tick: Callable[[Tick], None] = log_tick,
) -> None:
    """Tick until `agents.stop()` is called: immediately after a run, else every `tick_s` seconds.

    `sleep(seconds)` waits between ticks, by default until the time is up or `stop` is called.
    `on_tick` is called with each tick, by default to log it to "hedgerow.agents". A tick that
    fails, say because the store is busy or the disk full, is logged and retried. A run in progress
    has a few seconds to end after the stop, then it is abandoned.
    """
    wait = agents.stopped.wait if sleep is None else sleep
    while not agents.stopped.is_set():
        try:
            tick = agents.tick()
        except HedgerowError as error:
            _LOG.warning("a tick failed and will be retried: %s", error)
            wait(tick_s)
            continue
        on_tick(tick)
        if tick.report is None:
            wait(tick_s)


@contextmanager
def stopped_by_signals(agents: Agents) -> Iterator[None]:
    """Have SIGTERM and SIGINT stop the agents, if on the main thread.

    A second signal exits immediately.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: SimpleQueue[int | None] = SimpleQueue()
    told = False

    def hear(number: int, _frame: object) -> None:
        """Only record the signal: this may interrupt the main thread anywhere.

        A second signal may interrupt this too, and the main thread may hold the lock of
        `agents.stopped` or of a stream that is logged to. `put` can be interrupted by itself.
        """
        nonlocal told
        if told or agents.stopped.is_set():
            raise KeyboardInterrupt
        told = True
        heard.put(number)

    def stop() -> None:
        number = heard.get()
        if number is not None:
            _LOG.info("stopping: %s", signal.Signals(number).name)
            agents.stop()

    listener = threading.Thread(target=stop, name="hedgerow-signals", daemon=True)
    listener.start()
    before = {one: signal.signal(one, hear) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        heard.put(None)
        listener.join()
