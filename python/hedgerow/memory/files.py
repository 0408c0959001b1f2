"""Writing files so that a reader, or a process that is killed, never sees half of one; and locks."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from hedgerow._regular_files import read_regular
from hedgerow.errors import Fix, HedgerowError, IndexFileError

from .names import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_IS_WINDOWS = os.name == "nt"
_SHARING_PATIENCE = 2.0
"""Seconds to repeat a change that Windows refuses while another program has the file open.

A virus scanner or a search index opens a new file for some hundred milliseconds. A file that may not be
written is refused after this time, with the same error.
"""


@contextmanager
def system_errors(what: str, path: Path, then: str = "") -> Iterator[None]:
    """Turn an error of the operating system into a HedgerowError that names the file, and ends in `then`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot {what} {path}: {reason}; check permissions and free space{then}",
            code="root_io",
        ) from error


def check_no_link(path: Path) -> None:
    """Raise HedgerowError for a link: a write through it would end outside the root."""
    if path.is_symlink():
        raise HedgerowError(
            f"nothing was written: {path} is a link to {os.path.realpath(path)}, and hedgerow "
            "neither writes nor reads memories through a link; replace it with its target",
            code="linked_path",
        )


def check_folders(root: Path, folder: str) -> None:
    """Raise HedgerowError if a folder below the root, or one above it in the root, is a link."""
    path = Path(folder)
    for one in (path, *path.parents):
        if one.parts:
            check_no_link(root / one)


def write_new(path: Path, text: str, *, mode: int = 0o666) -> bool:
    """Write a file that must not exist yet; False when it does, and then nothing is done."""
    written = _temporaries({path: text.encode()}, mode=mode)
    with system_errors("write", path), written as [temporary]:
        return _link(temporary, path)


def move_new(old: Path, new: Path) -> None:
    """Rename a file. Raises HedgerowError (`file_changed`) if the new path exists."""
    if not _link(old, new):
        raise HedgerowError(
            f"{old} was not renamed: there is a file {new} by now", code="file_changed"
        )
    # Else a power failure could leave neither name.
    sync_folder(new.parent)
    _repeat_while_shared(lambda: old.unlink(missing_ok=True))
    sync_folder(old.parent)


def rename(old: Path, new: Path) -> None:
    """Rename a file, over the file of the new path if there is one."""
    _replace(old, new)
    _sync_folders([new, old])


def remove(path: Path) -> None:
    """Remove a file for good: it does not come back after a power failure."""
    _repeat_while_shared(path.unlink)
    sync_folder(path.parent)


def make_folders(folder: Path, *, mode: int = 0o777) -> None:
    """Make a folder, and those above it, if they are missing. They survive a power failure."""
    if not folder.is_dir():
        make_folders(folder.parent, mode=mode)
        folder.mkdir(mode, exist_ok=True)
        sync_folder(folder.parent)


def replace(path: Path, text: str) -> None:
    """Write a derived file, whatever was there; its permissions stay."""
    with system_errors("write", path), _temporaries({path: text.encode()}) as [temporary]:
        _rename(temporary, path)


