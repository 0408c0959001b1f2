"""The commits of a file, read by the git command (spec/memory.md, "History")."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

from hedgerow.errors import HedgerowError

SECONDS = 10.0
"""The most seconds of one run of git. Following renames in a large repository takes long."""

LARGEST = 8_000_000
"""The most bytes of output of one run, such as an earlier text: 2,000,000 characters of UTF-8."""

MOST_COMMITS = 1_000
"""The most commits of a file that are read."""

# A cloned repository is not trusted, and its configuration can name programs to run; options have precedence.
# `cat-file blob` uses no attributes, so neither filters nor text conversions. The last option is for the parser:
# the first commit then has its change as all others.
_OPTIONS = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false", "-c", "log.showRoot=true"),
)
_LOG = (
    *("log", "--follow", "--raw", "--no-abbrev", "-z", "--no-ext-diff", "--no-textconv"),
    *("--encoding=UTF-8", f"--max-count={MOST_COMMITS}"),
    "--format=%H%x00%aI%x00%<(100,trunc)%an%x00%<(200,trunc)%s",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    # A partial clone fetches missing objects, by programs that its configuration names. The option
    # `protocol.allow=never` would not prevent it: the configuration can allow a single protocol again.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_CHANGE = re.compile(r"\n:.* ([0-9a-f]{40,64}) ([A-Z])\d*")


class Commit(NamedTuple):
    """A commit that changed a file, with the id of the file's text in it, which is zeros if it deleted the file."""

    repository: Path
    id: str
    time: str
    author: str
    subject: str
    blob: str

    def text(self) -> bytes:
        """Return the bytes of the file in the commit; empty if it deleted the file.

        Raises HedgerowError if they cannot be read.
        """
        return _git(self.repository, "cat-file", "blob", self.blob) if self.blob.strip("0") else b""


def commits(repository: Path, file: Path) -> list[Commit]:
    """Return the commits that changed a file of a repository, also under other names, the newest first.

    Raises HedgerowError if they cannot be read.
    """
    output = _git(repository, *_LOG, "--", file.relative_to(repository).as_posix())
    fields = iter(output.decode(errors="replace").split("\0"))
    found = []
    # A commit has the four fields of the format, `:MODE MODE BLOB BLOB STATUS`, and its path; two after a
    # renaming.
    for id_ in filter(None, fields):
        time, author, subject, line, _ = (next(fields, "") for _ in range(5))
        change = _CHANGE.fullmatch(line)
        if change is None:
            raise _unread("git wrote a line that is no change of a file")
        blob, status = change.groups()
        if status in "RC":
            next(fields, None)
        found.append(Commit(repository, id_, time, author, subject, blob))
    return found


def _git(repository: Path, *arguments: str) -> bytes:
    """Run git in a repository, and return its output.

    Raises HedgerowError if git fails, takes longer than `SECONDS`, or writes more than `LARGEST` bytes.
    """
    git = shutil.which("git")
    # Windows looks in the working directory first, and returns a relative path then.
    if git is None or not Path(git).is_absolute():
        raise _unread("git is not installed")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        with (
            tempfile.TemporaryFile() as problems,
            subprocess.Popen(  # noqa: S603 - git, with the arguments of this module
                [git, *_OPTIONS, *arguments],
                cwd=repository,
                env=environment | _ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=problems,
            ) as process,
        ):
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            try:
                assert process.stdout is not None  # noqa: S101 - it is a pipe
                output = process.stdout.read(LARGEST + 1)
                if len(output) > LARGEST:
                    raise _unread(f"git wrote more than {LARGEST:,} bytes")
                process.wait()
                is_late = not timer.is_alive()
            finally:
                timer.cancel()
                process.kill()
            problems.seek(0)
            said = problems.read(200).decode(errors="replace").partition("\n")[0]
    except OSError as error:
        raise _unread(f"git cannot run ({error.strerror})") from error
    if process.returncode:
        raise _unread(
            f"git took longer than {SECONDS:.0f} s" if is_late else f"git failed ({said})"
        )
    return output


def _unread(problem: str) -> HedgerowError:
    return HedgerowError(f"the history of the repository was not read: {problem}", code="root_io")
