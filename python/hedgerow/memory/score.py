"""The score of a recalled memory, as a sum of parts (spec/memory.md, "Score", "Time", "Depth").

How buckets are preferred at each depth is one function, the depth policy, which `MemoryRoot` can
replace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hedgerow._checks import shown
from hedgerow.errors import InvalidInputError

from .times import ISO_TIME, time_of
from .words import recall_terms

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
_STRONG = frozenset({"decision", "preference", "finding", "fact"})
_CONFIDENCE = {"user-reviewed": 0.05, "agent-drafted": 0.02}
_RECENT = frozenset({"recent", "latest", "newest", "newer", "later", "last"})
_EARLY = frozenset({"oldest", "first", "earliest", "older", "earlier", "initial", "original"})
_WORD = re.compile(r"[a-z]+")
_SIDE = re.compile(rf"\b(after|before)\s+{ISO_TIME}", re.IGNORECASE)
_LONG_TOKEN = 5


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


def exact_match(query: str, snippet: str) -> float:
    """Reward a snippet that has the whole query, or its longer words."""
    text = snippet.lower()
    whole = " ".join(query.lower().split())
    boost = 0.25 if whole and whole in text else 0.0
    long = [token for token in recall_terms(query) if len(token) >= _LONG_TOKEN]
    return min(0.35, boost + 0.03 * sum(token in text for token in long))


def metadata_match(query: str, metadata: Mapping[str, Any]) -> float:
    """Reward words of the query in the front matter."""
    text = all_text(metadata).lower()
    return min(0.15, 0.03 * sum(token in text for token in recall_terms(query)))


def memory_strength(metadata: Mapping[str, Any]) -> float:
    """Reward decisions, preferences, findings and facts, and what a person has reviewed."""
    kinds = (metadata.get("type"), metadata.get("question_type"))
    strength = 0.05 if any(kind in _STRONG for kind in kinds if isinstance(kind, str)) else 0.0
    confidence = metadata.get("confidence")
    if isinstance(confidence, str):
        return strength + _CONFIDENCE.get(confidence, 0.0)
    if isinstance(confidence, int | float) and not isinstance(confidence, bool):
        return strength + min(0.05, max(0.0, 0.05 * confidence))
    return strength


def provenance_confidence(*, lines: bool, session: bool) -> float:
    """Reward a memory whose lines and whose session are known."""
    return 0.02 + 0.02 * lines + 0.03 * session


def temporal_relevance(query: str, times: Sequence[datetime | None]) -> list[float]:
    """Reward each candidate for being as early or as late as the query asks, among all of them."""
    known = [time.timestamp() for time in times if time]
    if not known:
        return [0.0] * len(times)
    earliest, latest = min(known), max(known)

    def recency(time: datetime) -> float:
        span = latest - earliest
        return (time.timestamp() - earliest) / span if span else 0.5

    side = _SIDE.search(query)
    border = time_of(side) if side else None
    words = set(_WORD.findall(query.lower()))
    recent, early = bool(words & _RECENT), bool(words & _EARLY)
    if side and border:
        after = side[1].lower() == "after"

        def relevance(time: datetime) -> float:
            if time == border or (time > border) != after:
                return 0.0
            return 0.06 + 0.06 * (recency(time) if after else 1 - recency(time))

    elif recent != early:

        def relevance(time: datetime) -> float:
            if latest == earliest:
                return 0.05
            return 0.12 * (recency(time) if recent else 1 - recency(time))

    else:
        return [0.0] * len(times)
    return [relevance(time) if time else 0.0 for time in times]


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
