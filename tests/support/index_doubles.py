"""Chunks for tests of an index, and shared helpers for files and hits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import hedgerow as hr

# Every field has a value, and metadata has one of each kind.
FULL = hr.Chunk(
    "hedgehog-1",
    "notes/hedgehog.md",
    "Hedgehogs sleep in winter.",
    title="The hedgehog",
    summary="On hibernation",
    tags=("garden animals", "winter"),
    metadata={
        "big": 2**64 - 1,
        "low": -(2**63),
        "third": 0.1 + 0.2,
        "whole": 1.0,
        "none": None,
        "yes": True,
        "list": [1, [2, {"deep": "é"}]],
        "nul": "a\0b",
    },
    ordinal=3,
)


def chunk(name: str, content: str = "", **fields: Any) -> hr.Chunk:
    return hr.Chunk(name, fields.pop("path", f"notes/{name}.md"), content, **fields)


def embedded(name: str, embedding: Any = None, path: str = "p", **fields: Any) -> hr.Chunk:
    """Return a chunk with a vector, or without one."""
    fields.setdefault("content", f"the text of {name}")
    return hr.Chunk(name, path, embedding=embedding, **fields)


def ids(hits: list[hr.Hit]) -> list[str]:
    return [hit.id for hit in hits]


def run_sql(path: Path, sql: str) -> None:
    """Change a file in a separate process. The index must be closed."""
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
    subprocess.run([sys.executable, "-c", program, str(path), sql], check=True)


def without_ledger(path: Path) -> None:
    """Turn a file into one of format 4, which had no ledger."""
    run_sql(
        path,
        "DROP TABLE subjects; DROP TABLE sources; DROP TABLE source_chunks;"
        "DROP TABLE staged_embeddings; DROP TABLE metadata_keys; DROP TABLE metadata_values;"
        "DROP TABLE IF EXISTS edge_changes;"
        "DELETE FROM settings WHERE name LIKE 'sync_%' OR name = 'sources_generation';"
        "PRAGMA user_version = 4",
    )


def without_its_full_text(path: Path, chunks: list[hr.Chunk]) -> Path:
    """Return a file with these chunks whose full-text index is broken."""
    with hr.Index.open(path) as index:
        index.upsert(chunks)
    run_sql(path, "PRAGMA writable_schema=ON; DELETE FROM knowledge_fts_data;")
    return path
