"""The commits of a file, read without running anything of the repository (spec/memory.md, "History").

git runs in a temporary folder that names only the objects of the repository. Configuration, hooks,
attributes and remotes of the repository take no effect, as they may have come with a clone.
"""

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

from hedgerow.errors import HedgerowError

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
                raise _unreadable(top, "its folder of objects is a link out of it")
        except (OSError, ValueError) as error:
            raise _unreadable(top, str(error)) from error
        path = (folder / file).relative_to(top).as_posix()
        return None if head is None else cls(objects, head, cut, path)

    def commits(self, limit: int) -> list[Commit]:
        """Return the commits that changed the file, also under other names, the newest first."""
        fields = self._run(
            *(
                "log",
                "--follow",
                "-z",
                "--name-only",
                f"--max-count={limit}",
                f"--format={_FORMAT}",
            ),
            *("--", self._path),
        ).split(b"\0")
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
            raise HedgerowError(
                "the history of the repository was not read: git is not installed", code="root_io"
            )
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
                raise HedgerowError(
                    f"the history of the repository was not read: git took longer than {SECONDS:.0f} s",
                    code="root_io",
                ) from error
            except OSError as error:
                raise HedgerowError(
                    f"the history of the repository was not read: git cannot run ({error.strerror})",
                    code="root_io",
                ) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
            raise HedgerowError(
                f"the history of the repository was not read: git failed ({said})", code="root_io"
            )
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


def repository_of(folder: Path) -> Path | None:
    """Return the folder of the git repository around a folder; None outside of a repository."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


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


def _unreadable(top: Path, problem: str) -> HedgerowError:
    return HedgerowError(
        f"the history of the repository {top} was not read: {problem}", code="root_io"
    )
