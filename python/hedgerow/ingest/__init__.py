"""Files to chunks, and chunks into an index (spec/ingest.md).

`IndexRun` brings an index up to date with files and folders; the readers under it turn one
file into chunks. Nothing here prints: what was left out is in the report, with its reason.
"""

from __future__ import annotations

from .discover import SUFFIXES, Discovery, discover
from .passages import PASSAGE_LIMIT
from .readers import read_chunks
from .run import IndexRun, RunReport
from .source import TITLE_SEPARATOR, Skip, Source, UnreadableSourceError

__all__ = [
    "PASSAGE_LIMIT",
    "SUFFIXES",
    "TITLE_SEPARATOR",
    "Discovery",
    "IndexRun",
    "RunReport",
    "Skip",
    "Source",
    "UnreadableSourceError",
    "discover",
    "read_chunks",
]
