"""The memories that a processing run looks at: about a topic, since a day, the newest first."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import datetime

from hedgerow._checks import checked_count, checked_text
from hedgerow.typing import QuestionDate

from . import note
from .scope import Scope
from .times import checked_start, micros_of


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection that was requested; `since` and `topic` are None if not given."""

    topic: str | None
    since: datetime | None
    limit: int
    scope: Scope = Scope()  # noqa: RUF009 - frozen

    @classmethod
    def of(
        cls,
        topic: str | None,
        since: QuestionDate | None,
        limit: int,
        scope: Scope = Scope(),  # noqa: B008 - frozen
    ) -> Selection:
        """Check the request; a blank topic is none."""
        given = "" if topic is None else note.one_line(checked_text(topic, "topic"))
        return cls(
            given or None,
            None if since is None else checked_start(since, "since", note.now()),
            checked_count(limit, "limit"),
            scope,
        )

    @property
    def parts(self) -> tuple[str | None, int | None, int]:
        """The topic, the time in microseconds since 1970, and the limit."""
        since = None if self.since is None else micros_of(self.since)
        return self.topic, since, min(self.limit, sys.maxsize)
