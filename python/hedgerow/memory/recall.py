"""Recall: searching the index of a root and ranking the results (spec/memory.md, "Recall")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from hedgerow._dual import run
from hedgerow._retrieval.operations import SearchRequest
from hedgerow._retrieval.searching import Stages
from hedgerow._times import checked_half_life
from hedgerow.errors import IndexFileError, InvalidInputError
from hedgerow.results import Trace
from hedgerow.typing import QuestionDate

from . import results
from .derived import is_of_no_use
from .names import compared, separate_tags, type_word
from .note import now
from .operations import ContextRequest, RecallRequest
from .results import DepthPolicy, Provenance, RecalledMemory, ScoreParts
from .times import (
    HOLDS,
    Validity,
    checked_end,
    checked_question_date,
    checked_start,
    local_micros,
    micros_of,
)
from .view import Marks

if TYPE_CHECKING:
    from hedgerow._engine import _RecallTuple


@dataclass(frozen=True, slots=True)
class RecallFilter:
    """The filters of a recall on front matter; without any, all memories pass.

    A memory passes if its type is one of `types`, it has all `tags` or tags nested in them, one of
    `writers` or one nested in them has written it, and its time is `after` or later and earlier than
    `before`. A memory without a time is neither. A date alone is midnight in the time zone of `after`.
    """

    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()
    after: datetime | None = None
    before: datetime | None = None

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 - each filter
        cls,
        types: Sequence[str],
        tags: Sequence[str],
        writers: Sequence[str],
        after: QuestionDate | None,
        before: QuestionDate | None,
        now: datetime,
    ) -> RecallFilter:
        """Check the filters. Raises InvalidInputError for a blank one and a date that does not exist."""
        if not types and not tags and not writers and after is None and before is None:
            return ANY
        if not all(separate_tags([one]) for one in (*types, *tags)):
            raise InvalidInputError(
                "a type or a tag is blank; name one, or leave it out", code="invalid_option"
            )
        return cls(
            frozenset(map(type_word, separate_tags(types))),
            frozenset(map(compared, separate_tags(tags))),
            frozenset(map(compared, writers)),
            None if after is None else checked_start(after, "after", now),
            None if before is None else checked_start(before, "before", now),
        )

    def __bool__(self) -> bool:
        filters = self.types or self.tags or self.writers
        return bool(filters) or self.after is not None or self.before is not None


ANY = RecallFilter()


class Options(NamedTuple):
    """The checked options of a recall. `asked` is when the question was asked, as `local_micros` has it; None for now."""

    wanted: RecallFilter = ANY
    as_of: datetime | None = None
    asked: tuple[int, int] | None = None
    half_life: timedelta | None = None


PLAIN = Options()
"""The options of a recall without filters and dates."""


def resolved_options(request: RecallRequest | ContextRequest) -> Options:
    """Check the filters and dates of a recall. Raises InvalidInputError for a date that does not exist."""
    present = now()
    as_of = None if request.as_of is None else checked_end(request.as_of, "as_of", present)
    asked = as_of
    if request.question_date is not None:
        asked = checked_question_date(request.question_date, present)
    return Options(
        RecallFilter.of(
            request.types,
            request.tags,
            request.written_by,
            request.after,
            request.before,
            present,
        ),
        as_of,
        None if asked is None else local_micros(asked),
        None if request.recency is None else checked_half_life(request.recency),
    )


class Moment(NamedTuple):
    """A time at which memories have to hold: `as_of`, or the present without it."""

    now: datetime
    as_of: datetime | None

    @classmethod
    def of(cls, as_of: QuestionDate | None) -> Moment:
        """Check a date. Raises InvalidInputError for one that does not exist, and for another type."""
        present = now()
        # The request checks the type.
        given = RecallRequest(".", as_of=as_of).as_of
        return cls(present, None if given is None else checked_end(given, "as_of", present))

    def validity(self, marks: Marks, path: str) -> Validity:
        """Return whether a memory holds at that time."""
        if self.as_of is None:
            return marks.at(path, self.now)
        return marks.at(path, self.as_of, was_known=True)


DEEPER = 10
"""Candidates for each result: the parts of the score can lift one by as many places."""

AT_LEAST = 200
"""The fewest candidates."""


class Evidence(NamedTuple):
    """A passage of a file with its score; parts of one long block are one, up to a limit."""

    path: str
    ordinal: int
    score: float
    line_start: int
    text: str


def recalled(result: _RecallTuple, depth: str, how: str) -> RecalledMemory:
    """Return a result of the engine; `how` is keywords or hybrid."""
    id_, snippet, path, (start, end), session, matter, parts, bucket, marks = result
    driver = f"{how}:{bucket}"
    scored = ScoreParts(*parts[:7], depth, driver, *parts[7:])
    validity = HOLDS if marks is None else Validity.of_texts(*marks)
    provenance = Provenance(path, start, end, matter, session)
    return RecalledMemory(id_, scored.total, snippet, provenance, scored, session, validity)


def depths(
    policy: DepthPolicy, depth: str, buckets: Sequence[str]
) -> tuple[dict[str, float], float]:
    """Return the weight of each bucket at a depth, and the weight of all others."""
    return {bucket: results.rounded(policy(bucket, depth)) for bucket in buckets}, 0.0


def bounds(wanted: RecallFilter) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the bounds of the time of memories, each as a moment and as a local time.

    Both are microseconds since 1970, local in the zone of `after`.
    """
    zone = timezone.utc if wanted.after is None else wanted.after.tzinfo
    after = None if wanted.after is None else _bound(wanted.after, zone)
    return after, None if wanted.before is None else _bound(wanted.before, zone)


def _bound(time: datetime, zone: tzinfo | None) -> tuple[int, int]:
    local = time.astimezone(zone).replace(tzinfo=timezone.utc)
    return micros_of(time), micros_of(local)


def how_found(trace: Trace) -> str:
    """Return `hybrid` if the embedder took part in a search, else `keywords`."""
    hybrid = trace.embedder_used and not trace.fell_back_to_bm25
    return "hybrid" if hybrid else "keywords"


RANKED = 1000
"""The files of a leg of a pipeline."""


def ranked(stages: Stages, query: str, limit: int, *, whole: bool) -> list[str] | None:
    """Return the files of the best passages of one leg: semantic with an embedder, else keywords.

    Neighboring passages contribute to each other, as in a recall. None if the embedder fails, which
    is logged.
    """
    search = SearchRequest(
        query,
        mode="bm25" if stages.embedder is None else "semantic",
        limit=limit,
        candidates=limit,
        group_by="path",
        skip_retry_ladder=True,
    )
    response = run(stages.search(search))
    if whole:
        raise_damage(response.error)
    if stages.embedder is not None and response.trace.fell_back_to_bm25:
        return None
    return [hit.path for hit in response.results]


def raise_damage(error: Exception | None) -> None:
    """Raise an error that is damage, which kept a leg from answering."""
    if isinstance(error, IndexFileError) and is_of_no_use(error):
        raise error
