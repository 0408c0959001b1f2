"""The benches run; what they measure is judged by nobody here."""

import gzip
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHES = Path(__file__).parents[1] / "benches"


@pytest.mark.skipif(not BENCHES.exists(), reason="a source distribution has no benches")
@pytest.mark.parametrize(
    ("bench", "arguments", "printed"),
    [
        ("query.py", ["1"], "compile_many, target='match'"),
        ("index.py", ["200"], "search, top 60, p50 ms"),
        ("pipeline.py", ["300"], "match:word77 | limit:10"),
        ("memory.py", ["50"], "recall, check for changes included"),
    ],
)
def test_a_bench_runs(bench, arguments, printed, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [bench, *arguments])
    runpy.run_path(str(BENCHES / bench), run_name="__main__")
    assert printed in capsys.readouterr().out


@pytest.mark.skipif(not BENCHES.exists(), reason="a source distribution has no benches")
def test_the_bench_of_quality_runs(tmp_path, monkeypatch, capsys):
    documents = [
        {"id": "a", "path": "a.md", "title": "Winter", "content": "Hedgehogs sleep."},
        {"id": "b", "path": "b.md", "title": "", "content": "Frogs do too."},
    ]
    queries = [{"id": "1", "text": "hedgehogs"}, {"id": "2", "text": "toads"}]
    for name, lines in [("corpus", documents), ("queries", queries)]:
        packed = gzip.compress("\n".join(map(json.dumps, lines)).encode())
        (tmp_path / f"{name}.jsonl.gz").write_bytes(packed)
    qrels = b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n"
    (tmp_path / "qrels.tsv.gz").write_bytes(gzip.compress(qrels))
    for name in ("emb_docs", "emb_queries"):
        np.save(tmp_path / f"{name}.npy", np.eye(2, dtype=np.float16))
    chart = tmp_path / "chart.svg"
    monkeypatch.setattr(sys, "argv", ["quality.py", str(tmp_path), str(chart)])
    runpy.run_path(str(BENCHES / "quality.py"), run_name="__main__")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [" ".join(line[:-4]) for line in lines] == [
        "spec bm25",
        "spec hybrid rrf",
        "spec hybrid score",
        "extended bm25",
        "extended hybrid rrf",
        "extended hybrid score",
    ]
    # Keywords find the one, meaning both.
    assert [line[-4] for line in lines] == ["0.5000", "1.0000", "1.0000"] * 2
    assert chart.exists()
