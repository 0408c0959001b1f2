"""The import path of the benches, and a collection of texts in their format."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from places import ROOT

BENCHES = ROOT / "benches"
if BENCHES.exists():
    sys.path.insert(0, str(BENCHES))
else:
    collect_ignore_glob = ["test_*.py"]  # a source distribution has no benches


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A folder of documents, queries and judgments with precomputed vectors."""
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
