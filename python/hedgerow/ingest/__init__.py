"""Files to chunks, and chunks into an index (spec/ingest.md).

`IndexRun` brings an index up to date with files and folders; the readers under it turn one
file into chunks. Nothing here prints: what was left out is in the report, with its reason.
What is named is imported when it is first asked for: a memory root needs little of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow._lazy import imported_when_asked_for

if TYPE_CHECKING:
    from .discovery import SUFFIXES, Discovery, PassedBy, Rules, discover
    from .index_run import IndexRun, RunReport
    from .passages import PASSAGE_LIMIT
    from .readers import read_chunks
    from .source import TITLE_SEPARATOR, Skip, Source, UnreadableSourceError

__all__ = [
    "PASSAGE_LIMIT",
    "SUFFIXES",
    "TITLE_SEPARATOR",
    "Discovery",
    "IndexRun",
    "PassedBy",
    "Rules",
    "RunReport",
    "Skip",
    "Source",
    "UnreadableSourceError",
    "discover",
    "read_chunks",
]

_HOMES = {
    "PASSAGE_LIMIT": "passages",
    "SUFFIXES": "discovery",
    "TITLE_SEPARATOR": "source",
    "Discovery": "discovery",
    "IndexRun": "index_run",
    "PassedBy": "discovery",
    "Rules": "discovery",
    "RunReport": "index_run",
    "Skip": "source",
    "Source": "source",
    "UnreadableSourceError": "source",
    "discover": "discovery",
    "read_chunks": "readers",
}

if not TYPE_CHECKING:
    __getattr__ = imported_when_asked_for(__name__, _HOMES)
