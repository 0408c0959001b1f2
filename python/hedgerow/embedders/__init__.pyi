from .base import (
    AnyEmbedder as AnyEmbedder,
    AsyncEmbedder as AsyncEmbedder,
    AsyncQueryDocumentEmbedder as AsyncQueryDocumentEmbedder,
    Embedder as Embedder,
    Embeddings as Embeddings,
    QueryDocumentEmbedder as QueryDocumentEmbedder,
)
from .by_name import embedder_named as embedder_named
from .local import (
    InstalledEmbedder as InstalledEmbedder,
    Model2VecEmbedder as Model2VecEmbedder,
    OnnxEmbedder as OnnxEmbedder,
    SentenceEncoder as SentenceEncoder,
    SentenceTransformerEmbedder as SentenceTransformerEmbedder,
    StaticEmbedder as StaticEmbedder,
    StaticEncoder as StaticEncoder,
)
from .served import (
    AsyncOllamaEmbedder as AsyncOllamaEmbedder,
    AsyncOpenAIEmbedder as AsyncOpenAIEmbedder,
    OllamaEmbedder as OllamaEmbedder,
    OpenAIEmbedder as OpenAIEmbedder,
)
