"""Processing the memories of a root: lint and synthesize, planned or applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow._checks import shown
from hedgerow.errors import InvalidInputError
from hedgerow.ingest.source import Skip

from . import files, note, synthesize
from .derived import Derived, check_reports
from .documents import Document, read_documents
from .lint import lint, render_report
from .lock import locked
from .names import DERIVED
from .selection import Selection

LIMITS = {"lint": 100, "synthesize": 8, "dedupe": 100_000}
"""The modes, each with the default of how many memories it looks at."""


@dataclass(frozen=True, slots=True)
class Processed:
    """What a run did, or would do: the files written and a summary in sentences.

    `unreadable` are files and folders that could not be read, and so were left out.
    """

    root: str
    mode: str
    applied: bool
    topic: str | None
    files: tuple[str, ...]
    summary: tuple[str, ...]
    unreadable: tuple[Skip, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        topic = {} if self.topic is None else {"topic": self.topic}
        return {
            "root": self.root,
            "mode": self.mode,
            "applied": self.applied,
            **topic,
            "files": list(self.files),
            "summary": list(self.summary),
            "unreadable": [skip.to_dict() for skip in self.unreadable],
        }


def checked_mode(mode: str) -> str:
    """Return a mode; InvalidInputError for any other word."""
    if mode not in LIMITS:
        raise InvalidInputError(
            f"mode must be one of {', '.join(LIMITS)}, not {shown(mode)}", code="invalid_option"
        )
    return mode


def selected(derived: Derived, selection: Selection) -> tuple[list[Document], tuple[Skip, ...]]:
    """Read the memories of the scope of a selection, and say what could not be read.

    Nobody knows whose a file is that cannot be, so that of a scope nothing is said.
    """
    documents, unreadable = read_documents(derived.source_root, derived.rules)
    return selection.in_scope(documents), () if selection.scope else tuple(unreadable)


def run_lint(derived: Derived, selection: Selection, *, apply: bool) -> Processed:
    """Lint the root; write the report if applied."""
    documents, unreadable = selected(derived, selection)
    now = note.now()
    findings = lint(documents, selection, now)
    time = note.iso_time(now)
    name = note.slug(selection.topic or "", "all")
    path = f"{DERIVED}/reports/lint-{note.day(now)}-{name}{selection.scope.suffix}.md"
    summary = ["1 finding." if len(findings) == 1 else f"{len(findings)} findings."]
    if apply:
        check_reports(derived)
        report = render_report(findings, selection.topic, time, unreadable)
        files.replace(derived.root / path, report)
    else:
        summary += [str(finding) for finding in findings]
    return Processed(
        str(derived.root), "lint", apply, selection.topic, (path,), tuple(summary), unreadable
    )


def run_synthesize(
    derived: Derived,
    selection: Selection,
    recall: Callable[[str, int], Sequence[str]],
    *,
    apply: bool,
) -> Processed:
    """Choose the sources of a page; write the page if applied.

    `recall` syncs the index and returns the paths of so many memories about a topic. A plan takes
    the same steps as its application, and both name their sources.
    """
    topic = synthesize.checked_topic(selection)
    found = recall(topic, max(2 * selection.limit, 12))
    documents, unreadable = selected(derived, selection)
    sources = synthesize.choose_sources(documents, selection, found)
    path = synthesize.page_path(topic, selection.scope)
    count = "1 source memory" if len(sources) == 1 else f"{len(sources)} source memories"
    if apply:
        with locked(derived.lock):
            is_new = synthesize.write_page(derived.root, topic, sources, selection.scope)
        act = "Created" if is_new else "Updated"
        after = ["The next recall or index run reads the page."]
    else:
        act = f"Would {'update' if (derived.root / path).exists() else 'create'} it"
        after = []
    summary = (f"{act} from {count}.", *(source.path for source in sources), *after)
    return Processed(str(derived.root), "synthesize", apply, topic, (path,), summary, unreadable)
