"""The storage of a collection on the server: its settings, its fields, and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from hedgerow.errors import BackendError, Fix, InvalidInputError

SCHEMA = 2
"""The version of the fields; a collection with another is refused, or migrated."""

VECTOR = "vector"

MOST_HITS = 1_000_000
"""The most hits of one request."""

HASHES = 2**31
"""The number of different values of the fields that samples are chosen by."""

_DERIVED = ("tokens", "facts", "length", "unit", "sample", "path_sample")


class Fast(NamedTuple):
    """Kinds of search that may miss some of the best hits."""

    vectors: bool = False
    keywords: bool = False


EXACT = Fast()


@dataclass(frozen=True)
class Settings:
    """The options of a collection, stored in the mapping under `_meta`."""

    tokenizer: str
    stopwords: str
    vectors: Literal["exact", "fast"]
    schema: int = SCHEMA
    embedder: str | None = None
    embedder_details: str | None = None
    keywords: Literal["exact", "fast"] = "exact"

    @property
    def fast(self) -> Fast:
        """Return the fast kinds of search that the collection is built for."""
        return Fast(vectors=self.vectors == "fast", keywords=self.keywords == "fast")

    def meta(self) -> dict[str, Any]:
        """Return the settings as `_meta` has them."""
        return {"hedgerow": asdict(self)}


def body(settings: Settings, dimensions: int | None, shards: int, replicas: int) -> dict[str, Any]:
    """Return the body with which a new index is created."""
    return {
        "settings": {
            "index": {
                "number_of_shards": shards,
                "number_of_replicas": replicas,
                "knn": True,
                **_without_graph(settings),
                # Set explicitly, so that writes are on disk when they are acknowledged, and an
                # index without recent searches is still refreshed.
                "translog": {"durability": "request"},
                "refresh_interval": "1s",
                "max_result_window": MOST_HITS,
                "max_regex_length": 2_000,
                "similarity": {
                    "frequency": {
                        "type": "scripted",
                        "script": {"source": "return query.boost * doc.freq;"},
                    }
                },
            }
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": settings.meta(),
            # Fields derived from the rest are not stored twice.
            "_source": {"excludes": [*_DERIVED, VECTOR]},
            "properties": {
                **_PROPERTIES,
                "tokens": _tokens_property(settings),
                **vector_property(settings, dimensions),
            },
        },
    }


def _without_graph(settings: Settings) -> dict[str, Any]:
    """The setting with which a nearest-neighbor query compares every vector."""
    return {} if settings.fast.vectors else {"knn.advanced.approximate_threshold": -1}


_PROPERTIES: dict[str, Any] = {
    "id": {"type": "keyword"},
    "path": {"type": "keyword"},
    "ordinal": {"type": "long"},
    "length": {"type": "integer"},
    "sample": {"type": "integer", "doc_values": False},
    "path_sample": {"type": "integer", "doc_values": False},
    "facts": {"type": "keyword", "doc_values": False},
    "unit": {"type": "binary", "doc_values": True},
    "vectorless": {"type": "boolean"},
    "chunk": {"type": "object", "enabled": False},
}


def _tokens_property(settings: Settings) -> dict[str, Any]:
    """Return the field of tokens, with a second form for the server's own BM25."""
    words = {"type": "text", "analyzer": "whitespace"}
    kept = {**words, "similarity": "frequency", "norms": False}
    if not settings.fast.keywords:
        return kept
    return {**kept, "fields": {"native": {**words, "index_options": "freqs"}}}


def index_name(name: str, schema: int = SCHEMA) -> str:
    """The index behind the alias of a collection."""
    return f"{name}-hedgerow-{schema}"


def vector_property(settings: Settings, dimensions: int | None) -> dict[str, Any]:
    """The field of vectors, once their dimension is known."""
    if dimensions is None:
        return {}
    # Faiss's is the field that the server can keep without a graph.
    engine = "lucene" if settings.fast.vectors else "faiss"
    method = {"name": "hnsw", "engine": engine, "space_type": "innerproduct"}
    return {VECTOR: {"type": "knn_vector", "dimension": dimensions, "method": method}}


@dataclass(frozen=True)
class MappedCollection:
    """A collection as its mapping describes it; `index` is the name behind its alias."""

    index: str
    settings: Settings
    dimensions: int | None


def described(name: str, answer: Mapping[str, Any]) -> MappedCollection:
    """Read the answer to `GET name/_mapping`; raises BackendError for any other index."""
    indices = list(answer.items())
    meta = indices[0][1]["mappings"].get("_meta", {}).get("hedgerow") if indices else None
    if len(indices) != 1 or not isinstance(meta, dict) or not isinstance(meta.get("schema"), int):
        raise BackendError(
            f"{name!r} is not a collection of hedgerow; give another name, or make one with "
            "Collection.create",
            code="not_a_collection",
        )
    if meta["schema"] > SCHEMA:
        raise BackendError(
            f"the collection {name!r} has schema {meta['schema']}, and this hedgerow knows {SCHEMA}; "
            "upgrade hedgerow",
            code="schema_newer",
        )
    index, found = indices[0]
    vector = found["mappings"].get("properties", {}).get(VECTOR, {})
    known = {key: meta[key] for key in Settings.__dataclass_fields__ if key in meta}
    defaults = {"tokenizer": "porter unicode61", "stopwords": "en+nl", "vectors": "exact"}
    return MappedCollection(index, Settings(**{**defaults, **known}), vector.get("dimension"))


REEMBED = Fix("embed all chunks again", "reembed_collection")
"""The fix of vectors of another embedder."""


def check_embedder(collection: MappedCollection, embedder: str) -> None:
    """Raise InvalidInputError unless this embedder made the vectors, or none is known."""
    known = collection.settings.embedder
    if known not in (None, embedder):
        raise InvalidInputError(
            f"the vectors of the collection are of the embedder {known!r}, not {embedder!r}; use that one",
            code="embedder_mismatch",
            fixes=(REEMBED,),
        )
