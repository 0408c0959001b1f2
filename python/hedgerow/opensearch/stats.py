"""Counts of a collection, and the state of its server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._client import Client
    from ._mapping import MappedCollection


@dataclass(frozen=True, slots=True)
class CollectionStats:
    """Counts of a collection (spec/opensearch.md).

    `chunks` counts chunks, `vectors` those that have one, `size_bytes` is the disk of one copy of
    each shard. `index` is the index behind the name, `shards` and `replicas` how it is spread,
    `unassigned` the copies that no node has. `status` is OpenSearch's word: "green" where every
    copy has a place, "yellow" where one of each shard has, "red" where some have none.
    `server_version` is the server's.
    """

    chunks: int
    vectors: int
    size_bytes: int
    tokenizer: str
    schema_version: int
    dimensions: int | None
    embedder: str | None
    vector_search: str
    keyword_search: str
    index: str
    shards: int
    replicas: int
    unassigned: int
    status: str
    server_version: str


def read(client: Client, collection: MappedCollection) -> CollectionStats:
    """Ask the server."""
    health = client.call("GET", f"/_cluster/health{client.path(of=collection.index)}")
    sizes = client.call("GET", client.path("/_stats/store,docs", of=collection.index))
    settings: dict[str, Any] = client.call("GET", client.path("/_settings", of=collection.index))
    index = settings[collection.index]["settings"]["index"]
    with_vector = {"query": {"exists": {"field": "unit"}}}
    kept = collection.settings
    return CollectionStats(
        chunks=client.call("GET", client.path("/_count"))["count"],
        vectors=client.call("POST", client.path("/_count"), with_vector)["count"],
        size_bytes=sizes["_all"]["primaries"]["store"]["size_in_bytes"],
        tokenizer=kept.tokenizer,
        schema_version=kept.schema,
        dimensions=collection.dimensions,
        embedder=kept.embedder,
        vector_search=kept.vectors,
        keyword_search=kept.keywords,
        index=collection.index,
        shards=int(index["number_of_shards"]),
        replicas=int(index["number_of_replicas"]),
        unassigned=health["unassigned_shards"],
        status=health["status"],
        server_version=client.call("GET", "/")["version"]["number"],
    )
