"""Lint of the marks that say what holds (spec/memory.md, "Lint")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from .documents import Document
from .marks import Marks

RULES: dict[str, str] = {
    "contradiction": "marks that contradict each other, and so do not count, or hide both memories",
    "several-successors": "a memory that several memories supersede, as after a merge of two branches",
    "unreadable-mark": "a time of validity that is no date",
    "in-doubt": "a memory derived from one that no longer holds",
    "stale": "a memory that should have been looked at again",
}


def findings_of_marks(
    chosen: Sequence[Document], documents: Sequence[Document], now: datetime
) -> Iterator[tuple[str, str]]:
    """Yield the rule and the text of each finding, rule by rule, in path order."""
    marks = Marks.of_documents(documents)
    paths = [document.path for document in chosen]
    yield from _contradictions(paths, marks, now)
    for path in paths:
        news = [one for one in marks.superseding(path) if marks.holds(one, now)]
        if len(news) > 1:
            listed = ", ".join(f"`{one}`" for one in news)
            said = f"`{path}` is superseded by several memories that hold: {listed}"
            yield "several-successors", f"{said}; supersede all but one of them"
    for path in paths:
        for field, value in marks.unreadable(path):
            yield "unreadable-mark", f"`{path}` has {field}: {value}, which is no date"
    validities = [(path, marks.at(path, now)) for path in paths]
    for path, validity in validities:
        if validity.doubtful:
            ended = ", ".join(f"`{one}`" for one in validity.doubtful)
            yield "in-doubt", f"`{path}` is derived from what no longer holds: {ended}"
    for path, validity in validities:
        if validity.holds and validity.stale_since is not None:
            yield (
                "stale",
                f"`{path}` is due for review since {validity.stale_since:%Y-%m-%d}",
            )


def _contradictions(paths: Sequence[str], marks: Marks, now: datetime) -> Iterator[tuple[str, str]]:
    wanted = set(paths)
    for old, new in marks.cycles:
        if old in wanted:
            said = f"`{old}` is superseded by `{new}`, which it supersedes, perhaps through others"
            yield "contradiction", said
    for path in paths:
        if marks.contradicts_itself(path):
            yield "contradiction", f"`{path}` is valid until a time before it begins to be"
    for path in paths:
        for new in marks.superseding(path):
            if marks.at(new, now).why == "retracted":
                said = f"`{path}` is superseded by `{new}`, which was retracted"
                yield "contradiction", f"{said}: restore the one that holds"
