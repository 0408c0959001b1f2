"""Processing of many memories: lint, synthesis and deduplication (spec/memory.md, "Processing")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hedgerow._checks import shown
from hedgerow._engine import (
    _PAGE_FRAME,
    _render_front_matter,
    _shorten,
    _title_from_name,
    _update_front_matter,
)
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import (
    Skip,
    Source,
    UnreadableSourceError,
    read_bytes,
    text_of,
)
from hedgerow.typing import Progress

from . import files, note
from .derived import Derived, check_reports
from .documents import Document, parse_document, read_documents
from .duplicates import nearly_same, same, words_of
from .files import locked
from .lint import lint, render_report
from .marks import Marks, supersede
from .names import DERIVED, DIRECTORIES
from .results import ProcessResult
from .scope import Scope, front_matter_of
from .selection import NEVER, Selection, newest_first, topic_tokens
from .times import Validity, memory_time

BEGIN, END, _ABOUT, _UPKEEP, _UNDERSTANDING, _CHANGED, _SOURCES, _MAINTENANCE = _PAGE_FRAME
"""The lines of a generated part that are the same on every page: no search finds them."""

_LONGEST_LINE = 240
_MOST_TAGS = 8
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|\Z)")


def checked_topic(selection: Selection) -> str:
    """Return the topic of a page; InvalidInputError without one."""
    if selection.topic is None:
        raise InvalidInputError("a page needs a topic; name its subject", code="invalid_option")
    return selection.topic


def page_path(topic: str, scope: Scope, folder: str = DIRECTORIES["page"]) -> str:
    """Return the path, below the root, of the page of a scope about a topic in a folder."""
    name = f"{note.undated_name(topic, 'page', 'page')}{scope.suffix}.md"
    return (PurePosixPath(folder) / name).as_posix()


def choose_sources(
    documents: Sequence[Document], selection: Selection, found: Sequence[str]
) -> list[Document]:
    """Return the memories a page is made from, the newest first.

    Memories that mention the whole topic come first; paths that a recall `found` fill up the
    limit. Raises HedgerowError when there are none.
    """
    topic = checked_topic(selection)
    memories = [document for document in documents if not document.is_page]
    chosen = {document.path: document for document in selection.of_interest(memories)}
    if len(chosen) < selection.limit:
        by_path = {
            document.path: document for document in memories if selection.is_recent(document)
        }
        for path in found:
            if path in by_path and len(chosen) < selection.limit:
                chosen.setdefault(path, by_path[path])
    if not chosen:
        raise HedgerowError(
            f"No source memories found for {topic!r}; remember something about it first, or "
            "choose another topic",
            code="no_sources",
        )
    return newest_first(list(chosen.values()))


def write_page(  # noqa: PLR0913, PLR0917 - the parts of a page
    root: Path,
    path: str,
    topic: str,
    sources: Sequence[Document],
    scope: Scope,
    changed: Sequence[tuple[Document, Validity]] = (),
) -> bool:
    """Write the page, or update the generated part of it; returns whether the page is new.

    `changed` are memories about the topic that no longer hold: they are named with the reason, and
    not quoted.

    Raises HedgerowError, and writes nothing, when somebody edits the page at the same time.
    """
    files.check_folders(root, str(Path(path).parent))
    generated = f"{BEGIN}\n{_generated(sources, changed)}\n{END}"
    data = _existing(root / path, path)
    time = note.iso_time(note.now())
    if data is None:
        text = f"{_render_front_matter(_fields(topic, time, scope))}\n# {topic}\n\n{generated}\n"
    else:
        old = parse_document(path, data)
        text = _front_matter(old, topic, time, scope) + _with_generated(old.body, topic, generated)
    files.update(root / path, text.encode(), expected=data, root=root)
    return data is None


def _fields(topic: str, time: str, scope: Scope) -> dict[str, Any]:
    return {
        "type": "page",
        "title": topic,
        "topic": topic,
        "source": "hedgerow-process",
        "created_at": time,
        "updated_at": time,
        "confidence": "agent-drafted",
        "tags": topic_tokens(topic)[:_MOST_TAGS],
        **front_matter_of(scope),
    }


def _existing(file: Path, path: str) -> bytes | None:
    """Return the bytes of the page, None if there is none; HedgerowError if it is not text."""
    if not file.exists():
        return None
    try:
        data = read_bytes(Source(path, str(file)))
        text_of(data)
    except UnreadableSourceError as error:
        raise HedgerowError(
            f"{path} is in the way: {error.reason}; move it elsewhere", code="root_io"
        ) from error
    return data


def _front_matter(old: Document, topic: str, time: str, scope: Scope) -> str:
    """Keep the front matter except `updated_at`; add the fields that it lacks."""
    fields = _fields(topic, time, scope)
    if not old.matter.body_start:
        return _render_front_matter(fields) + "\n"
    missing = {key: value for key, value in fields.items() if key not in old.matter.fields}
    block = "\n".join(old.lines[1 : old.matter.body_start - 1])
    return f"---\n{_update_front_matter(block, {**missing, 'updated_at': time})}---\n"


def _with_generated(body: str, topic: str, generated: str) -> str:
    """Replace the generated part; without one, insert it under the heading."""
    begin = body.find(BEGIN)
    end = body.find(END, begin)
    if 0 <= begin < end:
        return f"{body[:begin]}{generated}{body[end + len(END) :]}".rstrip("\n") + "\n"
    head, _, rest = body.lstrip("\n").partition("\n")
    if not head.startswith("# "):
        head, rest = f"# {topic}", body
    rest = rest.replace(BEGIN, "").replace(END, "").strip("\n")
    below = f"\n\n{rest}" if rest.strip() else ""
    return f"\n{head}\n\n{generated}{below}\n"


def without_source(text: str, path: str) -> str | None:
    """Return a page without the generated lines that quote a memory; None if it has none."""
    begin = text.find(BEGIN)
    end = text.find(END, begin)
    if not 0 <= begin < end:
        return None
    named = f"`{_escaped(path)}`"
    lines = text[begin:end].split("\n")
    kept = [one for one in lines if not (one.startswith("- ") and named in one)]
    joined = "\n".join(kept)
    return f"{text[:begin]}{joined}{text[end:]}" if len(kept) < len(lines) else None


def _generated(sources: Sequence[Document], changed: Sequence[tuple[Document, Validity]]) -> str:
    no_longer = [
        f"- **{_title(document)}**: {_escaped(str(validity))} [source: `{_path(document)}`]"
        for document, validity in changed
    ]
    lines = [
        _ABOUT,
        "",
        _UNDERSTANDING,
        "",
        *(_bullet(document) for document in sources),
        "",
        *([_CHANGED, "", *no_longer, ""] if no_longer else []),
        _SOURCES,
        "",
        *(
            f"- `{_path(document)}` — {_title(document)} ({_type(document)})"
            for document in sources
        ),
        "",
        _MAINTENANCE,
        "",
        _UPKEEP,
    ]
    return "\n".join(lines)


def _bullet(document: Document) -> str:
    line = _first_line(document)
    quoted = f": {line}" if line else ""
    return f"- **{_title(document)}**{quoted} [source: `{_path(document)}`]"


def _path(document: Document) -> str:
    return _escaped(document.path)


def _title(document: Document) -> str:
    return _escaped(document.title or _title_from_name(document.path))


def _type(document: Document) -> str:
    return _escaped(document.matter.text("type") or "memory")


def _first_line(document: Document) -> str:
    """Return the first line of text outside headings and fenced code."""
    fence = ""
    for line in document.body.split("\n"):
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence else mark[1]
        elif not fence and line.strip() and not _HEADING.match(line):
            bullet = _BULLET.match(line)
            text = " ".join(line[bullet.end() if bullet else 0 :].split())
            if text:
                return _shorten(_escaped(text), _LONGEST_LINE)
    return ""


def _escaped(text: str) -> str:
    """Escape comments, so that a memory cannot hold our marks."""
    return text.replace("<!--", "&lt;!--")


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
) -> ProcessResult:
    """Run a mode; `recall` is as in `run_synthesize`, and `progress` as in `run_dedupe`."""
    if mode == "lint":
        return run_lint(derived, selection, apply=apply)
    if mode == "dedupe":
        return run_dedupe(derived, selection, progress, apply=apply)
    return run_synthesize(derived, selection, recall, apply=apply)


class Selected(NamedTuple):
    """The memories of the scope of a selection, their marks, and the files that could not be read.

    The marks are those of the whole root: memories outside the scope may supersede those within. A file
    that cannot be read has no known scope, so within a scope none is reported.
    """

    documents: list[Document]
    marks: Marks
    unreadable: tuple[Skip, ...]


def selected(derived: Derived, selection: Selection) -> Selected:
    """Read the memories of the scope of a selection."""
    documents, unreadable = read_documents(derived.source_root, derived.rules)
    return Selected(
        selection.in_scope(documents),
        Marks.of_documents(documents, selection.scope),
        () if selection.scope else tuple(unreadable),
    )


def run_lint(derived: Derived, selection: Selection, *, apply: bool) -> ProcessResult:
    """Lint the root; write the report if applied."""
    documents, marks, unreadable = selected(derived, selection)
    now = note.now()
    findings = lint(documents, selection, marks, now)
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
    return ProcessResult(
        str(derived.root), "lint", apply, selection.topic, (path,), tuple(summary), unreadable
    )


def run_synthesize(
    derived: Derived,
    selection: Selection,
    recall: Callable[[str, int], Sequence[str]],
    *,
    apply: bool,
) -> ProcessResult:
    """Choose the sources of a page; write the page if applied.

    `recall` syncs the index and returns the paths of so many memories about a topic. A plan takes
    the same steps as its application, and both name their sources.
    """
    topic = checked_topic(selection)
    found = recall(topic, max(2 * selection.limit, 12))
    documents, marks, unreadable = selected(derived, selection)
    present = note.now()
    holding = [one for one in documents if marks.holds(one.path, present)]
    sources = choose_sources(holding, selection, found)
    others = [one for one in documents if not (one.is_page or marks.holds(one.path, present))]
    changed = [(one, marks.at(one.path, present)) for one in selection.of_interest(others)]
    path = page_path(topic, selection.scope, derived.folder_of("page"))
    count = "1 source memory" if len(sources) == 1 else f"{len(sources)} source memories"
    if apply:
        with locked(derived.lock):
            is_new = write_page(derived.root, path, topic, sources, selection.scope, changed)
        act = "Created" if is_new else "Updated"
        after = ["The next recall or index run reads the page."]
    else:
        act = f"Would {'update' if (derived.root / path).exists() else 'create'} it"
        after = []
    summary = (f"{act} from {count}.", *(source.path for source in sources), *after)
    return ProcessResult(
        str(derived.root), "synthesize", apply, topic, (path,), summary, unreadable
    )


def run_dedupe(
    derived: Derived, selection: Selection, progress: Progress | None = None, *, apply: bool
) -> ProcessResult:
    """Find memories that say the same; if applied, mark all but the oldest of each as superseded.

    A memory that says nearly the same as an older one is named and stays as it is.
    `progress(done, total)` counts the memories that were compared.
    """
    documents, marks, unreadable = selected(derived, selection)
    present = note.now()
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
    return ProcessResult(
        str(derived.root), "dedupe", apply, selection.topic, files, summary, tuple(refused)
    )


def _files(pairs: Iterable[tuple[str, str]]) -> dict[str, None]:
    """Return the files of a plan, in its order, each once."""
    return dict.fromkeys(file for copy, kept in pairs for file in (kept, copy))


def _age(document: Document) -> tuple[bool, datetime, str]:
    """Return the sort key for the oldest first.

    A memory without a time is younger than all others.
    """
    time = memory_time(document.path, document.metadata)
    return time is None, time or NEVER, document.path
