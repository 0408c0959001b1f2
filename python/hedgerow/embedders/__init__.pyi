from .base import (
    AnyEmbedder as AnyEmbedder,
    AsyncEmbedder as AsyncEmbedder,
    AsyncQueryDocumentEmbedder as AsyncQueryDocumentEmbedder,
    Embedder as Embedder,
    Embeddings as Embeddings,
    QueryDocumentEmbedder as QueryDocumentEmbedder,
)
from .by_name import embedder_named as embedder_named
from .installed import InstalledEmbedder as InstalledEmbedder
from .model2vec_static import (
    Model2VecEmbedder as Model2VecEmbedder,
    StaticEncoder as StaticEncoder,
)
from .ollama_server import (
    AsyncOllamaEmbedder as AsyncOllamaEmbedder,
    OllamaEmbedder as OllamaEmbedder,
)
from .onnx_model import OnnxEmbedder as OnnxEmbedder
from .openai_compatible import (
    AsyncOpenAIEmbedder as AsyncOpenAIEmbedder,
    OpenAIEmbedder as OpenAIEmbedder,
)
from .sentence_transformer import (
    SentenceEncoder as SentenceEncoder,
    SentenceTransformerEmbedder as SentenceTransformerEmbedder,
)
from .sparse import (
    IdfQueries as IdfQueries,
    SparseEmbedder as SparseEmbedder,
    SparseVector as SparseVector,
)
from .static_table import StaticEmbedder as StaticEmbedder
