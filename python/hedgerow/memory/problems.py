"""What is wrong with a file that is read nevertheless: its front matter, or a conflict of git in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hedgerow._engine import _bad_front_matter, _conflict_line
from hedgerow.ingest.source import Skip

from .documents import Document

CONFLICT = "git_conflict"
CODES = frozenset({"bad_front_matter", CONFLICT})
"""The codes of problems of files that are read, and found, nevertheless."""

_SHOWN = 3


def problems_of(document: Document) -> tuple[Skip, ...]:
    """Return the problems of a document, each with its line."""
    bad = _bad_front_matter(document.matter)
    found = [Skip(document.path, *bad)] if bad else []
    line = _conflict_line(document.lines)
    if line is not None:
        reason = (
            "it is in conflict: git left two versions between <<<<<<< and >>>>>>>; keep one of them"
        )
        found.append(Skip(document.path, CONFLICT, reason, line))
    return tuple(found)


def notices_of(
    skips: Iterable[Skip], files: Sequence[str], *, filtered: bool, whole: bool
) -> list[str]:
    """Return the notices for the problems of the files that were found, and for all conflicts.

    A conflict may hide a file: its marks are read from both versions. With `filtered`, also how many
    other files have front matter that could not be read whole, and may be missing for that reason.
    Unless the root is seen `whole`, only the files that were found are named.
    """
    found = set(files)
    problems = [one for one in skips if one.code in CODES and (whole or one.path in found)]
    own = [str(one) for one in problems if one.path in found or one.code == CONFLICT]
    shown = own[:_SHOWN]
    if len(own) > _SHOWN:
        shown.append(
            f"{len(own) - _SHOWN} more of these files have problems: hedgerow doctor names them"
        )
    others = {skip.path for skip in problems if skip.path not in found}
    if filtered and others:
        count = "1 file" if len(others) == 1 else f"{len(others)} files"
        shown.append(
            f"{count} with front matter that cannot be read may be missing: hedgerow doctor names them"
        )
    return shown
