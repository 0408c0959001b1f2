"""Running one search for the command line, and all that showing it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from hedgerow import (
    AliasTable,
    Filters,
    Hit,
    Index,
    IndexFileError,
    QueryExplanation,
    explain_query,
)

from .highlight import Highlighter


@dataclass(frozen=True, slots=True)
class Search:
    """One search as it was asked for, with what came of it."""

    db: str
    chunks: int
    limit: int
    operator: str
    matching: str
    filters: Filters
    explanation: QueryExplanation
    hits: list[Hit]
    tags: list[tuple[str, ...]]
    highlighter: Highlighter


def run(  # noqa: PLR0913 - what the user gave, one argument each
    *,
    text: str,
    db: str,
    limit: int,
    aliases: AliasTable | None,
    filters: Filters,
    operator: Any,
    matching: Any,
) -> Search:
    """Search the index at `db`, which must be there."""
    if not os.path.lexists(db):
        raise IndexFileError(
            f"there is no index at {db}; make it with: hedgerow index PATH --db {db}",
            code="index_not_found",
        )
    with Index.open(db, read_only=True) as index:
        explanation = explain_query(
            text,
            aliases,
            tokenizer=index.tokenizer,
            default_operator=operator,
            matching=matching,
        )
        hits = index.search_bm25(
            text,
            limit,
            aliases=aliases,
            filters=filters,
            matching=matching,
            default_operator=operator,
        )
        chunks = [index.get(hit.id) for hit in hits]
        return Search(
            db=db,
            chunks=len(index),
            limit=limit,
            operator=operator,
            matching=matching,
            filters=filters,
            explanation=explanation,
            hits=hits,
            tags=[chunk.tags if chunk else () for chunk in chunks],
            highlighter=Highlighter(
                explanation.match,
                index.tokenizer,
                (text for hit in hits for text in (hit.title, hit.content)),
            ),
        )
