"""The arguments of `search_many`, checked before anything is embedded, and what it returns."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from hedgerow._checks import checked_count, listed, shown
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.results import Response
from hedgerow.typing import QuestionDate


def checked_on_error(on_error: str) -> None:
    """Raise InvalidInputError unless it is "raise" or "return"."""
    if on_error not in ("raise", "return"):
        raise InvalidInputError(
            f'on_error must be "raise" or "return", not {shown(on_error)}',
            code="invalid_option",
        )


def checked_queries(queries: Iterable[str]) -> list[str]:
    """The queries as a list; raises TypeError for one text."""
    if isinstance(queries, str):
        raise TypeError("queries must be a list of str, not one str; use search for one")
    return listed(queries)


def checked_dates(
    question_date: QuestionDate | Sequence[QuestionDate | None] | None, queries: int
) -> list[QuestionDate | None]:
    """One date for each query; raises InvalidInputError for another number of them."""
    dates: list[QuestionDate | None]
    if question_date is None or isinstance(question_date, (str, date)):
        dates = [question_date] * queries
    elif isinstance(question_date, Sequence):
        dates = listed(question_date)
    else:
        raise TypeError(
            "question_date must be one str, datetime or date, or a list with one for each query, not "
            f"{type(question_date).__name__}"
        )
    if len(dates) != queries:
        raise InvalidInputError(
            f"there are {len(dates)} question dates for {queries} queries; "
            "pass one for each, or one for all",
            code="invalid_option",
        )
    return dates


def checked_threads(threads: int | None) -> int:
    """How many threads search; as many as the process may use, if not given."""
    workers = _usable_cpus() if threads is None else checked_count(threads, "threads")
    return min(workers, sys.maxsize)


def answers(found: list[Response | HedgerowError], on_error: str) -> list[Any]:
    """The answers as they are, or the first error among them raised."""
    if on_error == "raise":
        for answer in found:
            if isinstance(answer, HedgerowError):
                raise answer
    return found


def only(found: list[Response | HedgerowError]) -> Response:
    """The one response; raises its error instead."""
    [answer] = answers(found, "raise")
    response: Response = answer
    return response


def _usable_cpus() -> int:
    """The CPUs this process may use, which in a container are fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
