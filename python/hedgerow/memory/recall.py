"""Recall: searching the index of a root and ranking the results (spec/memory.md, "Recall")."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from hedgerow._engine import Hit, Index
from hedgerow.embedders import AnyEmbedder
from hedgerow.errors import IndexFileError
from hedgerow.ingest.source import Skip
from hedgerow.results import Response, Trace
from hedgerow.retriever import Retriever
from hedgerow.typing import FiltersLike

from . import score
from .asked import LEFT_OUT, Asked
from .derived import is_of_no_use
from .marks import Marks
from .names import bucket_of
from .periods import Period
from .problems import CODES
from .scope import Scope
from .score import DepthPolicy, ScoreParts
from .times import memory_time
from .validity import HOLDS, Validity
from .words import cut_snippet, recall_terms

_DEEPER = 10
_AT_LEAST = 200
_RANKED = 1000
_MORE = 4
_DIGITS, _GREATEST = 19, (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory that was found, at its best passage.

    `file` is relative to the indexed folder, with `/`; the lines count from 1, both inclusive.
    `metadata` is the front matter of the file as JSON, `parts` the parts of the score, `validity`
    what its marks mean at the time of the recall. `id` does not depend on the query.
    """

    id: str
    score: float
    snippet: str
    file: str
    line_start: int
    line_end: int
    session_id: str | None
    metadata: Mapping[str, Any]
    parts: ScoreParts
    validity: Validity = HOLDS

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON, with the id of a session, if any, under both its names."""
        session = {} if self.session_id is None else _both_names(self.session_id)
        return {
            "id": self.id,
            "score": self.score,
            "snippet": self.snippet,
            **session,
            "provenance": {
                "file": self.file,
                "lineStart": self.line_start,
                "lineEnd": self.line_end,
                **session,
                "metadata": dict(self.metadata),
            },
            "scoreBreakdown": self.parts.to_dict(),
            **({} if self.validity == HOLDS else {"validity": self.validity.to_dict()}),
        }


@dataclass(frozen=True, slots=True)
class Recall:
    """What a recall found, best first; iterates over its results.

    `unreadable` are the files and folders that the index could not read. `notices` are sentences on
    what the reader of the results should know: what the root asks for and its user has not allowed,
    and a period that narrowed the results, with the way to undo it. `left_out` counts the files that were found
    but are not results: those that do not hold, by `Validity.why`, and as `filtered` those of another
    type, tag or time. `as_of` is the time at which results hold, None for the present. `period` is
    the period that the query names, if any. `trace` says how passages were searched for.
    """

    root: str
    query: str
    depth: str
    results: tuple[Recalled, ...]
    unreadable: tuple[Skip, ...] = ()
    notices: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    as_of: datetime | None = None
    period: Period | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def with_skips(self, skips: Iterable[Skip]) -> Recall:
        """Return a copy with what could not be read; a file with a problem of `CODES` was read."""
        unreadable = tuple(skip for skip in skips if skip.code not in CODES)
        return replace(self, unreadable=unreadable)

    def to_dict(self, mode: str = "recall") -> dict[str, Any]:
        """Return the documented JSON, with `notices`, `leftOut`, `asOf` and `period` if there are any."""
        told: dict[str, Any] = {"notices": list(self.notices)} if self.notices else {}
        if self.left_out:
            told["leftOut"] = dict(self.left_out)
        if self.as_of is not None:
            told["asOf"] = self.as_of.isoformat()
        if self.period is not None:
            told["period"] = self.period.to_dict()
        return {
            "root": self.root,
            "query": self.query,
            "depth": self.depth,
            "results": [result.to_dict() for result in self.results],
            "mode": mode,
            "unreadable": [skip.to_dict() for skip in self.unreadable],
            **told,
        }


class Found(NamedTuple):
    """The best passage of each file, best first, and how they were found: keywords or hybrid."""

    hits: list[Hit]
    how: str
    trace: Trace


def recall(  # noqa: PLR0913 - all that a recall depends on
    index: Index,
    embedder: AnyEmbedder | None,
    marks: Marks,
    asked: Asked,
    *,
    root: str,
    policy: DepthPolicy,
    whole: bool = False,
) -> Recall:
    """Search the index and sort the results by the sum of the parts of the score.

    With `whole` damage that leaves one leg to answer alone is raised.
    """
    period, within = asked.period, asked.in_period()
    found, passages, left_out = _holding(index, embedder, marks, within, whole=whole)
    if period is not None and not passages:
        period = replace(period, found=False)
        anytime = replace(asked, period=None)
        found, passages, left_out = _holding(index, embedder, marks, anytime, whole=whole)
    best = max([1.0, *(one.hit.score for one in passages)])
    temporal = score.temporal_relevance(
        asked.query, [memory_time(one.hit.path, one.matter) for one in passages]
    )
    tokens = recall_terms(asked.query)
    results = [
        _recalled(passage, asked, tokens, policy, how=found.how, best=best, temporal=when)
        for passage, when in zip(passages, temporal, strict=True)
    ]
    results.sort(key=lambda result: (-result.score, result.id))
    return Recall(
        root,
        asked.query,
        asked.depth,
        tuple(results[: asked.limit]),
        left_out=left_out,
        as_of=asked.as_of,
        period=period,
        notices=() if period is None else (period.notice,),
        trace=found.trace,
    )


def _holding(
    index: Index, embedder: AnyEmbedder | None, marks: Marks, asked: Asked, *, whole: bool
) -> tuple[Found, list[_Passage], dict[str, int]]:
    """Find passages of what is asked for and holds, and count the other files, by reason.

    Where these leave fewer results than there may be, more are searched for.
    """
    most = max(_AT_LEAST, _DEEPER * asked.limit)
    while True:
        where = filter_of(asked.scope)
        found = search(index, embedder, asked.searched(), most, whole=whole, where=where)
        passages = []
        left_out: Counter[str] = Counter()
        for hit in found.hits:
            passage = _passage(index, hit, asked.validity(marks, hit.path))
            if not asked.scope.has(Scope.stated(passage.matter)):
                continue
            why = asked.why_not(hit.path, passage.matter, hit.tags, passage.validity)
            if why is None:
                passages.append(passage)
            else:
                left_out[why] += 1
        if len(passages) >= asked.limit or len(found.hits) < most:
            counts = {why: left_out[why] for why in LEFT_OUT if left_out[why]}
            return found, passages, counts
        most *= _MORE


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
    retriever = Retriever(index, embedder=embedder, profile="best")
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
    hybrid = trace.embedder_used and not trace.fell_back_to_bm25
    return Found(response.results, "hybrid" if hybrid else "keywords", trace)


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
    retriever = Retriever(index, embedder=embedder, profile="best")
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


class _Passage(NamedTuple):
    """A hit with the front matter of its file, its first and last line, and whether it holds."""

    hit: Hit
    matter: dict[str, Any]
    start: int
    end: int
    validity: Validity


def _passage(index: Index, hit: Hit, validity: Validity) -> _Passage:
    """Return a hit with what the index knows of its file; IndexFileError if that is missing."""
    facts = hit.metadata
    match facts.get("front_matter"), facts.get("line_start"), facts.get("line_end"):
        case dict() as matter, int() as start, int() as end:
            return _Passage(hit, matter, start, end, validity)
    raise IndexFileError(
        f"the index {index.path} is damaged (it does not say where {hit.id} comes from); delete it, "
        "or recall with a sync, which makes it anew",
        code="index_damaged",
    )


def _recalled(  # noqa: PLR0913 - one argument for each input of a score
    passage: _Passage,
    asked: Asked,
    tokens: Sequence[str],
    policy: DepthPolicy,
    *,
    how: str,
    best: float,
    temporal: float,
) -> Recalled:
    hit, matter, start, end, validity = passage
    query, depth = asked.query, asked.depth
    session = session_id_of(matter)
    snippet = cut_snippet(hit.content, tokens)
    bucket = bucket_of(hit.path, matter)
    parts = ScoreParts(
        retrieval=score.rounded(max(0.0, hit.score / best)),
        exact_match=score.rounded(score.exact_match(query, snippet)),
        metadata=score.rounded(score.metadata_match(query, matter)),
        temporal=score.rounded(temporal),
        strength=score.rounded(score.memory_strength(matter)),
        provenance=score.rounded(
            score.provenance_confidence(lines=0 < start <= end, session=session is not None)
        ),
        depth=score.rounded(policy(bucket, depth)),
        retrieval_depth=depth,
        driver=f"{how}:{bucket}",
    )
    return Recalled(
        id=_id_of(hit.path, start, end, hit.content),
        score=parts.total,
        snippet=snippet,
        file=hit.path,
        line_start=start,
        line_end=end,
        session_id=session,
        metadata=matter,
        parts=parts,
        validity=validity,
    )


def session_id_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the session of a memory, under either of its names."""
    for key in ("session_id", "sessionId"):
        value = metadata.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _id_of(path: str, start: int, end: int, content: str) -> str:
    """Return an id of a passage that does not depend on the query."""
    text = f"{path}\n{start}\n{end}\n{content}"
    return "chunk-" + hashlib.sha256(text.encode()).hexdigest()


def _both_names(session: str) -> dict[str, str]:
    return {"sessionId": session, "session_id": session}
