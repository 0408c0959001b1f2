"""Memories with the same content as a new text (spec/memory.md, "What is the same")."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from hedgerow._checks import shown
from hedgerow._engine import LIKE, Index, _likeness, _words_of
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, read_bytes
from hedgerow.typing import OnDuplicate

from . import note
from .derived import Derived, check_folder
from .documents import Document, parse_document
from .files import locked
from .marks import Marks
from .recall import filter_of, search
from .scope import Scope

_logger = logging.getLogger("hedgerow.memory")

CHOICES: tuple[OnDuplicate, ...] = ("error", "keep", "supersede")

_CANDIDATES = 20
_LOOKED_UP = 64
"""The most distinct words of the text in the search for candidates."""


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


@contextmanager
def one_writer(derived: Derived) -> Iterator[None]:
    """Let one thread of one process at a time look for a duplicate and write, until it is indexed.

    A separate lock from the one of the index, which writing and indexing take. No embedder runs
    meanwhile. Where nothing can be locked, writers do not wait for each other.
    """
    with ExitStack() as held:
        try:
            check_folder(derived)
            held.enter_context(locked(derived.remember_lock))
        except HedgerowError as error:
            if error.code == "index_busy":
                raise
            _logger.info("%s is written to without a lock: %s", derived.root, error.message)
        yield


def duplicate_of(
    derived: Derived, index: Index, marks: Callable[[], Marks], text: str, scope: Scope
) -> Duplicate | None:
    """Return the memory of a scope that holds and says the same as a text, or most nearly so."""
    words = dict.fromkeys(word for word in _words_of(text) if word[0].isalnum())
    if not words:
        return None
    query = " ".join([*words][:_LOOKED_UP])
    found = search(index, None, query, _CANDIDATES, whole=True, where=filter_of(scope))
    read = [_read(derived, hit.path) for hit in found.hits]
    documents = [one for one in read if one and scope.has(Scope.stated(one.metadata))]
    shares = _likeness(text, [one.body for one in documents])
    known = zip(documents, shares, strict=True)
    alike = [Duplicate(one.path, share) for one, share in known if share >= LIKE]
    alike.sort(key=lambda one: -one.likeness)
    present = note.now()
    return next((one for one in alike if marks().holds(one.file, present)), None)


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
