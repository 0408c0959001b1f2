"""`make test-ray`: `hedgerow.ray` on a local cluster with two CPUs, stopped after the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from hypothesis import settings

import hedgerow as hr
from retrieval_doubles import FnvEmbedder
from spec_fixtures import jsonl

settings.register_profile("ray", deadline=None)
settings.load_profile("ray")


@pytest.fixture(scope="session", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the cluster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray writes a token into the user's home folder.
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        # Actors can import the same modules as the tests.
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        context = ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield context.address_info["gcs_address"]
        ray.shutdown()


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with a corpus of the specification."""
    found = tmp_path_factory.mktemp("index") / "notes.db"
    chunks = [
        {key: line[key] for key in ("id", "path", "content", "title", "summary", "tags")}
        for line in jsonl("corpora/b")
    ]
    with hr.Retriever(found, embedder=FnvEmbedder(), create=True) as retriever:
        retriever.upsert(chunks)
    return found


@pytest.fixture(scope="session")
def queries() -> list[str]:
    """The distinct queries of the specification's cases."""
    return [*dict.fromkeys(case["request"]["query"] for case in jsonl("search"))]
