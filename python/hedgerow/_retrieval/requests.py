"""The options of a search, checked."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hedgerow._checks import checked_count, checked_flag
from hedgerow._engine import SearchOptions
from hedgerow.typing import FiltersLike, Mode, QuestionDate

from .searching import Request, Stages

_LIMIT = 10


def request_of(  # noqa: PLR0913 - the options of a search, each with its default
    stages: Stages,
    queries: Sequence[str],
    dates: Sequence[QuestionDate | None],
    *,
    threads: int,
    mode: Mode = "auto",
    limit: int | None = None,
    offset: int = 0,
    candidates: int | None = None,
    rerank: bool = True,
    rerank_top_n: int = 20,
    skip_retry_ladder: bool = False,
    filters: FiltersLike | None = None,
    group_by: str | None = None,
    asker: str | None = None,
) -> Request:
    """Check the options of `Retriever.search`."""
    for i, query in enumerate(queries):
        if not isinstance(query, str):
            which = "the query" if len(queries) == 1 else f"queries[{i}]"
            raise TypeError(f"{which} must be a str, not {type(query).__name__}")
    if stages.embedder is None and mode in ("semantic", "hybrid"):
        stages.check_may_degrade(mode)
    checked_flag(rerank, "rerank")
    checked_flag(skip_retry_ladder, "skip_retry_ladder")
    head = checked_count(rerank_top_n, "rerank_top_n", least=0)
    reranks = None if stages.reranker is None and rerank else rerank and head > 0
    longest = _count("candidates", candidates, stages.candidates)
    best = _count("limit", limit, _LIMIT)
    skipped = min(checked_count(offset, "offset", least=0), sys.maxsize)
    # A reranker may drop all that it sees; then those behind move up.
    wanted = skipped + best + (head if reranks else 0)
    return Request(
        queries=queries,
        dates=dates,
        options=SearchOptions(
            mode,
            longest,
            min(wanted, sys.maxsize),
            reranks,
            skip_retry_ladder,
            filters,
            group_by,
            asker,
        ),
        embeds=mode != "bm25",
        limit=best,
        offset=skipped,
        rerank_top_n=min(head, sys.maxsize),
        threads=threads,
    )


def _count(name: str, value: int | None, default: int) -> int:
    # A number too large for the machine means all.
    return min(checked_count(default if value is None else value, name), sys.maxsize)
