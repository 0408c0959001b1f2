"""Which kinds of memory a recall prefers (spec/memory.md, "Depth").

The policy is one function, given to `MemoryRoot` and replaced there.
"""

from __future__ import annotations

from collections.abc import Callable

from hedgerow.errors import InvalidInputError

DEPTHS = ("shallow", "normal", "deep")

DepthPolicy = Callable[[str, str], float]
"""From a bucket (`page`, `session`, ...) and a depth to what is added to a score."""

_BOOSTS = {
    "page": (0.80, 0.10, 0.02),
    "decision": (0.45, 0.08, 0.0),
    "preference": (0.25, 0.04, 0.0),
    "finding": (0.22, 0.04, 0.0),
    "session": (-0.35, -0.04, 0.04),
}
_OTHERS = (-0.08, 0.0, 0.0)


def depth_boost(bucket: str, depth: str) -> float:
    """Prefer condensed memory when shallow, and let raw sessions come up when deep."""
    return _BOOSTS.get(bucket, _OTHERS)[DEPTHS.index(depth)]


def checked_depth(depth: str) -> str:
    """Give a depth; InvalidInputError for any other word."""
    if depth not in DEPTHS:
        raise InvalidInputError(
            f"depth must be one of {', '.join(DEPTHS)}, not {depth!r}", code="invalid_option"
        )
    return depth
