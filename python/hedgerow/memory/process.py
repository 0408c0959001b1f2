"""Processing the memories of a root, planned or applied (spec/memory.md, "Processing")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from hedgerow._checks import shown
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Skip
from hedgerow.typing import Progress

from . import files, note, synthesize
from .derived import Derived, check_reports
from .documents import Document, read_documents
from .lint import lint, render_report
from .lock import locked
from .marking import supersede
from .marks import Marks
from .names import DERIVED
from .results import Processed
from .sameness import nearly_same, same, words_of
from .selection import NEVER, Selection
from .times import memory_time

LIMITS = {"lint": 100_000, "synthesize": 8, "dedupe": 100_000}
"""The modes, each with its default limit on memories."""


def checked_mode(mode: str) -> str:
    """Return a mode; InvalidInputError for any other word."""
    if mode not in LIMITS:
        raise InvalidInputError(
            f"mode must be one of {', '.join(LIMITS)}, not {shown(mode)}", code="invalid_option"
        )
    return mode


def run(  # noqa: PLR0913 - what a run depends on
    mode: str,
    derived: Derived,
    selection: Selection,
    recall: Callable[[str, int], Sequence[str]],
    *,
    apply: bool,
    progress: Progress | None = None,
) -> Processed:
    """Run a mode; `recall` is as in `run_synthesize`, and `progress` as in `run_dedupe`."""
    if mode == "lint":
        return run_lint(derived, selection, apply=apply)
    if mode == "dedupe":
        return run_dedupe(derived, selection, progress, apply=apply)
    return run_synthesize(derived, selection, recall, apply=apply)


def selected(derived: Derived, selection: Selection) -> tuple[list[Document], tuple[Skip, ...]]:
    """Read the memories of the scope of a selection, and say what could not be read.

    A file that cannot be read has no known scope, so within a scope none is reported.
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
    examined, about = len(selection.of_interest(documents)), len(selection.about(documents))
    if examined < about:
        summary.append(f"The newest {examined:,} of {about:,} memories were read: raise the limit.")
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
    marks, present = Marks.of_documents(documents), note.now()
    holding = [one for one in documents if marks.holds(one.path, present)]
    sources = synthesize.choose_sources(holding, selection, found)
    others = [one for one in documents if not (one.is_page or marks.holds(one.path, present))]
    changed = [
        (one, marks.at(one.path, present).seen(lambda by: selection.scope.has(marks.scope(by))))
        for one in selection.of_interest(others)
    ]
    path = synthesize.page_path(topic, selection.scope)
    count = "1 source memory" if len(sources) == 1 else f"{len(sources)} source memories"
    if apply:
        with locked(derived.lock):
            is_new = synthesize.write_page(derived.root, topic, sources, selection.scope, changed)
        act = "Created" if is_new else "Updated"
        after = ["The next recall or index run reads the page."]
    else:
        act = f"Would {'update' if (derived.root / path).exists() else 'create'} it"
        after = []
    summary = (f"{act} from {count}.", *(source.path for source in sources), *after)
    return Processed(str(derived.root), "synthesize", apply, topic, (path,), summary, unreadable)


def run_dedupe(
    derived: Derived, selection: Selection, progress: Progress | None = None, *, apply: bool
) -> Processed:
    """Find memories that say the same; if applied, mark all but the oldest of each as superseded.

    A memory that says nearly the same as an older one is named and stays as it is.
    `progress(done, total)` counts the memories that were compared.
    """
    documents, unreadable = selected(derived, selection)
    marks, present = Marks.of_documents(documents), note.now()
    holding = [one for one in documents if marks.holds(one.path, present)]
    chosen = sorted(selection.of_interest(holding), key=_age)
    texts = {one.path: words_of(one.body) for one in chosen}
    groups = same(texts)
    plan = {copy: group[0] for group in groups for copy in group[1:]}
    changed: dict[str, None] = {}
    refused = list(unreadable)
    sentences: list[str] = []
    done = "superseded" if apply else "would be superseded"
    for copy, kept in plan.items():
        if apply:
            try:
                changed |= dict.fromkeys(supersede(derived, copy, kept))
            except HedgerowError as error:
                refused.append(Skip(copy, error.code, error.message))
                continue
        sentences.append(f"{copy}: {done} by {kept}, which says the same.")
    left = {path: words for path, words in texts.items() if path not in plan}
    sentences += [
        f"{pair.second} says nearly the same as {pair.first} ({pair.likeness:.0%} of the words): "
        "left as it is."
        for pair in nearly_same(left, progress)
    ]
    found = "1 duplicate." if len(plan) == 1 else f"{len(plan)} duplicates."
    files = tuple(changed) if apply else tuple(_files(plan.items()))
    summary = (found, *sentences)
    return Processed(
        str(derived.root), "dedupe", apply, selection.topic, files, summary, tuple(refused)
    )


def _files(pairs: Iterable[tuple[str, str]]) -> dict[str, None]:
    """Return the files of a plan, in its order, each once."""
    return dict.fromkeys(file for copy, kept in pairs for file in (kept, copy))


def _age(document: Document) -> tuple[bool, datetime, str]:
    """Return what sorts the oldest first; a memory without a time is younger than all others."""
    time = memory_time(document.path, document.metadata)
    return time is None, time or NEVER, document.path
