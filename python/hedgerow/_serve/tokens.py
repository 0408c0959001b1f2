"""The tokens that a server accepts: made when it first starts, each in a private file of the user."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hedgerow.errors import HedgerowError

Scope = Literal["read", "write"]

_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,256}\Z")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOR_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Tokens:
    """One token that allows everything, and one that only allows reading."""

    write: str
    read: str

    @classmethod
    def load(cls, folder: Path) -> Tokens:
        """Read the tokens from the files `write` and `read` of a folder; a missing file is made.

        Raises HedgerowError (`token_unusable`) for a file that others may read, or that has no token.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return cls(_token(folder / "write"), _token(folder / "read"))
        except OSError as error:
            raise _unusable(folder, error.strerror or str(error)) from error

    def scope_of(self, given: str) -> Scope | None:
        """What a token allows, found in a time that reveals nothing about the tokens."""
        token = given.encode()
        writes = hmac.compare_digest(token, self.write.encode())
        reads = hmac.compare_digest(token, self.read.encode())
        if writes:
            return "write"
        return "read" if reads else None


def _token(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
    except FileExistsError:
        return _read(file)
    token = secrets.token_urlsafe(_BYTES)
    with open(descriptor, "w", encoding="ascii") as stream:  # noqa: PTH123 - of a descriptor
        stream.write(f"{token}\n")
    return token


def _read(file: Path) -> str:
    descriptor = os.open(file, os.O_RDONLY | _NO_LINK)
    with open(descriptor, encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _unusable(file, "it is no file")
        if os.name == "posix" and (found.st_mode & _FOR_OTHERS or found.st_uid != os.geteuid()):
            raise _unusable(file, "others than its owner may read it; run chmod 600, or delete it")
        token = stream.read(_BYTES * 10).strip()
    if not _TOKEN.match(token):
        raise _unusable(file, "it has no token of at least 32 letters, digits, - and _; delete it")
    return token


def _unusable(file: Path, why: str) -> HedgerowError:
    return HedgerowError(f"the token in {file} cannot be used: {why}", code="token_unusable")
