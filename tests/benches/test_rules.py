"""The register of rules, its page, and the bench that measures them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hedgerow._engine import _rules, _switch_rule
from rule_data import Figure, compared
from rule_data.ranking import measure_ranking
from rule_page import NOT_MEASURED, PAGE, cost, gain, registered, rows
from rules import OTHERS, RANKED, without


def test_the_page_has_the_rules_of_the_register() -> None:
    on_page = rows(PAGE.read_text(encoding="utf-8"))
    assert {name: row[:3] for name, row in on_page.items()} == registered()


def test_every_rule_has_a_measured_gain_and_cost() -> None:
    for name, row in rows(PAGE.read_text(encoding="utf-8")).items():
        assert len(row) == 5, name
        assert NOT_MEASURED not in row, name


def test_every_rule_has_a_measurement() -> None:
    assert {name for name, *_ in _rules()} == RANKED | OTHERS.keys()


def test_a_rule_is_switched_for_a_while() -> None:
    def is_on() -> bool:
        return {name: on for name, *_, on in _rules()}["neighbors"]

    with without("neighbors"):
        assert not is_on()
    assert is_on()


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match='no rule "neighbours"'):
        _switch_rule("neighbours", False)


def test_a_rule_of_ranking_is_measured(collection: Path) -> None:
    data = collection.parent
    collection.rename(data / "scifact")
    [(rule, figures)] = measure_ranking(data, ["neighbors"], without)
    assert rule == "neighbors"
    assert [one.data for one in figures] == ["documents", "documents", "scifact"]
    assert all(one.gain == one.low == one.high == 0 for one in figures)


def test_gains_have_intervals_of_the_paired_bootstrap() -> None:
    figure = compared("documents", "nDCG@10", [1.0, 0.5, 0.75] * 100, [0.5, 0.5, 0.5] * 100)
    assert math.isclose(figure.gain, 0.25)
    assert 0.2 < figure.low < 0.25 < figure.high < 0.3
    assert figure.is_gain


def test_the_page_names_gains_that_are_certain_and_the_largest_loss() -> None:
    figures = [
        Figure("documents", "nDCG@10", 0.5, 0.01, -0.01, 0.02),
        Figure("conversations", "nDCG@10", 0.6, 0.06, 0.05, 0.07),
        Figure("npl", "nDCG@10", 0.4, -0.002, -0.004, 0.0),
    ]
    assert gain(figures) == "conversations, nDCG@10 0.600: +0.060 (+0.050 to +0.070)"
    assert cost(figures) == "npl, nDCG@10 0.400: -0.002 (-0.004 to +0.000)"
    assert gain(figures[:1]) == "documents, nDCG@10 0.500: +0.010 (-0.010 to +0.020)"
    assert cost(figures[:1]) == "none is worse"
