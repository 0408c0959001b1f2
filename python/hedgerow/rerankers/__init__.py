"""Rerankers: reordering the best results of a search (spec/adapters.md, docs/embedders.md).

`Reranker` is the protocol of a retriever; any object with its methods fits. The adapters of this
package are imported when first used, and all but `LLMReranker` need an extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
