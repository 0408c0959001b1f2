"""A server's root or index from afar (spec/service.md, "From Python").

`connect` gives the face of `MemoryRoot` or of `Retriever`. It needs the extra `remote`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
