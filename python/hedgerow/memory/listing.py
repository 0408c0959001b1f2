"""Lists of the memories of a root."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hedgerow._checks import checked_count
from hedgerow._engine import Store
from hedgerow.errors import InvalidInputError

from .marks import SUPERSEDED_BY, SUPERSEDES
from .results import RootGraph
from .texts import Listed, MemoryList


def listed(  # noqa: PLR0913, PLR0917 - what a list depends on
    root: Path,
    store: Store,
    kind: str | None,
    limit: int,
    offset: int,
    graph: RootGraph | None,
    visible: Collection[str] | None,
) -> MemoryList:
    """List nodes, the last changed first; with a graph those alone that it says are superseded.

    Of all nodes, or of those that are `visible`.
    """
    if kind is not None and kind not in store.types:
        raise InvalidInputError(
            f"there are no memories of the type {kind!r}; there are {', '.join(store.types)}",
            code="invalid_option",
        )
    checked_count(limit, "limit")
    checked_count(offset, "offset", least=0)
    chosen = "all" if kind is None else f"all | type:{kind}"
    stages = f"{chosen} | sort:timestamp | select:key,type,timestamp"
    rows = store.query(stages, now=0, within=visible).rows or []
    if graph is not None:
        old = _superseded(graph)
        rows = [row for row in rows if row[0] in old]
    page = rows[offset : offset + limit]
    memories = tuple(Listed(str(key), str(of), int(at)) for key, of, at in page)
    return MemoryList(str(root), len(rows), memories)


def _superseded(graph: RootGraph) -> set[str]:
    """Return the files that a link of front matter says are superseded, on either side of it."""
    by_new = {target for _, target, relation, _ in graph.edges if relation == SUPERSEDES}
    return by_new | {source for source, _, relation, _ in graph.edges if relation == SUPERSEDED_BY}
