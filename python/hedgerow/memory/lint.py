"""Lint: what in a root needs attention (spec/memory.md, "Lint"), rule by rule."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from hedgerow._engine import _first_heading, _level_two_sections
from hedgerow.ingest.source import Skip

from . import marks as marking
from .documents import CONFLICT, Document, problems_of
from .names import normalized
from .selection import STOP_WORDS, Selection, mentions, searchable, time_of, topic_tokens

RULES: dict[str, str] = {
    "git-conflict": "a memory with a conflict that git left in it",
    "front-matter": "front matter of which only a part can be read",
    "page-sources": "a page that does not name its sources",
    "stale-page": "a page older than memories about its topic",
    "duplicate-title": "findings or decisions with the same title",
    "declared-conflict": "a memory that declares a conflict with another",
    "answered-question": "an open question that another memory seems to answer",
    **marking.RULES,
}

_SOURCE = re.compile(r"\[source: `[^`]+`\]")
_WORD = re.compile(r"[^\W_]+")
_BULLET = re.compile(r"\s*[-*+]\s+(\S.*)")
_ANSWER = re.compile(r"\b(?:answer|answered|decided|decision|resolved|closed)\b")
_ENOUGH = 3
_MOST_QUESTIONS = 100
"""The most open questions of one memory that are looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the rule, and a sentence with paths in backticks."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"[{self.rule}] {self.text}"


def lint(
    documents: Sequence[Document], selection: Selection, marks: marking.Marks, now: datetime
) -> list[Finding]:
    """Return the findings for the documents of a selection, rule by rule, in path order.

    `marks` are those of all documents of the root.
    """
    chosen = sorted(selection.of_interest(documents), key=lambda document: document.path)
    pages = [document for document in chosen if document.is_page]
    return [
        *_problems(chosen),
        *_pages_without_sources(pages),
        *_stale_pages(pages, documents),
        *_duplicate_titles(chosen),
        *declared_conflicts(chosen, documents),
        *_answered_questions(chosen, documents),
        *(Finding(*found) for found in marking.findings_of_marks(chosen, marks, now)),
    ]


def _problems(chosen: Sequence[Document]) -> Iterator[Finding]:
    found = [skip for document in chosen for skip in problems_of(document)]
    for code, rule in ((CONFLICT, "git-conflict"), ("bad_front_matter", "front-matter")):
        for skip in found:
            if skip.code == code:
                line = "" if skip.line is None else f" line {skip.line}"
                yield Finding(rule, f"`{skip.path}`{line}: {skip.reason}")


def _pages_without_sources(pages: Sequence[Document]) -> Iterator[Finding]:
    for page in pages:
        names = {name for name, _ in _level_two_sections(page.body)}
        if "source memories" not in names and not _SOURCE.search(page.body):
            yield Finding("page-sources", f"`{page.path}` does not say which memories it is from")


def _stale_pages(pages: Sequence[Document], documents: Sequence[Document]) -> Iterator[Finding]:
    others = [(document, time_of(document)) for document in documents if not document.is_page]
    for page in pages:
        topic = page.matter.text("topic", "title") or _first_heading(page.body)
        tokens = topic_tokens(topic)
        written = time_of(page)
        newer = sum(
            1
            for document, time in others
            if time and (written is None or time > written) and mentions(document, tokens)
        )
        if tokens and newer:
            count = "1 newer memory" if newer == 1 else f"{newer} newer memories"
            yield Finding("stale-page", f"`{page.path}`: {count} about {topic}")


def _duplicate_titles(chosen: Sequence[Document]) -> Iterator[Finding]:
    by_title: dict[str, list[str]] = defaultdict(list)
    for document in chosen:
        if document.matter.fields.get("type") in ("finding", "decision"):
            by_title[" ".join(_WORD.findall(document.title.casefold()))].append(document.path)
    for title, paths in by_title.items():
        if title and len(paths) > 1:
            listed = ", ".join(f"`{path}`" for path in paths)
            yield Finding("duplicate-title", f"{listed}: {title}")


def declared_conflicts(
    chosen: Sequence[Document], documents: Sequence[Document]
) -> Iterator[Finding]:
    """Yield a finding for each conflict that a memory declares, in path order."""
    known = {normalized(document.path) for document in documents}
    for document in chosen:
        declared = document.metadata.get("conflicts_with")
        for target in declared if isinstance(declared, list) else [declared]:
            if isinstance(target, str) and target:
                state = "" if normalized(target) in known else ", which is missing"
                yield Finding(
                    "declared-conflict", f"`{document.path}` conflicts with `{target}`{state}"
                )


def _answered_questions(
    chosen: Sequence[Document], documents: Sequence[Document]
) -> Iterator[Finding]:
    answers = [
        (document.path, text)
        for document, text in ((document, searchable(document)) for document in documents)
        if _ANSWER.search(text)
    ]
    for document in chosen:
        for question in islice(_open_questions(document), _MOST_QUESTIONS):
            tokens = [token for token in topic_tokens(question) if token not in STOP_WORDS]
            needed = min(_ENOUGH, len(tokens))
            for path, text in answers:
                if path != document.path and needed <= sum(token in text for token in tokens):
                    answered = f"`{document.path}` asks what `{path}` may answer: {question}"
                    yield Finding("answered-question", answered)
                    break


def _open_questions(document: Document) -> Iterator[str]:
    for name, text in _level_two_sections(document.body):
        if name == "open questions":
            bullets = (_BULLET.match(line.rstrip()) for line in text.split("\n"))
            yield from (bullet[1] for bullet in bullets if bullet and re.search("[?？]", bullet[1]))  # noqa: RUF001


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
