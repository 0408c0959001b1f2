from .base import (
    AnyEmbedder as AnyEmbedder,
    AsyncEmbedder as AsyncEmbedder,
    AsyncQueryDocumentEmbedder as AsyncQueryDocumentEmbedder,
    Embedder as Embedder,
    Embeddings as Embeddings,
    QueryDocumentEmbedder as QueryDocumentEmbedder,
)
from .by_name import embedder_named as embedder_named
from .local import InstalledEmbedder as InstalledEmbedder
from .local import (
    Model2VecEmbedder as Model2VecEmbedder,
    StaticEncoder as StaticEncoder,
)
from .served import (
    AsyncOllamaEmbedder as AsyncOllamaEmbedder,
    OllamaEmbedder as OllamaEmbedder,
)
from .local import OnnxEmbedder as OnnxEmbedder
from .served import (
    AsyncOpenAIEmbedder as AsyncOpenAIEmbedder,
    OpenAIEmbedder as OpenAIEmbedder,
)
from .local import (
    SentenceEncoder as SentenceEncoder,
    SentenceTransformerEmbedder as SentenceTransformerEmbedder,
)
from .sparse import (
    IdfQueries as IdfQueries,
    SparseEmbedder as SparseEmbedder,
    SparseVector as SparseVector,
)
from .local import StaticEmbedder as StaticEmbedder
