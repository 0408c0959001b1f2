"""The tokens that a server accepts: each is in a private file of the user, whose name says what it allows."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Literal
from urllib.parse import quote, unquote

from hedgerow._regular_files import FLAGS
from hedgerow.errors import HedgerowError
from hedgerow.memory.scope import Scope

Kind = Literal["read", "write"]

_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,256}\Z")
_NAME = re.compile(r"(read|write)(?:@([^@]+))?\Z")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOR_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of a token: to read or to write everything, or the memories of a scope alone."""

    kind: Kind
    scope: Scope = field(default_factory=Scope)

    @property
    def file(self) -> str:
        """The name of the file of such a token, as in `write@user=ana`."""
        pairs = [f"{key}={_quoted(id_)}" for key, id_ in self.scope.to_dict().items()]
        return f"{self.kind}@{','.join(pairs)}" if pairs else self.kind

    @classmethod
    def of_file(cls, name: str) -> Grant | None:
        """Return the rights of the token in a file of this name; None for another file.

        Raises InvalidInputError for a scope that is none.
        """
        found = _NAME.match(name)
        if found is None:
            return None
        kind: Kind = "write" if found[1] == "write" else "read"
        pairs = [one.partition("=") for one in (found[2] or "").split(",") if one]
        return cls(kind, Scope.of({key: unquote(id_) for key, _, id_ in pairs} or None))


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a server, each with its rights."""

    grants: Mapping[str, Grant]

    @classmethod
    def load(cls, folder: Path) -> Tokens:
        """Read the tokens from the files of a folder; those that allow everything are made if missing.

        Raises HedgerowError (`token_unusable`) for a file that others may read, or that has no token.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for kind in ("write", "read"):
                make_token(folder, Grant(kind))
            files = sorted(folder.iterdir())
            found = [(file, Grant.of_file(file.name)) for file in files]
            return cls({_read(file): grant for file, grant in found if grant is not None})
        except OSError as error:
            raise _unusable(folder, error.strerror or str(error)) from error

    def of_everything(self) -> Tokens:
        """Return the tokens without a scope, for a server of an index, which has no scopes."""
        return Tokens({token: one for token, one in self.grants.items() if not one.scope})

    def grant_of(self, given: str) -> Grant | None:
        """Return the rights of a token, in a time that reveals nothing about the tokens."""
        token, found = given.encode(), None
        for known, grant in self.grants.items():
            if hmac.compare_digest(token, known.encode()):
                found = grant
        return found


def _quoted(text: str) -> str:
    """Return an id as a part of a file's name; capitals are quoted, as some systems ignore case."""
    return "".join(
        f"%{ord(one):02X}" if one in ascii_uppercase else quote(one, safe="") for one in text
    )


def make_token(folder: Path, grant: Grant) -> Path:
    """Return the file of the token for a grant, which is made if it is missing, whole or not at all."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / grant.file
    if file.exists():
        return file
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".token-")
    try:
        with open(descriptor, "w", encoding="ascii") as stream:  # noqa: PTH123 - of a descriptor
            stream.write(f"{secrets.token_urlsafe(_BYTES)}\n")
            stream.flush()
            os.fsync(stream.fileno())
        # Another process may have made the file meanwhile: its token stays.
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        Path(name).unlink()
    return file


def _read(file: Path) -> str:
    descriptor = os.open(file, FLAGS | _NO_LINK)
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
