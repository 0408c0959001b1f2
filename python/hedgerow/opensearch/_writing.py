"""Writing chunks: their vectors, their dimension and embedder, and bulk by bulk the documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import islice
from random import random
from time import sleep
from typing import Any

from hedgerow._engine import Chunk
from hedgerow.errors import BackendError, InvalidInputError

from ._client import BUSY, Client, reason_of
from ._documents import Document, blocks, document_name, documents, unit_of
from ._mapping import REEMBED, MappedCollection, check_embedder, described, vector_property

MOST_BYTES = 8 << 20
"""About how large one request is; servers refuse more than 100 MB."""

TRIES = 8
FIRST_WAIT = 0.1
"""Seconds before the second try; each later wait is twice as long, and half of it is random."""
LONGEST_WAIT = 10.0

_SHOWN = 3


@dataclass
class Item:
    """A write: its chunk's id, the action, and the document, None for deleting."""

    id: str
    action: dict[str, Any]
    source: str | None = None

    def lines(self) -> str:
        action = json.dumps(self.action, ensure_ascii=False)
        return f"{action}\n" if self.source is None else f"{action}\n{self.source}\n"


@dataclass
class BulkOutcome:
    """The outcome of the items."""

    done: int = 0
    """How many changed something: of deletions those that found their chunk."""
    conflicts: list[Item] = field(default_factory=list)
    """Those whose chunk was changed by somebody else in between."""


class Bulk:
    """Writes items in requests of a few megabytes; of equal ids only the last may be among them.

    The order of requests is that of the items, and one is done with before the next begins, so
    that trying again never puts an older chunk in the place of a newer one.
    """

    def __init__(self, client: Client, index: str, *, require_alias: bool) -> None:
        """Set up writing. With `require_alias`, writing into a deleted collection fails."""
        self._client = client
        self._path = client.path("/_bulk", of=index)
        self._params = {
            "require_alias": str(require_alias).lower(),
            "filter_path": "items.*.status,items.*.error",
        }

    def write(self, items: Sequence[Item]) -> BulkOutcome:
        """Raises BackendError with all that the server refused for good, or was too busy for."""
        written = BulkOutcome()
        refused: dict[str, str] = {}
        for block in _requests(items):
            waiting, wait = block, FIRST_WAIT
            for attempt in range(1, TRIES + 1):
                waiting, reasons = self._once(waiting, written, refused)
                if not waiting:
                    break
                if attempt == TRIES:
                    refused.update(reasons)
                else:
                    sleep(wait * (0.5 + random() / 2))  # noqa: S311 - so that writers do not meet again
                    wait = min(2 * wait, LONGEST_WAIT)
        if refused:
            raise _refusal(refused, len(items))
        return written

    def _once(
        self, items: list[Item], written: BulkOutcome, refused: dict[str, str]
    ) -> tuple[list[Item], dict[str, str]]:
        """Try once; return the items that may succeed later, each with the reason."""
        body = "".join([item.lines() for item in items])
        try:
            answer = self._client.call("POST", self._path, body, params=self._params)
        except BackendError as error:
            if error.code not in ("backend_unavailable", "backend_timeout"):
                raise
            return items, dict.fromkeys([item.id for item in items], str(error))
        later, reasons = [], {}
        for item, result in zip(items, answer["items"], strict=True):
            (outcome,) = result.values()
            status = outcome["status"]
            if status in BUSY:
                later.append(item)
                reasons[item.id] = reason_of(outcome.get("error"))
            elif status == HTTPStatus.CONFLICT:
                written.conflicts.append(item)
            elif status < HTTPStatus.BAD_REQUEST:
                written.done += 1
            elif status != HTTPStatus.NOT_FOUND or "error" in outcome:
                refused[item.id] = reason_of(outcome.get("error"))
        return later, reasons


def _requests(items: Sequence[Item]) -> list[list[Item]]:
    """The items in blocks of about `MOST_BYTES`."""
    blocks: list[list[Item]] = []
    room = 0
    for item in items:
        size = len(item.source or "") + 200
        if size > room:
            blocks.append([])
            room = MOST_BYTES
        blocks[-1].append(item)
        room -= size
    return blocks


def _refusal(refused: dict[str, str], total: int) -> BackendError:
    shown = "; ".join(f"{id!r}: {reason}" for id, reason in list(refused.items())[:_SHOWN])  # noqa: A001
    more = f"; and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
    return BackendError(
        f"{len(refused):,} of {total:,} chunks were not written ({shown}{more}); the others were, so write "
        "these again once the cause is gone",
        code="bulk_refused",
        refused=refused,
    )


_ROUNDS = 10


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
        for block in blocks(chunks):
            waiting = block
            for _ in range(_ROUNDS):
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
        for block in blocks(chunks):
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


def _mismatch(given: int, wanted: int) -> InvalidInputError:
    return InvalidInputError(
        f"a vector has {given:,} numbers, and those of the collection have {wanted:,}; embed with the same "
        "model",
        code="dimension_mismatch",
        fixes=(REEMBED,),
    )


def _kept_changing(chunks: Sequence[Chunk]) -> BackendError:
    return BackendError(
        f"{len(chunks):,} chunks without embeddings were not written, since somebody else kept changing them "
        f"({chunks[0].id!r} is one); write them again",
        code="bulk_refused",
        refused={chunk.id: "changed meanwhile" for chunk in chunks},
    )
