"""Which browser there is."""

from __future__ import annotations

import os
import shutil


def chromium() -> str | None:
    """The program; `CHROMIUM` names another than those on the PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
