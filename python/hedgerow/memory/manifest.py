"""`index.json`: the documents of a root for other programs (spec/memory.md, "The manifest")."""

from __future__ import annotations

import json
from typing import Any

from hedgerow._engine import Index
from hedgerow.ingest.source import Source, UnreadableSourceError, read_bytes

from . import documents, files, note
from .derived import Derived
from .ledger import Ledger

_VERSION = 1


def write_manifest(derived: Derived) -> None:
    """Write the manifest from what the index holds."""
    known: dict[str, tuple[dict[str, Any], int]] = {}
    with Index.open(derived.index, read_only=True) as index:
        for chunk in index.chunks():
            if chunk.ordinal == 0:
                facts = chunk.metadata
                known[chunk.path] = facts["front_matter"], facts["body_start_line"]
    ledger = Ledger.load(derived.ledger, derived.scope)
    for path in ledger.lines if ledger else ():
        if path not in known and (empty := _read_again(derived, path)):
            known[path] = empty
    value: dict[str, Any] = {"version": _VERSION, "root": str(derived.root)}
    if derived.source_root != derived.root:
        value["sourceRoot"] = str(derived.source_root)
    value["generatedAt"] = note.iso_time(note.now())
    base = str(derived.source_root / "_")[:-1]
    head = json.dumps(value, ensure_ascii=False)
    lines = (
        json.dumps(
            {
                "absolutePath": f"{base}{path}",
                "relativePath": path,
                "frontmatter": fields,
                "bodyStartLine": line,
            },
            ensure_ascii=False,
        )
        for path, (fields, line) in sorted(known.items())
    )
    # A line a document: quick to write, and to look through.
    listed = ",\n".join(lines)
    files.replace(derived.manifest, f'{head[:-1]}, "documents": [\n{listed}\n]}}\n')


def _read_again(derived: Derived, path: str) -> tuple[dict[str, Any], int] | None:
    """Read a document that made no chunk, being empty; None for one that cannot be read."""
    file = str(derived.source_root / path)
    try:
        document = documents.parse_document(path, read_bytes(Source(path, file)))
    except UnreadableSourceError:
        return None
    return document.metadata, document.body_start_line
