"""Writing files so that a reader, or a process that is killed, never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.errors import HedgerowError

from .names import TEMPORARY_PREFIX, TEMPORARY_SUFFIX


@contextmanager
def system_errors(what: str, path: Path) -> Iterator[None]:
    """Turn the operating system's refusal into a HedgerowError that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot {what} {path}: {reason}; check permissions and free space",
            code="root_io",
        ) from error


def write_new(path: Path, text: str) -> bool:
    """Write a file that must not exist yet; False when it does, and then nothing is done."""
    with system_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _write_temporary(path.parent, text)
        try:
            return _link(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
            _sync_folder(path.parent)


def replace(path: Path, text: str) -> None:
    """Write a file in the place of the one that may be there; its permissions stay."""
    with system_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _write_temporary(path.parent, text)
        try:
            with suppress(FileNotFoundError):
                temporary.chmod(path.stat().st_mode & 0o7777)
            temporary.replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
        _sync_folder(path.parent)


def _link(temporary: Path, path: Path) -> bool:
    """Give the written file its name unless that is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        # A file system without hard links: claim the name first, then fill it.
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            return False
        temporary.replace(path)
    return True


def _write_temporary(folder: Path, text: str) -> Path:
    """Write a hidden file beside its destination, down to the disk."""
    path = folder / f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        with suppress(FileNotFoundError):
            path.unlink()
        raise
    return path


def _sync_folder(folder: Path) -> None:
    """Make a new name last through a power failure, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
