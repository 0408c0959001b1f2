"""What things are called in a memory root (spec/memory.md, "Layout")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CONFIG = "hedgerow.json"
LEGACY_CONFIG = "jumpybrain.json"
DERIVED = ".hedgerow"
AGENTS = "agents"
SCHEMA_VERSION = 1

DIRECTORIES = {
    "note": "notes",
    "session": "sessions",
    "finding": "findings",
    "decision": "decisions",
    "preference": "preferences",
    "page": "pages",
}
"""The types of memories, each with the folder it is written to."""

TEMPORARY_PREFIX = ".hedgerow-"
TEMPORARY_SUFFIX = ".tmp"
"""Around the name of a file that is being written; what a killed process left is removed."""

NODE_TYPES = tuple(kind for kind in DIRECTORIES if kind != "session")
"""The types of nodes that a root has beside those of every store, where sessions are episodic."""

_TYPE_OF_FOLDER = {folder: kind for kind, folder in DIRECTORIES.items()}


def bucket_of(path: str, metadata: Mapping[str, Any]) -> str:
    """Give the bucket of a memory: its stated type, else what its folder stands for.

    A folder with no meaning is a bucket of its own name, and a file at the top one of its own.
    """
    stated = metadata.get("type")
    if isinstance(stated, str) and stated.strip():
        return stated.strip().lower()
    first = path.partition("/")[0]
    return _TYPE_OF_FOLDER.get(first, first)
