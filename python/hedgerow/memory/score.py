"""The score of a recalled memory, as a sum of parts (spec/memory.md, "Score", "Time", "Depth").

How buckets are preferred at each depth is one function, the depth policy, which `MemoryRoot` can
replace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result

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
class ScoreParts(Result):
    """The parts of one score, each rounded to four places; `driver` names retrieval and bucket.

    `recency` is what the age of the memory takes from the score of the search if a half-life was given,
    and `recency_weight` the weight from which it follows, 1 for a new memory and 0.5 for one without a
    time; 0 and None otherwise.
    """

    retrieval: Annotated[float, Field(key="retrievalScore")]
    exact_match: Annotated[float, Field(key="exactMatchBoost")]
    metadata: Annotated[float, Field(key="metadataBoost")]
    temporal: Annotated[float, Field(key="temporalRelevance")]
    strength: Annotated[float, Field(key="memoryStrength")]
    provenance: Annotated[float, Field(key="provenanceConfidence")]
    depth: Annotated[float, Field(key="depthPolicyBoost")]
    retrieval_depth: str
    driver: str
    recency: Annotated[float, Field(key="recencyPenalty", omit_default=True)] = 0.0
    recency_weight: float | None = None

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"finalScore": "total"}

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
            self.recency,
        )
        return round(sum(parts), _DIGITS)


def depth_boost(bucket: str, depth: str) -> float:
    """Prefer condensed memory when shallow, and raw sessions when deep."""
    return _BOOSTS.get(bucket, _OTHERS)[DEPTHS.index(depth)]


BOOSTS = {
    depth: ({bucket: values[at] for bucket, values in _BOOSTS.items()}, _OTHERS[at])
    for at, depth in enumerate(DEPTHS)
}
"""By depth the values of `depth_boost` for the known buckets, and the value for any other."""


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
