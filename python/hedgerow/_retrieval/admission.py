"""Whether an embedder is the one an index has vectors of, and how the index remembers it.

The file has a name for what made its vectors, which includes what was put before the documents, and
the details as JSON (spec/index.md, "Vectors"): adapter, model and both prompts.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

from hedgerow._steps import Call, Steps
from hedgerow.embedders._forms import Forms, forms_of
from hedgerow.embedders._prompted import Prompted
from hedgerow.embedders._prompts import Prompts
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import InvalidInputError
from hedgerow.typing import Searchable

from .collection import check_embedder, embedder_of

_log = logging.getLogger("hedgerow")

# The files of earlier versions that were reported, each with the name of its embedder.
_reported: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True)
class Admitted:
    """An embedder for one index: how it is asked, and what its vectors are stored with.

    `is_older` is for vectors that an earlier version made without the prompts of the model: queries
    are then embedded without them too.
    """

    name: str | None
    details: str | None
    forms: Forms
    is_older: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a file remembers of its embedder: anybody may have written it.

    `name` is the embedder's own, without a prompt. What is not known is None.
    """

    name: str | None
    adapter: str | None = None
    model: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None

    @classmethod
    def of(cls, index: Searchable) -> Recorded:
        """What the file of this index remembers."""
        name, details, _ = embedder_of(index)
        return cls.read(name, details)

    @classmethod
    def read(cls, name: str | None, details: str | None) -> Recorded:
        """From the two texts that the file has."""
        try:
            found = json.loads(details or "")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            return cls(name)
        keys = ("name", "adapter", "model", "query_prompt", "document_prompt")
        texts = {key: found[key] for key in keys if isinstance(found.get(key), str)}
        whole = cls(**{"name": name, **texts})
        # Details of another embedder, which no version of ours leaves there, say nothing.
        fits = stored_name(whole.name, whole.document_prompt or "") == name
        return whole if fits else cls(name)


def embedder_name(embedder: AnyEmbedder) -> str | None:
    """The name that identifies its model, or None."""
    name = getattr(embedder, "name", None)
    return name if isinstance(name, str) and name else None


def stored_name(name: str | None, document_prompt: str) -> str | None:
    """The name under which vectors are stored: they depend on what stood before the documents."""
    if name is None or not document_prompt:
        return name
    return f"{name} + {json.dumps(document_prompt, ensure_ascii=False)}"


def own_admission(embedder: AnyEmbedder) -> Admitted:
    """What the embedder is by itself, for an index without vectors or to replace those there are."""
    forms, name = forms_of(embedder), embedder_name(embedder)
    if name is None or not isinstance(embedder, Prompted):
        return Admitted(name, None, forms)
    prompts = _prompts(embedder)
    details: dict[str, Any] = {
        "name": name,
        "adapter": embedder.adapter,
        "model": embedder._source,  # noqa: SLF001 - ours
        "query_prompt": prompts.query,
        "document_prompt": prompts.document,
    }
    stored = json.dumps(details, ensure_ascii=False)
    return Admitted(stored_name(name, prompts.document), stored, forms)


def admission(index: Searchable, embedder: AnyEmbedder, *, reports: bool = True) -> Steps[Admitted]:
    """How to use the embedder with this index; with `reports`, vectors of an older version are logged.

    Raises InvalidInputError (`embedder_mismatch`) when the vectors of the index were made by another
    embedder, or with another prompt.
    """
    own, name = own_admission(embedder), embedder_name(embedder)
    if name is None or own.name is None:
        return own
    known, details, _ = yield Call(embedder_of, (index,))
    if known is None:
        return own
    recorded = Recorded.read(known, details)
    prompts = _prompts(embedder) if isinstance(embedder, Prompted) else None
    if known == own.name:
        if prompts is not None:
            _check_query_prompt(index, recorded, prompts)
        return own
    if prompts is None or recorded.name != name:
        yield Call(check_embedder, (index, own.name))
        return own
    if recorded.document_prompt is None and not prompts.document_given:
        if reports:
            _report(index, name)
        return Admitted(name, None, own.forms.without_prompts, is_older=True)
    raise _mismatch(index, name, "document", recorded.document_prompt or "", prompts.document)


def _prompts(embedder: Prompted) -> Prompts:
    return embedder._prompts  # noqa: SLF001 - ours


def _check_query_prompt(index: Searchable, recorded: Recorded, prompts: Prompts) -> None:
    """Refuse another prompt of queries than the file's, unless the caller chose it.

    Vectors of the index do not depend on it, so whoever names one may have any.
    """
    known = recorded.query_prompt
    if known is not None and known != prompts.query and not prompts.query_given:
        raise _mismatch(index, str(recorded.name), "query", known, prompts.query)


def _mismatch(index: Searchable, name: str, form: str, known: str, own: str) -> InvalidInputError:
    texts = "queries are" if form == "query" else "documents were"
    use = f"{form}_prompt={known!r} to the embedder, on the command line --{form}-prompt"
    other = (
        f'another prompt, "" for none, by {form}_prompt too'
        if form == "query"
        else "all vectors made anew: Retriever.reembed(), or hedgerow index --reembed"
    )
    return InvalidInputError(
        f'{_place(index)} has vectors of the embedder "{name}", for which {texts} embedded with '
        f"{_shown(known)}, not with {_shown(own)}; give {use}. Or have {other}",
        code="embedder_mismatch",
    )


def _shown(prompt: str) -> str:
    return f"the prompt {prompt!r}" if prompt else "no prompt"


def _place(index: Searchable) -> str:
    return str(getattr(index, "path", index) or "the index in memory")


def _report(index: Searchable, name: str) -> None:
    if (_place(index), name) not in _reported:
        _reported.add((_place(index), name))
        _log.warning(
            '%s has vectors that an earlier version made without the prompts of "%s"; queries and new '
            "chunks are embedded without them too. For better results make all vectors anew: "
            "Retriever.reembed(), or hedgerow index --reembed",
            _place(index),
            name,
        )