def replace_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whatever was there."""
    written = _temporaries({path: text.encode()}, mode=0o600)
    with system_errors("write", path), written as [temporary]:
        _replace(temporary, path)


def update(path: Path, data: bytes, *, expected: bytes | None, root: Path) -> None:
    """Replace a file that people edit, if it still holds `expected`; None if there was none.

    A symbolic link stays one: the file it leads to is replaced, if that is inside `root`. Raises
    HedgerowError, with the code `file_changed` when the file holds something else by now; nothing
    is written then.
    """
    update_all({path: (data, expected)}, root=root)


def update_all(changes: Mapping[Path, tuple[bytes, bytes | None]], *, root: Path) -> None:
    """Replace several files, each as `update` does: all of them, or none if any was changed meanwhile.

    The new contents are synced at the same time, and each folder once. If the system refuses a file,
    the error names those that were replaced before it.
    """
    targets = {path: _destination(path, root) for path in changes}
    contents = {target: changes[path][0] for path, target in targets.items()}
    with _temporaries(contents) as temporaries:
        # Compared last: writing and syncing the new files takes longer than an editor's save.
        for path, target in targets.items():
            _check_unchanged(path, target, changes[path][1])
        done: list[str] = []
        for (path, target), temporary in zip(targets.items(), temporaries, strict=True):
            expected = changes[path][1]
            before = f"; {', '.join(done)} was changed before that: run it again" if done else ""
            with system_errors("write", path, before):
                if expected is not None:
                    _rename(temporary, target, partial(_check_unchanged, path, target, expected))
                elif not _link(temporary, target):
                    raise _changed_meanwhile(path)
            done.append(str(path))


def _check_unchanged(path: Path, target: Path, expected: bytes | None) -> None:
    """Raise HedgerowError if the target of a path holds something else than expected."""
    if not _holds(target, expected):
        raise _changed_meanwhile(path)


def _changed_meanwhile(path: Path) -> HedgerowError:
    return HedgerowError(
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


def _holds(path: Path, expected: bytes | None) -> bool:
    with system_errors("write", path):
        try:
            return read_regular(path) == expected
        except FileNotFoundError:
            return expected is None


def _rename(temporary: Path, path: Path, before_repeat: Callable[[], object] | None = None) -> None:
    """Rename a temporary file over another, with the permissions of that one."""
    # Windows knows the permission to write alone, and replaces no file without it, nor with it removed.
    if not _IS_WINDOWS:
        with suppress(FileNotFoundError):
            temporary.chmod(path.stat().st_mode & 0o7777)
    _replace(temporary, path, before_repeat)


def _replace(old: Path, new: Path, before_repeat: Callable[[], object] | None = None) -> None:
    """Rename a file over another."""
    _repeat_while_shared(lambda: old.replace(new), before_repeat)


def _repeat_while_shared(
    change: Callable[[], object], before_repeat: Callable[[], object] | None = None
) -> None:
    """Change the name of a file; on Windows again, for `_SHARING_PATIENCE`, while a program has it open.

    `before_repeat` is called before each further attempt, and raises an error if the change is no longer
    wanted. Other systems change the names of open files.
    """
    deadline = time.monotonic() + _SHARING_PATIENCE
    while True:
        try:
            change()
        except PermissionError:
            if not _IS_WINDOWS or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(_PAUSE)
        if before_repeat is not None:
            before_repeat()


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
        _replace(temporary, path)
    return True


@contextmanager
def _temporaries(contents: Mapping[Path, bytes], *, mode: int = 0o666) -> Iterator[list[Path]]:
    """Write a hidden file next to each path, down to the disk, to be renamed to it.

    At the end their folders are synced, unless an error is raised.
    """
    prefix = f"{TEMPORARY_PREFIX}{_HOST}-{os.getpid()}-"
    temporaries = {
        path: path.with_name(f"{prefix}{os.urandom(6).hex()}{TEMPORARY_SUFFIX}")
        for path in contents
    }

    def write(path: Path) -> None:
        with system_errors("write", path):
            descriptor = os.open(temporaries[path], _NEW, mode)
            with open(descriptor, "wb") as stream:  # noqa: PTH123 - of a descriptor
                stream.write(contents[path])
                stream.flush()
                sync(stream.fileno())

    try:
        for path in contents:
            with system_errors("write", path):
                make_folders(path.parent)
        _at_once(write, list(contents))
        yield list(temporaries.values())
    finally:
        for path, temporary in temporaries.items():
            with system_errors("write", path):
                _repeat_while_shared(partial(temporary.unlink, missing_ok=True))
    _sync_folders(contents)


_HOST = "" if _IS_WINDOWS else f"{zlib.crc32(os.uname().nodename.encode()):08x}"
"""The machine or container in names of temporary files: ids of processes are unique within one."""
_LONGEST_WRITE = 600.0
"""Seconds after which no writer still needs its temporary file."""


def remove_leftovers(candidates: Iterable[Path]) -> None:
    """Remove the temporary files of killed writers; those that the system does not let go stay.

    The caller holds the lock of the root.
    """
    for file in candidates:
        if is_leftover(file):
            with suppress(OSError):
                file.unlink()


def is_leftover(file: Path) -> bool:
    """Whether the writer of a temporary file was killed.

    A writer on this machine was killed if its process is gone. Another one, and any on Windows, counts
    as killed after ten minutes.
    """
    host, _, rest = file.name.removeprefix(TEMPORARY_PREFIX).partition("-")
    process = rest.partition("-")[0]
    if _HOST and host == _HOST and process.isdecimal() and not _is_running(int(process)):
        return True
    try:
        return time.time() - file.stat().st_mtime > _LONGEST_WRITE
    except OSError:
        return False


def _is_running(process: int) -> bool:
    """Whether there is a process of this id. Windows would end it instead of answering."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # of another user
        return True
    return True


_MOST_THREADS = 8


def _at_once(call: Callable[[Path], None], paths: Sequence[Path]) -> None:
    """Make a call for each path on several threads, since a disk syncs several files at once.

    Returns when all calls have ended; raises the first error.
    """
    errors: list[BaseException] = []

    def work(share: Sequence[Path]) -> None:
        try:
            for path in share:
                call(path)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    own, *others = (paths[start::_MOST_THREADS] for start in range(min(len(paths), _MOST_THREADS)))
    threads = [threading.Thread(target=work, args=(share,)) for share in others]
    started = []
    for thread, share in zip(threads, others, strict=True):
        try:
            thread.start()
            started.append(thread)
        except RuntimeError:  # noqa: PERF203 - no thread is left, or the interpreter ends
            work(share)
    work(own)
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]


