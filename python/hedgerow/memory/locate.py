"""Finding the root that a command is about (spec/memory.md, "Which root")."""

from __future__ import annotations

import os
from pathlib import Path

from .names import CONFIG, LEGACY_CONFIG

ENVIRONMENT = "HEDGEROW_MEMORY_ROOT"

_INSIDE = "memory"


def root_from_environment() -> Path | None:
    """Give the root that the environment names, if it names one."""
    named = os.environ.get(ENVIRONMENT, "").strip()
    return Path(named) if named else None


def nearest_root(start: Path) -> Path | None:
    """Give the nearest folder, from `start` upward, that is a root or holds one in `memory`."""
    start = start.resolve()
    for folder in (start, *start.parents):
        for candidate in (folder, folder / _INSIDE):
            if any((candidate / name).is_file() for name in (CONFIG, LEGACY_CONFIG)):
                return candidate
    return None


def default_root() -> Path:
    """Give the root in the home folder, which `doctor` looks at last."""
    return Path.home() / ".hedgerow" / "memory"
