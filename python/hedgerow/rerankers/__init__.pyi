from .base import (
    AsyncReranker as AsyncReranker,
    RerankDocument as RerankDocument,
    Reranker as Reranker,
    RerankScore as RerankScore,
    best_first as best_first,
)
from .by_name import reranker_named as reranker_named
from .cross_encoder import (
    CrossEncoderReranker as CrossEncoderReranker,
    PairScorer as PairScorer,
)
from .inference_server import TEIReranker as TEIReranker
from .llm import LLMReranker as LLMReranker
