"""Setting the marks that say what holds, and taking them back (spec/memory.md, "What holds")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow._checks import checked_text
from hedgerow.errors import HedgerowError, InvalidInputError

from . import note
from .derived import Derived
from .documents import Document, parse_document
from .edit import Change, Edit, planned, with_fields, with_items, without_empty, without_fields
from .linking import written_name
from .links import leads_to, links_in_fields
from .lock import locked
from .marks import REASON, RETRACTED, SUPERSEDED_BY, SUPERSEDES
from .node_state import NodeState


def supersede(derived: Derived, old: str, new: str) -> list[str]:
    """Mark `old` as superseded by `new` in both files; returns those that were changed."""
    if old == new:
        raise InvalidInputError(f"the memory {old!r} cannot supersede itself", code="invalid_edge")
    with locked(derived.lock):
        return _written(
            {
                new: _planned(derived, new, with_items(SUPERSEDES, add=[written_name(old)])),
                old: _planned(derived, old, with_items(SUPERSEDED_BY, add=[written_name(new)])),
            },
        )


def check_markable(derived: Derived, path: str) -> Document:
    """Read a memory that is to be marked; HedgerowError where its front matter cannot be edited."""
    _planned(derived, path, with_items(SUPERSEDED_BY, add=["[[_]]"]))
    return parse_document(path, (derived.source_root / path).read_bytes())


def retract(derived: Derived, path: str, reason: str | None) -> list[str]:
    """Mark a memory as retracted; returns the files that were changed."""
    fields: dict[str, Any] = {RETRACTED: note.iso_time(note.now())}
    said = "" if reason is None else note.one_line(checked_text(reason, "reason"))
    if said:
        fields[REASON] = said
    with locked(derived.lock):
        return _written({path: _planned(derived, path, with_fields(fields))})


def restore(derived: Derived, state: NodeState, path: str, news: Sequence[str]) -> list[str]:
    """Remove the marks by which a memory is retracted or superseded, there and in `news`."""
    names = state.names()

    def leads(item: Any, source: str) -> bool:
        links, _ = links_in_fields({SUPERSEDES: [item]})
        return any(leads_to(one, source, path, names) for one in links)

    with locked(derived.lock):
        own = without_fields((RETRACTED, REASON, SUPERSEDED_BY))
        edits = {path: _planned(derived, path, own)}
        for new in news:
            if new in state.nodes:

                def drop(item: Any, source: str = new) -> bool:
                    return leads(item, source)

                dropped = with_items(SUPERSEDES, drop=drop)
                edits[new] = _planned(derived, new, dropped, without_empty(SUPERSEDES))
        return _written(edits)


def _planned(derived: Derived, path: str, *changes: Change) -> Edit:
    return planned(derived.source_root / path, changes, root=derived.source_root)


def _written(edits: Mapping[str, Edit]) -> list[str]:
    """Write edits that were all checked; the error of one that fails names what was written."""
    changed: list[str] = []
    for path, edit in edits.items():
        try:
            if edit.write():
                changed.append(path)
        except HedgerowError as error:  # noqa: PERF203 - each file by itself
            if not changed:
                raise
            raise HedgerowError(
                f"{error.message}; {', '.join(changed)} was changed before that: run it again",
                code=error.code,
            ) from error
    return changed
