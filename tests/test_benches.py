"""The benches run; what they measure is judged by nobody here."""

import runpy
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[1] / "benches"


@pytest.mark.skipif(not BENCHES.exists(), reason="a source distribution has no benches")
@pytest.mark.parametrize(
    ("bench", "arguments", "printed"),
    [
        ("query.py", ["1"], "compile_many, target='match'"),
        ("index.py", ["200"], "search, top 60, p50 ms"),
        ("pipeline.py", ["300"], "match:word77 | limit:10"),
    ],
)
def test_a_bench_runs(bench, arguments, printed, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [bench, *arguments])
    runpy.run_path(str(BENCHES / bench), run_name="__main__")
    assert printed in capsys.readouterr().out
