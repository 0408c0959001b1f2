"""Folders of Markdown: vaults of Obsidian, and the projects of basic-memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import starmap
from pathlib import Path, PurePosixPath
from typing import Any

from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError, list_folder, read_bytes
from hedgerow.memory.documents import Document, memory_rules, parse_document
from hedgerow.memory.edit import Change, ListItems, changed_text
from hedgerow.memory.links import is_relation
from hedgerow.memory.names import DIRECTORIES, TEMPLATES, setting

from .exports import Item, Items

_PASSED_BY = {"other": "not Markdown", "link": "a link"}
_NAMES_OF_TEMPLATES = frozenset({"templates", "template"})
_RELATION = re.compile(r"\s*[-*]\s+(\w[\w -]*)\Z")
_NAME = re.compile(r"[^\[\]|#\n]+")
_MOST_RELATIONS = 100
"""The most relations of a note, each with any number of links, that become front matter."""


def obsidian(source: Path) -> Items:
    """Read the notes of a vault, unchanged, in the folders of the vault."""
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
            links = [ListItems(relation, names) for relation, names in _relations(document).items()]
            text = changed_text(text, document.path, Change(links))
        except HedgerowError:
            # Front matter that is not YAML is kept unchanged; its relations are still links in the
            # text.
            text = "\n".join(document.lines)
        yield Item(permalink or document.path, f"{folder}/{document.path}", text)


def _documents(source: Path) -> Iterator[Document | Skip]:
    """Yield the Markdown files of a folder in path order, and a skip for each other file."""
    if not source.is_dir():
        raise InvalidInputError(
            f"{source} cannot be imported: it is no folder", code="invalid_export"
        )
    listing = list_folder(source, memory_rules((), ()), named=True)
    yield from starmap(Skip, listing.skips)
    for path, code in listing.named:
        if code in _PASSED_BY:
            yield Skip(path, "not_imported", _PASSED_BY[code])
    templates = _template_folders(source)
    for path in sorted(listing.files):
        if _is_template(path, templates):
            yield Skip(path, "not_imported", "it is a template")
            continue
        if path.lower().endswith(".excalidraw.md"):
            yield Skip(path, "not_imported", "it is a drawing")
            continue
        try:
            document = parse_document(path, read_bytes(Source(path, str(source / path))))
        except UnreadableSourceError as error:
            yield Skip(path, error.code, error.reason)
            continue
        if _is_empty(document):
            yield Skip(path, "not_imported", "it is empty")
        else:
            yield document


def _is_empty(document: Document) -> bool:
    """Whether a note has no text, and its front matter none either."""
    stated = document.matter.text("title", "summary", "description")
    return not (document.body.strip() or stated or document.aliases)


def _template_folders(source: Path) -> frozenset[str]:
    """Return the folders of templates that the settings of Obsidian name, in lower case."""
    named = [setting(source, file, key) for file, key in TEMPLATES]
    folders = [one.strip("/ ").casefold() for one in named if isinstance(one, str)]
    return frozenset(one for one in folders if one)


def _is_template(path: str, folders: Collection[str]) -> bool:
    """Whether a note is in a folder of templates, by the settings or by the name of the folder."""
    parents = [str(one).casefold() for one in PurePosixPath(path).parents]
    return any(
        one in folders or one.rpartition("/")[2].strip("_- 0123456789") in _NAMES_OF_TEMPLATES
        for one in parents
    )


def _relations(document: Document) -> dict[str, list[Any]]:
    """Return the links of the lines `- relation [[Name]]` of a note, by relation."""
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
