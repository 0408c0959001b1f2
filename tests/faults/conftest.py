"""The duration of each fault test, and a table with the number of its rounds."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from faults import SECONDS, SEED, Rounds

_TESTS = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_TESTS] = sum("rounds" in getattr(item, "fixturenames", ()) for item in items)


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> Iterator[Rounds]:
    """The rounds of a test, for its share of the seconds in FAULTS_SECONDS."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    seconds = float(os.environ.get(SECONDS, "0")) * processes / request.config.stash[_TESTS]
    own = Rounds(request.node.nodeid.rpartition("/")[2], seconds)
    yield own
    request.node.user_properties.append(("rounds", own.done))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SECONDS not in os.environ:
        return
    terminalreporter.section(f"rounds with {SEED}={os.environ[SEED]}")
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, count in getattr(report, "user_properties", ()):
                if name == "rounds" and report.when == "teardown":
                    terminalreporter.line(f"{count:6} {report.nodeid}")
