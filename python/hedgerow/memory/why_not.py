"""Why a memory is not among the results of a recall (spec/memory.md, "Why not")."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result

from .config import Config
from .derived import Derived
from .marks import Marks
from .operations import RecallRequest
from .recall import Moment
from .results import Recall
from .scope import Scope
from .times import LEFT_OUT

if TYPE_CHECKING:
    from .index_handle import OpenedIndex

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
_ALL = 1_000_000
"""The limit of a recall of all memories that match."""


@dataclass(frozen=True, slots=True)
class RecallWhyNot(Result):
    """Why a memory is not among the results of a recall, or where it is.

    `cut` is what kept it out, None for a result: `passed_by` for a file that is not read, `unreadable`, a reason for which a memory does not hold
    (`retracted`, `superseded`, `expired`, `not_yet_valid`), `filtered`, `limit`, or what the search says of
    the passage that has the most words (`no_match`, `excluded`, `candidates`). `result_rank` is its rank
    among the results, and `rank` among all memories that match, both from 0; `score` and `needed` are its
    score and that of the last result. `reason` is all of it in words.
    """

    root: str
    query: str
    file: str
    cut: Annotated[str | None, Field(null=True)]
    reason: str
    result_rank: Annotated[int | None, Field(null=True)] = None
    rank: Annotated[int | None, Field(null=True)] = None
    score: Annotated[float | None, Field(null=True)] = None
    needed: Annotated[float | None, Field(null=True)] = None

    def __str__(self) -> str:
        return self.reason


def why_not(
    opened: OpenedIndex, config: Config, request: RecallRequest, scope: Scope, file: str
) -> RecallWhyNot:
    """Return the cause that kept a memory out of a recall without a sync."""

    def recall(request: RecallRequest) -> Recall:
        return opened.recall(config, request, scope)[0]

    found = recall(request)

    def answer(cut: str | None, reason: str, **ranks: Any) -> RecallWhyNot:
        return RecallWhyNot(found.root, request.query, file, cut, reason, **ranks)

    if (rank := _rank(found, file)) is not None:
        score, needed = found.results[rank].score, found.results[-1].score
        said = f"{file} is among the results: number {rank + 1}."
        return answer(None, said, result_rank=rank, rank=rank, score=score, needed=needed)
    for skip in opened.unreadable(config):
        if skip.path == file:
            return answer("unreadable", f"{file} could not be read: {skip.reason}.")
    state = Moment.of(request.as_of, scope).validity(
        opened.read(config, Marks.of, sync=False), file
    )
    if state.why is not None and not request.include_superseded:
        said = f"{file} does not hold ({state}); --include-superseded finds it."
        return answer(state.why, said)
    everything = recall(replace(request, limit=_ALL))
    if (rank := _rank(everything, file)) is not None:
        score, needed = everything.results[rank].score, found.results[-1].score
        said = (
            f"{file} is number {rank + 1}, with a score of {score:.4f}; the last of "
            f"{len(found)} results has {needed:.4f}."
        )
        return answer("limit", said, rank=rank, score=score, needed=needed)
    anything: Any = {"types": (), "tags": (), "written_by": ()}
    anything |= {"after": None, "before": None, "question_date": None}
    if _rank(recall(replace(request, limit=_ALL, **anything)), file) is not None:
        return answer("filtered", f"{file} is {LEFT_OUT['filtered']}.")
    return answer(*_of_search(opened, config, request.query, file))


def path_below(derived: Derived, key: str) -> str:
    """Return the path below the indexed folder of a file that is given as an absolute path, or as one from the
    working directory. Other keys are returned unchanged.
    """
    given = Path(key)
    if (derived.source_root / given).exists() and not given.is_absolute():
        return key
    with suppress(ValueError, OSError):
        if given.is_file():
            return given.resolve().relative_to(derived.source_root).as_posix()
    return key


def passed_by(derived: Derived, query: str, file: str) -> RecallWhyNot | None:
    """Return the reason for which a file is not read, or a folder above it; None for other files."""
    for path, code in derived.listing(named=True).named:
        if file == path or (path.endswith("/") and file.startswith(path)):
            said = f"{file} is not read: {_REASONS[code]}."
            return RecallWhyNot(str(derived.root), query, file, "passed_by", said)
    return None


def _of_search(
    opened: OpenedIndex, config: Config, query: str, file: str
) -> tuple[str | None, str]:
    """Return the cause that kept the passages of a memory out of the search, for the one with the
    most words.
    """
    ranked = [opened.why_not(config, query, f"{file}#{n}") for n in range(_MOST_PASSAGES)]
    passages = [one for one in ranked if one.cut != "not_in_index"]
    if not passages:
        return "no_match", f"{file} has no text that a recall could find."
    best = max(passages, key=lambda one: len(one.held))
    return best.cut or "no_match", str(best)


def _rank(found: Recall, file: str) -> int | None:
    """Return the rank of a memory among the results, from 0."""
    return next((rank for rank, one in enumerate(found) if one.file == file), None)
