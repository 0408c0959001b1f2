"""Embedders: texts to vectors (spec/adapters.md, docs/embedders.md).

`Embedder` and `AsyncEmbedder` are the protocols of a retriever; any object with their methods fits.
The adapters of this package need an extra each, and are imported when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
