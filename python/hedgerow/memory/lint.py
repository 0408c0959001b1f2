"""Lint: what in a root needs attention (spec/memory.md, "Lint"), rule by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.ingest.source import Skip

RULES: dict[str, str] = {
    "git-conflict": "a memory with a conflict that git left in it",
    "front-matter": "front matter of which only a part can be read",
    "page-sources": "a page that does not name its sources",
    "stale-page": "a page older than memories about its topic",
    "duplicate-title": "findings or decisions with the same title",
    "declared-conflict": "a memory that declares a conflict with another",
    "answered-question": "an open question that another memory seems to answer",
    "contradiction": "marks that contradict each other, and so do not count, or hide both memories",
    "several-successors": "a memory that several memories supersede, as after a merge of two branches",
    "unreadable-mark": "a time of validity that is no date",
    "in-doubt": "a memory derived from one that no longer holds",
    "expired": "a memory whose time is over, and which nothing supersedes",
    "stale": "a memory that should have been looked at again",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: the rule, and a sentence with paths in backticks."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"[{self.rule}] {self.text}"


def render_report(
    findings: Sequence[Finding], topic: str | None, time: str, unreadable: Sequence[Skip] = ()
) -> str:
    """Format the report as Markdown."""
    title = f"# Memory lint report: {topic}" if topic else "# Memory lint report"
    bullets = [f"- {finding}" for finding in findings] or ["- none"]
    lines = [title, f"Generated at: {time}", "", "## Findings", "", *bullets, ""]
    if unreadable:
        lines += ["## Left out", "", *(f"- {skip}" for skip in unreadable), ""]
    notes = [f"- {rule}: {meaning}" for rule, meaning in RULES.items()]
    return "\n".join([*lines, "## Notes", "", *notes, ""])
