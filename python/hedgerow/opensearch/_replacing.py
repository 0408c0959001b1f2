"""Replacing the index behind the name of a collection: by one of this schema, or with new vectors."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from hedgerow.errors import BackendError

from ._client import Client, Deadline
from ._documents import blocks, chunk_of, documents, unit_of
from ._mapping import SCHEMA, MappedCollection, body, described, index_name
from ._point_in_time import PointInTime
from ._writing import Bulk, Item

_log = logging.getLogger("hedgerow.opensearch")

_DAY = 86_400.0  # seconds: for as long as there are chunks to copy


def migrated(client: Client, old: MappedCollection) -> MappedCollection:
    """Copy the collection into an index with the fields of this schema, and describe it.

    Nothing is written into the old index from then on. The next `Collection.open` continues a
    migration that ended early: chunks already copied are skipped.
    """
    target = index_name(client.name)
    new = replace(old, index=target, settings=replace(old.settings, schema=SCHEMA))
    _log.info("migrating the collection %s to schema %d", client.name, SCHEMA)
    client.block_writes(old.index)
    client.refresh()
    _make(client, old, new)
    copied = 0
    with PointInTime(client, old, None, _DAY, allow_partial=False) as moment:
        bulk = Bulk(client, target, require_alias=False)
        for hits in blocks(moment.everything(["id", "unit"])):
            bulk.write(_items(hits, new.settings.tokenizer))
            copied += len(hits)
    client.call("POST", client.path("/_refresh", of=target))
    there = client.call("GET", client.path("/_count", of=target))["count"]
    check_complete(target, there, old.index, copied, "open the collection again")
    return put_in_place(client, old.index, target)


def begun(
    client: Client, old: MappedCollection, embedder: str | None, details: str | None
) -> tuple[Client, MappedCollection]:
    """Create an index for new vectors, under a name of its own, and describe it.

    An earlier one is continued if its vectors are of an embedder of the same name.
    """
    target = _index_after(client.name, old.index)
    own = Client(client.address, f"{target}-new", client.timeout)
    if client.call("HEAD", client.path(of=target), ignore=(404,)):
        found = described(target, client.call("GET", client.path("/_mapping", of=target)))
        if embedder is not None and found.settings.embedder == embedder:
            return own, found
        client.call("DELETE", client.path(of=target))
    settings = replace(old.settings, embedder=embedder, embedder_details=details)
    new = MappedCollection(target, settings, None)
    _make(client, old, new, alias=own.name)
    return own, new


def _index_after(name: str, index: str) -> str:
    """The index that takes the place of this one: NAME-hedgerow-2-2, then NAME-hedgerow-2-3."""
    first = index_name(name)
    number = index.removeprefix(f"{first}-")
    return f"{first}-{int(number) + 1 if number.isdecimal() else 2}"


def _make(
    client: Client, old: MappedCollection, new: MappedCollection, alias: str | None = None
) -> None:
    """Create the new index, with the shards and replicas of the old one, unless there is one already."""
    settings = client.call("GET", client.path("/_settings", of=old.index))
    index = settings[old.index]["settings"]["index"]
    shards, replicas = int(index["number_of_shards"]), int(index["number_of_replicas"])
    wanted = body(new.settings, new.dimensions, shards, replicas)
    if alias is not None:
        wanted["aliases"] = {alias: {}}
    if not client.call("HEAD", client.path(of=new.index), ignore=(404,)):
        client.call("PUT", client.path(of=new.index), wanted, deadline=Deadline(client.timeout))


def check_complete(target: str, there: int, source: str, copied: int, remedy: str) -> None:
    """Raise BackendError unless the target has as many chunks as were copied."""
    if there != copied:
        raise BackendError(
            f"{target!r} has {there:,} chunks and {source!r} has {copied:,}; delete the index {target!r} and "
            f"{remedy}",
            code="backend_refused",
        )


def put_in_place(client: Client, old: str, target: str, *more: dict[str, Any]) -> MappedCollection:
    """Give the name to the index `target`, and delete the old one."""
    # In one step: readers of the name find the old index or the new one, complete.
    add = {"add": {"index": target, "alias": client.name}}
    actions = [add, *more, {"remove_index": {"index": old}}]
    client.call("POST", "/_aliases", {"actions": actions})
    return described(client.name, client.call("GET", client.path("/_mapping")))


def _items(hits: list[dict[str, Any]], tokenizer: str) -> list[Item]:
    chunks = [chunk_of(hit["_source"], unit_of(hit["fields"])) for hit in hits]
    none = {hit["_source"]["id"]: None for hit in hits if hit["_source"].get("vectorless")}
    return [
        Item(document.chunk.id, {"create": {"_id": document.name}}, document.source)
        for document in documents(chunks, tokenizer, none)
    ]
