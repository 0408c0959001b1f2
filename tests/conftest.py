"""Fixtures that more than one file asks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_server import LocalServer, local_server


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as running:
        yield running


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other without the usual pauses; what a server asks for is still waited."""
    monkeypatch.setattr("hedgerow._endpoint.FIRST_WAIT", 0.001)
