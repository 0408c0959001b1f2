"""Recall: searching the index of a root and ranking the results (spec/memory.md, "Recall")."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, NamedTuple, cast

from hedgerow._checks import checked_texts
from hedgerow._engine import Hit, Index, Searcher, _FileColumns, _Recall
from hedgerow._retrieval.operations import SearchRequest
from hedgerow._retrieval.searching import Stages
from hedgerow._steps import run
from hedgerow._times import checked_half_life
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import IndexFileError, InvalidInputError
from hedgerow.ranking import Ranking
from hedgerow.results import Response, Trace
from hedgerow.retriever import Retriever
from hedgerow.typing import FiltersLike, QuestionDate

from . import score
from .derived import is_of_no_use
from .marks import Marks
from .names import compared, separate_tags, type_word
from .note import now
from .operations import ContextRequest, RecallRequest
from .results import Provenance, Recall, Recalled
from .scope import Scope
from .score import DepthPolicy, ScoreParts
from .times import (
    TICK,
    Period,
    checked_end,
    checked_question_date,
    checked_start,
    micros_of,
    period_in,
)
from .validity import HOLDS, Validity

if TYPE_CHECKING:
    from hedgerow._engine import _RecallTuple


@dataclass(frozen=True, slots=True)
class Wanted:
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
    ) -> Wanted:
        """Check the filters. Raises InvalidInputError for a date that does not exist."""
        if not types and not tags and not writers and after is None and before is None:
            return _ANY
        return cls(
            frozenset(type_word(one) for one in checked_texts(types, "types")),
            frozenset(map(compared, separate_tags(checked_texts(tags, "tags")))),
            frozenset(map(compared, checked_texts(writers, "written_by"))),
            None if after is None else checked_start(after, "after", now),
            None if before is None else checked_start(before, "before", now),
        )

    def __bool__(self) -> bool:
        filters = self.types or self.tags or self.writers
        return bool(filters) or self.after is not None or self.before is not None


_ANY = Wanted()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a recall is about: the query, how much of what, and when it has to hold.

    `as_of` is None for the present, which is `now`. With a `half_life`, newer memories count more. What does not hold is found as well with
    `include_superseded`. What is not of the scope is not seen at all.
    """

    query: str
    limit: int
    depth: str
    now: datetime
    as_of: datetime | None = None
    include_superseded: bool = False
    wanted: Wanted = Wanted()
    scope: Scope = Scope()  # noqa: RUF009
    period: Period | None = None
    asker: str | None = None
    half_life: timedelta | None = None

    def searched(self) -> str:
        """Return the text of the search: the query without the words of a period, if others are left."""
        rest = "" if self.period is None else self.period.rest
        return rest if any(one.isalnum() for one in rest) else self.query

    def in_period(self) -> Asked:
        """Return the request for the period that the query names alone, if it names one."""
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
        Wanted.of(
            request.types,
            request.tags,
            request.written_by,
            request.after,
            request.before,
            present,
        ),
        scope,
        period,
        request.asker,
        None if request.recency is None else checked_half_life(request.recency),
    )


def recall_time(as_of: QuestionDate | None, scope: Scope) -> Asked:
    """Return the time at which memories of a scope have to hold; None for the present."""
    return resolved_recall(RecallRequest(".", as_of=as_of), scope)


_DEEPER = 10
_AT_LEAST = 200
_RANKED = 1000
_DIGITS, _GREATEST = 19, (1 << 63) - 1


class Evidence(NamedTuple):
    """A passage of a file with its score; parts of one long block are one, up to a limit."""

    path: str
    ordinal: int
    score: float
    line_start: int
    text: str


class Found(NamedTuple):
    """The best passage of each file, best first, and how they were found: keywords or hybrid."""

    hits: list[Hit]
    how: str
    trace: Trace


def recall(  # noqa: PLR0913 - all that a recall depends on
    stages: Stages,
    columns: _FileColumns,
    asked: Asked,
    *,
    root: str,
    policy: DepthPolicy,
    whole: bool = False,
    with_evidence: bool = False,
) -> tuple[Recall, list[Evidence]]:
    """Search the index and sort the results by the sum of the parts of the score.

    With `whole` damage that leaves one leg to answer alone is raised. With `with_evidence` also returns the
    passages of the files, the best first.
    """
    depths = _depths(policy, asked.depth, columns, stages.searcher)
    recaller = _Recaller(columns, stages, depths, root, whole=whole, with_evidence=with_evidence)
    period = asked.period
    found, evidence = recaller.recall(asked.in_period())
    if period is not None and not found.results:
        period = replace(period, found=False)
        found, evidence = recaller.recall(replace(asked, period=None))
    if period is None:
        return found, evidence
    found = replace(found, period=period, notices=(*found.notices, period.notice))
    return found, evidence


