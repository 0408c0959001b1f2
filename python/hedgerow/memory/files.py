"""Writing files so that a reader, or a process that is killed, never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hedgerow.errors import HedgerowError

from .names import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextmanager
def system_errors(what: str, path: Path) -> Iterator[None]:
    """Turn an error of the operating system into a HedgerowError that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot {what} {path}: {reason}; check permissions and free space",
            code="root_io",
        ) from error


def check_no_link(path: Path) -> None:
    """Raise HedgerowError for a link: what is written through it is out of the root, or not found."""
    if path.is_symlink():
        raise HedgerowError(
            f"nothing was written: {path} is a link to {os.path.realpath(path)}, and hedgerow "
            "neither writes nor reads memories through a link; replace it with what it leads to",
            code="linked_path",
        )


def write_new(path: Path, text: str) -> bool:
    """Write a file that must not exist yet; False when it does, and then nothing is done."""
    with system_errors("write", path), _temporary(path, text.encode()) as temporary:
        return _link(temporary, path)


def move_new(old: Path, new: Path) -> None:
    """Return a file another path; HedgerowError (`file_changed`) if there is one by now."""
    if not _link(old, new):
        raise HedgerowError(
            f"{old} was not renamed: there is a file {new} by now", code="file_changed"
        )
    old.unlink(missing_ok=True)
    _sync_folder(new.parent)
    _sync_folder(old.parent)


def replace(path: Path, text: str) -> None:
    """Write a derived file, whatever was there; its permissions stay."""
    with system_errors("write", path), _temporary(path, text.encode()) as temporary:
        _rename(temporary, path)


def replace_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whatever was there."""
    with system_errors("write", path), _temporary(path, text.encode(), mode=0o600) as temporary:
        temporary.replace(path)


def update(path: Path, data: bytes, *, expected: bytes | None, root: Path) -> None:
    """Replace a file that people edit, if it still holds `expected`; None if there was none.

    A symbolic link stays one: the file it leads to is replaced, if that is inside `root`. Raises
    HedgerowError, with the code `file_changed` when the file holds something else by now; nothing
    is written then.
    """
    target = _destination(path, root)
    with system_errors("write", path), _temporary(target, data) as temporary:
        # Compared last: writing and syncing the new file takes longer than an editor's save.
        if expected is None:
            unchanged = _link(temporary, target)
        elif unchanged := _holds(target, expected):
            _rename(temporary, target)
    if not unchanged:
        raise HedgerowError(
            f"{path} was not changed: somebody changed the file at the same time; try again",
            code="file_changed",
        )


def _destination(path: Path, root: Path) -> Path:
    """Follow a symbolic link to the file to replace, which must be inside `root`."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(root)):
        raise HedgerowError(
            f"{path} was not changed: it is a link to {target}, outside {root}; edit that file "
            "by hand, or replace the link with a file",
            code="root_io",
        )
    return target


def _holds(path: Path, expected: bytes) -> bool:
    try:
        return path.read_bytes() == expected
    except FileNotFoundError:
        return False


def _rename(temporary: Path, path: Path) -> None:
    with suppress(FileNotFoundError):
        temporary.chmod(path.stat().st_mode & 0o7777)
    temporary.replace(path)


def _link(temporary: Path, path: Path) -> bool:
    """Link the temporary file to its final name; False if that is taken."""
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


@contextmanager
def _temporary(path: Path, data: bytes, *, mode: int = 0o666) -> Iterator[Path]:
    """Write a hidden file next to `path`, down to the disk, to be renamed to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"
    temporary = path.with_name(name)
    try:
        descriptor = os.open(temporary, _NEW, mode)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - of a descriptor
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name survive a power failure, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
