"""An audit: what in memories needs attention, and the command that mends it (spec/memory.md, "Audit")."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hedgerow.errors import InvalidInputError
from hedgerow.ingest.source import Skip

from . import note
from .derived import Derived
from .documents import Document, memory_rules, parse_document, read_documents
from .duplicates import nearly_same, same, words_of
from .lint import declared_conflicts
from .marks import Marks, findings_of_marks
from .results import Audit, AuditFinding
from .scope import Scope
from .secrets import Secret, find_secrets
from .selection import Selection
from .times import memory_time

RULES: dict[str, str] = {
    "secret": "a text that looks like a key, a token, a password or a card number",
    "empty": "a memory without text",
    "duplicate": "a memory that says the same as an earlier one, or nearly the same",
    "contradiction": "memories whose marks contradict each other",
    "expired": "a memory that is no longer valid",
    "repeated-recall": "a text that a recall printed, or that an earlier memory has",
}
"""The rules, in the order of findings, each with its meaning."""

_CONTRADICTIONS = {"contradiction", "several-successors"}
_QUOTED = re.compile(r"`([^`\n]+)`")
_PRINTED = re.compile(
    r"(?:\[\d{1,4}\] |\d{1,4}\. )\S[^\n]{0,300}\.md:\d+-\d+(?: session=\S{1,200})?(?: score=[\d.]+)?"
    r"(?: \(\d{4}-\d{2}-\d{2}\))?\s*\Z|(?:Prior memory scan for|Related memory for): "
)
"""The head of a passage in the output of `recall`, `context` and `wrapup`."""

_LONG = 200
"""The fewest characters of a paragraph that two memories have by chance at most."""


def audit_root(derived: Derived, scope: Scope = Scope()) -> Audit:  # noqa: B008 - frozen
    """Audit the memories of a scope of a root. Nothing is written."""
    documents, unreadable = read_documents(derived.source_root, derived.rules)
    within = Selection(None, None, 1, scope).in_scope(documents)
    findings = _findings(within, Marks.of_documents(documents, scope), note.now())
    return Audit(str(derived.root), len(within), findings, () if scope else tuple(unreadable))


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
        documents, skips = read_documents(source, memory_rules())
        findings = _findings(documents, Marks.of_documents(documents), note.now())
    else:
        items = list(mem0(source))
        skips = [one for one in items if isinstance(one, Skip)]
        found = [one for one in items if isinstance(one, Item)]
        documents = [parse_document(one.id, one.text.encode()) for one in found]
        # Lines are those of a file that was not written.
        found_in = _findings(documents, Marks.of_documents(documents), note.now())
        findings = tuple(replace(one, line=None) for one in found_in)
    return Audit(str(source), len(documents), findings, tuple(skips))


def _findings(
    documents: Sequence[Document], marks: Marks, now: datetime
) -> tuple[AuditFinding, ...]:
    """Return the findings, rule by rule, each in path order."""
    ordered = sorted(documents, key=lambda document: document.path)
    holding = [one for one in ordered if marks.holds(one.path, now)]
    return (
        *_secrets(ordered),
        *_empty(ordered),
        *_duplicates([one for one in holding if not _is_empty(one)]),
        *_contradictions(ordered, marks, now),
        *_expired(ordered, marks, now),
        *_repeated(holding),
    )


def _secrets(documents: Iterable[Document]) -> Iterator[AuditFinding]:
    for one in documents:
        by_kind: dict[str, list[Secret]] = {}
        for secret in find_secrets("\n".join(one.lines)):
            by_kind.setdefault(secret.kind, []).append(secret)
        for kind, found in by_kind.items():
            start = f" ({found[0].start}…)" if found[0].start else ""
            more = f", and {len(found) - 1} more" if len(found) > 1 else ""
            text = (
                f"looks like it has a secret: {kind}{start}{more}; revoke it, and edit the memory"
            )
            fix = f"hedgerow edit {shlex.quote(one.path)}"
            yield AuditFinding("secret", one.path, text, found[0].line, fix)


def _empty(documents: Iterable[Document]) -> Iterator[AuditFinding]:
    for one in documents:
        if _is_empty(one):
            yield AuditFinding("empty", one.path, "has no text", None, _forget(one.path))


def _is_empty(document: Document) -> bool:
    lines = (line.strip() for line in document.body.split("\n"))
    return all(not line or re.match(r"#{1,6}(?:\s|\Z)", line) for line in lines)


def _duplicates(documents: Sequence[Document]) -> Iterator[AuditFinding]:
    texts = {one.path: words for one in _by_age(documents) if (words := words_of(one.body))}
    copies = {copy: group[0] for group in same(texts) for copy in group[1:]}
    others = {path: words for path, words in texts.items() if path not in copies}
    found = [(copy, first, "says the same as") for copy, first in copies.items()]
    found += [
        (pair.second, pair.first, f"says nearly the same ({pair.likeness:.0%} of the words) as")
        for pair in nearly_same(others)
    ]
    for path, first, says in sorted(found):
        fix = f"hedgerow supersede {shlex.quote(path)} --by {shlex.quote(first)}"
        yield AuditFinding("duplicate", path, f"{says} {first}", None, fix)


def _contradictions(
    documents: Sequence[Document], marks: Marks, now: datetime
) -> Iterator[AuditFinding]:
    said = [
        text for rule, text in findings_of_marks(documents, marks, now) if rule in _CONTRADICTIONS
    ]
    said += [finding.text for finding in declared_conflicts(documents, documents)]
    for text in said:
        named = _QUOTED.search(text)
        file = named[1] if named else ""
        rest = text.removeprefix(f"`{file}`").strip()
        yield AuditFinding("contradiction", file, rest.replace("`", ""))


def _expired(documents: Iterable[Document], marks: Marks, now: datetime) -> Iterator[AuditFinding]:
    for one in documents:
        validity = marks.at(one.path, now)
        if validity.why == "expired":
            since = "" if validity.since is None else f" since {validity.since:%Y-%m-%d}"
            text = f"is no longer valid{since}"
            yield AuditFinding("expired", one.path, text, None, _forget(one.path))


def _repeated(documents: Sequence[Document]) -> Iterator[AuditFinding]:
    paragraphs: dict[str, str] = {}
    found: dict[str, AuditFinding] = {}
    for one in _by_age(documents):
        start = one.matter.body_start
        for number, line in enumerate(one.lines[start:], start=start + 1):
            if _PRINTED.match(line.strip()):
                text = f"repeats the output of a recall: {line.strip()[:80]}"
                fix = f"hedgerow edit {shlex.quote(one.path)}"
                found[one.path] = AuditFinding("repeated-recall", one.path, text, number, fix)
                break
        for number, paragraph in _paragraphs(one):
            first = paragraphs.setdefault(paragraph, one.path)
            if first != one.path and one.path not in found:
                fix = f"hedgerow edit {shlex.quote(one.path)}"
                text = f"repeats a paragraph of {first}"
                found[one.path] = AuditFinding("repeated-recall", one.path, text, number, fix)
    yield from (found[path] for path in sorted(found))


def _paragraphs(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the long paragraphs of a document, each with its first line, from 1."""
    start, lines = 0, list[str]()
    body = document.matter.body_start
    for number, line in enumerate([*document.lines[body:], ""], start=body + 1):
        if line.strip(" \t>"):
            start = start if lines else number
            lines.append(line.strip(" \t>"))
            continue
        text = " ".join(" ".join(lines).split()).casefold()
        if len(text) >= _LONG:
            yield start, text
        lines = []


def _by_age(documents: Iterable[Document]) -> list[Document]:
    """Return documents, the oldest first; those without a time last."""

    def age(one: Document) -> tuple[bool, float, str]:
        time = memory_time(one.path, one.metadata)
        return time is None, 0.0 if time is None else time.timestamp(), one.path

    return sorted(documents, key=age)


def _forget(path: str) -> str:
    return f"hedgerow forget {shlex.quote(path)} --purge"
