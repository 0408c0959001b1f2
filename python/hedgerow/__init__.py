"""Memory retrieval for Python services.

A small query language and a ranking that explains itself, in one embedded SQLite file, at
Rust speed. Everything public is here; what it means is in the repository's `spec/` folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _engine, _fork  # noqa: F401  # forks are heeded from the start
from ._engine import __version__
from ._lazy import imported_when_asked_for

if TYPE_CHECKING:
    from . import agents as agents
    from .aliases import AliasTable
    from .embedders import AsyncEmbedder, Embedder
    from .errors import (
        EngineError,
        HedgerowError,
        IndexFileError,
        InvalidInputError,
        MissingExtraError,
        PipelineError,
        QueryTooLargeError,
        RetrievalError,
    )
    from .index import Chunk, Filters, Hit, Index, IndexStats
    from .memory import MemoryRoot
    from .pipeline import Node, Pipeline, QueryResult, QueryStage, Store, parse_pipeline
    from .query import (
        EN_STOPWORDS,
        NL_STOPWORDS,
        ExplainedWord,
        Query,
        QueryExplanation,
        Token,
        compile_fts,
        compile_many,
        compile_match,
        expand_aliases,
        explain_query,
        is_stopword,
        normalise,
        parse_query,
    )
    from .rerankers import RerankDocument, Reranker, RerankScore
    from .results import Response, Trace
    from .retrieval import (
        Candidate,
        Intent,
        TrigramHit,
        TrigramIndex,
        Unanimity,
        detect_intent,
        query_tokens,
        reciprocal_rank_fusion,
        rerank_text,
        reweight,
        sanitise_query,
        slug_text,
        strongest_term,
        trigrams,
        unanimity,
    )
    from .retriever import Retriever
    from .temporal import (
        TemporalExpansion,
        augment_query,
        date_search_tokens,
        expand_temporal,
        parse_question_date,
        reader_today,
        resolved_hint_line,
    )

__all__ = [
    "EN_STOPWORDS",
    "NL_STOPWORDS",
    "AliasTable",
    "AsyncEmbedder",
    "Candidate",
    "Chunk",
    "Embedder",
    "EngineError",
    "ExplainedWord",
    "Filters",
    "HedgerowError",
    "Hit",
    "Index",
    "IndexFileError",
    "IndexStats",
    "Intent",
    "InvalidInputError",
    "MemoryRoot",
    "MissingExtraError",
    "Node",
    "Pipeline",
    "PipelineError",
    "Query",
    "QueryExplanation",
    "QueryResult",
    "QueryStage",
    "QueryTooLargeError",
    "RerankDocument",
    "RerankScore",
    "Reranker",
    "Response",
    "RetrievalError",
    "Retriever",
    "Store",
    "TemporalExpansion",
    "Token",
    "Trace",
    "TrigramHit",
    "TrigramIndex",
    "Unanimity",
    "__version__",
    "augment_query",
    "compile_fts",
    "compile_many",
    "compile_match",
    "date_search_tokens",
    "detect_intent",
    "expand_aliases",
    "expand_temporal",
    "explain_query",
    "is_stopword",
    "normalise",
    "parse_pipeline",
    "parse_query",
    "parse_question_date",
    "query_tokens",
    "reader_today",
    "reciprocal_rank_fusion",
    "rerank_text",
    "resolved_hint_line",
    "reweight",
    "sanitise_query",
    "slug_text",
    "strongest_term",
    "trigrams",
    "unanimity",
]


# Where each name is from. A module is imported when one of its names is first asked for: all of
# them together are slow to import, and no program needs all.
_HOMES = {
    name: module
    for module, names in {
        "agents": "",
        "aliases": "AliasTable",
        "embedders": "AsyncEmbedder Embedder",
        "errors": "EngineError HedgerowError IndexFileError InvalidInputError MissingExtraError "
        "PipelineError QueryTooLargeError RetrievalError",
        "index": "Chunk Filters Hit Index IndexStats",
        "memory": "MemoryRoot",
        "pipeline": "Node Pipeline QueryResult QueryStage Store parse_pipeline",
        "query": "EN_STOPWORDS NL_STOPWORDS ExplainedWord Query QueryExplanation Token compile_fts "
        "compile_many compile_match expand_aliases explain_query is_stopword normalise "
        "parse_query",
        "rerankers": "RerankDocument RerankScore Reranker",
        "results": "Response Trace",
        "retrieval": "Candidate Intent TrigramHit TrigramIndex Unanimity detect_intent "
        "query_tokens reciprocal_rank_fusion rerank_text reweight sanitise_query slug_text "
        "strongest_term trigrams unanimity",
        "retriever": "Retriever",
        "temporal": "TemporalExpansion augment_query date_search_tokens expand_temporal "
        "parse_question_date reader_today resolved_hint_line",
    }.items()
    for name in [module, *names.split()]
}

if not TYPE_CHECKING:
    __getattr__ = imported_when_asked_for(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


if _engine.DEBUG_BUILD:
    import warnings

    warnings.warn(
        "hedgerow's engine was built without optimisation and is slow; "
        "build it with `pip install .` or `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )
