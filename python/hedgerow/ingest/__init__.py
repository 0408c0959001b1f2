"""Files to chunks, and chunks into an index (spec/ingest.md).

`IndexRun` brings an index up to date with files and folders; the readers below it turn one
file into chunks. Nothing here prints: what was left out is in the report, with its reason.
Names are imported on first use: a memory root needs few of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
