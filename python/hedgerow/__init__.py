"""Memory retrieval for Python services.

A small query language and a ranking that explains itself, in one embedded SQLite file, at
Rust speed. Everything public is here; what it means is in the repository's `spec/` folder.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._engine import DEBUG_BUILD, __version__
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

if TYPE_CHECKING:
    from . import agents as agents
    from .memory import MemoryRoot

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


def __getattr__(name: str) -> Any:
    if name == "agents":
        return import_module(".agents", __name__)
    if name != "MemoryRoot":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # What only a root needs is slow to import.
    from .memory import MemoryRoot  # noqa: PLC0415

    return MemoryRoot


if DEBUG_BUILD:
    warnings.warn(
        "hedgerow's engine was built without optimisation and is slow; "
        "build it with `pip install .` or `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )
