"""Results of a memory root as compact Markdown, for language models that pay for every token."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from hedgerow._operations.operation import Request
from hedgerow.ingest.source import Skip
from hedgerow.memory import results
from hedgerow.memory.operations import ContextRequest, EditRequest, ListRequest, ShowRequest
from hedgerow.memory.times import memory_time

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

DIGEST = 12
"""The number of digits shown of a digest; an edit accepts as many."""

PAGE = 20_000
"""The most characters of a memory that are shown at once."""

STATUS = "hedgerow://status"
"""The URI of the resource with the state of the root."""

_FEWEST = 40
"""The fewest characters of a passage that is cut."""

_NAMED = 3

_FINDINGS = 40
"""The most findings of an audit that are shown at once."""

_FIXES: Mapping[str | None, str] = {"edit": "memory_edit", "supersede": "memory_supersede"}
"""The tool for the operation of each fix."""


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text, as budgets count them."""
    return -(-len(text.encode()) // 4)


def answer(request: Request[Any], result: Any) -> str:
    """Return the result of a request as text."""
    return _ANSWERS[type(result)](request, result)


def _recall(_: Request[Any], found: results.Recall) -> str:
    passages = [_snippet(number, one) for number, one in enumerate(found, start=1)]
    notes = _notes(found)
    return _joined(passages, found.left_out, notes, found.about)


def _snippet(number: int, one: results.RecalledMemory) -> results.Passage:
    time = memory_time(one.file, one.metadata)
    day = None if time is None else time.date().isoformat()
    lines = ((one.line_start, one.line_end),)
    return results.Passage(number, one.file, lines, one.snippet, one.validity, day)


def _context(request: Request[Any], found: results.Context) -> str:
    """Return the passages of a context; the whole answer is within the budget."""
    budget = request.budget if isinstance(request, ContextRequest) else found.budget
    notes = _notes(found)
    passages, left_out = list(found.passages), dict(found.left_out)
    while (
        over := tokens_of(_joined(passages, left_out, notes, found.about)) - budget
    ) > 0 and passages:
        last = passages.pop()
        kept = _cut(last.text, len(last.text.encode()) - 4 * over)
        if len(kept) >= _FEWEST:
            passages.append(replace(last, text=kept))
        else:
            left_out["budget"] = left_out.get("budget", 0) + 1
    return _cut(_joined(passages, left_out, notes, found.about), 4 * budget)


def _joined(
    passages: Sequence[results.Passage],
    left_out: Mapping[str, int],
    notes: Sequence[str],
    about: Sequence[results.About],
) -> str:
    """Return what folders are about, passages, and a last line with counts of omitted memories and
    with notices.
    """
    text = results.context_text(passages, {}, about)
    end = " ".join([results.context_text((), left_out), *notes]).strip()
    return "\n\n".join(filter(None, [text or "Nothing found.", end]))


def _notes(found: results.Recall | results.Context) -> list[str]:
    """Return the notices of a result. Notices about trust are shortened: the status has them."""
    of_trust = {one.notice for one in found.not_allowed}
    notes = [one for one in found.notices if one not in of_trust]
    if of_trust:
        notes.append(f"Parts of the configuration are not allowed: see {STATUS}.")
    return notes + _unreadable(found.unreadable)


def _unreadable(skips: Sequence[Skip]) -> list[str]:
    """Return a sentence with the files that could not be read, if there are any."""
    if not skips:
        return []
    named = ", ".join(f"{one.path} ({one.reason})" for one in skips[:_NAMED])
    more = f" and {len(skips) - _NAMED} more" if len(skips) > _NAMED else ""
    return [f"Not readable: {named}{more}."]


def _cut(text: str, size: int) -> str:
    """Cut a text to at most some bytes of UTF-8, between words if it can be, with an ellipsis."""
    data = text.encode()
    if len(data) <= size:
        return text
    part = data[: max(0, size - len("…".encode()))].decode(errors="ignore")
    return f"{part[: max(part.rfind(' '), len(part) // 2)].rstrip()}…" if part else ""


def _read(request: Request[Any], memory: results.Memory) -> str:
    """Return a page of a memory, after a line with digest, lines and the offset of the next page."""
    offset = request.offset if isinstance(request, ShowRequest) else 0
    lines = _LINE.findall(memory.text)
    shown, size = 0, 0
    while shown < len(lines) and size + len(lines[shown]) <= PAGE:
        size += len(lines[shown])
        shown += 1
    text = "".join(lines[:shown])
    if lines and not shown:
        # A line longer than a page is cut, so that the next page follows.
        text, shown = lines[0][:PAGE] + "…", 1
    first = 1 if memory.lines is None else memory.lines[0]
    rest = memory.remaining + len(lines) - shown
    head = [memory.file, f"digest {memory.digest[:DIGEST]}"]
    if memory.lines is not None or rest:
        head.append(f"lines {first}-{first + shown - 1}" if shown else "no lines")
    if rest:
        head.append(f"{rest:,} more: offset {offset + shown}")
    return f"{' · '.join(head)}\n\n{text}"


def _list(request: Request[Any], found: results.MemoryList) -> str:
    offset = request.offset if isinstance(request, ListRequest) else 0
    lines = [_listed(one) for one in found.memories]
    end = offset + len(lines)
    told = f"{found.count:,} memories" if found.count != 1 else "1 memory"
    if end < found.count:
        told += f", {offset + 1}-{end} shown; more: offset {end}"
    return "\n".join([told, *lines])


def _listed(one: results.ListedMemory) -> str:
    """Return a line with file and state; title, type and day only if the file name lacks them."""
    name = one.file.rpartition("/")[2].removesuffix(".md").replace("-", " ").casefold()
    plain = "".join(letter if letter.isalnum() else " " for letter in one.title.casefold())
    title = "" if name.endswith(" ".join(plain.split())) else one.title
    kind = "" if one.file.startswith(one.type) else one.type
    day = datetime.fromtimestamp(one.timestamp, timezone.utc).date().isoformat()
    parts = [one.file, title, kind, "" if day in one.file else day, str(one.validity)]
    return f"- {' · '.join(filter(None, parts))}"


def _edited(_: Request[Any], memory: results.Memory) -> str:
    return f"Edited {memory.file}; its digest is {memory.digest[:DIGEST]}."


def _memory(request: Request[Any], memory: results.Memory) -> str:
    return (_edited if isinstance(request, EditRequest) else _read)(request, memory)


def _remembered(_: Request[Any], done: results.RememberResult) -> str:
    instead = "" if done.superseded is None else f", in place of {done.superseded}"
    similar = _similar(done.file, done.similar)
    return " ".join(filter(None, [f"Wrote {done.file}{instead}.", done.problem, similar]))


def _similar(file: str, similar: Sequence[results.SimilarMemory]) -> str:
    """Name the memories that are like a new one, and the tool for those that it replaces; empty without one."""
    if not similar:
        return ""
    listed = ", ".join(map(str, similar))
    return f"Similar: {listed}. If it replaces one, call memory_supersede with that as `old` and {file} as `by`."


def _wrapped_up(_: Request[Any], done: results.WrapupResult) -> str:
    related = ", ".join(one.file for one in done.related)
    named = f"Related memories: {related}." if related else ""
    similar = _similar(done.file, done.similar)
    return " ".join(filter(None, [f"Wrote {done.file}.", named, similar]))


def _marked(_: Request[Any], done: results.MarkResult) -> str:
    state = str(done.validity) or "holds"
    wrote = "" if done.written is None else f"Wrote {done.written}. "
    changed = ", ".join(done.changed)
    changed = f"Changed {changed}." if changed else "Nothing had to be changed."
    removed = f"Removed the marks: {'; '.join(map(str, done.removed))}." if done.removed else ""
    similar = _similar(done.written or "", done.similar)
    return " ".join(filter(None, [f"{wrote}{done.file}: {state}. {changed}", removed, similar]))


def _grep(_: Request[Any], found: results.GrepResult) -> str:
    """Return the lines by file, then the number of further matches."""
    lines: list[str] = []
    before = None
    for file, number, text, matches in found.lines():
        if file != before:
            lines += [*([""] if lines else []), file]
            before = file
        lines.append(f"{number}{':' if matches else '-'} {text}")
    if not lines:
        lines.append("Nothing found.")
    if found.count > len(found):
        lines += ["", f"{found.count - len(found):,} more lines match."]
    notes = _unreadable(found.unreadable)
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _audit(_: Request[Any], found: results.Audit) -> str:
    """Return a line for each finding, with the tool that mends it, or else what the user may do."""
    lines = [_finding(one) for one in found.findings[:_FINDINGS]]
    if len(found.findings) > _FINDINGS:
        lines.append(f"{len(found.findings) - _FINDINGS:,} more: ask again after mending these.")
    counts = ", ".join(f"{count} {rule}" for rule, count in found.counts.items())
    noun = "memory" if found.documents == 1 else "memories"
    head = f"{found.documents:,} {noun}: {counts or 'nothing to mend'}."
    return "\n".join([head, *lines, *_unreadable(found.unreadable)])


def _finding(one: results.AuditFinding) -> str:
    place = one.file if one.line is None else f"{one.file}:{one.line}"
    by = ""
    if one.fix is not None:
        tool = _FIXES.get(one.fix.operation)
        by = f" ({tool or f'the user may {one.fix.does}'})"
    return f"- {one.rule}: {place} {one.text}{by}"


_ANSWERS: Mapping[type, Callable[[Request[Any], Any], str]] = {
    results.Recall: _recall,
    results.Context: _context,
    results.GrepResult: _grep,
    results.Audit: _audit,
    results.Memory: _memory,
    results.MemoryList: _list,
    results.RememberResult: _remembered,
    results.WrapupResult: _wrapped_up,
    results.MarkResult: _marked,
}
