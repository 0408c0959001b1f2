"""`Index.sync_files`: files and folders into an index, and its new chunks embedded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from hedgerow._checks import listed
from hedgerow._engine import Index
from hedgerow._retrieval.embedding import embedding_missing
from hedgerow._steps import run
from hedgerow.embedders._forms import forms_of
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Progress

from .discovery import Rules, discover
from .index_run import IndexReport, IndexRun

Path = str | os.PathLike[str]


def sync_files(  # noqa: PLR0913 - each has its default
    index: Index,
    paths: Path | Iterable[Path],
    *,
    exclude: Iterable[str] = (),
    include: Iterable[str] = (),
    allow_empty: bool = False,
    embedder: AnyEmbedder | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Do what `hedgerow index` does with an index that is open."""
    if embedder is not None and forms_of(embedder).asynchronous:
        raise InvalidInputError(
            "the embedder is asynchronous, and sync_files cannot await it; give one that answers at "
            "once, or sync without one and await areembed() of a Retriever",
            code="incompatible_options",
        )
    rules = Rules(exclude=_patterns("exclude", exclude), include=_patterns("include", include))
    found = discover(_names(paths), rules, named=True)
    report = IndexRun(index, found, allow_empty=allow_empty).run(progress)
    if embedder is not None:
        report.embedded = run(embedding_missing(index, embedder, progress))
    return report


def _names(paths: Path | Iterable[Path]) -> list[str]:
    """The names of all paths, of which there may be one alone."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if isinstance(paths, (bytes, Mapping)) or not isinstance(paths, Iterable):
        raise TypeError(
            f"paths must be a path, or an iterable of paths, not {type(paths).__name__}"
        )
    names = []
    for i, path in enumerate(listed(paths)):
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
        if not isinstance(name, str):
            raise TypeError(f"paths[{i}] must be a str or a path, not {type(path).__name__}")
        names.append(name)
    return names


def _patterns(option: str, patterns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(patterns, (str, bytes, Mapping)) or not isinstance(patterns, Iterable):
        raise TypeError(f"{option} must be a list of patterns, not one {type(patterns).__name__}")
    found = tuple(listed(patterns))
    for i, pattern in enumerate(found):
        if not isinstance(pattern, str):
            raise TypeError(f"{option}[{i}] must be a str, not {type(pattern).__name__}")
    return found
