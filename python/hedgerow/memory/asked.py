"""What a recall is asked for: a query, how much, of which memories, and when they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hedgerow.errors import InvalidInputError
from hedgerow.typing import QuestionDate

from .marks import Marks
from .note import now
from .operations import ContextRequest, RecallRequest
from .periods import Period, period_in
from .scope import Scope
from .times import checked_end, checked_question_date
from .validity import Validity
from .wanted import Wanted


@dataclass(frozen=True, slots=True)
class Asked:
    """What a recall is about: the query, how much of what, and when it has to hold.

    `as_of` is None for the present, which is `now`. What does not hold is found as well with
    `include_superseded`. What is not of the scope is not seen at all.
    """

    query: str
    limit: int
    depth: str
    now: datetime
    as_of: datetime | None = None
    include_superseded: bool = False
    wanted: Wanted = Wanted()  # noqa: RUF009 - frozen
    scope: Scope = Scope()  # noqa: RUF009
    period: Period | None = None

    def searched(self) -> str:
        """Return the text of the search: the query without the words of a period, if others are left."""
        rest = "" if self.period is None else self.period.rest
        return rest if any(one.isalnum() for one in rest) else self.query

    def in_period(self) -> Asked:
        """Return the same for the period that the query names alone, if it names one."""
        if self.period is None:
            return self
        after, before = self.period.after, self.period.before
        return replace(self, wanted=replace(self.wanted, after=after, before=before))

    def validity(self, marks: Marks, path: str) -> Validity:
        """Return whether a memory holds when it has to."""
        if self.as_of is None:
            found = marks.at(path, self.now)
        else:
            found = marks.at(path, self.as_of, was_known=True)
        return found.seen(lambda other: self.scope.has(marks.scope(other))) if self.scope else found


def resolved_recall(request: RecallRequest | ContextRequest, scope: Scope) -> Asked:
    """Return what a recall is about; InvalidInputError for a blank query or a date that does not exist."""
    present, query = now(), request.query
    if not query.strip():
        raise InvalidInputError(
            "there is nothing to search for: the query is blank", code="invalid_option"
        )
    period = None
    if request.question_date is not None and request.after is None and request.before is None:
        period = period_in(query, checked_question_date(request.question_date, present))
    return Asked(
        query,
        request.limit,
        request.depth,
        present,
        None if request.as_of is None else checked_end(request.as_of, "as_of", present),
        request.include_superseded,
        Wanted.of(request.types, request.tags, request.after, request.before, present),
        scope,
        period,
    )


def recall_time(as_of: QuestionDate | None, scope: Scope) -> Asked:
    """Return the time at which memories of a scope have to hold; None for the present."""
    return resolved_recall(RecallRequest(".", as_of=as_of), scope)
