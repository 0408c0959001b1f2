"""The difference of two states of a memory (spec/memory.md, "History")."""

from __future__ import annotations

import difflib
import re
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import Fix, InvalidInputError

from .edit import data_of, decoded
from .git_log import Commit
from .history import SHORT_ID, commits_of, successions
from .operations import DiffRequest
from .results import Diff

if TYPE_CHECKING:
    from .session import Session

MOST_LINES = 3_000
"""The most lines, of both texts from the first to the last change, that are compared: at worst half a second."""

_CONTEXT = 3
"""The unchanged lines shown around a change."""

_NUMBER = re.compile(r"(?<=[-+])\d+")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}\Z")


def diff(root: Path, session: Session, file: str, request: DiffRequest) -> Diff:
    """Return the difference of two states of a memory."""
    found, problem = commits_of(session, file)
    unread = f" ({problem})" if problem else ""

    def state(name: str) -> tuple[str, str]:
        """Return the name and the text of a state."""
        named = [one for one in found if one.id.startswith(name.lower())]
        if _COMMIT.match(name) and len(named) == 1:
            return _text_in(named[0], file)
        try:
            [path] = session.resolve(name)
        except InvalidInputError as error:
            if error.code != "unknown_node":
                raise
            raise InvalidInputError(
                f"there is no state {name!r} of {file}: neither a commit that changed it, by 7 digits or "
                f"more, nor a memory{unread}",
                code="invalid_option",
                key=file,
                fixes=(Fix("list the commits", "history", {"key": file}),),
            ) from error
        return path, _present(session, path)

    def before(present: str) -> tuple[str, str]:
        newest: dict[str, Commit] = {}
        for one in found:
            newest.setdefault(one.blob, one)
        states = (_text_in(one, file) for one in newest.values())
        earlier = next((one for one in states if one[1] != present), None)
        if earlier:
            return earlier
        for old, new in successions(session):
            if new == file:
                return old, _present(session, old)
        raise InvalidInputError(
            f"{file} has no earlier state: no commit in which it was different, and no memory that it "
            f"supersedes; name one as old{unread}",
            code="invalid_option",
        )

    new = (file, _present(session, file)) if request.new is None else state(request.new)
    old = before(new[1]) if request.old is None else state(request.old)
    return Diff(str(root), file, old[0], new[0], unified_diff(old, new))


def unified_diff(old: tuple[str, str], new: tuple[str, str]) -> str:
    """Return the unified diff of two states, each a name and a text; empty if they are equal.

    Raises InvalidInputError if too many lines lie between the first and the last change.
    """
    before, after = (_lines(text) for _, text in (old, new))
    # difflib may take quadratic time, so it gets only what is between the first and the last change.
    start = _shared(before, after)
    end = _shared(before[start:][::-1], after[start:][::-1])
    if len(before) + len(after) - 2 * (start + end) > MOST_LINES:
        raise InvalidInputError(
            f"{old[0]} and {new[0]} have more than {MOST_LINES:,} lines between the first and the last "
            "change; compare them with git diff",
            code="invalid_option",
        )
    first, cut = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
    before, after = (side[first : len(side) - cut] for side in (before, after))
    found = difflib.unified_diff(before, after, old[0], new[0], n=_CONTEXT, lineterm="")

    def moved(line: str) -> str:
        is_range = line.startswith("@@")
        return _NUMBER.sub(lambda at: str(int(at[0]) + first), line) if is_range else line

    return "".join(f"{moved(line)}\n" for line in found)


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _shared(one: list[str], other: list[str]) -> int:
    """Return the number of equal lines at the beginning of both."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _text_in(commit: Commit, file: str) -> tuple[str, str]:
    """Return the name of a commit, and the text of a memory in it."""
    name = commit.id[:SHORT_ID]
    return name, decoded(commit.text(), f"{file} in the commit {name}")


def _present(session: Session, path: str) -> str:
    return decoded(data_of(session.derived, path), path)
