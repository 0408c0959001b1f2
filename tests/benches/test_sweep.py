"""The sweep over sizes: the flagged steps, and a run of the program. Times are not checked."""

import json
from itertools import groupby

import pytest

import sweep
from suite.timing import Cost
from sweeps import base, searches, writes
from sweeps.base import Dimension, Probe, powers
from sweeps.steps import steps, summary, table

TINY = ["--chunks", "200", "--seconds", "0"]


def costs(*milliseconds, waiting=0.0, preemptions=0):
    """Return calls with these processor times, which wait for `waiting` more milliseconds."""
    return [Cost((one + waiting) / 1e3, one / 1e3, preemptions) for one in milliseconds]


def flags(by_size, **options):
    return [step.flag for step in steps("size", "what", by_size, **options)]


def test_a_cost_may_grow_as_much_as_its_size():
    grown = {1: costs(1), 10: costs(10), 100: costs(120), 101: costs(170)}
    assert flags(grown) == ["", "", "", ""], "within the margin"
    assert flags({256: costs(10), 257: costs(300)}) == ["", "processor time"]
    assert flags({1: costs(10), 10: costs(160)}) == ["", "processor time"]
    assert flags({1: costs(300), 10: costs(10), 100: costs(20)}) == ["", "", ""], "less is no fault"


def test_a_cost_that_is_to_stay_may_not_grow_with_its_size():
    grown = {1: costs(1), 10: costs(2)}
    assert flags(grown) == ["", ""]
    assert flags(grown, growth="constant") == ["", "processor time"]
    assert flags({1: costs(1), 10: costs(1.4)}, growth="constant") == ["", ""]


def test_what_is_too_short_to_judge_is_not_flagged():
    assert flags({1: costs(0.01), 2: costs(0.1)}) == ["", ""]
    assert flags({1: costs(0.01), 2: costs(0.2)}) == ["", "processor time"]


def test_a_step_is_judged_by_its_quickest_call_too():
    assert flags({1: costs(1, 1, 1), 2: costs(1.1, 9, 9)}) == ["", ""]
    assert flags({1: costs(1, 1, 1), 2: costs(8, 9, 9)}) == ["", "processor time"]


def test_waiting_is_flagged_unless_the_scheduler_is_the_cause():
    waiting = costs(1, 1, waiting=50)
    assert flags({1: costs(1), 2: waiting}) == ["", "elapsed time"]
    assert flags({1: costs(1), 2: costs(1, 1, waiting=50, preemptions=3)}) == ["", ""]
    assert flags({1: costs(1), 2: costs(1, 1, waiting=1.5)}) == ["", ""], "mostly at work"


def test_memory_is_judged_without_processor_time():
    def sizes(*megabytes):
        return {
            10**place: [Cost(one * 1e6, one * 1e6, None)] for place, one in enumerate(megabytes)
        }

    assert flags(sizes(5, 9), growth="constant", unit="MB") == ["", "memory"]
    assert flags(sizes(5, 5.9), growth="constant", unit="MB") == ["", ""]


def test_steps_have_ratios_to_the_size_before():
    first, second = steps("batch", "first search", {100: costs(4, 4, 4), 50: costs(1, 2, 9)})
    assert (first.size, first.cost, first.size_ratio, first.cost_ratio) == (50, 0.002, None, None)
    assert (first.least, first.calm, first.calls) == (0.001, 0.002, 3)
    assert (second.size_ratio, second.cost_ratio, second.processor_ratio) == (2, 2, 2)
    assert steps("batch", "", {0: costs(1), 5: costs(1)})[1].size_ratio is None


def test_the_table_marks_steps_and_the_summary_lists_the_steepest_first():
    made = steps("batch", "first search", {1: costs(1), 256: costs(10), 257: costs(300)})
    lines = list(table(made))
    assert lines[0] == "batch: first search (may grow as much as the size)"
    assert lines[1].split() == ["size", "cost", "processor", "cost", "ratio", "size", "ratio"]
    assert lines[3].split() == ["256", "10.0", "ms", "10.0", "ms", "10", "256"]
    assert lines[4].split() == ["257", *["300", "ms"] * 2, "30", "1", "<--", "processor", "time"]
    more = steps("age", "write", {1: costs(1), 2: costs(2)}, growth="constant")
    assert next(iter(table(more))) == "age: write (may grow not at all)"
    assert list(summary([*more, *made])) == [
        "2 of 5 steps grow by more than they may",
        "  batch 257: first search: 300 ms, 30 times, size 1 times (processor time)",
        "  age 2: write: 2.00 ms, 2 times, size 2 times (processor time)",
    ]


