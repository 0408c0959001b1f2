"""Random histories of an index and of a root match those of models in plain Python.

A failure is shrunk, and printed with its seed.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import hedgerow as hr
import index_simulation
import root_simulation
from faults import Rounds
from hedgerow._retrieval.operations import OPERATIONS as OF_INDEX
from hedgerow.memory import MemoryRoot, files
from hedgerow.memory.operations import OPERATIONS as OF_ROOT
from index_model import Model
from shrinking import Simulation

SIMULATIONS: list[Simulation[Any]] = [index_simulation.SIMULATION, root_simulation.SIMULATION]
both = pytest.mark.parametrize("simulation", SIMULATIONS, ids=["an index", "a root"])


@both
def test_hedgerow_does_what_the_model_does(rounds: Rounds, simulation: Simulation[Any]) -> None:
    for chance in rounds.at_least(4):
        failure = simulation.report(chance.randrange(2**32))
        assert failure is None, failure


@both
def test_a_seed_has_the_same_operations_each_time(simulation: Simulation[Any]) -> None:
    one, other = (simulation.drawn(random.Random(3)) for _ in range(2))  # noqa: S311
    assert one == other
    assert one != simulation.drawn(random.Random(4))  # noqa: S311


@pytest.mark.parametrize(
    ("simulation", "face", "operations"),
    [
        (index_simulation.SIMULATION, hr.Retriever, OF_INDEX),
        (root_simulation.SIMULATION, MemoryRoot, OF_ROOT),
    ],
    ids=["an index", "a root"],
)
def test_every_row_of_the_table_of_operations_takes_part(
    simulation: Simulation[Any],
    face: Any,
    operations: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    perform, missing = face._perform, set(operations)

    def noted(self: Any, request: Any) -> Any:
        missing.discard(request.operation.name)
        return perform(self, request)

    monkeypatch.setattr(face, "_perform", noted)
    for seed in range(10):
        if missing:
            assert simulation.report(seed) is None
    assert missing == set()


def test_a_fault_of_an_index_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "delete", lambda *_: 0)
    failure = index_simulation.SIMULATION.report(1)
    assert failure is not None
    assert failure.startswith("simulation, seed 1: operation ")
    assert int(failure.split("\n")[1].split(" of ")[0]) == 2, failure


def test_a_fault_of_a_root_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "update_all", lambda *_, **__: None)  # marks are not written
    failure = root_simulation.SIMULATION.report(1)
    assert failure is not None
    assert failure.startswith("simulation of roots, seed 1: operation ")
    assert int(failure.split("\n")[1].split(" of ")[0]) <= 4, failure
