"""Profiles of property tests, and fixtures for several folders."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import faults
import library_doubles
from local_server import LocalServer, local_server

# A slow machine must not fail a test, and CI runs the same examples each time.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure() -> None:
    """Draw one seed for all processes of a run. See tests/faults/README.md."""
    faults.set_seed()
    # Shells start background jobs with SIGINT ignored, and child processes would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"faults: {faults.SEED}={os.environ[faults.SEED]}"


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder for the whole run: no test reads or writes the user's configuration."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
        patch.setenv("APPDATA", str(home / "AppData"))
        patch.setenv("HEDGEROW_CONFIG_DIR", str(home / ".config" / "hedgerow"))
        patch.delenv("HEDGEROW_TRUST", raising=False)
        patch.delenv("HEDGEROW_DB", raising=False)
        yield home


@pytest.fixture(autouse=True)
def _nothing_is_allowed(nobodys_home: Path) -> None:
    """Remove the consents that earlier tests gave to roots."""
    (nobodys_home / ".config" / "hedgerow" / "trust.json").unlink(missing_ok=True)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with local_server() as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in an empty folder, without any memory root in reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEDGEROW_MEMORY_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def agents_folder(tmp_path: Path) -> Path:
    """An empty folder for definitions of agents."""
    folder = tmp_path / "agents"
    folder.mkdir()
    return folder


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between retries. A delay that a server requests is still waited."""
    monkeypatch.setattr("hedgerow._adapters.http.FIRST_WAIT", 0.001)


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the model libraries with doubles."""
    library_doubles.install(monkeypatch)
