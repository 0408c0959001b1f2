"""`make test-cluster`: hedgerow.opensearch against the real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import opensearch_server
from opensearch_server import Node

# The examples of a test share one collection. A slow machine must not fail a test.
_NOT_CHECKED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "cluster", deadline=None, suppress_health_check=_NOT_CHECKED, derandomize=True, database=None
)
settings.load_profile("cluster")


def pytest_configure() -> None:
    if missing := opensearch_server.missing_tools():
        pytest.exit(
            f"tests/cluster needs {' and '.join(missing)}; on Debian and Ubuntu: "
            "sudo apt install maven default-jre-headless",
            returncode=2,
        )


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """A server with a single node, for the whole run."""
    with opensearch_server.cluster() as (started,):
        yield started


@pytest.fixture
def name() -> str:
    """A name that no collection has."""
    return f"t-{uuid.uuid4().hex}"
