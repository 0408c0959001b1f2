"""Locating a root from a folder upward (spec/memory.md, "Which root")."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .names import CONFIG, LEGACY_CONFIG

_INSIDE = "memory"


@dataclass(frozen=True, slots=True)
class PassedRoot:
    """A root that was found and passed by, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"the memory root {self.path} was passed by: {self.reason}"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest root, if any, and those that were passed by on the way to it."""

    root: Path | None
    passed: tuple[PassedRoot, ...] = ()


def nearest_root(start: Path) -> Nearest:
    """Find the nearest folder, from `start` upward, that is a root or has one in `memory`.

    Somebody else may have put one into a folder above: a root is taken only if it is of this user,
    nobody else may write into it, and no border lies between.
    """
    passed: list[PassedRoot] = []
    for folder, border in _upward(start.resolve()):
        for candidate in (folder, folder / _INSIDE):
            config = _config_of(candidate)
            if config is None:
                continue
            reason = border or _why_not(candidate, config, folder)
            if reason is None:
                return Nearest(candidate, tuple(passed))
            passed.append(PassedRoot(candidate, reason))
    return Nearest(None, tuple(passed))


def _upward(start: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield the folders from `start` upward, each with the border that lies below it, if any."""
    home = _home()
    starts_at_home = home is not None and start.is_relative_to(home)
    device = _device(start)
    border = None
    for folder in (start, *start.parents):
        if border is None and _device(folder) != device:
            border = f"{start} is on another file system"
        yield folder, border
        if border is None and starts_at_home and folder == home:
            border = "it is above the home folder"


def _device(folder: Path) -> int:
    return folder.stat().st_dev


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None


def _config_of(folder: Path) -> Path | None:
    """Return the configuration of a folder; None where it has none, or cannot be looked into."""
    files = (folder / name for name in (CONFIG, LEGACY_CONFIG))
    try:
        return next((file for file in files if file.is_file()), None)
    except OSError:
        return None


def _why_not(candidate: Path, config: Path, folder: Path) -> str | None:
    """Return why a root must not be taken unasked; None when it may."""
    real = candidate.resolve()
    if not real.is_relative_to(folder):
        return f"it is a link to {real}"
    if os.name != "posix":
        return None
    for path, what in ((candidate, "the folder"), (config, config.name)):
        status = path.stat()
        if status.st_mode & stat.S_IWOTH:
            return f"anybody may write to {what}"
        if status.st_uid != os.geteuid():
            return f"another user owns {what}"
    return None
