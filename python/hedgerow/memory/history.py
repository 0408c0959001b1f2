"""The events of a memory, and the difference of two of its states (spec/memory.md, "History")."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow._engine import _is_retracted, _unified_diff
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import UnreadableSourceError

from .documents import Document, parse_document
from .edit import data_of, decoded, writers_of
from .links import REASON, RETRACTED, SUPERSEDED_BY, SUPERSEDES
from .names import IMPORT_ID, repository_of
from .note import now, one_line
from .operations import DiffRequest
from .results import Diff, Event, History
from .times import memory_time, parse_end, parse_time

if TYPE_CHECKING:
    from .session import Session


# The commits of a file, read without running anything of the repository (spec/memory.md, "History").


SECONDS = 10.0
"""The most seconds of one run of git. Following renames in a large repository takes long."""

LARGEST = 8_000_000
"""The most bytes of an earlier text: 2,000,000 characters of UTF-8."""

_LARGEST_FILE = 16 * 1024 * 1024
"""The most bytes of a file of the repository itself that is read, such as its list of references."""

_MOST_REFERENCES = 5
"""The most references from one to another. git follows as many."""

_INHERITED = ("PATH", "SYSTEMROOT")
"""The variables that git gets of the environment: where programs are, also on Windows."""

_ID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_SHA256_DIGITS = 64
_FORMAT = "format:%H%x00%at%x00%<(100,trunc)%an%x00%<(200,trunc)%s"
_FIELDS = 5


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that changed a file, and the path of the file below the repository then."""

    id: str
    at: datetime | None
    author: str
    subject: str
    path: str


