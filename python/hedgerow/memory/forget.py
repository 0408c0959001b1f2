"""Forgetting: deleting a file and everything derived from it (spec/memory.md, "Forgetting")."""

from __future__ import annotations

import codecs
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hedgerow._engine import _files_with, _vacuum
from hedgerow.errors import HedgerowError
from hedgerow.ingest.source import Rules, decode, text_of

from .derived import Derived, forget_joint, open_store_to_write, open_to_write
from .documents import read_documents
from .edit import data_of, path_of
from .files import locked, remove, system_errors, update
from .links import OWN_FIELDS
from .names import TEMPORARY_SUFFIX, pattern_of, repository_of
from .process import without_source
from .results import ForgetResult
from .sync import sync, write_manifest


def forget(
    derived: Derived, file: str, named_by: Sequence[str], visible: Collection[str] | None
) -> ForgetResult:
    """Delete all that was derived from a file, and then the file: one that is stopped can be repeated.

    The lines of pages that quote it are removed. Only files that are `visible` are named; None for
    all. Raises HedgerowError (`not_forgotten`) if something of it is found in the derived folder
    afterwards, or if that cannot be known.
    """
    # A file that is no text is refused before anything is deleted: no trace of it could be recognized.
    text, path = text_of(data_of(derived, file)), path_of(derived, file)
    without = replace(derived, rules=_rules_without(derived.rules, file))
    with locked(derived.lock), system_errors("remove", path):
        # First: a process that is killed leaves no node with the path of a deleted file.
        if derived.store.exists():
            with open_store_to_write(derived) as store:
                store._purge([file])  # noqa: SLF001 - of the same package
    try:
        rewritten = _rewritten_pages(without, file)
        others = read_documents(derived.source_root, without.rules)
        quoting, traces = others.quotes_and_traces(file, text, OWN_FIELDS)
        removed = _purged(without, traces)
    except (HedgerowError, OSError) as error:
        raise _not_forgotten(derived, f"{file} was not deleted", error) from error
    with locked(derived.lock), system_errors("remove", path):
        remove(path)
    try:
        left = _left(derived, traces)
        if left:  # another process read the file meanwhile
            removed += _purged(derived, traces)
            left = _left(derived, traces)
        found = _copies(derived, traces, others.paths) if visible is None else []
    except (HedgerowError, OSError) as error:
        raise _not_forgotten(derived, f"{file} was deleted", error) from error
    if left:
        names = ", ".join(map(str, left))
        problem = f"{names} still has parts of it, perhaps for a process that reads it"
        raise _not_forgotten(derived, f"{file} was deleted", problem)
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
    for page in read_documents(derived.source_root, derived.rules).pages:
        path = derived.source_root / page
        data = path.read_bytes()
        new = without_source(decode(data), file)
        if new is not None:
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            with locked(derived.lock):
                update(path, mark + new.encode(), expected=data, root=derived.source_root)
            changed.append(page)
    return changed


def _purged(derived: Derived, traces: list[str]) -> tuple[str, ...]:
    """Remove everything that was derived from a deleted file."""
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


def _rules_without(rules: Rules, file: str) -> Rules:
    """Return the rules of reading a root without one of its files."""
    pattern = pattern_of(file)
    include = (*rules.include, f"!{pattern}") if rules.include else ()
    return replace(rules, exclude=(*rules.exclude, pattern), include=include)


def _left(derived: Derived, traces: list[str]) -> list[Path]:
    return _with(_derived_files(derived), traces)


def _not_forgotten(derived: Derived, done: str, problem: str | Exception) -> HedgerowError:
    if isinstance(problem, Exception):
        message = problem.message if isinstance(problem, HedgerowError) else str(problem)
        problem = f"derived files may be left: {message}"
    return HedgerowError(
        f"{done}, but {problem}; delete {derived.folder} when nothing uses it, and the "
        "next command rebuilds it from the files",
        code="not_forgotten",
    )


def _without_traces(derived: Derived, traces: list[str]) -> Iterator[str]:
    """Delete reports, and stores, indexes and writes of old, with traces of a file; yields their paths."""
    old = f"{derived.store.name}.", f"{derived.index.name}."
    replaceable = [
        other
        for other in _derived_files(derived)
        if other.parent == derived.reports
        or other.name.startswith(old)
        or other.name.endswith(TEMPORARY_SUFFIX)
    ]
    for other in _with(replaceable, traces):
        with system_errors("remove", other):
            remove(other)
        yield other.relative_to(derived.root).as_posix()


def _derived_files(derived: Derived) -> list[Path]:
    return sorted(file for file in derived.folder.rglob("*") if file.is_file())


def _copies(derived: Derived, traces: list[str], memories: Iterable[str]) -> list[str]:
    """Return the files below the root and the indexed folder that have traces of a memory.

    Hidden folders such as a trash count, memories and the derived folder do not, and neither does the
    history of a repository.
    """
    known = {derived.source_root / path for path in memories}
    found = _with([file for file in _files(derived) if file not in known], traces)
    return sorted(os.path.relpath(file, derived.root).replace(os.sep, "/") for file in found)


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


def _with(files: Sequence[Path], traces: list[str]) -> list[Path]:
    """Return the files with any of the traces."""
    return [files[at] for at in _files_with(files, traces)]
