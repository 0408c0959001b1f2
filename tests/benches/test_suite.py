"""The suite of `make bench` runs with the installed contenders and reports the missing ones."""

import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from places import ROOT
from suite import bench, charts, command, publish, report, shapes, timing
from suite.contenders import TOP, contenders
from suite.corpus import made_up, real
from suite.results import (
    Row,
    Target,
    at_most,
    fraction,
    part_of,
    shown,
    times_at_most,
)
from suite.rows import EACH, filters, parts
from suite.timing import Times

BENCHES = ROOT / "benches"
PEERS = {"tantivy", "bm25s", "faiss flat", "faiss HNSW", "hnswlib", "LanceDB"}
PEERS |= {"Chroma", "Qdrant local"}


def times(seconds: float) -> Times:
    return Times(seconds, 2 * seconds, 3 * seconds, 10)


def row(key: str, chunks: int, **figures: float) -> Row:
    measured = {name.replace("_", " "): times(seconds) for name, seconds in figures.items()}
    return Row(key, f"what {key} is", f"{chunks:,}", chunks, "ms", measured)


@pytest.fixture
def rows() -> list[Row]:
    keys = ("bm25-OR", "vector", "hybrid")
    return [
        row(key, chunks, hedgerow=chunks / 1e8, FTS5=chunks / 1e7, bm25s=chunks / 2e8)
        for chunks in (1_000, 100_000)
        for key in keys
    ]


def test_it_measures_every_line_of_the_table(tmp_path, capsys):
    written = [tmp_path / name for name in ("figures.json", "tables.md")]
    options = ["--json", str(written[0]), "--markdown", str(written[1])]
    status = command.main(
        ["--sizes", "1000", "--budget", "0.01", "--charts", str(tmp_path), *options]
    )
    printed = capsys.readouterr().out
    assert status == 0
    found = json.loads(written[0].read_text())
    measured = [one["key"] for one in found["rows"]]
    assert measured == [
        *("compile", "compile-many", "wheel", "import"),
        *("bm25-OR", "bm25-new", "bm25-prefix", "bm25-phrase", "bm25-AND", "bm25-NOT"),
        *("vector", "vector-busy", "vector-batch", "intent", "trigrams", "hybrid", "threads"),
        *("fusion", "fusion-grouped"),
        *("filters-same-keywords", "filters-same-vectors", "filters-same-hybrid"),
        *(f"filters-undeclared-{way}" for way in ("keywords", "vectors", "hybrid")),
        *("filters-or-same", "filters-fields", "filters-peers"),
        *("filters-declared-keywords", "filters-declared-vectors", "filters-declared-hybrid"),
        *("filters-new-keywords", "filters-new-vectors", "filters-new-hybrid"),
        "filters-or-declared",
        *("grouped-10-scores", "grouped-10-keywords", "grouped-50-scores", "grouped-50-keywords"),
        *("transaction-stored", "transaction-new", "long-path"),
        *("made", "bulk", "single", "single-vector", "open", "open-vectors", "memory"),
    ]
    assert "hedgerow, vectors" in found["rows"][-3]["figures"]
    # Floors without dependencies are present in any environment.
    assert {"hedgerow", "FTS5"} <= set(found["rows"][4]["figures"])
    for name in PEERS:
        assert re.search(rf"^  {name} +(\d|not installed \(.+\))", printed, re.MULTILINE)
    assert printed.count("ids, order and scores identical to FTS5: 200 of 200") == 6
    assert printed.count("hits are the full ranking's that pass: 3 of 3") == 12
    assert "similarities as by sets: 20 of 20" in printed
    assert printed.count("recall of hedgerow 1.0000") == 2, "without a filter, and with one"
    assert printed.count("hedgerow finds what it wrote: yes") == 2
    assert "answers on one thread and on two are equal: yes" in printed
    tables = written[1].read_text()
    assert "### 1,000 chunks" in tables
    assert "- processor: " in tables
    assert (tmp_path / charts.PEERS).exists()
    assert not (tmp_path / charts.GROWTH).exists(), "one size does not grow"


class Broken:
    NAME = "broken"
    PACKAGES = ()
    NOTE = "fails"

    def __init__(self, *_):
        raise RuntimeError("no such thing")

    def words(self, text):
        raise NotImplementedError(text)


class Absent(Broken):
    NAME = "absent"
    PACKAGES = ("no-package-of-this-name",)


class Slow(Broken):
    NAME = "slow"
    LARGEST = 199


