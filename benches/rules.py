"""Measure what each rule gains and costs: python benches/rules.py DATA [RULE ...] [--publish].

A rule is a heuristic in the register of `rust/*/src/rules.rs`. Each is switched off in turn, and everything else
stays as it is. DATA is a folder with the collections of `quality_suite.py`, and with `lang`, whose subfolders are
collections in other languages. For each kind of collection the bench prints the mean of nDCG@10 with all rules, the
gain of the rule with its 95 % interval (paired bootstrap over the questions), and the collection that it costs most.
Rules that do not order results have another measurement in `rule_data`.

--publish writes the figures into the table of docs/explanation/rules.md, whose other columns come from the register.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow._engine import _rules, _switch_rule
from rule_data import Figure
from rule_data.conversations import measure_conversations
from rule_data.duplicates import measure_duplicates
from rule_data.periods import (
    measure_named_periods,
    measure_period_lists,
    measure_words_of_periods,
)
from rule_data.questions import (
    measure_compounds,
    measure_foreign_questions,
    measure_short_names,
)
from rule_data.ranking import RANKED, measure_ranking
from rule_data.secrets import (
    measure_conflicts,
    measure_fields,
    measure_formats,
    measure_quotes,
)
from rule_data.speakers import measure_first_person, measure_speaker_names
from rule_data.spellings import SPELLINGS
from rule_page import publish

OTHERS = {
    "first person": measure_first_person,
    "speaker names": measure_speaker_names,
    "conversations": measure_conversations,
    **SPELLINGS,
    "named periods": measure_named_periods,
    "words of periods": measure_words_of_periods,
    "period lists": measure_period_lists,
    "secret formats": measure_formats,
    "secret fields": measure_fields,
    "quotes": measure_quotes,
    "git conflicts": measure_conflicts,
    "near-duplicates": measure_duplicates,
}
"""The measurement of each rule that is not switched off in searches of the collections."""


@contextmanager
def without(rule: str) -> Iterator[None]:
    """Switch a rule off for a while."""
    _switch_rule(rule, False)
    try:
        yield
    finally:
        _switch_rule(rule, True)


OF_A_KIND = {
    "names and short words": measure_short_names,
    "phrases of parts": measure_compounds,
    "keyword coverage": measure_foreign_questions,
}
"""A further measurement of rules that act on few questions of the collections."""


def measure(data: Path, rules: list[str]) -> Iterator[tuple[str, list[Figure]]]:
    """Yield the figures of each rule."""
    for rule, figures in measure_ranking(data, [rule for rule in rules if rule in RANKED], without):
        of_a_kind = OF_A_KIND[rule](data, without) if rule in OF_A_KIND else []
        yield rule, [*of_a_kind, *figures]
    for rule in rules:
        if rule in OTHERS:
            yield rule, OTHERS[rule](data, without)


def main() -> None:
    """Measure the rules that were named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("rules", nargs="*", metavar="RULE")
    parser.add_argument("--publish", action="store_true", help="write docs/explanation/rules.md")
    arguments = parser.parse_args()
    known = [name for name, *_ in _rules()]
    if unknown := set(arguments.rules) - set(known):
        sys.exit(f"no such rule: {', '.join(sorted(unknown))}. The rules are: {', '.join(known)}")
    found = {}
    for rule, figures in measure(arguments.data, arguments.rules or known):
        found[rule] = figures
        print(rule)
        for figure in figures:
            print(f"  {figure}", flush=True)
    if unmeasured := set(arguments.rules or known) - found.keys():
        print(f"without a measurement: {', '.join(sorted(unmeasured))}")
    if arguments.publish:
        publish(found)


if __name__ == "__main__":
    main()
