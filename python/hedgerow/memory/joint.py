"""The folder in which several roots have one index, in the user's own folder (spec/memory.md, "Several roots")."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .derived import Derived
from .files import system_errors
from .identity import user_folder

__all__ = ["forget_joint", "joint_folder", "link_to"]

_FOLDER = "joint"


def link_to(link: Path, target: Path) -> None:
    """Make a link lead to a folder."""
    with suppress(OSError):
        if link.readlink() == target:
            return
        link.unlink()
    # Several processes may make it at the same time.
    with suppress(FileExistsError):
        link.symlink_to(target, target_is_directory=True)


def joint_folder(roots: Sequence[Path]) -> Path:
    """Return the folder, which need not exist, for the index of several roots."""
    names = "\0".join(map(str, roots)).encode("utf-8", "surrogateescape")
    return user_folder() / _FOLDER / hashlib.sha256(names).hexdigest()[:16]


def forget_joint(derived: Derived) -> None:
    """Delete the indexes of several roots that have the files of this one; the next recall remakes them.

    Raises HedgerowError if the system refuses it.
    """
    folder = user_folder() / _FOLDER
    if not folder.is_dir():
        return
    for one in sorted(folder.iterdir()):
        if any(_leads_to(link, derived.source_root) for link in _links(one)):
            with system_errors("delete", one):
                for link in _links(one):
                    link.unlink(missing_ok=True)
                shutil.rmtree(one)


def _links(folder: Path) -> Sequence[Path]:
    return [one for one in folder.iterdir() if one.is_symlink()] if folder.is_dir() else []


def _leads_to(link: Path, target: Path) -> bool:
    try:
        return link.resolve() == target
    except (OSError, RuntimeError):
        return False
