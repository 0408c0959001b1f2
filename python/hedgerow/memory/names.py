"""Names of files, folders and types in a memory root (spec/memory.md, "Layout")."""

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
"""The folder that each type of memory is written to."""

TEMPORARY_PREFIX = ".hedgerow-"
TEMPORARY_SUFFIX = ".tmp"
"""Parts of the name of a file that is being written; those of killed processes are removed."""

NODE_TYPES = tuple(kind for kind in DIRECTORIES if kind != "session")
"""The types of nodes of a root, besides those of every store, where sessions are episodic."""

_TYPE_OF_FOLDER = {folder: kind for kind, folder in DIRECTORIES.items()}


def bucket_of(path: str, metadata: Mapping[str, Any]) -> str:
    """Return the bucket of a memory: its type, else the type of its first folder.

    A folder of no type is a bucket of its own name, and so is a file outside of folders.
    """
    stated = metadata.get("type")
    if isinstance(stated, str) and stated.strip():
        return stated.strip().lower()
    first = path.partition("/")[0]
    return _TYPE_OF_FOLDER.get(first, first)
