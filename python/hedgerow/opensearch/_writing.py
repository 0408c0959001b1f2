"""Writing chunks: their vectors, their dimension and embedder, and bulk by bulk the documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from hedgerow._engine import Chunk
from hedgerow.errors import BackendError, InvalidInputError

from ._bulk import Bulk, Item
from ._client import Client
from ._documents import Document, document_name, documents, unit_of
from ._mapping import MappedCollection, check_embedder, described, vector_property

_BLOCK = 500
"""Chunks whose documents are in memory at once."""

_TRIES = 10


@dataclass(frozen=True)
class StoredChunk:
    """The stored chunk of a chunk to be written without an embedding."""

    texts: tuple[str, str, str]
    unit: bytes | None
    vectorless: bool
    version: Mapping[str, int]
    """What tells whether it was changed since."""

    def keeps_vector_of(self, chunk: Chunk) -> bool:
        """Whether there is a vector, or known to be none, and of the texts that the chunk has."""
        known = self.unit is not None or self.vectorless
        return known and self.texts == (chunk.title, chunk.summary, chunk.content)


class Writer:
    """Writes chunks into a collection; `collection` is its state after that."""

    def __init__(
        self,
        client: Client,
        collection: MappedCollection,
        embedder: str | None,
        details: str | None,
    ) -> None:
        self.collection = collection
        self._client = client
        self._embedder = embedder
        self._details = details

    def write(self, chunks: Sequence[Chunk]) -> None:
        """Write chunks of different ids; raises BackendError with the refused ones."""
        self._check_vectors(chunks)
        bulk = Bulk(self._client, self._client.name, require_alias=True)
        for block in _blocks(chunks, _BLOCK):
            waiting = block
            for _ in range(_TRIES):
                stored = self._stored(waiting)
                items = [self._item(each, stored) for each in self._documents(waiting, stored)]
                changed = {item.id for item in bulk.write(items).conflicts}
                waiting = [chunk for chunk in waiting if chunk.id in changed]
                if not waiting:
                    break
            else:
                raise _kept_changing(waiting)

    def unembedded(self, chunks: Sequence[Chunk]) -> list[int]:
        """The positions of the chunks that have no vector, and for which none is kept."""
        found = []
        positions = iter(range(len(chunks)))
        for block in _blocks(chunks, _BLOCK):
            stored = self._stored(block)
            for chunk, position in zip(block, islice(positions, len(block)), strict=True):
                there = stored.get(chunk.id)
                if chunk.embedding is None and not (there and there.keeps_vector_of(chunk)):
                    found.append(position)
        return found

    def _documents(
        self, chunks: Sequence[Chunk], stored: Mapping[str, StoredChunk]
    ) -> list[Document]:
        kept = {
            chunk.id: there.unit
            for chunk in chunks
            if (there := stored.get(chunk.id)) is not None and there.keeps_vector_of(chunk)
        }
        return documents(chunks, self.collection.settings.tokenizer, kept)

    def _item(self, document: Document, stored: Mapping[str, StoredChunk]) -> Item:
        action: dict[str, Any] = {"_id": document.name}
        there = stored.get(document.chunk.id)
        if there is not None:
            # The vector was read: another writer must not have changed it since.
            action.update(there.version)
        return Item(document.chunk.id, {"index": action}, document.source)

    def _stored(self, chunks: Sequence[Chunk]) -> dict[str, StoredChunk]:
        """Return the stored chunks of the chunks without an embedding, by id."""
        ids = [chunk.id for chunk in chunks if chunk.embedding is None]
        if not ids or self.collection.dimensions is None:
            return {}
        self._client.refresh()
        answer = self._client.call(
            "POST",
            self._client.path("/_search"),
            {
                "size": len(ids),
                "query": {"ids": {"values": [document_name(id) for id in ids]}},  # noqa: A001
                "_source": ["id", "chunk.title", "chunk.summary", "chunk.content", "vectorless"],
                "docvalue_fields": ["unit"],
                "seq_no_primary_term": True,
            },
            params={"allow_partial_search_results": "false"},
        )
        return dict(map(_stored, answer["hits"]["hits"]))

    def _check_vectors(self, chunks: Sequence[Chunk]) -> None:
        """Settle dimension and embedder with the first vectors; refuse those of others."""
        found = {len(chunk.embedding or ()) for chunk in chunks} - {0}
        if not found:
            return
        dimensions = self.collection.dimensions
        wanted = min(found) if dimensions is None else dimensions
        if other := found - {wanted}:
            raise _mismatch(min(other), wanted)
        if self._embedder is not None:
            check_embedder(self.collection, self._embedder)
        unnamed = self.collection.settings.embedder is None
        if dimensions is None or (self._embedder is not None and unnamed):
            self._settle(wanted)

    def _settle(self, dimensions: int) -> None:
        """Record dimension and embedder of the first vectors, unless another writer did so before."""
        settings = self.collection.settings
        if self._embedder is not None:
            settings = replace(settings, embedder=self._embedder, embedder_details=self._details)
        wanted = {"_meta": settings.meta(), "properties": vector_property(settings, dimensions)}
        path = self._client.path("/_mapping")
        refused = self._client.call("PUT", path, wanted, ignore=(400,)).get("error")
        self.collection = described(self._client.name, self._client.call("GET", path))
        if self.collection.dimensions is None:
            raise self._client.problem_of({"status": 400, "error": refused})
        if self.collection.dimensions != dimensions:
            raise _mismatch(dimensions, self.collection.dimensions)
        if self._embedder is not None:
            check_embedder(self.collection, self._embedder)


def _stored(hit: Mapping[str, Any]) -> tuple[str, StoredChunk]:
    source = hit["_source"]
    texts = source["chunk"]
    version = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    stored = StoredChunk(
        (texts["title"], texts["summary"], texts["content"]),
        unit_of(hit.get("fields", {})),
        bool(source.get("vectorless")),
        version,
    )
    return source["id"], stored


def _blocks(chunks: Sequence[Chunk], size: int) -> Iterator[Sequence[Chunk]]:
    for at in range(0, len(chunks), size):
        yield chunks[at : at + size]


def _mismatch(given: int, wanted: int) -> InvalidInputError:
    return InvalidInputError(
        f"a vector has {given:,} numbers, and those of the collection have {wanted:,}; embed with the same "
        "model, or make another collection",
        code="dimension_mismatch",
    )


def _kept_changing(chunks: Sequence[Chunk]) -> BackendError:
    return BackendError(
        f"{len(chunks):,} chunks without embeddings were not written, since somebody else kept changing them "
        f"({chunks[0].id!r} is one); write them again",
        code="bulk_refused",
        refused={chunk.id: "changed meanwhile" for chunk in chunks},
    )
