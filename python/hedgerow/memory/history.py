"""The events of a memory (spec/memory.md, "History")."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow._engine import _is_retracted
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import UnreadableSourceError

from .documents import Document, parse_document
from .edit import data_of, writers_of
from .git_log import MOST_COMMITS, Commit, commits
from .links import REASON, RETRACTED, SUPERSEDED_BY, SUPERSEDES
from .names import IMPORT_ID, repository_of
from .note import now, one_line
from .results import Event, History
from .times import memory_time, parse_end, parse_time

if TYPE_CHECKING:
    from .session import Session

MOST_FILES = 100
"""The most memories of one line of succession that are read."""

SHORT_ID = 12
"""The digits shown of the id of a commit."""

_LONGEST_DETAIL = 200
_OLDEST = datetime.min.replace(tzinfo=timezone.utc)
_ORDER = ("created", "imported", "edited", "committed", "superseded", "retracted", "expired")
"""The kinds of events at the same time, from first to last."""


def history(root: Path, session: Session, file: str, limit: int) -> History:
    """Return the events of a memory and of those that it supersedes or that supersede it."""
    events: list[Event] = []
    notices: list[str] = []
    links = successions(session)
    for path in _line(links, file):
        events += _stated(session, path, [new for old, new in links if old == path])
    found, problem = commits_of(session, file)
    events += (_committed(file, one) for one in found)
    if len(found) == MOST_COMMITS:
        notices.append(f"Only the newest {MOST_COMMITS:,} commits were read.")
    if problem:
        notices.append(f"{problem[0].upper()}{problem[1:]}.")
    events.sort(key=lambda one: (one.at or _OLDEST, _ORDER.index(one.kind)), reverse=True)
    shown = tuple(events[:limit])
    return History(str(root), file, len(events), shown, tuple(notices))


def commits_of(session: Session, file: str) -> tuple[list[Commit], str]:
    """Return the commits that changed a memory, and the reason if they were not read."""
    if session.scope:
        return [], "commits are not read within a scope: they can have texts of others"
    folder = session.derived.source_root.resolve()
    repository = repository_of(folder)
    try:
        return ([] if repository is None else commits(repository, folder / file)), ""
    except HedgerowError as error:
        return [], error.message


def successions(session: Session) -> list[tuple[str, str]]:
    """Return the pairs (old, new) of memories of which one supersedes the other, sorted."""
    edges = session.graph().edges
    by_new = {(to, source) for source, to, relation, _ in edges if relation == SUPERSEDES}
    by_old = {(source, to) for source, to, relation, _ in edges if relation == SUPERSEDED_BY}
    return sorted(by_new | by_old)


def _line(links: list[tuple[str, str]], file: str) -> list[str]:
    """Return a memory, and those that it supersedes or that supersede it through any of them."""
    neighbors: dict[str, list[str]] = {}
    for old, new in links:
        neighbors.setdefault(old, []).append(new)
        neighbors.setdefault(new, []).append(old)
    found = {file: None}
    for path in (queue := [file]):
        for other in neighbors.get(path, []):
            if other not in found and len(found) < MOST_FILES:
                found[other] = None
                queue.append(other)
    return list(found)


def _stated(session: Session, path: str, news: list[str]) -> Iterator[Event]:
    """Yield the events that the front matter of a memory states."""
    try:
        document = _document(session, path)
    except InvalidInputError:
        # The file was deleted, or is no longer text, since the last sync.
        return
    fields = document.metadata
    time, writers = memory_time(path, fields), writers_of(fields)
    first = writers[0] if writers else None
    imported = fields.get(IMPORT_ID)
    if isinstance(imported, str):
        yield Event("imported", path, time, first, detail=_shown(imported))
    else:
        yield Event("created", path, time, first)
    updated = parse_time(fields.get("updated_at"))
    if updated is not None and time is not None and updated > time:
        yield Event("edited", path, updated, writers[-1] if len(writers) > 1 else None)
    yield from (_superseded(session, path, new) for new in news)
    if _is_retracted(fields.get(RETRACTED)):
        reason = fields.get(REASON)
        detail = _shown(reason) if isinstance(reason, str) else None
        yield Event("retracted", path, parse_time(fields.get(RETRACTED)), detail=detail)
    until = parse_end(fields.get("valid_until"))
    if until is not None and until < now():
        yield Event("expired", path, until)


def _superseded(session: Session, path: str, new: str) -> Event:
    """Return the event of a succession, at the time from which the new memory holds."""
    try:
        fields = _document(session, new).metadata
    except InvalidInputError:
        return Event("superseded", path, other=new)
    since = parse_time(fields.get("valid_from")) or memory_time(new, fields)
    writers = writers_of(fields)
    return Event("superseded", path, since, writers[0] if writers else None, other=new)


def _committed(file: str, commit: Commit) -> Event:
    return Event(
        "committed",
        file,
        parse_time(commit.time),
        _shown(commit.author) or None,
        commit=commit.id[:SHORT_ID],
        detail=_shown(commit.subject) or None,
    )


def _document(session: Session, path: str) -> Document:
    data = data_of(session.derived, path)
    try:
        return parse_document(path, data, session.derived.rules)
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"{path} is no text: {error.reason}", code="invalid_note"
        ) from error


def _shown(text: str) -> str:
    return one_line(text)[:_LONGEST_DETAIL]
