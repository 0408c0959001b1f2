"""Lists of the memories of a root."""

from __future__ import annotations

from pathlib import Path

from .marks import SUPERSEDED_BY, SUPERSEDES
from .names import check_types, type_word
from .operations import ListRequest
from .recall import Moment, Wanted
from .results import Listed, MemoryList, RootGraph
from .session import Session


def listed(root: Path, session: Session, request: ListRequest, time: Moment) -> MemoryList:
    """List memories, the last changed first, each as it is at a time."""
    store, visible = session.store(), session.visible()
    kind = None if request.type is None else type_word(request.type)
    if kind is not None:
        check_types([kind], [type_word(one) for one in store.types])
    node_type = "episodic" if kind == "session" else kind
    chosen = "all" if kind is None else f"all | type:{node_type}"
    stages = f"{chosen} | sort:timestamp | select:key,type,timestamp"
    rows = store.query(stages, now=0, within=visible).rows or []
    if request.superseded:
        old = _superseded(session.graph())
        rows = [row for row in rows if row[0] in old]
    if wanted := Wanted.of((), request.tags, request.written_by, None, None, time.now):
        passing = session.passing(wanted)
        rows = [row for row in rows if row[0] in passing]
    marks = session.marks()
    for why in [name for name in ("retracted", "expired") if getattr(request, name)]:
        rows = [row for row in rows if time.validity(marks, str(row[0])).why == why]
    page = rows[request.offset : request.offset + request.limit]
    titles = session.titles(str(key) for key, _, _ in page)

    def one(file: str, of: str, timestamp: int) -> Listed:
        title, validity = titles.get(file, ""), time.validity(marks, file)
        return Listed(file, type_word(of), timestamp, title, validity)

    memories = tuple(one(str(key), str(of), int(at)) for key, of, at in page)
    return MemoryList(str(root), len(rows), memories)


def _superseded(graph: RootGraph) -> set[str]:
    """Return the files that a link of front matter says are superseded, on either side of it."""
    by_new = {target for _, target, relation, _ in graph.edges if relation == SUPERSEDES}
    return by_new | {source for source, _, relation, _ in graph.edges if relation == SUPERSEDED_BY}