def test_sizes_are_powers_and_from_64_on_the_numbers_after_them():
    assert powers(300) == [1, 4, 16, 64, 65, 256, 257]
    assert powers(256) == [1, 4, 16, 64, 65, 256]
    assert powers(1_000, least=64, pairs=10_000) == [64, 256]
    assert powers(3, least=4) == [3]


def test_sizes_take_turns_and_what_runs_before_is_not_measured(tmp_path):
    said = []

    def probes(_, size, stack):
        stack.callback(said.append, "closed")
        return {
            "one": Probe(lambda: said.append(size)),
            "other": Probe(lambda: said.append(-size), lambda: said.append("before"), each=2),
            "memory": Probe(lambda: 5e6, unit="MB"),
        }

    dimension = Dimension("d", lambda _: [2, 1, 2], probes)
    one, other, memory = base.measure(dimension, base.Base(tmp_path, 200), 0, said.append)
    assert said[:3] == ["d: making 1", "d: making 2", "d: measuring 1, 2"]
    turns = [size for size, _ in groupby(said[3:]) if isinstance(size, int)]
    assert turns == [1, -1, 2, -2, 2, -2, 1, -1, 1, -1, 2, -2]
    assert said[-2:] == ["closed", "closed"]
    assert [step.calls for step in one] == [15, 15], "short calls are measured five times a round"
    assert [step.calls for step in other] == [3, 3]
    assert [(step.unit, step.cost) for step in memory] == [("MB", 5e6)] * 2
    said.clear()
    in_order = Dimension("d", lambda _: [1, 2], probes, in_order=True)
    list(base.measure(in_order, base.Base(tmp_path, 200), 0, said.append))
    assert said.index("closed") < said.index("d: making 2")


def test_every_dimension_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(base, "_FEWEST_ROUNDS", 1)
    fewer = {
        "filters": lambda _: [1, 4],
        "handles": lambda _: [1, 2],
        "processes": lambda _: [1, 2],
        "words": lambda _: [1, 4],
        "conditions": lambda _: [1, 4],
        "behind": lambda _: [1, 4],
        "tags": lambda _: [1, 10],
        "keys": lambda _: [1, 10],
    }
    for name, dimension in sweep.DIMENSIONS.items():
        smaller = Dimension(
            name, fewer.get(name, dimension.sizes), dimension.probes, dimension.in_order
        )
        monkeypatch.setitem(sweep.DIMENSIONS, name, smaller)
    assert sweep.main([*TINY, "--json", str(tmp_path / "steps.json")]) == 0
    printed = capsys.readouterr()
    written = json.loads((tmp_path / "steps.json").read_text())
    assert {step["dimension"] for step in written["steps"]} == set(sweep.DIMENSIONS)
    assert (written["chunks"], written["failed"]) == (200, [])
    for step in written["steps"]:
        assert step["cost"] >= 0
        assert (step["size_ratio"] is None) == (step["cost_ratio"] is None)
    assert "batch: first search (may grow as much as the size)" in printed.out
    steps_made = len(written["steps"])
    assert f"of {steps_made} steps grow by more than they may" in printed.out
    assert "... batch: making 1" in printed.err


def test_a_dimension_that_fails_does_not_end_the_sweep(monkeypatch, capsys):
    def broken(*_):
        raise ValueError("no such thing")

    monkeypatch.setitem(sweep.DIMENSIONS, "age", Dimension("age", lambda _: [1], broken))
    assert sweep.main([*TINY, "--only", "age", "nodes"]) == 1
    printed = capsys.readouterr()
    assert "nodes: spread" in printed.out
    assert printed.out.splitlines()[-1] == "age failed: ValueError('no such thing')"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--chunks", "9"], "argument --chunks: 9 is too few: at least 200"),
        (["--only", "colors"], "argument --only: invalid choice: 'colors'"),
    ],
)
def test_wrong_options_of_the_sweep_are_refused(arguments, says, capsys):
    with pytest.raises(SystemExit):
        sweep.main(arguments)
    assert says in capsys.readouterr().err


def test_prefixes_are_chosen_by_the_words_they_begin(tmp_path):
    found = searches._prefixes(base.Base(tmp_path, 200))
    words = searches._frequencies(base.Base(tmp_path, 200))
    assert min(found) == 1
    for size, prefix in found.items():
        assert sum(word.startswith(prefix) for word in words) == size


def test_a_writing_process_that_ends_is_reported(tmp_path):
    other = writes.Other(tmp_path / "none" / "there.db")
    with pytest.raises(RuntimeError, match="a writing process has ended"):
        other.wait()
    other.close()
