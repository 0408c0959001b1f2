"""What a recall is asked for: a query, how much, of which memories, and when they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hedgerow._checks import checked_count, checked_text
from hedgerow.errors import InvalidInputError
from hedgerow.typing import QuestionDate

from .marks import Marks
from .note import now
from .periods import Period, period_in
from .scope import Scope
from .score import checked_depth
from .times import checked_end, checked_question_date
from .validity import REASONS, Validity
from .wanted import Wanted

FILTERED = "filtered"
LEFT_OUT: Mapping[str, str] = {
    **REASONS,
    FILTERED: "not of the type, the tags or the time asked for",
}
"""Why what was found is no result, each as a reader is told."""


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


def checked_recall(  # noqa: PLR0913 - what a recall can be asked for
    query: str,
    *,
    limit: int = 5,
    depth: str = "normal",
    as_of: QuestionDate | None = None,
    include_superseded: bool = False,
    types: Sequence[str] = (),
    tags: Sequence[str] = (),
    after: QuestionDate | None = None,
    before: QuestionDate | None = None,
    question_date: QuestionDate | None = None,
    scope: Scope = Scope(),  # noqa: B008 - frozen
) -> Asked:
    """Return what a recall is about; InvalidInputError for what it cannot be."""
    present = now()
    period = None
    if question_date is not None and after is None and before is None:
        asked = checked_question_date(question_date, present)
        period = period_in(_checked_query(query), asked)
    return Asked(
        _checked_query(query),
        checked_count(limit, "limit"),
        checked_depth(depth),
        present,
        None if as_of is None else checked_end(as_of, "as_of"),
        include_superseded,
        Wanted.of(types, tags, after, before, present),
        scope,
        period,
    )


def _checked_query(query: str) -> str:
    if not checked_text(query, "query").strip():
        raise InvalidInputError(
            "there is nothing to search for: the query is blank", code="invalid_option"
        )
    return query
