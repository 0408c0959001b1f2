"""Memory retrieval for Python services.

A small query language and a ranking that explains itself, in one embedded SQLite file, at
Rust speed. The public names are listed in `__init__.pyi`; what they mean is in the repository's
`spec/` folder.
"""

import logging  # noqa: F401 - a thread that imported it during a fork would leave its locks held
import os

import lazy_loader

from . import _engine

# A name is imported when it is first used: importing all modules takes ten times longer.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if hasattr(os, "register_at_fork"):
    # A connection that is open in both processes loses what the child writes.
    os.register_at_fork(
        before=_engine._before_fork,  # noqa: SLF001 - of this package
        after_in_parent=_engine._after_fork,  # noqa: SLF001 - of this package
        after_in_child=_engine._after_fork,  # noqa: SLF001 - of this package
    )

if _engine.DEBUG_BUILD:
    import warnings

    warnings.warn(
        "hedgerow's engine was built without optimization and is slow; "
        "build it with `pip install .` or `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )
