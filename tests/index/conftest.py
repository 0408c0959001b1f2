"""Empty indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hedgerow as hr


@pytest.fixture(params=["file", "memory"])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[hr.Index]:
    """An index in a file, and one in memory. A test may close it."""
    in_file = request.param == "file"
    with hr.Index.open(tmp_path / "index.db") if in_file else hr.Index.in_memory() as index:
        yield index


@pytest.fixture
def index(open_index: hr.Index) -> Iterator[hr.Index]:
    """An open index, which is checked for damage after the test."""
    yield open_index
    assert open_index.check() == []
