"""Folders of Markdown: vaults of Obsidian, and the projects of basic-memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.discovery import list_folder
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError, read_bytes
from hedgerow.memory.documents import Document, memory_rules, parse_document
from hedgerow.memory.edit import changed_text, with_items
from hedgerow.memory.linking import is_relation
from hedgerow.memory.names import DIRECTORIES

from .item import Item, Items

_PASSED_BY = {"other": "it is no Markdown", "link": "it is a link"}
_RELATION = re.compile(r"\s*[-*]\s+(\w[\w -]*)\Z")
_NAME = re.compile(r"[^\[\]|#\n]+")
_MOST_RELATIONS = 100
"""The most relations of a note, each with any number of links, that become front matter."""


def obsidian(source: Path) -> Items:
    """Read the notes of a vault, each as it is, in the folders of the vault."""
    for document in _documents(source):
        if isinstance(document, Skip):
            yield document
        else:
            yield Item(document.path, f"notes/{document.path}", "\n".join(document.lines))


def basic_memory(source: Path) -> Items:
    """Read the notes of a project; their relations become links of front matter as well."""
    for document in _documents(source):
        if isinstance(document, Skip):
            yield document
            continue
        stated = document.matter.text("type")
        folder = DIRECTORIES.get(stated, "notes")
        permalink = document.matter.text("permalink")
        text = "\n".join(document.lines)
        try:
            links = _relations(document).items()
            changes = [with_items(relation, add=names) for relation, names in links]
            text = changed_text(text, document.path, changes)
        except HedgerowError as error:
            yield Skip(document.path, "bad_front_matter", error.message)
            continue
        yield Item(permalink or document.path, f"{folder}/{document.path}", text)


def _documents(source: Path) -> Iterator[Document | Skip]:
    """Yield the Markdown files of a folder, in path order, and what is none."""
    if not source.is_dir():
        raise InvalidInputError(
            f"{source} cannot be imported: it is no folder", code="invalid_export"
        )
    listing = list_folder(str(source), memory_rules((), ()), named=True)
    yield from listing.skips
    for passed in listing.named:
        if passed.code in _PASSED_BY:
            yield Skip(passed.path, "not_imported", _PASSED_BY[passed.code])
    for path in sorted(listing.files):
        try:
            yield parse_document(path, read_bytes(Source(path, str(source / path))))
        except UnreadableSourceError as error:  # noqa: PERF203 - each file by itself
            yield Skip(path, error.code, error.reason)


def _relations(document: Document) -> dict[str, list[Any]]:
    """Return what the lines `- relation [[Name]]` of a note say, by relation."""
    found: dict[str, list[Any]] = {}
    for line in document.body.split("\n"):
        head, _, tail = line.partition("[[")
        name = _NAME.match(tail)
        # Without the spaces before the brackets: a pattern for both would take quadratic time.
        match = _RELATION.match(head.rstrip()) if name and head[-1:].isspace() else None
        if match and name:
            relation = re.sub(r"[ -]+", "_", match[1].lower())
            if is_relation(relation) and (relation in found or len(found) < _MOST_RELATIONS):
                found.setdefault(relation, []).append(f"[[{name[0].strip()}]]")
    return found
