"""The links of a memory, the files they lead to, and edits of links (spec/memory.md, "Links", "Edits").

Links are in the text, as `[[name]]` or as Markdown links to a file, and in front matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow._checks import checked_text, shown
from hedgerow._engine import FrontMatter, _link_positions, _links_in_fields, _links_in_text, _Names
from hedgerow.errors import HedgerowError, InvalidInputError

from .derived import Derived
from .documents import Document
from .edit import Change, ListItems, planned
from .files import locked
from .names import DERIVED
from .root_files import NodeState

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

_NOT_WALKED = frozenset({".git", DERIVED, "node_modules"})


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


def links_in_fields(matter: FrontMatter) -> tuple[list[Link], list[str]]:
    """Return the links of front matter, and the problems of some."""
    links, problems = _links_in_fields(matter)
    return [Link(*link) for link in links], problems


def links_of(document: Document) -> tuple[tuple[Link, ...], list[str]]:
    """Return the links of a memory, and the problems of some in its front matter."""
    stated, problems = links_in_fields(document.matter)
    return (*stated, *links_in_text(document.body)), problems


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


def leads_to(link: Link, source: str, target: str, names: _Names) -> bool:
    """Return whether a link in the file `source` means another."""
    return names.find(link.target, link.is_path, source) == target


OWN_FIELDS = frozenset(
    [
        "type",
        "title",
        "tags",
        "summary",
        "description",
        "source",
        "provenance",
        "created_at",
        "updated_at",
        "date",
        "confidence",
        "review",
        "weight",
        "category",
        "emotion",
        "last_replayed",
        "replay_interval",
        "valid_from",
        "valid_until",
        "retracted",
        "retraction_reason",
        "stale_after",
        "scope",
        "import_id",
        "import_digest",
        "topic",
        "recall_topic",
        "written_by",
        "link",
    ]
)
"""Fields with a meaning of their own, which cannot be relations."""

_RELATION = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_IN_BRACKETS = re.compile(r"[^\[\]|#]+\.md\Z")


def is_relation(name: str) -> bool:
    """Return whether a key of front matter can be a relation."""
    return bool(_RELATION.match(name)) and name not in OWN_FIELDS


def link(  # noqa: PLR0913 - the parts of a link
    derived: Derived, state: NodeState, a: str, b: str, *, strength: float, relation: str
) -> str:
    """Write a link from `a` to `b` into the front matter of `a`; returns its path."""
    _check(a, b, relation)
    is_number = isinstance(strength, int | float) and not isinstance(strength, bool)
    if not is_number or not 0 < strength <= 1:
        raise InvalidInputError(
            f"the strength must be above 0 and at most 1, not {shown(strength)}",
            code="invalid_edge",
        )
    name = written_name(b)
    if relation not in RELATIONS and not name.startswith("[["):
        raise InvalidInputError(
            f"the name {b!r} cannot be written in [[ ]]; use one of the relations "
            f"{', '.join(RELATIONS)}",
            code="invalid_edge",
        )
    item: Any = name if strength == STATED else {"to": name, "strength": float(strength)}
    leads = leads_of(state, a, b, relation)
    items = ListItems(relation, [item], lambda old: old != item and leads(old))
    with locked(derived.lock):
        planned(derived.source_root, a, Change([items])).write()
    return a


def written_name(path: str) -> str:
    """Return how a file is named in front matter: in `[[ ]]`, where its path can be written so."""
    return f"[[{path[:-3]}]]" if _IN_BRACKETS.match(path) else path


def unlink(derived: Derived, state: NodeState, a: str, b: str, *, relation: str) -> bool:
    """Remove the links of a relation to `b` from the front matter of `a`; returns whether any was."""
    _check(a, b, relation)
    items = ListItems(relation, drop=leads_of(state, a, b, relation))
    with locked(derived.lock):
        removed = planned(derived.source_root, a, Change([items])).write()
    in_text = [Link(*one) for one in state.nodes.links(a) if one[1] == "link"]
    if not removed and any(leads_to(one, a, b, state.names()) for one in in_text):
        raise HedgerowError(
            f"the link from {a} to {b} is in the text of {a}; remove it there",
            code="invalid_edge",
        )
    return removed


def _check(a: str, b: str, relation: str) -> None:
    if a == b:
        raise InvalidInputError(f"the memory {a!r} cannot be linked to itself", code="invalid_edge")
    if not is_relation(checked_text(relation, "rel")):
        raise InvalidInputError(
            f"the relation must be a key of front matter that has no other meaning, such as "
            f"{', '.join(RELATIONS)}; not {relation!r}",
            code="invalid_edge",
        )


def leads_of(state: NodeState, a: str, b: str, relation: str) -> Callable[[Any], bool]:
    """Return a predicate: whether an item of a relation of `a` is a link to `b`."""
    names = state.names()

    def leads(item: Any) -> bool:
        links, _ = links_in_fields(FrontMatter({relation: [item]}))
        return any(leads_to(one, a, b, names) for one in links)

    return leads
