"""A run over files into an index (spec/ingest.md)."""

from __future__ import annotations

# Not pathlib: names of files may hold bytes that are no UTF-8, and folders may be large.
# ruff: noqa: PTH110
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from hedgerow._checks import checked_flag, listed
from hedgerow._dual import run
from hedgerow._engine import Index, _FilesRun, _Ledger
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow._retrieval.embedding import embedding_missing
from hedgerow.embedders.base import AnyEmbedder, forms_of
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Progress

from .source import Discovery, PassedBy, Rules, Skip, check_not_empty, discover, is_within


@dataclass(slots=True)
class IndexReport(Result):
    """What a run did, in chunks where not said otherwise.

    `files` were read, now or before, `total_files` were found; `passed_by` counts what was found
    and not read, by reason, and `named` lists it where the discovery did. `added + changed +
    unchanged` is what the files hold now; `removed` chunks, of which `removed_files` files are
    wholly gone, no longer stand in any file. `skips` says what was left out and why. `embedded` chunks
    were given a vector; None where that was not asked for.
    """

    files: int = 0
    total_files: Annotated[int, Field(local=True)] = 0
    removed_files: int = 0
    passed_by: Annotated[Counter[str], Field(local=True)] = field(default_factory=Counter)
    named: Annotated[list[PassedBy], Field(local=True)] = field(default_factory=list)
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skips: Annotated[list[Skip], Field(key="skipped")] = field(default_factory=list)
    embedded: int | None = None

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"ignored": "ignored"}

    @property
    def ignored(self) -> int:
        """The number of files with a name of another kind."""
        return self.passed_by["other"]


class IndexRun:
    """One run over the files `found` into `index`; `report` is right even when it is stopped.

    Files that changed are replaced, unchanged chunks are left alone (an embedding stays),
    and chunks of sections and files that are gone are deleted. Chunks that were not made
    from files are never touched.
    """

    def __init__(self, index: Index, found: Discovery, *, allow_empty: bool = False) -> None:
        self.report = IndexReport(
            total_files=len(found.sources),
            passed_by=found.passed_by,
            named=found.named,
            skips=list(found.skips),
        )
        self._index = index
        self._found = found
        self._allow_empty = checked_flag(allow_empty, "allow_empty")

    def run(self, progress: Progress | None = None) -> IndexReport:
        """Read what changed and write the differences.

        Raises IndexFileError when the index cannot be read or written; what was committed
        before stays. Raises InvalidInputError, with nothing changed, when a path has nothing to
        read and the index has files from there, unless `allow_empty`.
        """
        ledger = _Ledger.of_files(self._index)
        gone = dict(self._gone(ledger))
        if not self._allow_empty:
            self._check_not_empty([path for path, chunks in gone.items() if chunks])
        named = self._found.named_files
        files = [
            (source.path, source.file, source.signature, source.file in named)
            for source in self._found.sources
        ]
        run = _FilesRun()
        try:
            run.run(self._index, ledger, files, list(gone), progress)
        finally:
            report = self.report
            report.files, report.removed_files, *counts, skips = run.report()
            report.added, report.changed, report.unchanged, report.removed = counts
            report.skips += [Skip(*skip) for skip in skips]
        return self.report

    def _gone(self, ledger: _Ledger) -> Iterator[tuple[str, int]]:
        """Yield the files under the paths that are not read any more, each with the count of its chunks.

        One that was named stays as long as it exists, even where the rules of its folder pass it by.
        """
        found = self._found
        known = {source.file for source in found.sources}
        for path, chunks, facts in ledger.facts():
            if (
                path not in known
                and is_within(path, found.covered)
                and not is_within(path, found.unknown)
                and not (facts.get("named", True) and os.path.exists(path))
            ):
                yield path, chunks

    def _check_not_empty(self, gone: Sequence[str]) -> None:
        for folder in self._found.covered:
            here = [folder]
            found = sum(is_within(source.file, here) for source in self._found.sources)
            check_not_empty(folder, sum(is_within(file, here) for file in gone), found)


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
        raise InvalidInputError(
            f"paths must be a path, or an iterable of paths, not {type(paths).__name__}",
            code="invalid_option",
        )
    names = []
    for i, path in enumerate(listed(paths)):
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
        if not isinstance(name, str):
            raise InvalidInputError(
                f"paths[{i}] must be a str or a path, not {type(path).__name__}",
                code="invalid_option",
            )
        names.append(name)
    return names


def _patterns(option: str, patterns: Iterable[str]) -> tuple[str, ...]:
    if isinstance(patterns, (str, bytes, Mapping)) or not isinstance(patterns, Iterable):
        raise InvalidInputError(
            f"{option} must be a list of patterns, not one {type(patterns).__name__}",
            code="invalid_option",
        )
    found = tuple(listed(patterns))
    for i, pattern in enumerate(found):
        if not isinstance(pattern, str):
            raise InvalidInputError(
                f"{option}[{i}] must be a str, not {type(pattern).__name__}", code="invalid_option"
            )
    return found
