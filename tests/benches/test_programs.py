"""The bench programs run. Their measurements are not checked."""

import runpy
import sys

import pytest

from places import ROOT

BENCHES = ROOT / "benches"


@pytest.mark.parametrize(
    ("bench", "arguments", "printed"),
    [
        ("pipeline.py", ["300"], "match:word77 | limit:10"),
        ("memory.py", ["50"], "recall, check for changes included"),
    ],
)
def test_a_bench_runs(bench, arguments, printed, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [bench, *arguments])
    runpy.run_path(str(BENCHES / bench), run_name="__main__")
    assert printed in capsys.readouterr().out


def test_the_bench_of_quality_runs(collection, tmp_path, monkeypatch, capsys):
    chart = tmp_path / "chart.svg"
    monkeypatch.setattr(sys, "argv", ["quality.py", str(collection), str(chart)])
    runpy.run_path(str(BENCHES / "quality.py"), run_name="__main__")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [" ".join(line[:-4]) for line in lines] == [
        "spec bm25",
        "spec hybrid rrf",
        "spec hybrid score",
        "extended bm25",
        "extended hybrid rrf",
        "extended hybrid score",
        "extended bm25 score neighbors not reweighted speakers, dates",
        "extended hybrid score neighbors not reweighted speakers, dates",
    ]
    # Keywords find one of the two, vectors find both.
    assert [line[-4] for line in lines] == [
        *["0.5000", "1.0000", "1.0000"] * 2,
        *["0.5000", "1.0000"],
    ]
    assert chart.exists()


@pytest.mark.parametrize(
    ("options", "chunks"),
    [
        (["--passages", "3", "--untitled"], 4),
        (["--threads", "random", "--by", "path"], 2),
        (["--threads", "similar", "--tokenizer", "unicode61"], 2),
        (["--folders", "--passages", "9"], 2),
    ],
)
def test_the_bench_of_quality_shapes_the_collection(
    options, chunks, collection, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "argv", ["quality.py", str(collection), *options])
    runpy.run_path(str(BENCHES / "quality.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"collection: {chunks} chunks, 2 queries"
    assert len(printed) == (5 if "--passages" in options else 10)