class GitFile:
    """A file in a git repository: its commits, and its texts in them."""

    def __init__(self, objects: Path, head: str, shallow: bytes, path: str) -> None:
        self._objects = objects
        self._head = head
        self._shallow = shallow
        self._path = path

    @classmethod
    def of(cls, folder: Path, file: str) -> GitFile | None:
        """Return a file below a folder; None if it is in no repository, or one without commits.

        Raises HedgerowError for a repository that cannot be read.
        """
        folder = folder.resolve()
        top = repository_of(folder)
        if top is None:
            return None
        try:
            own, common = _git_folders(top / ".git")
            head = _head(own, common)
            shallow = common / "shallow"
            cut = _small(shallow) if shallow.is_file() else b""
            objects = (common / "objects").resolve(strict=True)
            if not objects.is_relative_to(common):
                raise _unread("its folder of objects is a link out of it", top)
        except (OSError, ValueError) as error:
            raise _unread(str(error), top) from error
        path = (folder / file).relative_to(top).as_posix()
        return None if head is None else cls(objects, head, cut, path)

    def commits(self, limit: int) -> list[Commit]:
        """Return the commits that changed the file, also under other names, the newest first."""
        options = "--follow", "-z", "--name-only", f"--max-count={limit}", f"--format={_FORMAT}"
        fields = self._run("log", *options, "--", self._path).split(b"\0")
        texts = [field.decode(errors="replace") for field in fields]
        found: list[Commit] = []
        path = self._path
        for at in range(0, len(texts) - _FIELDS + 2, _FIELDS):
            id_, time, author, last = texts[at : at + _FIELDS - 1]
            subject, _, named = last.partition("\n")
            path = named or path
            if _ID.match(id_):
                found.append(Commit(id_, _time(time), author.strip(), subject.strip(), path))
        return found

    def text_at(self, commit: Commit) -> bytes:
        """Return the bytes of the file in a commit; empty if it deleted the file."""
        name = f"{commit.id}:{commit.path}"
        if not self._run("ls-tree", "--name-only", "-z", commit.id, "--", commit.path):
            return b""
        size = int(self._run("cat-file", "-s", name))
        if size > LARGEST:
            raise HedgerowError(
                f"{commit.path} has {size:,} bytes in the commit {commit.id[:12]}; at most "
                f"{LARGEST:,} are compared",
                code="root_io",
            )
        return self._run("cat-file", "blob", name)

    def _run(self, *arguments: str) -> bytes:
        """Run git, and return its output. Raises HedgerowError if it fails or takes too long."""
        git = shutil.which("git")
        if git is None:
            raise _unread("git is not installed")
        with self._repository() as folder:
            environment = {
                **{name: os.environ[name] for name in _INHERITED if name in os.environ},
                "HOME": str(folder),
                "LC_ALL": "C",
                "GIT_DIR": str(folder),
                "GIT_OBJECT_DIRECTORY": str(self._objects),
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_ATTR_NOSYSTEM": "1",
                "GIT_LITERAL_PATHSPECS": "1",
                "GIT_NO_LAZY_FETCH": "1",
                "GIT_NO_REPLACE_OBJECTS": "1",
                "GIT_TERMINAL_PROMPT": "0",
            }
            try:
                done = subprocess.run(  # noqa: S603 - git, with the arguments of this module
                    [git, "--no-pager", *arguments],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise _unread(f"git took longer than {SECONDS:.0f} s") from error
            except OSError as error:
                raise _unread(f"git cannot run ({error.strerror})") from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
            raise _unread(f"git failed ({said})")
        return done.stdout

    @contextmanager
    def _repository(self) -> Iterator[Path]:
        """Make a repository without anything but the objects and the newest commit."""
        is_sha256 = len(self._head) == _SHA256_DIGITS
        extension = "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
        core = f"[core]\n\trepositoryFormatVersion = {int(is_sha256)}\n\tbare = true\n"
        with tempfile.TemporaryDirectory(prefix="hedgerow-git-") as name:
            folder = Path(name).resolve()
            (folder / "refs").mkdir()
            (folder / "HEAD").write_text(f"{self._head}\n", encoding="ascii")
            (folder / "config").write_text(core + extension, encoding="ascii")
            if self._shallow:
                (folder / "shallow").write_bytes(self._shallow)
            yield folder


def _git_folders(git: Path) -> tuple[Path, Path]:
    """Return the folder of a working tree, and the one with the objects, which may be another."""
    own = git
    if git.is_file():
        # Of a further working tree, or of a submodule.
        named = _small(git).decode().removeprefix("gitdir:").strip()
        own = git.parent / named
    own = own.resolve(strict=True)
    common = own / "commondir"
    return own, (own / _small(common).decode().strip()).resolve() if common.is_file() else own


def _head(own: Path, common: Path) -> str | None:
    """Return the id of the newest commit; None before the first one."""
    said = _small(own / "HEAD").decode().strip()
    for _ in range(_MOST_REFERENCES):
        if not said.startswith("ref:"):
            break
        name = said[4:].strip()
        if not name.startswith("refs/") or ".." in name or "\0" in name:
            raise ValueError(f"HEAD is {name[:100]!r}")
        places = (folder / name for folder in (own, common))
        loose = next((place for place in places if place.is_file()), None)
        if loose is None:
            return _packed(common / "packed-refs", name)
        said = _small(loose).decode().strip()
    if not _ID.match(said):
        raise ValueError(f"HEAD is {said[:100]!r}")
    return said


def _packed(file: Path, name: str) -> str | None:
    """Return the id of a reference in the list of references; None if it is not there."""
    lines = _small(file).decode(errors="replace").splitlines() if file.is_file() else []
    for line in lines:
        id_, _, other = line.partition(" ")
        if other == name and _ID.match(id_):
            return id_
    return None


def _small(file: Path) -> bytes:
    with file.open("rb") as opened:
        data = opened.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise ValueError(f"{file.name} is larger than {_LARGEST_FILE:,} bytes")
    return data


def _time(seconds: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None


def _unread(problem: str, top: Path | None = None) -> HedgerowError:
    named = "" if top is None else f" {top}"
    return HedgerowError(
        f"the history of the repository{named} was not read: {problem}", code="root_io"
    )


# The events of a memory, and the difference of two of its states (spec/memory.md, "History").


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
        return decoded(repository.text_at(commit), f"{file} in the commit {commit.id[:_SHORT]}")

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
    text = _unified_diff(_plain(old[1]), _plain(new[1]), old[0], new[0])
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
    return decoded(data_of(session.derived, path), path)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _shown(text: str) -> str:
    return one_line(text)[:_LONGEST_DETAIL]