@dataclass(frozen=True, slots=True)
class _Recaller:
    """Recalls of one index."""

    columns: _FileColumns
    stages: Stages
    depths: tuple[dict[str, float], float]
    root: str
    whole: bool
    with_evidence: bool

    def recall(self, asked: Asked) -> tuple[Recall, list[Evidence]]:
        """Recall what is asked for, in one call of the engine after the embedder's."""
        wanted, scope = asked.wanted, asked.scope
        zone = timezone.utc if wanted.after is None else wanted.after.tzinfo
        call = _Recall(
            self.columns,
            self.stages.searcher,
            asked.query,
            min(asked.limit, sys.maxsize),
            types=list(wanted.types),
            tags=list(wanted.tags),
            writers=list(wanted.writers),
            after=None if wanted.after is None else _bound(wanted.after, zone),
            before=None if wanted.before is None else _bound(wanted.before, zone),
            scope=(scope.user, scope.agent, scope.session),
            shared=scope.shared,
            at=micros_of(asked.now if asked.as_of is None else asked.as_of),
            was_known=asked.as_of is not None,
            include_superseded=asked.include_superseded,
            depths=self.depths[0],
            other_depth=self.depths[1],
            half_life=None if asked.half_life is None else asked.half_life // TICK,
            with_evidence=self.with_evidence,
        )
        # It searches as a Searcher does, and scores what it finds.
        stages = replace(self.stages, searcher=cast("Searcher", call))
        most = max(_AT_LEAST, _DEEPER * asked.limit)
        request = SearchRequest(
            asked.searched(),
            limit=most,
            candidates=most,
            group_by="path",
            skip_retry_ladder=True,
            asker=asked.asker,
        )
        response = run(stages.search(request))
        if self.whole:
            _raise_damage(response)
        results, left_out, evidence = call.results()
        how = _how(response.trace)
        found = Recall(
            self.root,
            asked.query,
            asked.depth,
            tuple(_recalled(one, asked.depth, how) for one in results),
            notices=tuple(response.trace.notices),
            left_out=dict(left_out),
            as_of=asked.as_of,
            trace=response.trace,
        )
        return found, [Evidence(*one) for one in evidence]


def _recalled(result: _RecallTuple, depth: str, how: str) -> Recalled:
    id_, snippet, path, (start, end), session, matter, parts, bucket, marks = result
    driver = f"{how}:{bucket}"
    scored = ScoreParts(*parts[:7], depth, driver, *parts[7:])
    validity = HOLDS if marks is None else Validity.of_texts(*marks)
    provenance = Provenance(path, start, end, matter, session)
    return Recalled(id_, scored.total, snippet, provenance, scored, session, validity)


def _depths(
    policy: DepthPolicy, depth: str, columns: _FileColumns, searcher: Searcher
) -> tuple[dict[str, float], float]:
    """Return the weight of each bucket at a depth, and the weight of all others."""
    if policy is score.depth_boost:
        return score.boosts(depth)
    buckets = columns.buckets(searcher)
    return {bucket: score.rounded(policy(bucket, depth)) for bucket in buckets}, 0.0


def _bound(time: datetime, zone: tzinfo | None) -> tuple[int, int]:
    """Return a moment, and the same as a local time in the zone, in microseconds since 1970."""
    local = time.astimezone(zone).replace(tzinfo=timezone.utc)
    return micros_of(time), micros_of(local)


def _how(trace: Trace) -> str:
    hybrid = trace.embedder_used and not trace.fell_back_to_bm25
    return "hybrid" if hybrid else "keywords"


def filter_of(scope: Scope) -> FiltersLike | None:
    """Return the index filter for a scope; None if the scope is not limited."""
    stated = scope.to_dict()
    # YAML reads digits as a number; filters take those of 64 bits.
    ids = {
        key: [id_, int(id_)]
        if id_.isdecimal() and len(id_) <= _DIGITS and int(id_) <= _GREATEST
        else [id_]
        for key, id_ in stated.items()
    }
    shared = [None] if scope.shared else []
    return {f"front_matter.scope.{key}": {"$in": [*ids[key], *shared]} for key in ids} or None


def search(  # noqa: PLR0913 - what a search depends on
    index: Index,
    embedder: AnyEmbedder | None,
    query: str,
    limit: int,
    *,
    whole: bool = False,
    where: FiltersLike | None = None,
) -> Found:
    """Find the files of the best passages, each once; without the retry ladder."""
    retriever = Retriever(index, embedder=embedder, ranking=Ranking("best"))
    response = retriever.search(
        query,
        limit=limit,
        candidates=limit,
        group_by="path",
        skip_retry_ladder=True,
        filters=where,
    )
    if whole:
        _raise_damage(response)
    trace = response.trace
    return Found(response.results, _how(trace), trace)


def ranked(
    index: Index,
    embedder: AnyEmbedder | None,
    query: str,
    *,
    whole: bool = False,
    where: FiltersLike | None = None,
) -> list[str] | None:
    """Return the files of the best passages of one leg: semantic with an embedder, else keywords.

    Neighboring passages contribute to each other, as in a recall. None if the embedder fails, which
    is logged.
    """
    retriever = Retriever(index, embedder=embedder, ranking=Ranking("best"))
    response = retriever.search(
        query,
        mode="bm25" if embedder is None else "semantic",
        limit=_RANKED,
        candidates=_RANKED,
        group_by="path",
        skip_retry_ladder=True,
        filters=where,
    )
    if whole:
        _raise_damage(response)
    if embedder is not None and response.trace.fell_back_to_bm25:
        return None
    return [hit.path for hit in response.results]


def _raise_damage(response: Response) -> None:
    """Raise the damage that kept a leg from answering."""
    if isinstance(response.error, IndexFileError) and is_of_no_use(response.error):
        raise response.error
