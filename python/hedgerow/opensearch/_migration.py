"""Copying a collection of an earlier schema into a new index, behind the same name."""

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
    client.call("PUT", client.path("/_settings", of=old.index), {"index.blocks.write": True})
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
    if there != copied:
        raise BackendError(
            f"{target!r} has {there:,} chunks and {old.index!r} has {copied:,}; delete the index {target!r} and "
            "open the collection again",
            code="backend_refused",
        )
    # In one step: readers of the name find the old index or the new one, complete.
    client.call(
        "POST",
        "/_aliases",
        {
            "actions": [
                {"add": {"index": target, "alias": client.name}},
                {"remove_index": {"index": old.index}},
            ]
        },
    )
    return described(client.name, client.call("GET", client.path("/_mapping")))


def _make(client: Client, old: MappedCollection, new: MappedCollection) -> None:
    """Create the new index, spread like the old one, unless an earlier migration did so."""
    settings = client.call("GET", client.path("/_settings", of=old.index))
    index = settings[old.index]["settings"]["index"]
    shards, replicas = int(index["number_of_shards"]), int(index["number_of_replicas"])
    wanted = body(new.settings, new.dimensions, shards, replicas)
    if not client.call("HEAD", client.path(of=new.index), ignore=(404,)):
        client.call("PUT", client.path(of=new.index), wanted, deadline=Deadline(client.timeout))


def _items(hits: list[dict[str, Any]], tokenizer: str) -> list[Item]:
    chunks = [chunk_of(hit["_source"], unit_of(hit["fields"])) for hit in hits]
    none = {hit["_source"]["id"]: None for hit in hits if hit["_source"].get("vectorless")}
    return [
        Item(document.chunk.id, {"create": {"_id": document.name}}, document.source)
        for document in documents(chunks, tokenizer, none)
    ]
