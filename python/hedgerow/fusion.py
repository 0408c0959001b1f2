"""The parts of ranking, on their own (spec/retrieval.md): fusion, agreement, intent, reweighting."""

from __future__ import annotations

from functools import partial

from ._engine import (
    Candidate,
    detect_intent,
    reciprocal_rank_fusion,
    rerank_text,
    reweight,
    unanimity,
)
from .results import Intent, Unanimity

__all__ = [
    "Candidate",
    "Intent",
    "Unanimity",
    "detect_intent",
    "reciprocal_rank_fusion",
    "rerank_text",
    "reweight",
    "unanimity",
]
__dir__ = partial(sorted, __all__)
