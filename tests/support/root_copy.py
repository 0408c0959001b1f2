"""A comparison of a root with a newly indexed copy of its files.

Results and scores must be equal.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import hedgerow as hr
from shrinking import expect


def copied(root: Path, copy: Path) -> None:
    """Copy the files of a root with their times, without derived files."""
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".hedgerow"))


class Question(NamedTuple):
    """The question for both: a query, recall options, the present time, and a memory."""

    query: str
    options: Mapping[str, Any]
    now: datetime
    file: str


def compare_answers(root: hr.MemoryRoot, copy: hr.MemoryRoot, question: Question) -> None:
    """Compare all results of both roots. Raises MismatchError."""
    query, options, now, file = question
    further = {key: value for key, value in options.items() if key != "limit"}
    calls: dict[str, Callable[[hr.MemoryRoot], Any]] = {
        "recall": lambda one: one.recall(query, limit=100, **options),
        "recall of all": lambda one: one.recall(query, limit=3, include_superseded=True),
        "recall of a period": lambda one: one.recall(f"{query} yesterday", question_date=now),
        "recall as of yesterday": lambda one: one.recall(query, as_of="yesterday"),
        "context": lambda one: one.context(query, budget=300, **further),
        "list": lambda one: one.list(limit=1000),
        "superseded": lambda one: one.list(superseded=True),
        "grep": lambda one: one.grep(query.split(maxsplit=1)[0], context=1),
        "audit": lambda one: one.audit(),
        "lint": lambda one: one.process("lint"),
        "dedupe": lambda one: one.process("dedupe"),
        "query": lambda one: _rows(one, "all | sort:priority | select:key,type,weight,timestamp"),
        "search": lambda one: _rows(one, f'search:"{query}" | spread,max_hops=2 | select:key'),
        "graph": lambda one: one.graph(),
    }
    for name, call in calls.items():
        _compare(name, call, root, copy)
    _compare(f"history of {file}", partial(hr.MemoryRoot.history, key=file), root, copy)
    _compare(f"links of {file}", partial(hr.MemoryRoot.links, key=file, hops=2), root, copy)
    _compare(f"diff of {file}", partial(hr.MemoryRoot.diff, key=file), root, copy)
    why_not = partial(hr.MemoryRoot.why_not, query=query, key=file, **options)
    _compare(f"why not {file}", why_not, root, copy)


def _compare(
    name: str, call: Callable[[hr.MemoryRoot], Any], root: hr.MemoryRoot, copy: hr.MemoryRoot
) -> None:
    """Compare the results of a call on both roots."""
    one, other = (_placeless(_outcome(partial(call, each))) for each in (root, copy))
    expect(one, other, f"{name}, and that of a copy")


def _outcome(call: Callable[[], Any]) -> Any:
    """Return a result, or the code of an error."""
    try:
        return call()
    except hr.HedgerowError as error:
        return error.code


def _rows(root: hr.MemoryRoot, pipeline: str) -> Any:
    return root.query(pipeline, now=1_800_000_000).rows


def _placeless(result: Any) -> Any:
    """Return a result without the path of its root."""
    for name in ("root", "source"):
        if hasattr(result, name) and not isinstance(result, str):
            result = replace(result, **{name: ""})
    return result


def compare_files(root: Path, copy: Path) -> None:
    """Compare the content of index and store of both roots. Raises MismatchError."""
    expect(_chunks(root), _chunks(copy), "chunks, and those of a copy")
    one, other = _nodes(root), _nodes(copy)
    expect(one, other, "nodes and edges, and those of a copy")


def _chunks(root: Path) -> list[Any]:
    with hr.Index.open(root / ".hedgerow" / "index.db", read_only=True) as index:
        found = [chunk.to_dict() for chunk in index.chunks()]
    for chunk in found:
        chunk.pop("embedding", None)
        chunk["metadata"].pop("source_file", None)
    return sorted(found, key=lambda chunk: chunk["id"])


def _nodes(root: Path) -> tuple[list[Any], list[Any]]:
    with hr.Store.open(root / ".hedgerow" / "store.db", read_only=True) as store:
        nodes = [
            (node.key, node.type, node.content, node.weight, node.updated_at, node.created_at)
            for node in store
        ]
        return sorted(nodes), sorted(store._edges())
