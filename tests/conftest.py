"""How property tests run, and fixtures that more than one file asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from local_server import LocalServer, local_server

# A slow machine is no failure, and CI tries the same examples each time.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as running:
        yield running


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other without the usual pauses; what a server asks for is still waited."""
    monkeypatch.setattr("hedgerow._endpoint.FIRST_WAIT", 0.001)
