"""Why a memory is not among the results of a recall (spec/memory.md, "Why not")."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._operations.fields import declared

from .derived import Derived
from .operations import RecallOptions, RecallRequest, WhyNotRequest
from .recall import Moment, resolved_options
from .results import Recall, RecallWhyNot
from .scope import Scope
from .times import LEFT_OUT

if TYPE_CHECKING:
    from .index_handle import OpenedIndex
    from .session import Session

_REASONS = {
    "other": "only Markdown is (.md)",
    "hidden": "its name, or that of a folder above it, begins with a dot",
    "link": "it is a symbolic link",
    "tools": "it is in a folder of a tool",
    "excluded": "hedgerow.json excludes it",
}
"""Why files are not read, by the codes of `PASSED_BY`."""
_MOST_PASSAGES = 8
"""The most passages of a memory that are looked at: each is a search without a limit."""
_MOST_RANKED = 10_000
"""The most memories among which a rank is counted."""


def why_not(
    opened: OpenedIndex, session: Session, asked: WhyNotRequest, scope: Scope
) -> RecallWhyNot:
    """Return the cause that kept a memory out of a recall without a sync."""
    options: dict[str, Any] = {
        one.name: getattr(asked, one.name) for one in declared(RecallOptions)
    }
    request = RecallRequest(**options | {"sync": False}, limit=asked.limit)
    resolved_options(request)  # raises for a date that does not exist, before a sync
    session.nodes()
    key, unreadable = asked.key, []
    # No name can mean a file that cannot be read, and nobody knows whose it is.
    if not scope:
        key = _path_below(session.derived, key)
        if (skipped := _passed_by(session.derived, asked.query, key)) is not None:
            return skipped
        unreadable = [skip for skip in opened.unreadable(session.config) if skip.path == key]
    if unreadable:
        reason = f"{key} could not be read: {unreadable[0].reason}."
        return RecallWhyNot(str(session.config.root), asked.query, key, "unreadable", reason)
    return _of_recall(opened, session, request, scope, session.resolve(key)[0])


def _of_recall(
    opened: OpenedIndex, session: Session, request: RecallRequest, scope: Scope, file: str
) -> RecallWhyNot:
    """Return the place of a memory that was read, or the cause that kept it out."""

    def recall(request: RecallRequest) -> Recall:
        return opened.recall(session.config, request, scope)[0]

    found = recall(request)

    def answer(cut: str | None, reason: str, rank: int | None = None, **ranks: Any) -> RecallWhyNot:
        needed = None if rank is None else found.results[-1].score
        return RecallWhyNot(
            found.root, request.query, file, cut, reason, rank=rank, needed=needed, **ranks
        )

    if (rank := _rank(found, file)) is not None:
        said = f"{file} is among the results: number {rank + 1}."
        return answer(None, said, rank, result_rank=rank, score=found.results[rank].score)
    state = Moment.of(request.as_of).validity(session.view.marks, file)
    if state.why is not None and not request.include_superseded:
        said = f"{file} does not hold ({state}); only a recall that includes superseded memories finds it."
        return answer(state.why, said)
    everything = recall(replace(request, limit=_MOST_RANKED))
    if (rank := _rank(everything, file)) is not None:
        score, needed = everything.results[rank].score, found.results[-1].score
        said = (
            f"{file} is number {rank + 1}, with a score of {score:.4f}; the last of "
            f"{len(found)} results has {needed:.4f}."
        )
        return answer("limit", said, rank, score=score)
    anything: Any = {"types": (), "tags": (), "written_by": ()}
    anything |= {"after": None, "before": None}
    if _rank(recall(replace(request, limit=_MOST_RANKED, **anything)), file) is not None:
        return answer("filtered", f"{file} is {LEFT_OUT['filtered']}.")
    return answer(*_of_search(opened, session, request.query, file, scope))


def _path_below(derived: Derived, key: str) -> str:
    """Return the path below the indexed folder of a file that is given as an absolute path, or as one from the
    working directory. Other keys are returned unchanged.
    """
    given = Path(key)
    with suppress(ValueError, OSError):  # such as a name that is too long for a file
        if (derived.source_root / given).exists() and not given.is_absolute():
            return key
        if given.is_file():
            return given.resolve().relative_to(derived.source_root).as_posix()
    return key


def _passed_by(derived: Derived, query: str, file: str) -> RecallWhyNot | None:
    """Return the reason for which a file is not read, or a folder above it; None for other files."""
    for path, code in derived.listing(named=True).named:
        if file == path or (path.endswith("/") and file.startswith(path)):
            said = f"{file} is not read: {_REASONS[code]}."
            return RecallWhyNot(str(derived.root), query, file, "passed_by", said)
    return None


def _of_search(
    opened: OpenedIndex, session: Session, query: str, file: str, scope: Scope
) -> tuple[str, str]:
    """Return the cause that kept the passages of a memory out of the search, for the one with the
    most words.
    """
    ranked = [
        opened.why_not(session.config, query, f"{file}#{n}", scope) for n in range(_MOST_PASSAGES)
    ]
    passages = [one for one in ranked if one.cut != "not_in_index"]
    if not passages:
        return "no_match", f"{file} has no text that a recall could find."
    best = max(passages, key=lambda one: len(one.held))
    return best.cut or "no_match", str(best)


def _rank(found: Recall, file: str) -> int | None:
    """Return the rank of a memory among the results, from 0."""
    return next((rank for rank, one in enumerate(found) if one.file == file), None)