def _sync_folders(paths: Iterable[Path]) -> None:
    """Sync the folder of each path, once."""
    _at_once(sync_folder, list(dict.fromkeys(path.parent for path in paths)))


def sync(descriptor: int) -> None:
    """Bring an open file onto the disk. On macOS `fsync` alone stops at the cache of the disk."""
    if sys.platform == "darwin":
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


_DISK_FAILURES = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})
"""Errors of a disk. Others come from systems that cannot sync folders."""


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure, where the system can.

    Raises HedgerowError (`root_io`) if the disk fails.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders.
        return
    try:
        sync(descriptor)
    except OSError as error:
        if error.errno in _DISK_FAILURES:
            raise HedgerowError(
                f"{folder} was changed, but the disk did not confirm it ({error.strerror}), so the "
                "change may be lost if the power fails; check the disk, then see whether it is "
                "there, and repeat it if it is not",
                code="root_io",
            ) from error
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    # A locked byte cannot be read by others: lock one behind the name of the holder.
    _LOCKED_BYTE = 1 << 30

    def try_lock(descriptor: int) -> bool:
        """Lock an open file, unless another has; the system frees it when the process ends."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Free an open file."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock an open file, unless another has; the system frees it when the process ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Free an open file."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


PATIENCE = 60.0
"""Seconds to wait for the lock; a first index of many notes takes some of them."""

_AS_IT_IS = Fix("read the index as it is", arguments={"sync": False})
"""The fix of a folder in which the index cannot be brought up to date now."""

_PAUSE = 0.005
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_LONGEST_NAME = 32


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock, which is not reentrant; the system frees it when the process ends.

    Raises IndexFileError, which names the process that holds it, after `PATIENCE` seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        descriptor = _open(file)
        try:
            while not _try_lock(descriptor, file):
                if time.monotonic() > deadline:
                    raise IndexFileError(
                        f"{_holder(descriptor)} has been writing to {file.parent} for over "
                        f"{PATIENCE:.0f} seconds; wait for it",
                        code="index_busy",
                        path=file.parent,
                        fixes=(_AS_IT_IS,),
                    )
                time.sleep(_PAUSE)
            if _is_same(descriptor, file):
                with _held(descriptor):
                    yield
                return
        finally:
            os.close(descriptor)


@contextmanager
def locked_at_once(file: Path) -> Iterator[bool]:
    """Hold a lock if it is free; yields whether it was, and waits for nobody."""
    descriptor = _open(file)
    try:
        if _try_lock(descriptor, file):
            with _held(descriptor):
                yield True
        else:
            yield False
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, file: Path) -> bool:
    """Lock an open file, unless another has; HedgerowError where the file system has no locks."""
    try:
        return try_lock(descriptor)
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot lock {file}: {reason}; move the root to a file system that has locks",
            code="root_io",
        ) from error


@contextmanager
def _held(descriptor: int) -> Iterator[None]:
    holder = os.getpid()
    # On a full disk the lock holds all the same, without a name. A name as long as the last one needs no
    # change of the file's size, which the system would write to the disk.
    with suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, str(holder).ljust(_LONGEST_NAME).encode())
    try:
        yield
    finally:
        # A child that was forked meanwhile has the descriptor too: closing ours would not unlock,
        # and the child must not unlock for us.
        if os.getpid() == holder:
            unlock(descriptor)


def _holder(descriptor: int) -> str:
    """Name the process that wrote its id into the file when it took the lock."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    holder = os.read(descriptor, _LONGEST_NAME).decode(errors="replace").strip()
    if holder == str(os.getpid()):
        return "another thread of this process"
    return f"process {holder}" if holder.isdecimal() else "another process"


def _open(file: Path) -> int:
    try:
        file.parent.mkdir(exist_ok=True)
        # The name of the holder is written into it: not into what a link leads to.
        if file.is_symlink():
            file.unlink(missing_ok=True)
        return os.open(file, _FLAGS, 0o644)
    except FileExistsError as error:
        raise HedgerowError(
            f"{file.parent} is a file, and the index needs a folder of that name; move it away",
            code="root_io",
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise HedgerowError(
            f"cannot write {file}: {reason}; check permissions and free space",
            code="root_io",
            path=file,
            fixes=(_AS_IT_IS,),
        ) from error


def _is_same(descriptor: int, file: Path) -> bool:
    """Report whether the file is still the one that was locked: the folder may be deleted."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
