"""Working over what a root holds: lint and synthesize, planned or applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InvalidInputError

from . import files, note, synthesize
from .derived import Derived
from .documents import read_documents
from .lint import lint, render_report
from .names import DERIVED
from .scope import Scope

LIMITS = {"lint": 100, "synthesize": 8}
"""The modes, each with how many memories it looks at unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Processed:
    """What a run did, or would do: the files written and a summary in sentences."""

    root: str
    mode: str
    applied: bool
    topic: str | None
    files: tuple[str, ...]
    summary: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON."""
        topic = {} if self.topic is None else {"topic": self.topic}
        return {
            "root": self.root,
            "mode": self.mode,
            "applied": self.applied,
            **topic,
            "files": list(self.files),
            "summary": list(self.summary),
        }


def checked_mode(mode: str) -> str:
    """Give a mode; InvalidInputError for any other word."""
    if mode not in LIMITS:
        raise InvalidInputError(
            f"mode must be one of {', '.join(LIMITS)}, not {mode!r}", code="invalid_option"
        )
    return mode


def run_lint(derived: Derived, scope: Scope, *, apply: bool) -> Processed:
    """Look through the root; write the report when applied."""
    findings = lint(list(read_documents(derived.source_root, derived.rules)), scope)
    time = note.iso_time(note.now())
    name = note.slug(scope.topic or "", "all")
    path = f"{DERIVED}/reports/lint-{time[:10]}-{name}.md"
    count = "1 finding." if len(findings) == 1 else f"{len(findings)} findings."
    if apply:
        files.replace(derived.root / path, render_report(findings, scope.topic, time))
        summary = [count]
    else:
        summary = [count, *(str(finding) for finding in findings)]
    return Processed(str(derived.root), "lint", apply, scope.topic, (path,), tuple(summary))


def run_synthesize(
    derived: Derived, scope: Scope, candidates: synthesize.Candidates, *, apply: bool
) -> Processed:
    """Choose the sources of a page; write the page when applied."""
    topic = synthesize.checked_topic(scope)
    documents = list(read_documents(derived.source_root, derived.rules))
    sources = synthesize.choose_sources(documents, scope, candidates)
    path = synthesize.page_path(topic)
    exists = (derived.root / path).exists()
    count = "1 source memory." if len(sources) == 1 else f"{len(sources)} source memories."
    if apply:
        synthesize.write_page(derived.root, topic, sources)
        summary = [
            f"{'Updated' if exists else 'Created'} from {count}",
            "The next recall or index run reads the page.",
        ]
    else:
        summary = [
            f"Would {'update' if exists else 'create'} it from {count}",
            *(source.path for source in sources),
        ]
    return Processed(str(derived.root), "synthesize", apply, topic, (path,), tuple(summary))
