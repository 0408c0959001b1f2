"""The score of a recalled memory, as a sum of parts (spec/memory.md, "Score", "Time", "Depth").

How buckets are preferred at each depth is one function, the depth policy, which `MemoryRoot` can
replace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow._checks import shown
from hedgerow.errors import InvalidInputError

DEPTHS = ("shallow", "normal", "deep")

DepthPolicy = Callable[[str, str], float]
"""From a bucket (`page`, `session`, ...) and a depth to a part of the score."""

_BOOSTS = {
    "page": (0.80, 0.10, 0.02),
    "decision": (0.45, 0.08, 0.0),
    "preference": (0.25, 0.04, 0.0),
    "finding": (0.22, 0.04, 0.0),
    "session": (-0.35, -0.04, 0.04),
}
_OTHERS = (-0.08, 0.0, 0.0)
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The parts of one score, each rounded to four places; `driver` names retrieval and bucket."""

    retrieval: float
    exact_match: float
    metadata: float
    temporal: float
    strength: float
    provenance: float
    depth: float
    retrieval_depth: str
    driver: str

    @property
    def total(self) -> float:
        """The score."""
        parts = (
            self.retrieval,
            self.exact_match,
            self.metadata,
            self.temporal,
            self.strength,
            self.provenance,
            self.depth,
        )
        return round(sum(parts), _DIGITS)

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        return {
            "retrievalScore": self.retrieval,
            "exactMatchBoost": self.exact_match,
            "metadataBoost": self.metadata,
            "temporalRelevance": self.temporal,
            "memoryStrength": self.strength,
            "provenanceConfidence": self.provenance,
            "depthPolicyBoost": self.depth,
            "finalScore": self.total,
            "retrievalDepth": self.retrieval_depth,
            "driver": self.driver,
        }


def depth_boost(bucket: str, depth: str) -> float:
    """Prefer condensed memory when shallow, and raw sessions when deep."""
    return _BOOSTS.get(bucket, _OTHERS)[DEPTHS.index(depth)]


def boosts(depth: str) -> tuple[dict[str, float], float]:
    """Return what `depth_boost` returns for each bucket that it knows, and for any other one."""
    at = DEPTHS.index(depth)
    return {bucket: values[at] for bucket, values in _BOOSTS.items()}, _OTHERS[at]


def checked_depth(depth: str) -> str:
    """Return a depth; InvalidInputError for any other word."""
    if depth not in DEPTHS:
        raise InvalidInputError(
            f"depth must be one of {', '.join(DEPTHS)}, not {shown(depth)}", code="invalid_option"
        )
    return depth


def rounded(value: float) -> float:
    """Round a part of a score; never a negative zero."""
    return round(value, _DIGITS) + 0.0


def all_text(metadata: Mapping[str, Any]) -> str:
    """Join all values of front matter."""
    return " ".join(_texts(list(metadata.values())))


def _texts(values: Sequence[Any]) -> list[str]:
    texts: list[str] = []
    for value in values:
        if isinstance(value, list):
            texts.extend(_texts(value))
        elif isinstance(value, dict):
            texts.extend(_texts(list(value.values())))
        elif value is not None:
            texts.append(str(value))
    return texts
