"""The record of the last long runs of the proofs: its format, not its age, and its script."""

from __future__ import annotations

import importlib.util
import json
import re
from datetime import date
from types import ModuleType

import pytest

from places import ROOT

SCRIPT = ROOT / "scripts" / "record_proof.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record_proof", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(runs: list[dict[str, object]], names: tuple[str, ...]) -> None:
    assert [run["name"] for run in runs] == list(names)
    for run in runs:
        assert list(run) == ["name", "seed", "seconds", "count", "date", "version"]
        assert run["seed"] is None or isinstance(run["seed"], int)
        assert isinstance(run["seconds"], int)
        assert isinstance(run["count"], int)
        assert run["seconds"] > 0
        assert run["count"] > 0
        date.fromisoformat(str(run["date"]))
        assert re.fullmatch(r"\d+\.\d+\.\d+", str(run["version"]))


def test_the_record_has_every_proof(script: ModuleType) -> None:
    runs = json.loads(script.RECORD.read_text("utf-8"))
    check(runs, script.RUNS)


def test_a_run_replaces_the_one_of_its_name(script: ModuleType) -> None:
    line = 'test a_test ... proof {"name": "%s", "seed": 7, "seconds": 2, "count": %d}\n'
    runs = script.recorded([], ["running 2 tests\n", *(line % (name, 3) for name in script.RUNS)])
    check(runs, script.RUNS)
    runs = script.recorded(runs, [line % (script.RUNS[1], 4)])
    check(runs, script.RUNS)
    assert [run["count"] for run in runs[:3]] == [3, 4, 3]


def test_parts_of_a_run_are_added(script: ModuleType) -> None:
    line = 'proof {"name": "interleavings", "seed": 7, "seconds": %s, "count": %d}'
    parts = [line % ("0.6", 2), line % ("1.7", 3)]
    [run] = script.recorded([], parts)
    assert (run["seed"], run["seconds"], run["count"]) == (7, 2, 5)
    [run] = script.recorded([run], parts[:1])
    assert (run["seconds"], run["count"]) == (1, 2)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ('proof {"name": "failing calls"}\ntest result: FAILED. 1 passed', "a test failed"),
        ('proof {"name": "failing calls"}\nerror: could not compile', "a test failed"),
        ("test result: ok", "no line ends in"),
        ('proof {"name": "other"}', "add to RUNS in record_proof.py: other"),
    ],
)
def test_nothing_is_recorded_of_another_output(
    script: ModuleType, output: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        script.recorded([], output.splitlines())
