from .base import (
    AnyReranker as AnyReranker,
    AsyncReranker as AsyncReranker,
    RerankDocument as RerankDocument,
    Reranker as Reranker,
    RerankScore as RerankScore,
    Scores as Scores,
    best_first as best_first,
)
from .by_name import reranker_named as reranker_named
from .cross_encoder import (
    CrossEncoderReranker as CrossEncoderReranker,
    PairScorer as PairScorer,
)
from .frameworks import (
    DocumentCompressor as DocumentCompressor,
    LangChainReranker as LangChainReranker,
    LlamaIndexReranker as LlamaIndexReranker,
    NodePostprocessor as NodePostprocessor,
)
from .inference_server import TEIReranker as TEIReranker
from .late_interaction import (
    MaxSimReranker as MaxSimReranker,
    TokenEmbedder as TokenEmbedder,
    max_sim as max_sim,
)
from .llm import LLMReranker as LLMReranker
from .onnx_cross_encoder import OnnxCrossEncoderReranker as OnnxCrossEncoderReranker
