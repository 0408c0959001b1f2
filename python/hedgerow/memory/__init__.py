"""Memory roots: memories as Markdown files, indexed, recalled and tidied (spec/memory.md).

`MemoryRoot` is where to begin; the other names are of what its methods return and take, for
annotations. What is written and read as Markdown (`note`, `documents`, `writer`, `config`) knows
nothing of the index; `sync` and `recall` know the index; `root` puts them together.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