def test_who_is_missing_or_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "contenders", lambda: [contenders()[0], Broken, Absent, Slow])
    told = []
    made = bench.Bench(made_up(200), tmp_path, 0.01, tell=told.append)
    made.make()
    assert told == ["making hedgerow", "making broken", "making absent"]
    assert made.missing("words") == {
        "broken": "failed: no such thing",
        "absent": "not installed (no-package-of-this-name)",
        "slow": "not made of more than 199 chunks, for it takes too long",
    }
    assert made.missing("nearest") == {}
    assert list(made.calls("words")) == ["hedgerow"]
    assert made.failures == ["200: broken failed: RuntimeError('no such thing')"]
    made.close()


def test_a_failure_shows_in_the_exit_status(monkeypatch, capsys):
    def measured(asked, failures):
        failures.append(f"{asked.sizes}: broken failed")
        yield Row("import", "import", "", 0, "ms", {"hedgerow": times(0.05)})

    monkeypatch.setattr(command, "_measured", measured)
    assert command.main(["--sizes", "1000"]) == 1
    assert "[1000]: broken failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sizes", "10"], "argument --sizes: 10 is too few: at least 200"),
        (
            ["--data", "nowhere"],
            "argument --data: nowhere has no corpus.jsonl.gz, queries.jsonl.gz",
        ),
        (["--processes", "0"], "argument --processes: 0 is too few: at least 1"),
        (["--budget", "long"], "argument --budget: invalid float value: 'long'"),
        (["--only", "mixed", "--publish"], "--publish wants all lines: leave --only out"),
        (
            ["--processor-time", "--publish"],
            "--publish wants elapsed time: leave --processor-time out",
        ),
        (["--only", "vectors", "colors"], "argument --only: invalid choice: 'colors'"),
    ],
)
def test_wrong_options_are_refused(arguments, says, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert says in capsys.readouterr().err


def test_what_is_measured_can_be_chosen(capsys):
    assert command.main(["--only", "compiling"]) == 0
    printed = capsys.readouterr()
    assert "compile_many" in printed.out
    assert "import hedgerow" not in printed.out
    assert printed.err == "", "no corpus is made for it"
    names = list(EACH)
    late = ["mixed", "processes", "shapes"]
    assert names[-3:] == late
    assert parts([], 1_000) == [EACH[name] for name in names[:-3]]
    assert parts([], 100_000) == list(EACH.values())
    assert parts(["mixed", "fusion"], 1_000) == [EACH["fusion"], EACH["mixed"]]


def test_only_those_are_made_who_are_asked(capsys):
    status = command.main(["--sizes", "300", "--budget", "0.01", "--only", "fusion"])
    printed = capsys.readouterr()
    assert status == 0
    assert printed.err.splitlines() == ["... making up 300 chunks", "... making hedgerow"]
    assert printed.out.count("-> by scores: at most 1.15 times by ranks: ") == 2


def test_a_corpus_is_always_the_same(monkeypatch):
    one = made_up(300)
    monkeypatch.setattr(shapes, "_BLOCK", 64)
    other = made_up(300)
    assert one.texts == other.texts
    assert one.questions == other.questions
    assert one.asked == other.asked
    assert np.array_equal(one.vectors, other.vectors)
    assert np.allclose(np.linalg.norm(one.question_vectors, axis=1), 1)
    assert [chunk.id for chunk in one.chunks(with_vectors=True)][:2] == ["1", "2"]
    assert next(one.chunks(with_vectors=False)).embedding is None


def test_a_tenth_of_a_corpus_is_kept_by_its_stamps():
    corpus = made_up(300)
    assert sorted(corpus.stamps()) == list(range(300))
    assert corpus.stamps() == made_up(300).stamps() != list(range(300))
    assert sum(stamp < corpus.kept for stamp in corpus.stamps()) == 30


def test_a_filter_that_finds_the_wrong_chunks_shows_in_its_recall(tmp_path, monkeypatch):
    class Unfiltered(contenders()[0]):
        NAME = "unfiltered"
        kept = contenders()[0].nearest

    monkeypatch.setattr(bench, "contenders", lambda: [contenders()[0], Unfiltered])
    made = bench.Bench(made_up(300), tmp_path, 0.01)
    made.make()
    [row] = [row for row in filters.measure(made) if row.key == "filters-peers"]
    made.close()
    assert row.checks[0] == "recall of hedgerow 1.0000"
    assert re.fullmatch(r"recall of unfiltered 0\.[0-8]\d+", row.checks[1])


def test_real_texts_are_read_from_a_folder(collection):
    corpus = real(collection)
    assert corpus.name == f"{collection.name} (2)"
    assert corpus.texts[1].content == "Frogs do too, in winter mud."
    assert corpus.questions == ["hedgehogs", "toads"]
    assert corpus.vectors.dtype == np.float32
    assert corpus.asked["prefix"] == ["hedgeho*", "toa*"]


def test_turns_are_taken_by_ten():
    said = []
    calls = {name: lambda one, name=name: said.append((name, one)) for name in "ab"}
    measured = timing.by_turns(calls, range(25), 60)
    everything = [(name, one) for name in "ab" for one in range(25)]
    assert said[:50] == everything, "once to get warm"
    runs = [name for place, (name, _) in enumerate(said[50:]) if place % 5 == 0]
    assert "".join(runs) == "aabbbbaaab"
    assert measured["a"].calls == 25
    assert timing.by_turns(calls, range(25), 0)["b"].calls == 10


def test_waiting_takes_no_processor_time(monkeypatch):
    monkeypatch.setattr(timing, "_clock", timing.perf_counter)
    elapsed = timing.seconds(lambda: time.sleep(0.2))
    assert elapsed >= 0.2
    assert command.main(["--processor-time", "--sizes", "--only", "writing"]) == 0
    assert timing.seconds(lambda: time.sleep(0.2)) < 0.1
    assert timing.by_turns({"a": time.sleep}, [0.02], 1)["a"].p50 < 0.01


def test_targets():
    figures = {"hedgerow": times(1.0), "FTS5": times(20.0), "tantivy": times(0.5)}
    assert part_of("FTS5", 1 / 15, figures) == Target("at most 1/15 of FTS5", "1/20", True)
    assert part_of("tantivy", 1.2, figures) == Target("at most 1.2 times tantivy", "2 times", False)
    assert part_of("FTS5", 1, figures).aim == "no slower than FTS5"
    assert part_of("LanceDB", 1 / 30, figures) == Target(
        "at most 1/30 of LanceDB", "not measured", None
    )
    assert times_at_most("fast", 0.25, "exact", 0.2512) == Target(
        "fast: at most 0.25 times exact", "0.251 times", False
    )
    assert times_at_most("fast", 0.25, "exact", None) == Target(
        "fast: at most 0.25 times exact", "not measured", None
    )
    assert at_most(2, "us", 1.5e-6) == Target("at most 2 us", "1.50 us", True)
    assert at_most(8, "MB", 9e6).met is False
    assert [fraction(part) for part in (1.406, 0.8, 0.3, 0.066)] == [
        "1.41 times",
        "0.8 times",
        "1/3.3",
        "1/15",
    ]
    assert [shown(value, "ms") for value in (0.0001, 0.00123, 0.0123, 0.123, 1.234)] == [
        "0.100 ms",
        "1.23 ms",
        "12.3 ms",
        "123 ms",
        "1,234 ms",
    ]


def test_the_summary_says_who_is_faster(rows):
    said = report.summary(rows, {"date": "2026-01-01", "processor": "a processor"})
    assert "The median at 100,000 chunks" in said
    assert "| what hybrid is | 1.00 ms | FTS5 10x, bm25s 0.5x |" in said
    faster = "what bm25-OR is (0.50 of the time); what vector is (0.50 of the time); "
    assert f"- bm25s: {faster}what hybrid is (0.50 of the time). How it differs: one" in said
    slower = [row("hybrid", 1_000, hedgerow=1.0, FTS5=2.0)]
    assert "nobody was faster" in report.summary(slower, {"date": "", "processor": ""})


def test_variants_are_nobodys_peers(rows):
    figures = {**rows[-1].figures, "hedgerow, fast": times(1.0), "FTS5, effort 1": times(1.0)}
    varied = replace(rows[-1], figures=figures)
    assert report.peers(varied) == report.peers(rows[-1]) == ["FTS5", "bm25s"]
    assert "effort" not in report.summary([varied], {"date": "", "processor": ""})


def test_a_row_says_which_tail_it_shows(rows):
    assert list(report.lines(rows[0]))[1].split() == ["hedgerow", "0.010", "ms", "0.020", "ms"]
    slowest = replace(rows[0], tail="p99")
    assert list(report.lines(slowest))[1].split() == ["hedgerow", "0.010", "ms", "0.030", "ms"]
    assert "| 0.010 / 0.030 ms | FTS5 0.100 / 0.300 ms" in report.tables([slowest], {})


def test_there_is_nothing_to_publish_without_a_made_up_corpus():
    alone = [Row("hybrid", "hybrid", "letters (7)", 7, "ms", {"hedgerow": times(1.0)})]
    with pytest.raises(SystemExit, match="nothing to publish: measure a made-up corpus"):
        report.headline(alone)


def test_charts_are_small_and_always_the_same(tmp_path):
    names = {kind.NAME.replace(" ", "_"): place for place, kind in enumerate(contenders(), 1)}
    rows = [
        row(key, chunks, **{name: place * chunks / 1e7 for name, place in names.items()})
        for chunks in (1_000, 10_000, 100_000, 1_000_000)
        for key in ("bm25-OR", "vector", "hybrid")
    ]
    made = charts.draw(rows, tmp_path / "one")
    again = charts.draw(rows, tmp_path / "other")
    assert [path.name for path in made] == ["peers.svg", "growth.svg"]
    for one, other in zip(made, again, strict=True):
        text = one.read_text(encoding="utf-8")
        assert text == other.read_text(encoding="utf-8")
        assert len(text) < 70_000, "with everybody in each panel, as no run has them"
        assert "<dc:date>" not in text
        # The chart is legible on white and on black: no background and no black ink.
        assert "fill: #ffffff" not in text
        assert "bm25s" in text


def test_figures_go_between_the_marks(rows, tmp_path):
    (tmp_path / "benches").mkdir()
    (tmp_path / "docs").mkdir()
    for document in ("docs/speed.md", "benches/README.md"):
        (tmp_path / document).write_text("before\n<!-- make bench -->\nold\n<!-- end -->\nafter\n")
    machine = {"date": "2026-01-01", "processor": "a processor"}
    made = publish.publish(rows, machine, tmp_path)
    assert [str(path.relative_to(tmp_path).as_posix()) for path in made] == [
        "benches/charts/peers.svg",
        "benches/charts/growth.svg",
        "docs/speed.md",
        "benches/README.md",
    ]
    text = (tmp_path / "docs/speed.md").read_text()
    assert text.startswith("before\n<!-- make bench -->\n\nThe median at 100,000 chunks")
    assert text.endswith("\n\n<!-- end -->\nafter\n")
    assert "old" not in text
    assert publish.filled(text, "new").count("new") == 1
    with pytest.raises(ValueError, match="write <!-- make bench --> and <!-- end --> where"):
        publish.filled("no marks\n", "new")


def test_the_documents_have_the_marks_and_the_charts():
    for document in ("docs/speed.md", "benches/README.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        assert publish.filled(text, "new").count("\nnew\n") == 1
    for chart in (charts.PEERS, charts.GROWTH):
        assert (BENCHES / "charts" / chart).stat().st_size < 60_000


def test_the_peers_are_pinned():
    lines = (BENCHES / "requirements.txt").read_text().splitlines()
    asked = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in asked)
    assert asked == sorted(asked)
    named = {line.split("==")[0] for line in asked}
    assert named >= {package for kind in contenders() for package in kind.PACKAGES}


def test_a_contender_finds_what_there_is(tmp_path):
    """The installed contenders agree on the rows of a result, and have the methods rows call."""
    corpus = made_up(200)
    made = bench.Bench(corpus, tmp_path, 0.01)
    made.make()
    vector = corpus.question_vectors[0]
    exact = [str(one) for one in np.argsort(-(corpus.vectors @ vector))[:TOP] + 1]
    for name in {"hedgerow", "ten lines of Python"} & set(made.present):
        contender = made.present[name]
        assert list(map(str, contender.rows(contender.nearest(vector)))) == exact
        batch = contender.nearest_many(corpus.question_vectors[:3])
        assert list(map(str, contender.rows(batch[0]))) == exact
    for name in {"hedgerow", "LanceDB", "Qdrant local"} & set(made.present):
        contender = made.present[name]
        assert list(map(str, contender.rows(contender.reopened(vector)))) == exact
        new = -vector
        found = contender.rows(contender.add_with_vector(("new", new)))
        assert found == [len(corpus) + 1]
        assert len(contender.rows(contender.nearest(vector))) == TOP, "still open"
    for name in {"LanceDB", "Chroma", "Qdrant local"} & set(made.present):
        contender = made.present[name]
        stamps = corpus.stamps()
        kept = {row for row, stamp in enumerate(stamps, 1) if stamp < corpus.kept}
        assert set(contender.rows(contender.kept(vector))) == kept
    made.close()
    assert not tmp_path.exists()
