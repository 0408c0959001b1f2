"""Forks: a connection that is open in both processes loses what the child writes."""

from __future__ import annotations

import os

from . import _engine

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_engine._before_fork,  # noqa: SLF001
        after_in_parent=_engine._after_fork,  # noqa: SLF001
        after_in_child=_engine._after_fork,  # noqa: SLF001
    )
