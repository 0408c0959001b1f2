"""The events of a memory, and the difference of two of its states (spec/memory.md, "History")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow._engine import _is_retracted
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import UnreadableSourceError, decode

from .documents import Document, parse_document
from .git_history import Commit, GitFile
from .line_diff import unified
from .marks import REASON, RETRACTED, SUPERSEDED_BY, SUPERSEDES
from .note import now, one_line
from .operations import DiffRequest
from .results import Diff, Event, History
from .texts import data_of
from .times import memory_time, parse_end, parse_time
from .writers import writers_of

if TYPE_CHECKING:
    from .session import Session

MOST_FILES = 100
"""The most memories of one line of succession that are read."""

MOST_COMMITS = 1_000
"""The most commits of a memory that are read."""

_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}\Z")
_SHORT = 12
_LONGEST_DETAIL = 200
_SCOPED = "Commits are not read within a scope: they can have texts of others."
_OLDEST = datetime.min.replace(tzinfo=timezone.utc)


def history(root: Path, session: Session, file: str, limit: int) -> History:
    """Return the events of a memory and of those that it supersedes or that supersede it."""
    events: list[Event] = []
    notices: list[str] = []
    links = _successions(session)
    for path in _line(links, file):
        events += _stated(session, path, [new for old, new in links if old == path])
    try:
        repository = _repository(session, file)
        commits = repository.commits(MOST_COMMITS) if repository is not None else []
        events += (_committed(file, one) for one in commits)
        if len(commits) == MOST_COMMITS:
            notices.append(f"Only the newest {MOST_COMMITS:,} commits were read.")
    except HedgerowError as error:
        notices.append(f"{error.message[:1].upper()}{error.message[1:]}.")
    if session.scope:
        notices.append(_SCOPED)
    events.sort(key=lambda one: (one.at or _OLDEST, _ORDER.index(one.kind)), reverse=True)
    shown = tuple(events[:limit])
    return History(str(root), file, len(events), shown, tuple(notices))


_ORDER = ("created", "imported", "edited", "committed", "superseded", "retracted", "expired")
"""The kinds of events at the same time, from first to last."""


def diff(root: Path, session: Session, file: str, request: DiffRequest) -> Diff:
    """Return the difference of two states of a memory."""
    repository = _repository(session, file)
    commits = repository.commits(MOST_COMMITS) if repository is not None else []

    def text_in(commit: Commit) -> str:
        assert repository is not None  # noqa: S101 - it has commits
        return _decoded(repository.text_at(commit), f"{file} in the commit {commit.id[:_SHORT]}")

    def state(name: str) -> tuple[str, str]:
        """Return the name and the text of a state."""
        named = [one for one in commits if one.id.startswith(name.lower())]
        if _COMMIT.match(name) and len(named) == 1:
            return named[0].id[:_SHORT], text_in(named[0])
        try:
            [path] = session.resolve(name)
        except InvalidInputError as error:
            if error.code == "unknown_node":
                raise _no_state(name, file) from error
            raise
        return path, _present(session, path)

    new = (file, _present(session, file)) if request.new is None else state(request.new)
    if request.old is not None:
        old = state(request.old)
    else:
        # The newest commit mostly has the present text, and the one before it another.
        texts = ((one.id[:_SHORT], text_in(one)) for one in commits)
        earlier = next((one for one in texts if one[1] != new[1]), None)
        before = [one for one, by in _successions(session) if by == file]
        if earlier is None and not before:
            raise InvalidInputError(
                f"{file} has no earlier state: no commit in which it was different, and no memory "
                "that it supersedes; name one as old",
                code="invalid_option",
            )
        old = earlier or (before[0], _present(session, before[0]))
    text = unified(_lines(old[1]), _lines(new[1]), old[0], new[0])
    return Diff(str(root), file, old[0], new[0], text)


def _no_state(name: str, file: str) -> InvalidInputError:
    return InvalidInputError(
        f"there is no state {name!r} of {file}: neither a commit that changed it, by 7 digits or more, "
        f"nor a memory; `hedgerow history` lists them",
        code="invalid_option",
    )


def _repository(session: Session, file: str) -> GitFile | None:
    """Return the file in its git repository; None without one, and within a scope."""
    return None if session.scope else GitFile.of(session.derived.source_root, file)


def _successions(session: Session) -> list[tuple[str, str]]:
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
    imported = fields.get("import_id")
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
        commit.at,
        _shown(commit.author) or None,
        commit=commit.id[:_SHORT],
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


def _present(session: Session, path: str) -> str:
    return _decoded(data_of(session.derived, path), path)


def _decoded(data: bytes, name: str) -> str:
    try:
        return decode(data)
    except UnreadableSourceError as error:
        raise InvalidInputError(
            f"{name} cannot be read: {error.reason}", code="invalid_note"
        ) from error


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _shown(text: str) -> str:
    return one_line(text)[:_LONGEST_DETAIL]
