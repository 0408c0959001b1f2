"""Files to chunks, and chunks into an index (spec/ingest.md).

`IndexRun` brings an index up to date with files and folders; the readers under it turn one
file into chunks. Nothing here prints: what was left out is in the report, with its reason.
What is named is imported when it is first asked for: a memory root needs little of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .discovery import SUFFIXES, Discovery, discover
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

_MODULES = {
    "PASSAGE_LIMIT": "passages",
    "SUFFIXES": "discovery",
    "TITLE_SEPARATOR": "source",
    "Discovery": "discovery",
    "IndexRun": "run",
    "RunReport": "run",
    "Skip": "source",
    "Source": "source",
    "UnreadableSourceError": "source",
    "discover": "discovery",
    "read_chunks": "readers",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
