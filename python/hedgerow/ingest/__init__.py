"""Files to chunks, and chunks into an index (spec/ingest.md).

`IndexRun` brings an index up to date with files and folders; the readers under it turn one
file into chunks. Nothing here prints: what was left out is in the report, with its reason.
What is named is imported when it is first asked for: a memory root needs little of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
