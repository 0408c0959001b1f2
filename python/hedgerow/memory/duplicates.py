"""Duplicates: what is remembered already, and memories that say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from hedgerow._checks import shown
from hedgerow._engine import Index
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Skip, Source, UnreadableSourceError, read_bytes
from hedgerow.typing import OnDuplicate

from . import note
from .derived import Derived
from .documents import Document, parse_document
from .marking import supersede
from .marks import Marks
from .process import Processed, selected
from .recall import filter_of, search
from .sameness import LIKE, likeness, nearly_same, same, words_of
from .scope import Scope
from .selection import NEVER, Selection
from .times import memory_time

CHOICES: tuple[OnDuplicate, ...] = ("error", "keep", "supersede")

_CANDIDATES = 20
_LOOKED_UP = 64
"""The most distinct words of a text that the index is searched for."""


class Duplicate(NamedTuple):
    """A memory that says the same as a text, or nearly: the file, and its likeness."""

    file: str
    likeness: float

    def __str__(self) -> str:
        if self.likeness == 1:
            return f"{self.file} says the same"
        return f"{self.file} says nearly the same ({self.likeness:.0%} of the words)"


def checked_choice(choice: str) -> None:
    """Raise InvalidInputError for a word that says nothing about duplicates."""
    if choice not in CHOICES:
        raise InvalidInputError(
            f"on_duplicate must be one of {', '.join(CHOICES)}, not {shown(choice)}",
            code="invalid_option",
        )


def duplicate_of(
    derived: Derived, index: Index, marks: Callable[[], Marks], text: str, scope: Scope
) -> Duplicate | None:
    """Return the memory of a scope that holds and says the same as a text, or most nearly so."""
    words = words_of(text)
    if not words:
        return None
    wanted, present = Counter(words), note.now()
    query, where = " ".join(list(wanted)[:_LOOKED_UP]), filter_of(scope)
    found = search(index, None, query, _CANDIDATES, whole=True, where=where)
    alike = []
    for hit in found.hits:
        document = _read(derived, hit.path)
        is_one = document is not None and scope.has(Scope.stated(document.metadata))
        share = (
            0.0
            if document is None or not is_one
            else likeness(wanted, Counter(words_of(document.body)))
        )
        if share >= LIKE:
            alike.append(Duplicate(hit.path, share))
    alike.sort(key=lambda one: -one.likeness)
    return next((one for one in alike if marks().at(one.file, present).holds), None)


def error_of(found: Duplicate) -> HedgerowError:
    """Return the error of a text that is remembered already."""
    return HedgerowError(
        f'nothing was written: {found}; keep both with on_duplicate="keep" (--force), or put the '
        'new one in its place with on_duplicate="supersede" (--supersede)',
        code="duplicate_memory",
    )


def _read(derived: Derived, path: str) -> Document | None:
    """Read a file as it is now; None where the index knows more than there is."""
    try:
        return parse_document(path, read_bytes(Source(path, str(derived.source_root / path))))
    except UnreadableSourceError:
        return None


def run_dedupe(derived: Derived, selection: Selection, *, apply: bool) -> Processed:
    """Find memories that say the same; if applied, mark all but the oldest of each as superseded.

    What says nearly the same is named, and left to whoever reads it.
    """
    documents, unreadable = selected(derived, selection)
    marks, present = Marks.of_documents(documents), note.now()
    holding = [one for one in documents if marks.at(one.path, present).holds]
    chosen = sorted(selection.of_interest(holding), key=_age)
    texts = {one.path: words_of(one.body) for one in chosen}
    groups = same(texts)
    plan = {copy: group[0] for group in groups for copy in group[1:]}
    changed: dict[str, None] = {}
    refused = list(unreadable)
    sentences: list[str] = []
    done = "superseded" if apply else "would be superseded"
    for copy, kept in plan.items():
        if apply:
            try:
                changed |= dict.fromkeys(supersede(derived, copy, kept))
            except HedgerowError as error:
                refused.append(Skip(copy, error.code, error.message))
                continue
        sentences.append(f"{copy}: {done} by {kept}, which says the same.")
    left = {path: words for path, words in texts.items() if path not in plan}
    sentences += [
        f"{pair.second} says nearly the same as {pair.first} ({pair.likeness:.0%} of the words): "
        "left as it is."
        for pair in nearly_same(left)
    ]
    found = "1 duplicate." if len(plan) == 1 else f"{len(plan)} duplicates."
    files = tuple(changed) if apply else tuple(_files(plan.items()))
    summary = (found, *sentences)
    return Processed(
        str(derived.root), "dedupe", apply, selection.topic, files, summary, tuple(refused)
    )


def _files(pairs: Iterable[tuple[str, str]]) -> dict[str, None]:
    """Return the files of a plan, in its order, each once."""
    return dict.fromkeys(file for copy, kept in pairs for file in (kept, copy))


def _age(document: Document) -> tuple[bool, datetime, str]:
    """Return what sorts the oldest first; a memory without a time is younger than all others."""
    time = memory_time(document.path, document.metadata)
    return time is None, time or NEVER, document.path
