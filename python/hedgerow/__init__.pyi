# The public names, each with the module it is imported from when it is first used.

from . import (
    agents as agents,
    embedders as embedders,
    errors as errors,
    fusion as fusion,
    fuzzy as fuzzy,
    memory as memory,
    query as query,
    remote as remote,
    rerankers as rerankers,
    temporal as temporal,
    typing as typing,
)
from ._engine import (
    __version__ as __version__,
    EN_STOPWORDS as EN_STOPWORDS,
    NL_STOPWORDS as NL_STOPWORDS,
    Candidate as Candidate,
    Chunk as Chunk,
    Filters as Filters,
    Hit as Hit,
    Index as Index,
    Node as Node,
    Pipeline as Pipeline,
    Query as Query,
    Store as Store,
    Token as Token,
    TrigramIndex as TrigramIndex,
    compile_fts as compile_fts,
    compile_many as compile_many,
    compile_match as compile_match,
    detect_intent as detect_intent,
    expand_aliases as expand_aliases,
    is_stopword as is_stopword,
    normalise as normalise,
    parse_pipeline as parse_pipeline,
    parse_query as parse_query,
    query_tokens as query_tokens,
    reciprocal_rank_fusion as reciprocal_rank_fusion,
    rerank_text as rerank_text,
    reweight as reweight,
    sanitise_query as sanitise_query,
    slug_text as slug_text,
    strongest_term as strongest_term,
    trigrams as trigrams,
    unanimity as unanimity,
)
from .evaluation import (
    Evaluation as Evaluation,
    evaluate as evaluate,
)
from .aliases import (
    AliasTable as AliasTable,
)
from .embedders import (
    AnyEmbedder as AnyEmbedder,
    AsyncEmbedder as AsyncEmbedder,
    AsyncQueryDocumentEmbedder as AsyncQueryDocumentEmbedder,
    Embedder as Embedder,
    QueryDocumentEmbedder as QueryDocumentEmbedder,
)
from .errors import (
    BackendError as BackendError,
    EngineError as EngineError,
    HedgerowError as HedgerowError,
    IndexFileError as IndexFileError,
    InvalidInputError as InvalidInputError,
    MissingExtraError as MissingExtraError,
    PipelineError as PipelineError,
    QueryTooLargeError as QueryTooLargeError,
    RetrievalError as RetrievalError,
)
from .ingest import (
    IndexReport as IndexReport,
)
from .memory import (
    MemoryRoot as MemoryRoot,
)
from .query import (
    ExplainedWord as ExplainedWord,
    QueryExplanation as QueryExplanation,
    explain_query as explain_query,
)
from .rerankers import (
    AsyncReranker as AsyncReranker,
    RerankDocument as RerankDocument,
    Reranker as Reranker,
    RerankScore as RerankScore,
)
from .results import (
    Attempt as Attempt,
    Deletion as Deletion,
    IndexStats as IndexStats,
    Intent as Intent,
    QueryResult as QueryResult,
    QueryStage as QueryStage,
    Response as Response,
    Trace as Trace,
    TrigramHit as TrigramHit,
    Unanimity as Unanimity,
)
from .ranking import (
    Ranking as Ranking,
)
from .remote import (
    connect as connect,
)
from .retriever import (
    Retriever as Retriever,
)
from .temporal import (
    TemporalExpansion as TemporalExpansion,
    augment_query as augment_query,
    date_search_tokens as date_search_tokens,
    expand_temporal as expand_temporal,
    parse_question_date as parse_question_date,
    reader_today as reader_today,
    resolved_hint_line as resolved_hint_line,
)
from .why_not import (
    LegRank as LegRank,
    WhyNot as WhyNot,
)
