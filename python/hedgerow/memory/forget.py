"""Forgetting: deleting a file and everything derived from it (spec/memory.md, "Forgetting")."""

from __future__ import annotations

import codecs
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from hedgerow._engine import _vacuum
from hedgerow.errors import HedgerowError
from hedgerow.ingest.source import decode

from .derived import Derived, forget_joint, open_store_to_write, open_to_write
from .documents import Document, parse_document, read_documents
from .files import locked, remove, system_errors, update
from .history import repository_of
from .links import OWN_FIELDS
from .names import TEMPORARY_SUFFIX
from .process import without_source
from .results import ForgetResult
from .sync import sync, write_manifest
from .texts import data_of, path_of

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


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


_SHORTEST_TRACE = 16
"""The fewest characters of a line that can only be of this file."""

_MOST, _LONGEST = 50, 80
"""The most traces, and the most characters of one."""

_OF_MANY = ("source", "confidence", "type")
"""Front matter whose values are of no memory in particular, but of every one that was remembered."""


def forget(
    derived: Derived, file: str, named_by: Sequence[str], visible: Collection[str] | None
) -> ForgetResult:
    """Delete a file and all that was derived from it.

    The lines of pages that quote it are removed. Only files that are `visible` are named; None for
    all. Raises HedgerowError (`not_forgotten`) if something of it is found in the derived folder
    afterwards, or if that cannot be known.
    """
    data, path = data_of(derived, file), path_of(derived, file)
    document = parse_document(file, data)
    with locked(derived.lock), system_errors("remove", path):
        # First: a process that is killed leaves no node with the path of a deleted file.
        if derived.store.exists():
            with open_store_to_write(derived) as store:
                store._purge([file])  # noqa: SLF001 - of the same package
        remove(path)
    try:
        rewritten = _rewritten_pages(derived, file)
        others = read_documents(derived.source_root, derived.rules)[0]
        quotes = Quotes(document)
        quoting = [one.path for one in others if quotes.are_in("\n".join(one.lines))]
        traces = _traces(document, others)
        removed = _purged(derived, traces)
        left = [str(other) for other in _derived_files(derived) if _has(other, traces)]
        found = copies(derived, traces, [one.path for one in others]) if visible is None else []
    except (HedgerowError, OSError) as error:
        message = error.message if isinstance(error, HedgerowError) else str(error)
        raise _not_forgotten(derived, file, f"derived files may be left: {message}") from error
    if left:
        problem = f"{', '.join(left)} still has parts of it, perhaps for a process that reads it"
        raise _not_forgotten(derived, file, problem)
    return ForgetResult(
        str(derived.root),
        file,
        tuple(named_by),
        removed,
        tuple(_seen(rewritten, visible)),
        tuple(_seen(quoting, visible)),
        tuple(found),
        tuple(_out_of_reach(derived)),
    )


def _seen(files: Iterable[str], visible: Collection[str] | None) -> list[str]:
    return [file for file in files if visible is None or file in visible]


def _out_of_reach(derived: Derived) -> Iterator[str]:
    repository = repository_of(derived.source_root)
    if repository is not None:
        yield f"the git history of {repository}, and its clones"
    yield "backups, synced copies, and what other processes have in memory"


def _rewritten_pages(derived: Derived, file: str) -> list[str]:
    """Remove the lines of pages that quote a file; returns the pages that were changed."""
    changed = []
    for page in read_documents(derived.source_root, derived.rules)[0]:
        if not page.is_page:
            continue
        path = derived.source_root / page.path
        data = path.read_bytes()
        new = without_source(decode(data), file)
        if new is not None:
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            with locked(derived.lock):
                update(path, mark + new.encode(), expected=data, root=derived.source_root)
            changed.append(page.path)
    return changed


def _purged(derived: Derived, traces: list[bytes]) -> tuple[str, ...]:
    """Remove what was derived from a file that is gone."""
    sync(derived, allow_empty=True)
    forget_joint(derived)
    with locked(derived.lock):
        with open_to_write(derived) as index:
            _vacuum(index)
        if derived.store.exists():
            with open_store_to_write(derived) as store:
                _vacuum(store.index)
        if derived.manifest.exists():
            write_manifest(derived)
        return tuple(_without_traces(derived, traces))


def _not_forgotten(derived: Derived, file: str, problem: str) -> HedgerowError:
    return HedgerowError(
        f"{file} was deleted, but {problem}; delete {derived.folder} when nothing uses it, and the "
        "next command rebuilds it from the files",
        code="not_forgotten",
    )


def _traces(document: Document, others: Sequence[Document]) -> list[bytes]:
    """Return the texts by which traces of a deleted file are recognized: those in no other file.

    These are its path, and the beginnings of its longest lines and values of front matter: SQLite
    cuts long texts into pages, so a whole one need not be in a file in one piece.
    """
    lines = (line.strip() for line in document.lines)
    metadata = document.metadata.items()
    values = (value for key, value in metadata if isinstance(value, str) and key not in _OF_MANY)
    long = {text for text in (*lines, *values) if len(text) >= _SHORTEST_TRACE}
    longest = sorted(long, key=lambda text: (-len(text), text))[:_MOST]
    own = [document.path, *dict.fromkeys(text[:_LONGEST] for text in longest)]
    for other in others:
        text = "\n".join(other.lines)
        own = [trace for trace in own if trace not in text]
    return [trace.encode() for trace in own]


def _without_traces(derived: Derived, traces: list[bytes]) -> Iterator[str]:
    """Delete reports, and stores, indexes and writes of old, with traces of a file; yields their paths."""
    for other in _derived_files(derived):
        is_old = other.name.startswith((f"{derived.store.name}.", f"{derived.index.name}."))
        is_old = is_old or other.name.endswith(TEMPORARY_SUFFIX)
        if (other.parent == derived.reports or is_old) and _has(other, traces):
            with system_errors("remove", other):
                remove(other)
            yield other.relative_to(derived.root).as_posix()


def _derived_files(derived: Derived) -> list[Path]:
    return sorted(file for file in derived.folder.rglob("*") if file.is_file())


def _has(file: Path, traces: list[bytes]) -> bool:
    with system_errors("read", file):
        return has_any(file, traces)
