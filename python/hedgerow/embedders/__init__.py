"""Embedders: texts to vectors (spec/adapters.md, docs/embedders.md).

`Embedder` and `AsyncEmbedder` are what a retriever asks for; any object with their methods will do.
The adapters of this package need an extra each, and are imported when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
