"""The log of searches that take long."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from hedgerow._checks import shown
from hedgerow.errors import HedgerowError, InvalidInputError, RetrievalError
from hedgerow.results import Response, Trace

_log = logging.getLogger("hedgerow.search")

# Stages that took less are not worth the room.
_WORTH_NAMING_MS = 0.05


def checked_slow_ms(value: float | None) -> float | None:
    """The threshold; raises InvalidInputError unless it is a finite number from 0 up, or None."""
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Compared first: not every integer has a float.
    if not number or not 0 <= value <= sys.float_info.max:
        raise InvalidInputError(
            f"slow_ms must be a number of milliseconds from 0 up, or None, not {shown(value)}",
            code="invalid_option",
        )
    return float(value)


def log_slow(slow_ms: float, answers: Sequence[Response | HedgerowError], total_ms: float) -> None:
    """Log the searches that took longer than `slow_ms`, a line for each.

    A single search took as long as its call. Searches of a batch ran in parallel: each took the time
    of its stages, without embedding, which is one call for all.
    """
    alone = len(answers) == 1
    for answer in answers:
        if not isinstance(answer, (Response, RetrievalError)):
            continue
        trace = answer.trace
        took = total_ms if alone else _of_its_own(trace)
        if took > slow_ms:
            found = len(answer) if isinstance(answer, Response) else None
            _log_one(trace, found, took, alone=alone)


def _of_its_own(trace: Trace) -> float:
    return sum(ms for stage, ms in trace.timings.items() if stage != "embed")


def _log_one(trace: Trace, found: int | None, took: float, *, alone: bool) -> None:
    stages = ", ".join(
        f"{stage} {ms:.1f}"
        for stage, ms in trace.timings.items()
        if ms >= _WORTH_NAMING_MS and (alone or stage != "embed")
    )
    came = "no answer" if found is None else "1 result" if found == 1 else f"{found} results"
    length = len(trace.original_query)
    of = "1 character" if length == 1 else f"{length} characters"
    _log.warning(
        "slow search: %.1f ms (%s), mode %s, a query of %s, %s", took, stages, trace.mode, of, came
    )
    # What people ask for is private: only the most verbose level shows it.
    _log.debug("the query of that slow search: %r", trace.original_query)
