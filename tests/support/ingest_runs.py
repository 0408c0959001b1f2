"""Files as chunks, and ingest runs over an index with their reports."""

from __future__ import annotations

from pathlib import Path

from hedgerow import Chunk, Index
from hedgerow.ingest import IndexReport, IndexRun, Skip, Source, discover, read_chunks


def run(index: Index, *paths: object) -> IndexReport:
    return IndexRun(index, discover([str(path) for path in paths or ["notes"]])).run()


def counts(report: IndexReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.removed


def ids(index: Index) -> list[str]:
    return sorted(chunk.id for chunk in index.chunks())


def codes(report: IndexReport) -> list[tuple[str, str]]:
    return [(skip.path, skip.code) for skip in report.skips]


def read(file: Path, name: str | None = None) -> tuple[list[Chunk], list[Skip]]:
    skips: list[Skip] = []
    return list(read_chunks(Source(name or file.name, str(file)), skips)), skips
