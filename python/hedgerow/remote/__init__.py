"""The root or the index at a path or of a server (spec/service.md, "From Python").

`connect` returns an object with the methods of `MemoryRoot` or of `Retriever`. For a URL it needs the extra
`remote`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
