"""Answers of a server, as the results that were returned there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hedgerow._answers.names import read
from hedgerow.ingest.source import Skip
from hedgerow.memory.config import RootStatus
from hedgerow.memory.marking import Marked
from hedgerow.memory.periods import Period
from hedgerow.memory.process import Processed
from hedgerow.memory.recall import Recall, Recalled
from hedgerow.memory.requests import Request
from hedgerow.memory.results import Remembered, WrappedUp
from hedgerow.memory.score import ScoreParts
from hedgerow.memory.validity import Validity
from hedgerow.results import QueryResult, QueryStage
from hedgerow.trace import Trace

Answer = Mapping[str, Any]


def recall_of(answer: Answer) -> Recall:
    """The recall that was answered."""
    trace = answer.get("trace")
    as_of = answer.get("asOf")
    return Recall(
        answer["root"],
        answer["query"],
        answer["depth"],
        tuple(_recalled(one) for one in answer["results"]),
        _skips(answer),
        tuple(answer.get("notices", ())),
        answer.get("leftOut", {}),
        None if as_of is None else datetime.fromisoformat(as_of),
        Period.from_dict(answer["period"]) if "period" in answer else None,
        None if trace is None else Trace._from_dict(trace),  # noqa: SLF001 - of this package
    )


def validity_of(answer: Answer) -> Validity:
    """Whether a memory holds."""
    return Validity.from_dict(answer)


def marked_of(answer: Answer) -> Marked:
    """The memory that was marked."""
    return Marked._from_dict(answer)  # noqa: SLF001 - of this package


def remembered_of(answer: Answer) -> Remembered:
    """The memory that was written."""
    return Remembered._from_dict(answer)  # noqa: SLF001 - of this package


def wrapped_up_of(answer: Answer) -> WrappedUp:
    """The wrapup that was written."""
    related = answer["relatedMemory"]
    found = None
    if not related["skipped"]:
        found = recall_of({"root": answer["root"], "depth": "normal", **related})
    return WrappedUp(
        answer["root"],
        answer["file"],
        answer["title"],
        answer.get("recallTopic"),
        answer["body"],
        found,
    )


def processed_of(answer: Answer) -> Processed:
    """What was done, or would be."""
    return Processed(
        answer["root"],
        answer["mode"],
        answer["applied"],
        answer.get("topic"),
        tuple(answer["files"]),
        tuple(answer["summary"]),
        _skips(answer),
    )


def status_of(answer: Answer) -> RootStatus:
    """What a root is."""
    refused = [Request(answer["root"], without="", **one) for one in answer.get("notAllowed", ())]
    return RootStatus(
        answer["root"],
        answer.get("configFile"),
        answer["initialized"],
        answer.get("schemaVersion"),
        answer["compatible"],
        answer["message"],
        tuple(refused),
        answer.get("watch"),
    )


def query_result_of(answer: Answer) -> QueryResult:
    """What a pipeline selected."""
    results, columns = answer.get("results"), answer["columns"]
    found = [] if results is None else results
    rows = None if columns is None else [[one[name] for name in columns] for one in found]
    return QueryResult(
        keys=[one["key"] for one in found],
        scores=[one["score"] for one in found],
        count=answer["count"] if results is None else None,
        columns=columns,
        rows=rows,
        pairs=[tuple(pair) for pair in answer["pairs"]],
        warnings=list(answer["warnings"]),
        stale=answer["stale"],
        stages=[QueryStage(**read(stage)) for stage in answer.get("stages", ())],
    )


def files_of(answer: Answer) -> list[str]:
    """The names in a list of memories."""
    return [one["file"] for one in answer["memories"]]


def _recalled(one: Answer) -> Recalled:
    provenance, parts = one["provenance"], one["scoreBreakdown"]
    return Recalled(
        id=one["id"],
        score=one["score"],
        snippet=one["snippet"],
        file=provenance["file"],
        line_start=provenance["lineStart"],
        line_end=provenance["lineEnd"],
        session_id=one.get("session_id"),
        metadata=provenance["metadata"],
        parts=ScoreParts(
            retrieval=parts["retrievalScore"],
            exact_match=parts["exactMatchBoost"],
            metadata=parts["metadataBoost"],
            temporal=parts["temporalRelevance"],
            strength=parts["memoryStrength"],
            provenance=parts["provenanceConfidence"],
            depth=parts["depthPolicyBoost"],
            retrieval_depth=parts["retrievalDepth"],
            driver=parts["driver"],
        ),
        validity=validity_of(one.get("validity", {})),
    )


def _skips(answer: Answer) -> tuple[Skip, ...]:
    return tuple(Skip(**one) for one in answer["unreadable"])
