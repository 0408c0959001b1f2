"""Lists of the memories of a root."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hedgerow._engine import Store

from .marks import SUPERSEDED_BY, SUPERSEDES
from .names import check_types, type_word
from .operations import ListRequest
from .results import Listed, MemoryList, RootGraph


def listed(
    root: Path,
    store: Store,
    request: ListRequest,
    graph: RootGraph | None,
    visible: Collection[str] | None,
) -> MemoryList:
    """List nodes, the last changed first; with a graph those alone that it says are superseded.

    Of all nodes, or of those that are `visible`.
    """
    kind = None if request.type is None else type_word(request.type)
    if kind is not None:
        check_types([kind], [type_word(one) for one in store.types])
    node_type = "episodic" if kind == "session" else kind
    chosen = "all" if kind is None else f"all | type:{node_type}"
    stages = f"{chosen} | sort:timestamp | select:key,type,timestamp"
    rows = store.query(stages, now=0, within=visible).rows or []
    if graph is not None:
        old = _superseded(graph)
        rows = [row for row in rows if row[0] in old]
    page = rows[request.offset : request.offset + request.limit]
    memories = tuple(Listed(str(key), type_word(str(of)), int(at)) for key, of, at in page)
    return MemoryList(str(root), len(rows), memories)


def _superseded(graph: RootGraph) -> set[str]:
    """Return the files that a link of front matter says are superseded, on either side of it."""
    by_new = {target for _, target, relation, _ in graph.edges if relation == SUPERSEDES}
    return by_new | {source for source, _, relation, _ in graph.edges if relation == SUPERSEDED_BY}
