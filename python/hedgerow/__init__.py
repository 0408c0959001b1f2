"""Memory retrieval for Python services.

A small query language and a ranking that explains itself, in one embedded SQLite file, at
Rust speed. `dir(hedgerow)` lists what most programs need; the parts of the query language and of the
ranking are in `hedgerow.query`, `hedgerow.temporal`, `hedgerow.fusion` and `hedgerow.fuzzy`, and can be
imported from here too. What the names mean is in the repository's `spec/` folder.
"""

import logging  # noqa: F401 - a thread that imported it during a fork would leave its locks held
import os

import lazy_loader

from . import _engine

# A name is imported when it is first used: importing all modules takes ten times longer.
__getattr__, _, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "BackendError",
    "Chunk",
    "Embedder",
    "Filters",
    "HedgerowError",
    "Hit",
    "Index",
    "IndexFileError",
    "InvalidInputError",
    "MemoryRoot",
    "MissingExtraError",
    "Node",
    "QueryTooLargeError",
    "Ranking",
    "Reranker",
    "Response",
    "RetrievalError",
    "Retriever",
    "Store",
    "Trace",
    "WhyNot",
    "__version__",
    "compile_fts",
    "compile_match",
    "connect",
    "embedders",
    "evaluate",
    "expand_temporal",
    "explain_query",
    "memory",
    "normalise",
    "parse_query",
    "reciprocal_rank_fusion",
    "rerankers",
]
"""What most programs need; `__init__.pyi` has every name that can be imported from here."""


def __dir__() -> list[str]:
    return sorted(__all__)


if hasattr(os, "register_at_fork"):
    # A child process would lose its writes on a connection that is open in both processes.
    os.register_at_fork(
        before=_engine._before_fork,  # noqa: SLF001 - of this package
        after_in_parent=_engine._after_fork,  # noqa: SLF001 - of this package
        after_in_child=_engine._after_fork,  # noqa: SLF001 - of this package
    )

if _engine.DEBUG_BUILD:
    import warnings

    warnings.warn(
        "hedgerow's engine was built without optimization and is slow; "
        "build it with `pip install .`, or in release mode",
        RuntimeWarning,
        stacklevel=2,
    )
