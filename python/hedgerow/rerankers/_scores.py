"""What the rerankers ask of scores."""

from __future__ import annotations

import math
from typing import Any

from hedgerow.errors import HedgerowError


def checked_scores(scores: list[Any], expected: int, source: str) -> list[float]:
    """The scores as floats; raises HedgerowError for another count, or what is no finite number."""
    if len(scores) != expected:
        raise bad_answer(source, f"with {len(scores)} scores for {expected} documents")
    for place, score in enumerate(scores):
        number = isinstance(score, (int, float)) and not isinstance(score, bool)
        if not number or not math.isfinite(score):
            raise bad_answer(
                source, f"with something other than a finite score for document {place}"
            )
    return [float(score) for score in scores]


def bad_answer(source: str, what: str) -> HedgerowError:
    """The error for an answer that is no answer to what was asked."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model that reranks, with one label",
        code="bad_answer",
    )
