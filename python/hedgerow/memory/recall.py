"""Recall: searching the index of a root and ranking the results (spec/memory.md, "Recall")."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import datetime, timezone, tzinfo
from typing import TYPE_CHECKING, NamedTuple, cast

from hedgerow._engine import Hit, Index, Searcher, _FileColumns, _Recall
from hedgerow._retrieval.batches import only
from hedgerow._retrieval.requests import request_of
from hedgerow._retrieval.searching import Stages
from hedgerow._steps import run
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import IndexFileError
from hedgerow.ranking import Ranking
from hedgerow.results import Response, Trace
from hedgerow.retriever import Retriever
from hedgerow.typing import FiltersLike

from . import score
from .asked import Asked
from .derived import is_of_no_use
from .results import Provenance, Recall, Recalled
from .scope import Scope
from .score import DepthPolicy, ScoreParts
from .times import micros_of
from .validity import HOLDS, Validity

if TYPE_CHECKING:
    from hedgerow._engine import _RecallTuple

_DEEPER = 10
_AT_LEAST = 200
_RANKED = 1000
_DIGITS, _GREATEST = 19, (1 << 63) - 1


class Found(NamedTuple):
    """The best passage of each file, best first, and how they were found: keywords or hybrid."""

    hits: list[Hit]
    how: str
    trace: Trace


def recall(  # noqa: PLR0913 - all that a recall depends on
    index: Index,
    embedder: AnyEmbedder | None,
    columns: _FileColumns,
    asked: Asked,
    *,
    root: str,
    policy: DepthPolicy,
    whole: bool = False,
) -> Recall:
    """Search the index and sort the results by the sum of the parts of the score.

    With `whole` damage that leaves one leg to answer alone is raised.
    """
    stages = Retriever(index, embedder=embedder, ranking=Ranking("best"))._stages  # noqa: SLF001 - of the same package
    depths = _depths(policy, asked.depth, columns, stages.searcher)
    recaller = _Recaller(columns, stages, depths, root=root, whole=whole)
    period = asked.period
    found = recaller.recall(asked.in_period())
    if period is not None and not found.results:
        period = replace(period, found=False)
        found = recaller.recall(replace(asked, period=None))
    if period is None:
        return found
    return replace(found, period=period, notices=(*found.notices, period.notice))


@dataclass(frozen=True, slots=True)
class _Recaller:
    """Recalls of one index."""

    columns: _FileColumns
    stages: Stages
    depths: tuple[dict[str, float], float]
    root: str
    whole: bool

    def recall(self, asked: Asked) -> Recall:
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
            after=_bound(wanted.after, zone),
            before=_bound(wanted.before, zone),
            scope=(scope.user, scope.agent, scope.session),
            shared=scope.shared,
            at=micros_of(asked.now if asked.as_of is None else asked.as_of),
            was_known=asked.as_of is not None,
            include_superseded=asked.include_superseded,
            depths=self.depths[0],
            other_depth=self.depths[1],
        )
        # It searches as a Searcher does, and scores what it finds.
        stages = replace(self.stages, searcher=cast("Searcher", call))
        most = max(_AT_LEAST, _DEEPER * asked.limit)
        request = request_of(
            stages,
            [asked.searched()],
            [None],
            threads=1,
            limit=most,
            candidates=most,
            group_by="path",
            skip_retry_ladder=True,
        )
        response = only(run(stages.search(request)))
        if self.whole:
            _raise_damage(response)
        results, left_out = call.results()
        how = _how(response.trace)
        return Recall(
            self.root,
            asked.query,
            asked.depth,
            tuple(_recalled(one, asked.depth, how) for one in results),
            notices=tuple(response.trace.notices),
            left_out=dict(left_out),
            as_of=asked.as_of,
            trace=response.trace,
        )


def _recalled(result: _RecallTuple, depth: str, how: str) -> Recalled:
    id_, snippet, path, (start, end), session, matter, parts, bucket, marks = result
    scored = ScoreParts(*parts, retrieval_depth=depth, driver=f"{how}:{bucket}")
    validity = HOLDS if marks is None else Validity.of_texts(*marks)
    provenance = Provenance(path, start, end, matter, session)
    return Recalled(id_, scored.total, snippet, provenance, scored, session, validity)


def _depths(
    policy: DepthPolicy, depth: str, columns: _FileColumns, searcher: Searcher
) -> tuple[dict[str, float], float]:
    """Return what each bucket counts at a depth, and what any other one does."""
    if policy is score.depth_boost:
        return score.boosts(depth)
    buckets = columns.buckets(searcher)
    return {bucket: score.rounded(policy(bucket, depth)) for bucket in buckets}, 0.0


def _bound(time: datetime | None, zone: tzinfo | None) -> tuple[int, int] | None:
    """Return a moment, and the same as a local time in the zone, in microseconds since 1970."""
    if time is None:
        return None
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
