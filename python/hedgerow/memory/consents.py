"""What the user allowed the roots to do, in the user's own configuration (spec/memory.md, "Trust")."""

from __future__ import annotations

import json
import logging
import os
import shlex
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow._operations.shapes import Result
from hedgerow.errors import HedgerowError
from hedgerow.memory.user_folder import user_folder

from . import files, note
from .lock import locked
from .trust_requests import TrustRequest

ROOTS = "HEDGEROW_TRUST"
"""The variable that lists roots, separated as in PATH, which may do all they ask for."""

_NAME = "trust.json"
_LOCK = "trust.lock"
_VERSION = 1

_logger = logging.getLogger("hedgerow.memory")


@dataclass(frozen=True, slots=True)
class Consent(Result):
    """A setting of a root that its user allowed, with the value it had, and when that was."""

    root: str
    setting: str
    value: str
    allowed_at: str

    def is_for(self, request: TrustRequest) -> bool:
        """Report whether it is for just this."""
        asked = (request.root, request.setting, request.value)
        return (self.root, self.setting, self.value) == asked


def consents_file() -> Path:
    """Return the file of the consents, which need not exist.

    Raises HedgerowError (`user_folder_unusable`) where there is no folder for it.
    """
    return user_folder() / _NAME


def read_consents() -> list[Consent]:
    """Return what was allowed; HedgerowError (`trust_unusable`) for a file that cannot be used."""
    file = consents_file()
    try:
        with file.open("rb") as stream:
            _check_is_ours(file, os.fstat(stream.fileno()))
            data = stream.read()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(file, error.strerror or str(error)) from error
    try:
        return _consents_of(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _unusable(file, "it is not what hedgerow wrote; repair or remove it") from error


def without_consent(requests: Iterable[TrustRequest]) -> tuple[TrustRequest, ...]:
    """Return what the user did not allow; a file that cannot be used is logged, and allows nothing."""
    roots = _roots_of_the_environment()
    left = [request for request in requests if request.root not in roots]
    if not left:
        return ()
    try:
        consents = read_consents()
    except HedgerowError as error:
        _logger.warning("%s", error.message)
        consents = []
    return tuple(one for one in left if not any(consent.is_for(one) for consent in consents))


def allow(requests: Iterable[TrustRequest]) -> None:
    """Keep that the user allowed these."""
    with _changing() as (file, consents):
        at = note.iso_time(note.now())
        new = [Consent(one.root, one.setting, one.value, at) for one in requests]
        known = {(one.root, one.setting, one.value) for one in new}
        kept = [one for one in consents if (one.root, one.setting, one.value) not in known]
        _write(file, [*kept, *new])


def revoke(root: str) -> list[Consent]:
    """Forget all that a root was allowed; returns what that was."""
    with _changing() as (file, consents):
        gone = [one for one in consents if one.root == root]
        if gone:
            _write(file, [one for one in consents if one.root != root])
        return gone


@contextmanager
def _changing() -> Iterator[tuple[Path, list[Consent]]]:
    """Read the consents for a change, which no other process makes meanwhile."""
    file = consents_file()
    with files.system_errors("make", file.parent):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(file.with_name(_LOCK)):
        yield file, read_consents()


def _write(file: Path, consents: Iterable[Consent]) -> None:
    roots: dict[str, list[dict[str, str]]] = {}
    for one in sorted(consents, key=lambda one: (one.root, one.setting, one.value)):
        entry = {"setting": one.setting, "value": one.value, "allowedAt": one.allowed_at}
        roots.setdefault(one.root, []).append(entry)
    value = {"version": _VERSION, "roots": roots}
    # A link of the user's stays one, as for a folder of dotfiles.
    files.replace_private(file.resolve(), json.dumps(value, indent=2) + "\n")


def _consents_of(value: Any) -> list[Consent]:
    if value["version"] != _VERSION:
        raise ValueError(value["version"])
    return [
        Consent(root, entry["setting"], entry["value"], entry["allowedAt"])
        for root, entries in value["roots"].items()
        for entry in entries
    ]


def _check_is_ours(file: Path, status: os.stat_result) -> None:
    """Refuse a file that somebody else could have written into."""
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid():
        raise _unusable(file, "another user owns it; remove it, or change its owner")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unusable(file, f"others may write to it; run: chmod 600 {shlex.quote(str(file))}")


def _roots_of_the_environment() -> set[str]:
    named = os.environ.get(ROOTS, "").split(os.pathsep)
    return {os.path.realpath(one) for one in named if one.strip()}


def _unusable(path: Path, problem: str) -> HedgerowError:
    return HedgerowError(f"cannot use {path}: {problem}", code="trust_unusable")
