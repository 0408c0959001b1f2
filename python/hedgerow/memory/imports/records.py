"""Memories as records: those of mem0, and JSON Lines of any origin."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.ingest.source import Skip
from hedgerow.memory.links import OWN_FIELDS, RELATIONS
from hedgerow.memory.names import DIRECTORIES
from hedgerow.memory.scope import Scope

from .exports import list_in, read_json, read_lines
from .item import Item, Items, Memory, texts_from, time_from

_TEXTS = ("text", "memory", "content")
_SCOPE = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
_READ = frozenset(
    [*_TEXTS, *_SCOPE, "id", "title", "type", "tags", "categories", "scope", "hash"]
) | {"date", "created_at", "updated_at", "metadata", "score"}


def mem0(source: Path) -> Items:
    """Read the JSON of mem0's `get_all`: a list, or an object with `results`."""
    name = source.name or "mem0"
    records = list_in(read_json(source, "memories.json"), source, "results", "memories")
    for at, record in enumerate(records):
        yield _item(record, f"{name}[{at}]", "mem0")


def jsonl(source: Path) -> Items:
    """Read JSON Lines: an object with `text` on each line, and any of the fields of a memory."""
    for number, record in read_lines(source):
        yield record if isinstance(record, Skip) else _item(record, source.name, "jsonl", number)


def _item(record: Any, where: str, tool: str, line: int | None = None) -> Item | Skip:
    is_record = isinstance(record, dict)
    text = next((record[key] for key in _TEXTS if key in record), None) if is_record else None
    if not isinstance(text, str) or not text.strip():
        return Skip(where, "refused", f"it has no {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}", line)
    given = record.get("id")
    own = str(given) if isinstance(given, str | int) and str(given).strip() else ""
    kind, title = record.get("type"), record.get("title")
    created = time_from(record.get("date")) or time_from(record.get("created_at"))
    memory = Memory(
        own or hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        text,
        title if isinstance(title, str) else "",
        kind if isinstance(kind, str) and kind in DIRECTORIES else "note",
        texts_from(record.get("tags")) or texts_from(record.get("categories")),
        created,
        time_from(record.get("updated_at")),
        _scope(record),
        _fields(record),
    )
    try:
        return memory.item(tool)
    except HedgerowError as error:
        return Skip(where, "refused", error.message, line)


def _scope(record: dict[str, Any]) -> Scope:
    ids = {name: record.get(key) for key, name in _SCOPE.items()}
    return Scope.stated(record) or Scope.stated({"scope": ids})


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    """Return further fields of front matter: those that are not read, and what mem0 calls metadata."""
    metadata = record.get("metadata")
    further = {key: value for key, value in record.items() if key not in _READ}
    more = metadata if isinstance(metadata, dict) else {}
    return {
        # JSON has no NaN and no infinity, and Python reads both from it.
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in {**more, **further}.items()
        if key.isidentifier()
        and key not in _READ
        and key not in OWN_FIELDS
        and key not in RELATIONS
        and isinstance(value, str | int | float | bool)
    }
