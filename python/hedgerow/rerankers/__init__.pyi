from .base import (
    AnyReranker as AnyReranker,
    AsyncReranker as AsyncReranker,
    best_first as best_first,
    RerankDocument as RerankDocument,
    Reranker as Reranker,
    RerankScore as RerankScore,
    Scores as Scores,
)
from .by_name import reranker_named as reranker_named
from .local import (
    CrossEncoderReranker as CrossEncoderReranker,
    max_sim as max_sim,
    MaxSimReranker as MaxSimReranker,
    OnnxCrossEncoderReranker as OnnxCrossEncoderReranker,
    PairScorer as PairScorer,
    TokenEmbedder as TokenEmbedder,
)
from .frameworks import (
    DocumentCompressor as DocumentCompressor,
    LangChainReranker as LangChainReranker,
    LlamaIndexReranker as LlamaIndexReranker,
    NodePostprocessor as NodePostprocessor,
)
from .inference_server import TEIReranker as TEIReranker
from .llm import LLMReranker as LLMReranker
