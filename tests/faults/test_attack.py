"""Short attacks on a server. A well-behaved client gets all its responses meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import attack
from faults import Rounds

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the memory of a server is read from /proc"
)


def test_a_client_is_answered_under_attack(tmp_path: Path, rounds: Rounds) -> None:
    with attack.attacked(tmp_path) as server:
        for chance in rounds.at_least(1):
            for one, connections in attack.ATTACKS.items():
                size = min(200, connections)
                target = attack.target(server, size, 1.0, chance.getrandbits(32))
                figures = attack.run(server, one, target)
                assert attack.problems(server, figures) == []
                assert figures.asked > 0
