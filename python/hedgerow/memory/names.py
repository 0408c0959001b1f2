"""Names of files, folders, types and tags in a memory root (spec/memory.md, "Layout", "Tags and aliases")."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from hedgerow._checks import shown
from hedgerow.errors import InvalidInputError

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

LONGEST_NORMALIZED = 512
"""Longer names are compared as they are: normalizing takes the square of a run of accents."""

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


def type_word(text: str) -> str:
    """Return a type as it is compared: in lower case, with `-` for spaces.

    `session` is the word of a root for what nodes call `episodic`.
    """
    word = "-".join(text.lower().split())
    return "session" if word == "episodic" else word


def check_types(types: Collection[str], known: Collection[str]) -> None:
    """Raise InvalidInputError, which names the nearest type, for a type that no memory has."""
    words = sorted({*DIRECTORIES, *known})
    for one in types:
        if one not in words:
            near = get_close_matches(one, words, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InvalidInputError(
                f"there are no memories of the type {shown(one)}; {hint}there are {', '.join(words)}",
                code="invalid_option",
            )


def normalized(name: str) -> str:
    """Return a name in Unicode's form NFC, unless it is longer than any path of a memory."""
    return name if len(name) > LONGEST_NORMALIZED else unicodedata.normalize("NFC", name)


def compared(text: str) -> str:
    """Return a tag to compare: without `#`, in Unicode's form NFC, and without regard to case."""
    return normalized(text.strip().removeprefix("#").strip("/")).casefold()


def separate_tags(tags: Iterable[str]) -> list[str]:
    """Return each tag of a list whose items may be several tags with commas between."""
    parts = (part.strip() for one in tags for part in one.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def mark_of(number: int) -> str:
    """Return the beginning of paths of one of several roots, by its number from 0: `@`, `@@` and so on."""
    return "@" * (number + 1)
