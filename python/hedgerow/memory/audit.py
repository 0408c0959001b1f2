"""An audit: what in memories needs attention, and the command that mends it (spec/memory.md, "Audit")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hedgerow._engine import _Documents
from hedgerow.errors import InvalidInputError
from hedgerow.ingest.source import Skip

from . import note
from .derived import Derived
from .documents import memory_rules, read_documents, unread
from .results import Audit, AuditFinding
from .scope import Scope
from .times import micros_of

RULES: dict[str, str] = {
    "secret": "a text that looks like a key, a token, a password or a card number",
    "empty": "a memory without text",
    "duplicate": "a memory that says the same as an earlier one, or nearly the same",
    "contradiction": "memories whose marks contradict each other",
    "expired": "a memory that is no longer valid",
    "repeated-recall": "a text that a recall printed, or that an earlier memory has",
}
"""The rules, in the order of findings, each with its meaning."""


def audit_root(derived: Derived, scope: Scope = Scope()) -> Audit:  # noqa: B008 - frozen
    """Audit the memories of a scope of a root. Nothing is written."""
    documents = read_documents(derived.source_root, derived.rules, scope)
    unreadable = () if scope else unread(documents)
    return Audit(str(derived.root), len(documents), _findings(documents), unreadable)


def audit_export(source: Path) -> Audit:
    """Audit an export that was not imported: the JSON of mem0, or a folder of Markdown.

    Raises InvalidInputError (`invalid_export`) for a source that cannot be read.
    """
    from .imports.item import Item  # noqa: PLC0415 - slow to import
    from .imports.records import mem0  # noqa: PLC0415

    if not source.exists():
        raise InvalidInputError(
            f"{source}: no such file or folder; name a memory root, a folder of Markdown or the JSON "
            "of mem0",
            code="invalid_export",
        )
    skips: Sequence[Skip]
    if source.is_dir():
        documents = read_documents(source, memory_rules())
        skips = unread(documents)
        findings = _findings(documents)
    else:
        items = list(mem0(source))
        skips = [one for one in items if isinstance(one, Skip)]
        found = [one for one in items if isinstance(one, Item)]
        documents = _Documents.of([(one.id, one.text) for one in found])
        # Lines are those of a file that was not written.
        findings = tuple(replace(one, line=None) for one in _findings(documents))
    return Audit(str(source), len(documents), findings, tuple(skips))


def _findings(documents: _Documents) -> tuple[AuditFinding, ...]:
    """Return the findings, rule by rule, each in path order."""
    return tuple(AuditFinding(*one) for one in documents.audit(micros_of(note.now())))
