"""What the files of a root ask for and only its user may allow (spec/memory.md, "Trust")."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result

from .names import AGENTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


NOT_ALLOWED = "Not allowed:"
"""How the notice of a request begins."""

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
        """What the user is asked to allow."""
        return f"{self.setting} {_quoted(self.value)}: {self.effect}"

    @property
    def notice(self) -> str:
        """Report that it is not allowed, and how to allow it."""
        return (
            f"{NOT_ALLOWED} the memory root {_printable(self.root)} asks to {self.effect} "
            f"({self.setting} {_quoted(self.value)}). {self.without} To allow it: "
            f"{how_to_allow(self.root)}"
        )


def how_to_allow(root: str) -> str:
    """Return the command that allows what a root asks for."""
    return f"hedgerow trust --root {_printable(shlex.quote(root))}"


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
    from hedgerow.embedders.openai_compatible import (  # noqa: PLC0415 - slow to import
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
    from hedgerow.agents.source_files import read_inside  # noqa: PLC0415 - slow to import

    try:
        model = tomllib.loads(read_inside(file, folder).decode("utf-8-sig"))["execution"]["model"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return model if isinstance(model, str) else ""


def _quoted(text: str) -> str:
    """Put a text that a root's file holds on one line, in quotes, with nothing hidden in it."""
    return _printable(json.dumps(text, ensure_ascii=False))


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
