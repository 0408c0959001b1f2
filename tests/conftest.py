"""How property tests run, and fixtures that more than one file asks for."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import hedgerow as hr
from command_line import ok
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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder, with nobody's memory root in reach."""
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
    """Tries follow each other without the usual pauses; what a server asks for is still waited."""
    monkeypatch.setattr("hedgerow._endpoint.FIRST_WAIT", 0.001)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A folder of documents, queries and judgements with ready-made vectors, as benches take it."""
    documents = [
        {"id": "a", "path": "a.md", "title": "Winter", "content": "Hedgehogs sleep all day long."},
        {"id": "b", "path": "b.md", "title": "", "content": "Frogs do too, in winter mud."},
    ]
    queries = [{"id": "1", "text": "hedgehogs"}, {"id": "2", "text": "toads"}]
    folder = tmp_path / "collection"
    folder.mkdir()
    for name, lines in [("corpus", documents), ("queries", queries)]:
        packed = gzip.compress("\n".join(map(json.dumps, lines)).encode())
        (folder / f"{name}.jsonl.gz").write_bytes(packed)
    qrels = b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n"
    (folder / "qrels.tsv.gz").write_bytes(gzip.compress(qrels))
    for name in ("emb_docs", "emb_queries"):
        np.save(folder / f"{name}.npy", np.eye(2, dtype=np.float16))
    return folder


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds `notes`, those of examples/, and `notes.db` made from it."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(Path(__file__).parents[1] / "examples" / "notes", folder / "notes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ok("index", "notes", "--db", "notes.db")
    return folder


@pytest.fixture
def in_examples(examples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run where the examples are."""
    monkeypatch.chdir(examples)
    return examples


@pytest.fixture(params=["file", "memory"])
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[hr.Index]:
    """An index in a file, and one in memory; a test may close it."""
    in_file = request.param == "file"
    with hr.Index.open(tmp_path / "index.db") if in_file else hr.Index.in_memory() as index:
        yield index


@pytest.fixture
def index(open_index: hr.Index) -> Iterator[hr.Index]:
    """The same, open and sound to the end."""
    yield open_index
    assert open_index.check() == []


@pytest.fixture
def root(tmp_path: Path) -> hr.MemoryRoot:
    """A memory root without a file."""
    return hr.MemoryRoot.open(tmp_path)
