"""The memories that a processing run looks at: about a topic, since a day, the newest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from hedgerow._checks import checked_count, checked_text
from hedgerow._engine import EN_STOPWORDS, NL_STOPWORDS
from hedgerow.typing import QuestionDate

from . import note
from .documents import Document
from .results import all_text
from .scope import Scope
from .times import checked_start, parse_time

_WORD = re.compile(r"[^\W_]+")
_LONG = 3
_MOST_WORDS = 32
"""The most words of a topic, which each memory is searched for."""

STOP_WORDS = EN_STOPWORDS | NL_STOPWORDS


def topic_tokens(topic: str) -> list[str]:
    """Return the words of a topic of three characters or more; all words, where none is so long.

    At most 32, the first.
    """
    words = list(dict.fromkeys(_WORD.findall(topic.casefold())))
    return ([word for word in words if len(word) >= _LONG] or words)[:_MOST_WORDS]


NEVER = datetime(1, 1, 1, tzinfo=timezone.utc)


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

    def in_scope(self, documents: Iterable[Document]) -> list[Document]:
        """Return the documents of the scope."""
        return [one for one in documents if self.scope.has(Scope.stated(one.metadata))]

    def of_interest(self, documents: Iterable[Document]) -> list[Document]:
        """Return the selected documents, the newest first, then by path, up to the limit."""
        return newest_first(self.about(documents))[: self.limit]

    def about(self, documents: Iterable[Document]) -> list[Document]:
        """Return all selected documents, without the limit."""
        chosen = [document for document in documents if self.is_recent(document)]
        if self.topic:
            tokens = topic_tokens(self.topic)
            chosen = [document for document in chosen if mentions(document, tokens)]
        return chosen

    def is_recent(self, document: Document) -> bool:
        """Return whether a document is new enough.

        A document without a time is not, if `since` is given.
        """
        if self.since is None:
            return True
        time = time_of(document)
        return time is not None and time >= self.since


def newest_first(documents: Sequence[Document]) -> list[Document]:
    """Order documents by time, those without one last, then by path."""
    by_path = sorted(documents, key=lambda document: document.path)
    return sorted(by_path, key=lambda document: time_of(document) or NEVER, reverse=True)


def time_of(document: Document) -> datetime | None:
    """Return when a document was last changed, as far as its front matter tells."""
    fields = ("updated_at", "created_at", "date")
    times = (parse_time(document.metadata.get(field)) for field in fields)
    return next((time for time in times if time), None)


def mentions(document: Document, tokens: Sequence[str]) -> bool:
    """Return whether all tokens occur in the path, front matter or text of a document."""
    text = searchable(document)
    return all(token in text for token in tokens)


def searchable(document: Document) -> str:
    """Return all that a document says, case folded."""
    return f"{document.path}\n{all_text(document.metadata)}\n{document.body}".casefold()
