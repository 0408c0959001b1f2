"""Requests of a root that reach beyond it, and the consent of the user (spec/memory.md, "Trust")."""

from __future__ import annotations

import json
import logging
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hedgerow._checks import checked_durability, from_home, shown
from hedgerow._engine import _TomlText
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow._regular_files import open_regular
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.memory.identity import user_folder

from . import files, note
from .files import locked
from .names import AGENTS

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder
    from hedgerow.typing import Durability


MODEL_URL = "HEDGEROW_MODEL_URL"
"""The variable with the address of the model that answers agents."""


@dataclass(frozen=True, slots=True)
class TrustRequest(Result):
    """Something that the files of a root ask for, and that reaches beyond the root.

    `value` is what a consent is for: another value needs another. `effect` says what would be done,
    `without` what is done as long as it is not allowed.
    """

    setting: str
    value: str
    effect: str
    without: Annotated[str, Field(local=True)] = ""
    root: Annotated[str, Field(local=True)] = ""

    @property
    def question(self) -> str:
        """The question to the user."""
        return f"{self.setting} {_quoted(self.value)}: {self.effect}"

    @property
    def notice(self) -> str:
        """Report that it is not allowed, and how to allow it."""
        return (
            f"Not allowed: the memory root {_printable(self.root)} asks to {self.effect} "
            f"({self.setting} {_quoted(self.value)}). {self.without} To allow it: "
            f"hedgerow trust --root {_printable(shlex.quote(self.root))}"
        )


def index_root(root: Path, folder: Path) -> TrustRequest:
    """Ask to index a folder outside of the root; links in it are resolved already."""
    effect = f"read and index all Markdown files below {_printable(str(folder))}"
    without = "Only the root itself is indexed."
    return TrustRequest("indexRoot", str(folder), effect, without, str(root))


def embedder(root: Path, name: str) -> TrustRequest | None:
    """Ask to use an embedder; None for a name that no adapter has, which can do nothing."""
    from hedgerow.embedders.by_name import what_it_does  # noqa: PLC0415 - slow to import

    found = what_it_does(name)
    if found is None:
        return None
    value, effect = found[0], _printable(found[1])
    return TrustRequest("embedder", value, effect, "It is searched by keywords alone.", str(root))


def remote(root: Path, url: str) -> TrustRequest:
    """Ask to have the commands of the root answered by a server."""
    effect = f"send what you ask for and remember, and the token for it, to {_printable(url)}"
    return TrustRequest("remote", url, effect, "Its commands use the folder itself.", str(root))


def agent_model(root: Path, model: str) -> TrustRequest:
    """Ask to have the prompts of agents answered by a model of OpenAI's, where none is named."""
    from hedgerow.embedders.served import (  # noqa: PLC0415 - slow to import
        OPENAI_URL,
        what_is_sent,
    )

    effect = f"send the text of your memories to {what_is_sent(OPENAI_URL)}"
    without = "Its agents with this model are not run."
    return TrustRequest(AGENTS, f"openai:{model}", effect, without, str(root))


def agent_models(root: Path) -> Iterator[TrustRequest]:
    """Ask for each model that an agent in the root names, unless the user named an address."""
    if os.environ.get(MODEL_URL):
        return
    folder = root / AGENTS
    models = {_model_of(file, folder) for file in folder.glob("[!.]*.toml")}
    yield from (agent_model(root, model) for model in sorted(models - {""}))


def _model_of(file: Path, folder: Path) -> str:
    """Return the model that a definition names, whatever else is wrong with it; "" for none."""
    from hedgerow.agents.definition_file import read_inside  # noqa: PLC0415 - slow to import

    try:
        text = read_inside(file, folder).decode("utf-8-sig")
        model = _TomlText(text).values()["execution"]["model"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return model if isinstance(model, str) else ""


def _quoted(text: str) -> str:
    """Put a text that a root's file holds on one line, in quotes, with nothing hidden in it."""
    return _printable(json.dumps(text, ensure_ascii=False))


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


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


def consents_file() -> Path:
    """Return the file of the consents, which need not exist.

    Raises HedgerowError (`user_folder_unusable`) where there is no folder for it.
    """
    return user_folder() / _NAME


def read_consents() -> list[Consent]:
    """Return the consents of the user.

    Raises HedgerowError (`trust_unusable`) for a file that cannot be used.
    """
    file = consents_file()
    try:
        with open_regular(file) as stream:
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


def _subject(one: Consent | TrustRequest) -> tuple[str, str, str]:
    """Return the subject of a request or a consent: a consent is for just this."""
    return one.root, one.setting, one.value


def without_consent(requests: Iterable[TrustRequest]) -> tuple[TrustRequest, ...]:
    """Return the requests without a consent.

    A file that cannot be used is logged and allows nothing.
    """
    roots = _roots_of_the_environment()
    left = [request for request in requests if request.root not in roots]
    if not left:
        return ()
    allowed: set[tuple[str, str, str]] = set()
    try:
        allowed.update(map(_subject, read_consents()))
    except HedgerowError as error:
        _logger.warning("%s", error.message)
    return tuple(one for one in left if _subject(one) not in allowed)


def allow(requests: Iterable[TrustRequest]) -> None:
    """Store the consent to these requests."""
    with _changing() as (file, consents):
        at = note.iso_time(note.now())
        new = [Consent(*_subject(one), at) for one in requests]
        known = set(map(_subject, new))
        kept = [one for one in consents if _subject(one) not in known]
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
    for one in sorted(consents, key=_subject):
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
    return {os.path.realpath(from_home(one)) for one in named if one.strip()}


def _unusable(path: Path, problem: str) -> HedgerowError:
    return HedgerowError(f"cannot use {path}: {problem}", code="trust_unusable")


@dataclass(frozen=True, slots=True)
class Choices:
    """The arguments of `MemoryRoot.open` that take precedence over the configuration.

    `trust` allows everything that the configuration asks for (True) or nothing (False); with None
    it is what the user allowed. `embedder` and `durability` replace the configured ones. `notify` is called
    with each notice; `told` has the notices that were given.
    """

    trust: bool | None = None
    embedder: AnyEmbedder | str | None = None
    notify: Callable[[str], object] | None = None
    durability: Durability | None = None
    told: set[str] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        # A word such as "no" is true.
        if self.trust not in (None, True, False):
            raise InvalidInputError(
                f"trust must be True, False or None, not {shown(self.trust)}", code="invalid_option"
            )
        if self.durability is not None:
            checked_durability(self.durability)

    def refused(self, asked: Iterable[TrustRequest]) -> tuple[TrustRequest, ...]:
        """Return the requests of a root that are not allowed."""
        if self.trust is None:
            return without_consent(asked)
        return () if self.trust else tuple(asked)

    def tell(self, notices: Iterable[str]) -> None:
        """Report each notice about the configuration once; without `notify` it is logged."""
        for notice in notices:
            if notice not in self.told:
                self.told.add(notice)
                (self.notify or _logger.warning)(notice)

    @property
    def embedder_name(self) -> str | None:
        """The name of the caller's embedder in reports; None without one."""
        if self.embedder is None or isinstance(self.embedder, str):
            return self.embedder
        return str(getattr(self.embedder, "name", None) or type(self.embedder).__name__)
