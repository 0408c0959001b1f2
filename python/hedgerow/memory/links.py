"""The links of a memory, the files they lead to, and edits of links (spec/memory.md, "Links", "Edits").

Links are in the text, as `[[name]]` or as Markdown links to a file, and in front matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hedgerow._engine import FrontMatter, _links_in_fields, _Names
from hedgerow.errors import HedgerowError, InvalidInputError

from .derived import Derived
from .edit import Change, ListItems, planned
from .files import locked
from .names import DERIVED
from .operations import LinkRequest
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

_NOT_WALKED = frozenset({".git", DERIVED, "node_modules"})


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


def link(derived: Derived, state: NodeState, a: str, b: str, request: LinkRequest) -> None:
    """Write a link from `a` to `b` into the front matter of `a`."""
    relation, strength, name = request.rel, request.strength, written_name(b)
    _check(a, b, relation)
    if relation not in RELATIONS and not name.startswith("[["):
        raise InvalidInputError(
            f"the name {b!r} cannot be written in [[ ]]; use one of the relations "
            f"{', '.join(RELATIONS)}",
            code="invalid_edge",
        )
    item: Any = name if strength == 1 else {"to": name, "strength": float(strength)}
    leads = leads_of(state, a, b, relation)
    items = ListItems(relation, [item], lambda old: old != item and leads(old))
    with locked(derived.lock):
        planned(derived.source_root, a, Change([items])).write()


def written_name(path: str) -> str:
    """Return how a file is named in front matter: in `[[ ]]`, where its path can be written so."""
    return f"[[{path[:-3]}]]" if _IN_BRACKETS.match(path) else path


def unlink(derived: Derived, state: NodeState, a: str, b: str, *, relation: str) -> bool:
    """Remove the links of a relation to `b` from the front matter of `a`; returns whether any was."""
    _check(a, b, relation)
    items = ListItems(relation, drop=leads_of(state, a, b, relation))
    with locked(derived.lock):
        removed = planned(derived.source_root, a, Change([items])).write()
    names, links = state.names(), state.nodes.links(a)
    is_in_text = any(
        kind == "link" and names.find(target, is_path, a) == b for target, kind, _, is_path in links
    )
    if not removed and is_in_text:
        raise HedgerowError(
            f"the link from {a} to {b} is in the text of {a}; remove it there",
            code="invalid_edge",
        )
    return removed


def _check(a: str, b: str, relation: str) -> None:
    if a == b:
        raise InvalidInputError(f"the memory {a!r} cannot be linked to itself", code="invalid_edge")
    if not is_relation(relation):
        raise InvalidInputError(
            f"the relation must be a key of front matter that has no other meaning, such as "
            f"{', '.join(RELATIONS)}; not {relation!r}",
            code="invalid_edge",
        )


def leads_of(state: NodeState, a: str, b: str, relation: str) -> Callable[[Any], bool]:
    """Return a predicate: whether an item of a relation of `a` is a link to `b`."""
    names = state.names()

    def leads(item: Any) -> bool:
        links, _ = _links_in_fields(FrontMatter({relation: [item]}))
        return any(names.find(target, False, a) == b for target, *_ in links)

    return leads
