"""Adding links to front matter and removing them (spec/memory.md, "Edits")."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hedgerow._checks import checked_text, shown
from hedgerow.errors import HedgerowError, InvalidInputError

from . import edit
from .derived import Derived
from .links import RELATIONS, STATED, Link, leads_to, links_in_fields
from .lock import locked
from .node_state import NodeState

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
        "link",
    ]
)
"""Fields with a meaning of their own, which cannot be relations."""

_RELATION = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_IN_BRACKETS = re.compile(r"[^\[\]|#]+\.md\Z")


def is_relation(name: str) -> bool:
    """Tell whether a key of front matter can be a relation."""
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
    leads = _leads_to(state, a, b, relation)
    with locked(derived.lock):
        edit.change_items(
            derived.source_root / a,
            relation,
            add=[item],
            drop=lambda old: old != item and leads(old),
            root=derived.source_root,
        )
    return a


def written_name(path: str) -> str:
    """Return how a file is named in front matter: in `[[ ]]`, where its path can be written so."""
    return f"[[{path[:-3]}]]" if _IN_BRACKETS.match(path) else path


def unlink(derived: Derived, state: NodeState, a: str, b: str, *, relation: str) -> bool:
    """Remove the links of a relation to `b` from the front matter of `a`; returns whether any was."""
    _check(a, b, relation)
    leads = _leads_to(state, a, b, relation)
    with locked(derived.lock):
        removed = edit.change_items(
            derived.source_root / a, relation, drop=leads, root=derived.source_root
        )
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


def _leads_to(state: NodeState, a: str, b: str, relation: str) -> Callable[[Any], bool]:
    """Return a predicate: whether an item of a relation of `a` is a link to `b`."""
    names = state.names()

    def leads(item: Any) -> bool:
        links, _ = links_in_fields({relation: [item]})
        return any(leads_to(one, a, b, names) for one in links)

    return leads
