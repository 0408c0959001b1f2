"""Random histories of an index are those of a model in plain Python; a failure is printed with its seed, and shrunk."""

from __future__ import annotations

import random

import pytest

import simulation
from faults import Rounds


def test_an_index_does_what_the_model_does(rounds: Rounds) -> None:
    for chance in rounds.at_least(8):
        failure = simulation.report(chance.randrange(2**32))
        assert failure is None, failure


def test_a_fault_is_found_and_shrunk_to_its_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation.Model, "delete", lambda *_: 0)
    failure = simulation.report(1)
    assert failure is not None
    assert failure.startswith("seed 1: operation ")
    count = int(failure.split("\n")[1].split(" of ")[0])
    assert count == 2, failure


def test_a_seed_has_the_same_operations_each_time() -> None:
    one, other = (simulation.drawn(random.Random(3)) for _ in range(2))  # noqa: S311
    assert one == other
    assert one != simulation.drawn(random.Random(4))  # noqa: S311
