"""Counts of a collection, and the state of its server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow._engine import _unit_vector

from ._documents import chunk_of, length_of, unit_of
from ._mapping import MappedCollection, body

if TYPE_CHECKING:
    from ._client import Client
    from ._point_in_time import PointInTime


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


def stats_of(client: Client, collection: MappedCollection) -> CollectionStats:
    """Return the counts and the state that the server reports."""
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


def problems(
    found: MappedCollection, mappings: dict[str, Any], stats: CollectionStats, moment: PointInTime
) -> list[str]:
    """A sentence for each thing that is wrong with a collection."""
    return [
        *_copies(stats),
        *_fields(found, mappings),
        *_chunks(moment, found.settings.tokenizer, found.dimensions),
    ]


def _copies(stats: CollectionStats) -> Iterator[str]:
    if stats.unassigned:
        copies = "copy of a shard has" if stats.unassigned == 1 else "copies of shards have"
        yield (
            f"{stats.unassigned} {copies} no node (status {stats.status}); start the missing nodes, "
            "or lower the number of replicas"
        )


def _fields(found: MappedCollection, mappings: dict[str, Any]) -> Iterator[str]:
    """Yield settings of the server that differ from ours."""
    wanted = body(found.settings, found.dimensions, 1, 0)["mappings"]["properties"]
    for name, settings in wanted.items():
        kept = {"type": "object", **mappings.get("properties", {}).get(name, {})}
        for key, value in settings.items():
            if not _has(kept.get(key), value):
                yield (
                    f"the field {name!r} has {key} {kept.get(key)!r} instead of {value!r}; copy the "
                    "chunks into a new collection"
                )


def _has(kept: Any, wanted: Any) -> bool:
    """Whether a setting is there; the server writes some as text, and adds others."""
    if isinstance(wanted, dict):
        return isinstance(kept, dict) and all(_has(kept.get(key), wanted[key]) for key in wanted)
    return str(kept).lower() == str(wanted).lower()


def _chunks(moment: PointInTime, tokenizer: str, dimensions: int | None) -> Iterator[str]:
    for hit in moment.everything(["id", "length", "unit"]):
        fields = hit["fields"]
        unit = unit_of(fields)
        chunk = chunk_of(hit["_source"])
        problem = _vector_problem(unit, dimensions)
        if length_of(chunk, tokenizer) != fields["length"][0]:
            problem = "is indexed with other tokens than its texts have"
        if problem:
            yield f"the chunk {chunk.id!r} {problem}; write it again"


def _vector_problem(unit: bytes | None, dimensions: int | None) -> str:
    if unit is None:
        return ""
    numbers: Any = memoryview(unit).cast("f") if len(unit) % 4 == 0 else ()
    if len(numbers) != dimensions:
        return f"has a vector of {len(numbers)} numbers, not {dimensions}"
    return "" if _unit_vector(numbers) == unit else "has a vector whose length is not 1"
