"""The links of a memory, and the files they lead to (spec/memory.md, "Links").

Links are in the text, as `[[name]]` or as Markdown links to a file, and in front matter.
"""

from __future__ import annotations

import os
import re
import reprlib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow._engine import _link_positions, _links_in_text, _Names

from .documents import Document
from .names import DERIVED

RELATIONS: tuple[str, ...] = (
    "related",
    "links",
    "supersedes",
    "superseded_by",
    "derived_from",
    "conflicts_with",
)
"""Keys of front matter whose values are paths or names; under other keys only `[[name]]` links."""

IN_TEXT = 0.7
STATED = 1.0
"""The strength of a link in the text, and of one in front matter."""

MOST_STATED = 256 * 1024
"""The most characters of front matter that are read for links. Aliases, which count each time they
are used, can make much of little."""

LONGEST_NORMALIZED = 512
"""Longer names are compared as they are: normalizing takes the square of a run of accents."""

WIKILINK = re.compile(r"\[\[([^\[\]|#\n]*)(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
NO_TEXT = "\0"
_TOO_MUCH = (
    f"the links of front matter are read from {MOST_STATED:,} characters, with aliases written "
    "out; the links after these are left out"
)
_NOT_WALKED = frozenset({".git", DERIVED, "node_modules"})

# `repr` would write out the value of every alias.
_shown = reprlib.Repr()
_shown.maxlevel = 1


class Link(NamedTuple):
    """One link as it is written; with `is_path` it is relative to the folder of its file."""

    target: str
    relation: str
    strength: float
    is_path: bool = False


class LinkPosition(NamedTuple):
    """A name or a destination in a source: `start` and `end` count bytes of UTF-8.

    `target` is its text without escapes; `is_path` is false for a `[[name]]`.
    """

    start: int
    end: int
    target: str
    is_path: bool


def links_in_text(text: str) -> list[Link]:
    """Return the links of a Markdown text, in order, without those in code and comments."""
    return [Link(target, "link", IN_TEXT, is_path) for target, is_path in _links_in_text(text)]


def link_positions(text: str) -> tuple[list[LinkPosition], list[str]]:
    """Return the positions of the links of a Markdown text in order, and the paths in its HTML.

    Links to images and attachments count too; none in code, comments and escapes.
    """
    links, html_paths = _link_positions(text)
    return [LinkPosition(*link) for link in links], html_paths


def wikilinks(text: str) -> list[str]:
    """Return the names in the `[[name#heading|alias]]` of a text; a heading alone has none."""
    names = (found[1].strip() for found in WIKILINK.finditer(text))
    return [name for name in names if name and NO_TEXT not in name]


def links_in_fields(fields: Mapping[str, Any]) -> tuple[list[Link], list[str]]:
    """Return the links of front matter, and the problems of some."""
    links: list[Link] = []
    problems: list[str] = []
    left = MOST_STATED
    for key, value in fields.items():
        for item in _items(value):
            strength = STATED
            if isinstance(item, Mapping) and (key in RELATIONS or "to" in item):
                item, strength, problem = _weighted(item)  # noqa: PLW2901
                if problem:
                    problems.append(f"{key}: {problem}")
            left -= 1 + (len(item) if isinstance(item, str) else 0)
            if left < 0:
                problems.append(f"{key}: {_TOO_MUCH}")
                return links, problems
            if not isinstance(item, str):
                continue
            names = wikilinks(item)
            if not names and key in RELATIONS and item.strip() and not _SCHEME.match(item):
                names = [item.strip()]
            links.extend(Link(name, key, strength) for name in names)
    return links, problems


def links_of(document: Document) -> tuple[tuple[Link, ...], list[str]]:
    """Return the links of a memory, and the problems of some in its front matter."""
    stated, problems = links_in_fields(document.matter.fields)
    return (*stated, *links_in_text(document.body)), problems


def unresolved_links(documents: Sequence[Document], base: Path) -> list[tuple[str, str]]:
    """Return (file, target) of the links that lead to no file below `base`, each once."""
    names = _Names([(one.path, one.title, one.aliases) for one in documents])
    missing = [
        (document.path, target)
        for document in documents
        for target in dict.fromkeys(
            link.target
            for link in links_of(document)[0]
            if names.find(link.target, link.is_path, document.path) is None
        )
    ]
    return without_attachments(missing, base)


def without_attachments(missing: Sequence[tuple[str, str]], base: Path) -> list[tuple[str, str]]:
    """Drop the links (file, target) that lead to a file below `base` that is no memory."""
    if not missing:
        return []
    files = _Names([(path, "", ()) for path in _attachments(base)])
    return [
        (source, target) for source, target in missing if files.find(target, False, source) is None
    ]


def _attachments(base: Path) -> Iterator[str]:
    """Yield the paths below a folder of all files that are not Markdown, but those of tools."""
    for folder, folders, names in os.walk(base):
        folders[:] = [name for name in folders if name not in _NOT_WALKED]
        prefix = "" if folder == str(base) else f"{os.path.relpath(folder, base)}/"
        for name in names:
            if not name.lower().endswith(".md"):
                yield (prefix + name).replace(os.sep, "/")


def _items(value: Any) -> Iterator[Any]:
    """Yield the items of a value; YAML reads an unquoted `[[name]]` as a list in a list."""
    if not isinstance(value, list):
        yield value
        return
    for item in value:
        if isinstance(item, list) and len(item) == 1 and isinstance(item[0], str):
            yield f"[[{item[0]}]]"
        else:
            yield item


def _weighted(item: Mapping[Any, Any]) -> tuple[Any, float, str]:
    """Return target and strength of `{to: NAME, strength: S}`, and the problem with it."""
    strength = item.get("strength", STATED)
    is_number = isinstance(strength, int | float) and not isinstance(strength, bool)
    if not isinstance(item.get("to"), str):
        return None, STATED, "a link with a strength is written {to: NAME, strength: 0.5}"
    if not is_number or not 0 < strength <= 1:
        given = _shown.repr(strength)
        problem = f"strength must be above 0 and at most 1, not {given}; {STATED} is used"
        return item["to"], STATED, problem
    return item["to"], float(strength), ""


def normalized(name: str) -> str:
    """Return a name in Unicode's form NFC, unless it is longer than any path of a memory."""
    return name if len(name) > LONGEST_NORMALIZED else unicodedata.normalize("NFC", name)


def leads_to(link: Link, source: str, target: str, names: _Names) -> bool:
    """Tell whether a link in the file `source` means another."""
    return names.find(link.target, link.is_path, source) == target
