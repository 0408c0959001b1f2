"""The folder of the user, and the key by which derived files are known to be theirs."""

from __future__ import annotations

import functools
import hmac
import logging
import os
import secrets
import threading
from pathlib import Path

from hedgerow._checks import from_home
from hedgerow._regular_files import read_regular
from hedgerow.errors import HedgerowError

from .files import replace_private, write_new

__all__ = ["VARIABLE", "ensure_key", "signature_of", "user_folder"]

VARIABLE = "HEDGEROW_CONFIG_DIR"
"""The environment variable that names another folder."""


def user_folder() -> Path:
    """Return the folder, which need not exist: that of `HEDGEROW_CONFIG_DIR`, or the platform's.

    Raises HedgerowError (`user_folder_unusable`) where it would depend on the working directory,
    which may be in a repository of somebody else.
    """
    named = os.environ.get(VARIABLE, "").strip()
    folder = Path(from_home(named)) if named else _usual()
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


_FILE = "identity"
_BYTES = 32
_LENGTH = 32

_making = threading.Lock()

_logger = logging.getLogger("hedgerow.memory")


def signature_of(path: Path) -> str:
    """Return the signature of a path; empty if this user has no key yet.

    The path is absolute and without links.
    """
    key = _known_key()
    if key is None:
        return ""
    return hmac.digest(key, os.fsencode(path), "sha256").hex()[:_LENGTH]


def ensure_key() -> None:
    """Make the key of this user if it does not exist."""
    if _known_key() is not None:
        return
    try:
        file = user_folder() / _FILE
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(file, f"{secrets.token_hex(_BYTES)}\n")
        reason = "its key cannot be read"
    except (HedgerowError, OSError) as error:
        reason = str(error)
    if _known_key() is None:
        _logger.warning(
            "each process rebuilds .hedgerow/, since hedgerow cannot keep a key for this user: %s; set "
            "%s to a folder that you may write to",
            reason,
            VARIABLE,
        )
        with _making:  # two threads would make two keys
            _key_of_this_process()


def _write(file: Path, text: str) -> None:
    """Write a file for its owner alone, at once and as a whole; one that is there stays if it is good."""
    if file.exists() and _known_key() is None:
        replace_private(file, text)
    else:
        write_new(file, text, mode=0o600)  # unless another process was first


def _known_key() -> bytes | None:
    """The key, read again when its file has changed."""
    if _key_of_this_process.cache_info().currsize:
        return _key_of_this_process()
    try:
        file = user_folder() / _FILE
        status = file.stat()
        return _read(file, status.st_ino, status.st_mtime_ns)
    except (HedgerowError, OSError):
        return None


@functools.lru_cache(maxsize=4)
def _read(file: Path, _inode: int, _modified: int) -> bytes | None:
    try:
        key = bytes.fromhex(read_regular(file).decode("ascii"))
    except ValueError:
        return None
    return key if len(key) == _BYTES else None


@functools.cache
def _key_of_this_process() -> bytes:
    """A key for when none can be kept."""
    return secrets.token_bytes(_BYTES)
