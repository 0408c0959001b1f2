"""`index.json`: the documents of a root for other programs (spec/memory.md, "The manifest")."""

from __future__ import annotations

import json
from typing import Any

from hedgerow._engine import Index
from hedgerow.ingest.ledger import Ledger

from . import files, note
from .derived import Derived

_VERSION = 1


def write_manifest(derived: Derived) -> None:
    """Write the manifest from what the index holds."""
    known: dict[str, tuple[Any, int]] = {}
    with Index.open(derived.index, read_only=True) as index:
        for chunk in index.chunks():
            if chunk.ordinal == 0:
                facts = chunk.metadata
                known[chunk.path] = facts["front_matter"], facts["body_start_line"]
        # A document without any chunk is in the ledger alone.
        for record in Ledger.load(index, derived.scope, facts=True).records():
            if "front_matter" in record.facts:
                matter = record.facts["front_matter"]
                known[record.path] = matter, record.facts["body_start_line"]
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
