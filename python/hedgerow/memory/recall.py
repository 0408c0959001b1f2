"""Searching the index of a root, and putting what is found in order (spec/memory.md, "Recall")."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow._checks import checked_count, checked_text
from hedgerow.errors import InvalidInputError
from hedgerow.index import Index

from . import score
from .depth import DepthPolicy
from .names import bucket_of
from .score import ScoreParts
from .snippet import cut_snippet
from .words import query_tokens

_DEEPER = 10
_AT_LEAST = 200


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory that was found, at its best passage.

    `file` is below the indexed folder, with `/`; the lines count from 1, both inclusive.
    `metadata` is the front matter of the file, `parts` what the score is made of.
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

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON: a session's id under both its names, or not at all."""
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
        }


@dataclass(frozen=True, slots=True)
class Recall:
    """What a recall found, best first; iterates over its results."""

    root: str
    query: str
    depth: str
    results: tuple[Recalled, ...]

    def __iter__(self) -> Any:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def to_dict(self, mode: str = "recall") -> dict[str, Any]:
        """Give the documented JSON."""
        return {
            "root": self.root,
            "query": self.query,
            "depth": self.depth,
            "results": [result.to_dict() for result in self.results],
            "mode": mode,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a search found: its best passage, and how good it is, 1 the best of keywords."""

    path: str
    content: str
    total: float
    metadata: Mapping[str, Any]


def checked_query(query: str) -> str:
    """Give what to search for; InvalidInputError for nothing."""
    if not checked_text(query, "query").strip():
        raise InvalidInputError(
            "there is nothing to search for: the query is blank", code="invalid_option"
        )
    return query


def recall(  # noqa: PLR0913 - what a recall depends on, and nothing else
    index: Index,
    query: str,
    *,
    root: str,
    limit: int,
    depth: str,
    policy: DepthPolicy,
) -> Recall:
    """Search the index and order what is found by all parts of the score."""
    checked_count(limit, "limit")
    found = search(index, query, max(_AT_LEAST, _DEEPER * limit))
    best = max([1.0, *(one.total for one in found)])
    matters = [one.metadata["front_matter"] for one in found]
    temporal = score.temporal_relevance(query, [score.event_time_of(matter) for matter in matters])
    tokens = query_tokens(query)
    results = [
        _recalled(one, query, tokens, depth, policy, retrieval=one.total / best, temporal=when)
        for one, when in zip(found, temporal, strict=True)
    ]
    results.sort(key=lambda result: (-result.score, result.id))
    return Recall(root, query, depth, tuple(results[:limit]))


def search(index: Index, query: str, limit: int) -> list[Found]:
    """Find the files of the best passages, each once."""
    hits = index.search_bm25(query, limit, matching="extended")
    best = max((hit.score for hit in hits), default=0.0)
    found: dict[str, Found] = {}
    for hit in hits:
        if hit.path not in found:
            total = hit.score / best if best > 0 else 0.0
            found[hit.path] = Found(hit.path, hit.content, total, hit.metadata)
    return list(found.values())


def _recalled(  # noqa: PLR0913 - one argument for each thing a score is made of
    found: Found,
    query: str,
    tokens: Sequence[str],
    depth: str,
    policy: DepthPolicy,
    *,
    retrieval: float,
    temporal: float,
) -> Recalled:
    facts = found.metadata
    matter = facts["front_matter"]
    session = session_id_of(matter)
    snippet = cut_snippet(found.content, tokens)
    bucket = bucket_of(found.path, matter)
    start, end = facts["line_start"], facts["line_end"]
    parts = ScoreParts(
        retrieval=score.rounded(max(0.0, retrieval)),
        exact_match=score.rounded(score.exact_match(query, snippet)),
        metadata=score.rounded(score.metadata_match(query, matter)),
        temporal=score.rounded(temporal),
        strength=score.rounded(score.memory_strength(matter)),
        provenance=score.rounded(
            score.provenance_confidence(lines=0 < start <= end, session=session is not None)
        ),
        depth=score.rounded(policy(bucket, depth)),
        retrieval_depth=depth,
        driver=f"keywords:{bucket}",
    )
    return Recalled(
        id=_id_of(found.path, start, end, found.content),
        score=parts.total,
        snippet=snippet,
        file=found.path,
        line_start=start,
        line_end=end,
        session_id=session,
        metadata=matter,
        parts=parts,
    )


def session_id_of(metadata: Mapping[str, Any]) -> str | None:
    """Give the session a memory comes from, under either of its names."""
    for key in ("session_id", "sessionId"):
        value = metadata.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _id_of(path: str, start: int, end: int, content: str) -> str:
    """Name a passage after all that it is, whatever the query."""
    text = f"{path}\n{start}\n{end}\n{content}"
    return "chunk-" + hashlib.sha256(text.encode()).hexdigest()


def _both_names(session: str) -> dict[str, str]:
    return {"sessionId": session, "session_id": session}
