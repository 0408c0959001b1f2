"""The query language. No peer has it, so the target is absolute."""

from __future__ import annotations

from collections.abc import Iterator

import hedgerow as hr
from suite.results import Row, at_most
from suite.timing import as_many, by_turns

QUESTION = "What is the best way to deploy a Kubernetes cluster on bare metal servers?"
BATCH = [
    QUESTION,
    "winter hedgehog NOT urban",
    '"hard pruning" AND kube*',
    "When did Caroline's TV show air on 2026-04-18?",
    "Hoeveel boeken heb ik in maart gekocht?",
]
_CALLS = 200
_BATCHES = 400


def measure(budget: float) -> Iterator[Row]:
    """Measure one question at a time, and thousands in one call."""
    one = {"hedgerow": hr.compile_fts}
    figures = by_turns(one, [QUESTION] * 100, budget, repeat=_CALLS)
    aim = at_most(2, "us", figures["hedgerow"].p50)
    what = f"`compile_fts`, a question of {len(QUESTION.split())} words"
    yield Row("compile", what, "", 0, "us", figures, targets=(aim,))

    batch = as_many(BATCH, len(BATCH) * _BATCHES)
    taken = by_turns({"hedgerow": hr.compile_many}, [batch] * 40, budget)["hedgerow"]
    each = taken.each(len(batch))
    aim = at_most(0.7, "us", each.p50)
    what = f"`compile_many`, each of {len(batch):,} queries"
    yield Row("compile-many", what, "", 0, "us", {"hedgerow": each}, targets=(aim,))
