"""Processing of many memories: lint, deduplication, pages and audits (spec/memory.md, "Processing")."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from hedgerow._engine import (
    _PAGE_FRAME,
    _Documents,
    _render_front_matter,
    _shorten,
    _title_from_name,
    _topic_words,
)
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import (
    Skip,
    Source,
    UnreadableSourceError,
    read_bytes,
    text_of,
)

from . import files, note
from .derived import Derived, check_reports
from .documents import Document, memory_rules, parse_document, read_documents, unread
from .edit import Change, changed_text
from .files import locked
from .links import supersede
from .names import DERIVED
from .operations import ProcessRequest
from .results import Audit, AuditFinding, ProcessResult, SimilarGroup, SimilarMemory
from .scope import Scope, front_matter_of
from .times import Validity, checked_start, micros_of

LIMITS = {"lint": 100_000, "synthesize": 8, "dedupe": 100_000}
"""The modes, each with its default limit on memories."""


class Run:
    """A run over the memories of a scope: those about a topic, since a day, the newest first."""

    def __init__(self, derived: Derived, request: ProcessRequest, scope: Scope) -> None:
        """Check the request; a blank topic is none."""
        now, since = note.now(), request.since
        limit = LIMITS[request.mode] if request.limit is None else request.limit
        self._derived = derived
        self._request = request
        self._scope = scope.own if request.mode == "dedupe" else scope
        self._topic = note.one_line(request.topic or "") or None
        self._limit = min(limit, sys.maxsize)
        after = None if since is None else micros_of(checked_start(since, "since", now))
        self._selected = self._topic, after, self._limit
        self._now = now

    def result(self, recall: Callable[[str, int], Sequence[str]]) -> ProcessResult:
        """Run the mode of the request.

        `recall` syncs the index and returns the paths of so many memories about a topic.
        """
        if self._request.mode == "synthesize":
            return self._synthesize(recall)
        return self._lint() if self._request.mode == "lint" else self._dedupe()

    def _documents(self) -> tuple[_Documents, tuple[Skip, ...]]:
        """Read the memories of the scope. Also returns the files that could not be read."""
        documents = read_documents(self._derived.source_root, self._derived.rules, self._scope)
        return documents, unread(documents)

    def _done(
        self, files: Iterable[str], summary: Iterable[str], unreadable: Iterable[Skip]
    ) -> ProcessResult:
        root, of = str(self._derived.root), self._request
        parts = tuple(files), tuple(summary), tuple(unreadable)
        return ProcessResult(root, of.mode, of.apply, self._topic, *parts)

    def _lint(self) -> ProcessResult:
        """Lint the root; write the report if applied."""
        documents, unreadable = self._documents()
        found, examined, about = documents.lint(self._selected, micros_of(self._now))
        findings = [f"[{rule}] {text}" for rule, text in found]
        name = f"{note.slug(self._topic or '', 'all')}{self._scope.suffix}"
        path = f"{DERIVED}/reports/lint-{note.day(self._now)}-{name}.md"
        summary = ["1 finding." if len(findings) == 1 else f"{len(findings)} findings."]
        others = len(documents) - about
        if others and (self._topic is not None or self._request.since is not None):
            summary[0] += (
                f" Filtered out: {others:,} of {len(documents):,} memories (by topic or date; one "
                "without a date is of no day)."
            )
        if examined < about:
            summary.append(
                f"The newest {examined:,} of {about:,} memories were read: raise the limit."
            )
        if self._request.apply:
            check_reports(self._derived)
            report = render_report(findings, self._topic, note.iso_time(self._now), unreadable)
            files.replace(self._derived.root / path, report)
        else:
            summary += findings
        return self._done([path], summary, unreadable)

    def _synthesize(self, recall: Callable[[str, int], Sequence[str]]) -> ProcessResult:
        """Choose the sources of a page; write the page if applied.

        A plan takes the same steps as its application, and both name their sources. Raises
        InvalidInputError without a topic, and HedgerowError (`no_sources`) if no memory is about it.
        """
        derived, topic, scope = self._derived, self._topic, self._scope
        if topic is None:
            raise InvalidInputError("a page needs a topic; name its subject", code="invalid_option")
        found = recall(topic, max(2 * self._limit, 12))
        documents, unreadable = self._documents()
        paths, ended = documents.sources(self._selected, found, micros_of(self._now))
        name = f"{note.undated_name(topic, 'page', 'page')}{scope.suffix}.md"
        path = (PurePosixPath(derived.folder_of("page")) / name).as_posix()
        is_page = self._has_page(path)
        # A page without a source that holds would go on saying what no longer does.
        if not (paths or (is_page and ended)):
            raise HedgerowError(
                f"No source memories found for {topic!r}; remember something about it first, or "
                "choose another topic",
                code="no_sources",
            )

        def parsed(path: str) -> Document:
            text = documents.text_of(path) or ""
            return parse_document(path, text.encode(), derived.rules)

        count = "1 source memory" if len(paths) == 1 else f"{len(paths) or 'no'} source memories"
        if not self._request.apply:
            act = f"Would {'update' if is_page else 'create'} it"
            return self._done([path], [f"{act} from {count}.", *paths], unreadable)
        changed = [(parsed(one), Validity.of_texts(*of)) for one, of in ended if of is not None]
        with locked(derived.lock):
            is_new = write_page(derived.root, path, topic, list(map(parsed, paths)), scope, changed)
        head = f"{'Created' if is_new else 'Updated'} from {count}."
        after = "The next recall or index run reads the page."
        return self._done([path], [head, *paths, after], unreadable)

    def _has_page(self, path: str) -> bool:
        """Return whether there is a page. Raises HedgerowError for a file of another scope."""
        data = _existing(self._derived.root / path, path)
        if data is None:
            return False
        if not self._scope.own.has(Scope.stated(parse_document(path, data).metadata)):
            raise HedgerowError(
                f"there is a file {path} already; choose another topic", code="root_io"
            )
        return True

    def _dedupe(self) -> ProcessResult:
        """Find memories that are like older ones; if applied, mark those to mark as superseded.

        These are those with the same text as an older one, and with a likeness to mark from, all that were found.
        """
        request = self._request
        documents, unreadable = self._documents()
        found = documents.copies(
            self._selected, micros_of(self._now), request.above, request.progress
        )
        groups = {
            original: tuple(SimilarMemory(path, likeness) for path, _, likeness, _ in copies)
            for original, copies in groupby(found, key=itemgetter(1))
        }
        same = sum(one is not None for *_, one in found)
        summary = [_counted(len(groups), same, len(found) - same)]
        changed: dict[str, None] = {}
        refused = list(unreadable)
        for path, original, likeness, same_as in found:
            kept = same_as if request.above is None else original
            is_like = f"is {SimilarMemory(path, likeness).percent} % like {original}"
            if same_as is not None and same_as == kept:
                is_like = f"has the same text as {kept}"
            if kept is None:
                done = "left as it is"
            elif not request.apply:
                changed |= dict.fromkeys((kept, path))
                done = "would be superseded by it"
            else:
                try:
                    changed |= dict.fromkeys(supersede(self._derived, path, kept))
                except HedgerowError as error:
                    refused.append(Skip(path, error.code, error.message))
                    continue
                done = "superseded by it"
            summary.append(f"{path} {is_like}: {done}.")
        listed = tuple(SimilarGroup(file, similar) for file, similar in groups.items())
        return replace(self._done(changed, summary, refused), groups=listed)


def _counted(groups: int, same: int, alike: int) -> str:
    """Return the first sentence of the summary of a deduplication."""
    if not groups:
        return "No memory is like an older one."
    return f"{groups:,} {'group' if groups == 1 else 'groups'}: {same:,} with the same text, {alike:,} similar."


# Findings of lint (spec/memory.md, "Lint").


LINT_RULES: dict[str, str] = {
    "git-conflict": "a memory with a conflict that git left in it",
    "front-matter": "front matter of which only a part can be read",
    "conflict-in-code": "code with the marks of a git conflict, which may be an example",
    "conflict-copy": "a second version of a memory, which a sync program kept",
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


def render_report(
    findings: Sequence[str], topic: str | None, time: str, unreadable: Sequence[Skip] = ()
) -> str:
    """Format the report as Markdown."""
    title = f"# Memory lint report: {topic}" if topic else "# Memory lint report"
    bullets = [f"- {finding}" for finding in findings] or ["- none"]
    lines = [title, f"Generated at: {time}", "", "## Findings", "", *bullets, ""]
    if unreadable:
        lines += ["## Left out", "", *(f"- {skip}" for skip in unreadable), ""]
    notes = [f"- {rule}: {meaning}" for rule, meaning in LINT_RULES.items()]
    return "\n".join([*lines, "## Notes", "", *notes, ""])


# Pages that sum up memories (spec/memory.md, "Synthesize").


BEGIN, END, _ABOUT, _UPKEEP, _UNDERSTANDING, _CHANGED, _SOURCES, _MAINTENANCE = _PAGE_FRAME
"""The lines of a generated part that are the same on every page: no search finds them."""

_LONGEST_LINE = 240
_MOST_TAGS = 8
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|\Z)")


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
        "tags": _topic_words(topic)[:_MOST_TAGS],
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
    missing = {key: value for key, value in fields.items() if key not in old.matter.fields}
    head = "".join(f"{line}\n" for line in old.lines[: old.matter.body_start])
    new = changed_text(head, old.path, Change(fields={**missing, "updated_at": time}))
    return new if head else f"{new}\n"


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


def is_empty_page(text: str, path: str) -> bool:
    """Whether a page has no text but its heading and a generated part that is about no memory."""
    begin = text.find(BEGIN)
    end = text.find(END, begin)
    if not 0 <= begin < end or "\n- " in text[begin:end]:
        return False
    around = f"{text[:begin]}{text[end + len(END) :]}"
    below = around.split("\n")[parse_document(path, text.encode()).matter.body_start :]
    lines = [line for line in below if line.strip()]
    return len(lines) <= 1 and all(line.startswith("# ") for line in lines)


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


# Audits (spec/memory.md, "Audit").


def audit_root(derived: Derived, scope: Scope = Scope()) -> Audit:  # noqa: B008 - frozen
    """Audit the memories of a scope of a root. Nothing is written."""
    documents = read_documents(derived.source_root, derived.rules, scope)
    return Audit(str(derived.root), len(documents), _findings(documents), unread(documents))


def audit_export(source: Path) -> Audit:
    """Audit an export that was not imported: the JSON of mem0, or a folder of Markdown.

    Raises InvalidInputError (`invalid_export`) for a source that cannot be read.
    """
    from .imports.exports import Item, mem0  # noqa: PLC0415 - slow to import

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
