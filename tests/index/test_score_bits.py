"""Scores on every platform equal those of x86-64, to the last bit."""

from __future__ import annotations

import json

import pytest

from score_bits import FILE, SEARCHES


@pytest.mark.parametrize("name", SEARCHES)
def test_the_bits_are_those_of_another_platform(name: str) -> None:
    expected = json.loads(FILE.read_bytes())[name]
    assert [*SEARCHES[name]()] == expected
