"""Quotes of a memory in other files (spec/memory.md, "Forgetting")."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from .derived import Derived
from .documents import Document
from .linking import OWN_FIELDS

_RUN = 6
"""Words in a row that two texts rarely share unless one quotes the other."""

_FEWEST, _SHORTEST = 3, 16
"""The fewest words and characters of a whole line that counts as a quote."""

_WORD = re.compile(r"[\w-]+")
_SECRET = re.compile(r"(?=[\w-]*[^\W\d])(?=[\w-]*\d)[\w-]{8,}")
_NUMBER = re.compile(r"(?=[\w-]*\d)[\w-]{4,}")
_TEXTS = frozenset({"summary", "description", "provenance"})
_BLOCK = 1 << 20


class Quotes:
    """The runs of words by which a quote of a memory is recognized.

    Six words in a row, a whole line of three words or more or with a number of four characters or
    more, or one word of eight characters or more with letters and digits, as tokens and passwords
    have them. Case, punctuation and line ends do not count.
    """

    def __init__(self, document: Document) -> None:
        self._runs: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
        values = (
            value
            for key, value in document.metadata.items()
            if isinstance(value, str) and (key not in OWN_FIELDS or key in _TEXTS)
        )
        title = _words(document.title)
        for line in (*document.body.split("\n"), *values):
            words = _words(line)
            if words != title:
                self._add(words, line)

    def _add(self, words: Sequence[str], line: str) -> None:
        is_long = len(words) >= _FEWEST and len(line.strip()) >= _SHORTEST
        if len(words) < _RUN and (is_long or any(map(_NUMBER.fullmatch, words[1:]))):
            self._runs[len(words)].add(tuple(words))
        for at in range(len(words) - _RUN + 1):
            self._runs[_RUN].add(tuple(words[at : at + _RUN]))
        for word in words:
            if _SECRET.fullmatch(word):
                self._runs[1].add((word,))

    def are_in(self, text: str) -> bool:
        """Whether a text quotes the memory."""
        words = _words(text)
        return any(
            tuple(words[at : at + length]) in runs
            for length, runs in self._runs.items()
            for at in range(len(words) - length + 1)
        )


def copies(derived: Derived, traces: Sequence[bytes], memories: Collection[str]) -> list[str]:
    """Return the files below the root and the indexed folder that have traces of a memory.

    Hidden folders such as a trash count, memories and the derived folder do not, and neither does the
    history of a repository.
    """
    known = {derived.source_root / path for path in memories}
    found = [file for file in _files(derived) if file not in known and has_any(file, traces)]
    return sorted(os.path.relpath(file, derived.root).replace(os.sep, "/") for file in found)


def has_any(file: Path, traces: Sequence[bytes]) -> bool:
    """Whether a file has any of the traces, read in blocks that overlap by the longest of them."""
    longest = max(map(len, traces), default=0)
    with file.open("rb") as stream:
        kept = b""
        while block := stream.read(_BLOCK):
            text = kept + block
            if any(trace in text for trace in traces):
                return True
            kept = text[-longest:] if longest else b""
    return False


def _files(derived: Derived) -> Iterator[Path]:
    bases = dict.fromkeys([derived.root, derived.source_root])
    seen: set[str] = set()
    for base in bases:
        for folder, folders, names in os.walk(base):
            folders[:] = [
                name for name in folders if name != ".git" and Path(folder, name) != derived.folder
            ]
            if folder in seen:
                folders[:] = []
                continue
            seen.add(folder)
            for name in names:
                file = Path(folder, name)
                if file.is_file() and not file.is_symlink():
                    yield file


def repository_of(folder: Path) -> Path | None:
    """Return the folder of the git repository that a folder is in; None if there is none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
