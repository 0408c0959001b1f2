"""Roots that need consent, and a user's consent to all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hedgerow.memory import trust
from memory_doubles import put


def asking(folder: Path, **settings: Any) -> Path:
    """Return a root with a memory, whose configuration has these settings."""
    put(folder, "notes/a.md", "# A\n\nblue otter\n")
    put(folder, "hedgerow.json", json.dumps({"schemaVersion": 1, **settings}))
    return folder.resolve()


def allow_all(root: Path) -> None:
    """Give all consents, like `hedgerow trust --yes`."""
    from hedgerow import MemoryRoot  # noqa: PLC0415 - after the tests have set their environment

    trust.allow(MemoryRoot.open(root).status().not_allowed)
