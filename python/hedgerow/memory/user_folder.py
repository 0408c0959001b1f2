"""The folder in which hedgerow keeps what belongs to its user on this machine, and to no root."""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.errors import HedgerowError

__all__ = ["VARIABLE", "user_folder"]

VARIABLE = "HEDGEROW_CONFIG_DIR"
"""The environment variable that names another folder."""


def user_folder() -> Path:
    """Return the folder, which need not exist: that of `HEDGEROW_CONFIG_DIR`, or the platform's.

    Raises HedgerowError (`user_folder_unusable`) where it would depend on the working directory,
    which may be in a repository of somebody else.
    """
    named = os.environ.get(VARIABLE, "").strip()
    folder = Path(named) if named else _usual()
    if not folder.is_absolute():
        raise HedgerowError(
            f"the folder {folder} for the user's own files is not an absolute path; set {VARIABLE} "
            "to one that is",
            code="user_folder_unusable",
        )
    return folder


def _usual() -> Path:
    from click import get_app_dir  # noqa: PLC0415 - slow to import

    return Path(get_app_dir("hedgerow"))
