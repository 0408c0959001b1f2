"""The links of a memory, the marks that say what holds, and edits of both in front matter (spec/memory.md, "Links", "Edits",
"What holds").

Links are in the text, as `[[name]]` or as Markdown links to a file, and in front matter. A mark is a field that says from
when and until when a memory holds, what took its place, or that it was wrong. Nothing is guessed: without a mark, a memory
holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hedgerow._engine import (
    FrontMatter,
    _is_retracted,
    _links_in_fields,
    _Names,
)
from hedgerow._regular_files import read_regular
from hedgerow.errors import HedgerowError, InvalidInputError

from . import files, note
from .derived import Derived
from .documents import Document, parse_document
from .edit import Change, ListItems, data_of, planned
from .files import locked
from .names import DERIVED
from .operations import LinkRequest
from .times import Validity, parse_time
from .view import Marks, View

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
    files = _Names([(path, "", ()) for path in attachments(base)])
    return [
        (source, target) for source, target in missing if files.find(target, False, source) is None
    ]


def attachments(base: Path) -> Iterator[str]:
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


def link(derived: Derived, view: View, a: str, b: str, request: LinkRequest) -> None:
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
    leads = leads_of(view, a, b, relation)
    items = ListItems(relation, [item], lambda old: old != item and leads(old))
    with locked(derived.lock):
        planned(derived.source_root, a, Change([items])).write()


def written_name(path: str) -> str:
    """Return how a file is named in front matter: in `[[ ]]`, where its path can be written so."""
    return f"[[{path[:-3]}]]" if _IN_BRACKETS.match(path) else path


def unlink(derived: Derived, view: View, a: str, b: str, *, relation: str) -> bool:
    """Remove the links of a relation to `b` from the front matter of `a`; returns whether any was."""
    _check(a, b, relation)
    items = ListItems(relation, drop=leads_of(view, a, b, relation))
    with locked(derived.lock):
        removed = planned(derived.source_root, a, Change([items])).write()
    names, links = view.names, view.nodes.links(a)
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


def leads_of(view: View, a: str, b: str, relation: str) -> Callable[[Any], bool]:
    """Return a predicate: whether an item of a relation of `a` is a link to `b`."""
    names = view.names

    def leads(item: Any) -> bool:
        links, _ = _links_in_fields(FrontMatter({relation: [item]}))
        return any(names.find(target, False, a) == b for target, *_ in links)

    return leads


SUPERSEDES, SUPERSEDED_BY = "supersedes", "superseded_by"
RETRACTED, REASON = "retracted", "retraction_reason"


def supersede(derived: Derived, old: str, new: str) -> list[str]:
    """Mark `old` as superseded by `new` in both files; returns those that were changed."""
    if old == new:
        raise InvalidInputError(f"the memory {old!r} cannot supersede itself", code="invalid_edge")
    with locked(derived.lock):
        marks = {
            new: ListItems(SUPERSEDES, [written_name(old)]),
            old: ListItems(SUPERSEDED_BY, [written_name(new)]),
        }
        return _written(derived, {path: Change([items]) for path, items in marks.items()})


def check_no_circle(marks: Marks, old: str, new: str) -> None:
    """Raise InvalidInputError if `old` already supersedes `new`, directly or through others.

    Marks in a circle do not count: all memories in it would hold.
    """
    chain = [new]
    for path in chain:
        chain += [one for one in marks.said_to_supersede(path) if one not in chain]
    if old in chain and old != new:
        raise InvalidInputError(
            f"{old} supersedes {new}, perhaps through others: restore {new} first if it is true again",
            code="invalid_edge",
        )


def check_markable(derived: Derived, path: str) -> Document:
    """Read a memory that is to be marked; HedgerowError where its front matter cannot be edited."""
    planned(derived.source_root, path, Change([ListItems(SUPERSEDED_BY, ["[[_]]"])]))
    return parse_document(path, read_regular(derived.source_root / path))


def retract(derived: Derived, path: str, reason: str | None) -> list[str]:
    """Mark a memory as retracted; returns the files that were changed."""
    fields: dict[str, Any] = {RETRACTED: note.iso_time(note.now())}
    said = "" if reason is None else note.one_line(reason)
    if said:
        fields[REASON] = said
    with locked(derived.lock):
        return _written(derived, {path: Change(fields=fields)})


def restore(
    derived: Derived, view: View, path: str, news: Sequence[str]
) -> tuple[list[str], list[Validity]]:
    """Remove the marks by which a memory is retracted or superseded, there and in `news`.

    Returns the files that were changed, and what each kind of mark said.
    """
    changes = {path: Change(removed=(RETRACTED, REASON, SUPERSEDED_BY))}
    for new in news:
        if new in view.nodes:
            leads = leads_of(view, new, path, SUPERSEDES)
            changes[new] = Change([ListItems(SUPERSEDES, drop=leads, removes_empty=True)])
    with locked(derived.lock):
        before = data_of(derived, path)
        changed = _written(derived, changes)
    return changed, list(_ended(parse_document(path, before).metadata, news))


def _ended(fields: Mapping[str, Any], news: Sequence[str]) -> Iterator[Validity]:
    """Yield each mark in the front matter of a memory that ends it, with the memories that supersede it."""
    if _is_retracted(fields.get(RETRACTED)):
        reason = fields.get(REASON)
        said = note.one_line(reason) if isinstance(reason, str) else None
        yield Validity("retracted", parse_time(fields.get(RETRACTED)), reason=said or None)
    if news or fields.get(SUPERSEDED_BY):
        yield Validity("superseded", by=tuple(news))


def _written(derived: Derived, changes: Mapping[str, Change]) -> list[str]:
    """Write changes, all of which are checked first; returns the files that were changed."""
    edits = {path: planned(derived.source_root, path, one) for path, one in changes.items()}
    changed = {path: edit for path, edit in edits.items() if edit.new != edit.old}
    if changed:
        contents = {edit.path: (edit.new, edit.old) for edit in changed.values()}
        files.update_all(contents, root=derived.source_root)
    return list(changed)
