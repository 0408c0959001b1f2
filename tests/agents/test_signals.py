"""Signals that stop agents, at any point of the main thread."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.agents import Agents, stopped_by_signals
from waiting import LONGEST, until

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    (tmp_path / "agents").mkdir()
    return Agents(hr.Store.in_memory(), tmp_path / "agents")


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_stops_the_agents_and_says_so(agents, caplog, number):
    before = signal.getsignal(number)
    with caplog.at_level("INFO", "hedgerow.agents"), stopped_by_signals(agents):
        signal.raise_signal(number)
        assert agents.stopped.wait(LONGEST)
    assert [record.getMessage() for record in caplog.records] == [f"stopping: {number.name}"]
    assert signal.getsignal(number) == before


def test_none_stops_nothing_and_leaves_no_thread(agents):
    threads = threading.active_count()
    with stopped_by_signals(agents):
        assert threading.active_count() == threads + 1
    assert not agents.stopped.is_set()
    assert threading.active_count() == threads


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_a_second_one_at_once_is_not_lost(agents, first, second):
    def twice() -> None:
        with stopped_by_signals(agents):
            signal.raise_signal(first)
            signal.raise_signal(second)

    with pytest.raises(KeyboardInterrupt):
        twice()


class _Answering(logging.Handler):
    """Sends a signal when the first one is logged, like a user who reads the log."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        if len(self.said) == 1:
            signal.raise_signal(signal.SIGINT)


def test_a_second_one_while_the_first_is_logged_is_not_lost(agents):
    answering = _Answering()
    log = logging.getLogger("hedgerow.agents")
    level = log.level
    log.addHandler(answering)
    log.setLevel("INFO")

    def twice() -> None:
        with stopped_by_signals(agents):
            signal.raise_signal(signal.SIGINT)
            until(agents.stopped.is_set)
            until(lambda: False, "the second signal")

    try:
        with pytest.raises(KeyboardInterrupt):
            twice()
    finally:
        log.removeHandler(answering)
        log.setLevel(level)
    assert answering.said == ["stopping: SIGINT"]


def test_one_is_enough_when_they_were_stopped_already(agents):
    agents.stop()

    def once() -> None:
        with stopped_by_signals(agents):
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        once()


def test_on_another_thread_nothing_is_changed(agents):
    seen = []

    def look() -> None:
        with stopped_by_signals(agents):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(LONGEST)
    assert seen == [signal.getsignal(signal.SIGINT)]


HOLDING = """
import signal, sys
import hedgerow as hr
from hedgerow.agents import Agents, stopped_by_signals

agents = Agents(hr.Store.in_memory(), sys.argv[1])
with stopped_by_signals(agents):
    # Where the wait between two ticks is for some microseconds each time.
    with agents.stopped._cond:
        signal.raise_signal(signal.SIGTERM)
    agents.stopped.wait()
print("stopped")
"""


def test_it_may_come_while_the_main_thread_holds_the_lock_of_the_event(tmp_path):
    (tmp_path / "agents").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HOLDING), str(tmp_path / "agents")],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
