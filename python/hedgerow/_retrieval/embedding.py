"""Embedders and their vectors in an index: whether one fits, and embedding of chunks.

The file stores the name of the embedder, which includes the prompt for documents, and its details
as JSON (spec/index.md, "Vectors"): adapter, model and both prompts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from hedgerow._checks import listed
from hedgerow._dual import Call, Steps
from hedgerow._engine import (
    Chunk,
    Index,
    _begin_staging,
    _check_embedder,
    _chunks,
    _embedder_of,
    _replace_by_staged,
    _set_embeddings,
    _stage_embeddings,
    _unembedded,
    _unembedded_page,
    _unstaged_page,
    _upsert_from,
)
from hedgerow.embedders.base import AnyEmbedder, Embeddings, Forms, forms_of
from hedgerow.embedders.prompts import PromptedModel, Prompts
from hedgerow.errors import Fix, InvalidInputError
from hedgerow.typing import ChunkLike, Progress, Searchable

from . import observing

_log = logging.getLogger("hedgerow")
_embedding_log = logging.getLogger("hedgerow.embedding")

# The files from earlier versions that were reported, each with the name of its embedder.
_reported: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True)
class EmbedderBinding:
    """An embedder bound to an index: its forms, and the name and details stored with its vectors.

    `is_older` is True for vectors that an earlier version made without the prompts of the model.
    Queries are then embedded without prompts too.
    """

    name: str | None
    details: str | None
    forms: Forms
    is_older: bool = False


@dataclass(frozen=True, slots=True)
class RecordedEmbedder:
    """The embedder that a file records. The content is untrusted.

    `name` is the embedder's own name, without a prompt. Unknown fields are None.
    """

    name: str | None
    adapter: str | None = None
    model: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None

    @classmethod
    def of(cls, index: Searchable) -> RecordedEmbedder:
        """Return the embedder recorded in the file of this index."""
        name, details, _ = embedder_of(index)
        return cls.read(name, details)

    @classmethod
    def read(cls, name: str | None, details: str | None) -> RecordedEmbedder:
        """Return the embedder from the two stored texts."""
        try:
            found = json.loads(details or "")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            return cls(name)
        keys = ("name", "adapter", "model", "query_prompt", "document_prompt")
        texts = {key: found[key] for key in keys if isinstance(found.get(key), str)}
        whole = cls(**{"name": name, **texts})
        # Ignore the details of another embedder, which no version of hedgerow writes.
        fits = stored_name(whole.name, whole.document_prompt or "") == name
        return whole if fits else cls(name)


def embedder_name(embedder: AnyEmbedder) -> str | None:
    """Return the name that identifies an embedder's model, or None."""
    name = getattr(embedder, "name", None)
    return name if isinstance(name, str) and name else None


def stored_name(name: str | None, document_prompt: str) -> str | None:
    """Return the name stored with vectors, which depend on the prompt for documents."""
    if name is None or not document_prompt:
        return name
    return f"{name} + {json.dumps(document_prompt, ensure_ascii=False)}"


def own_admission(embedder: AnyEmbedder) -> EmbedderBinding:
    """Return the binding of an embedder for an index without vectors, or to replace its vectors."""
    forms, name = forms_of(embedder), embedder_name(embedder)
    if name is None or not isinstance(embedder, PromptedModel):
        return EmbedderBinding(name, None, forms)
    prompts = _prompts(embedder)
    details: dict[str, Any] = {
        "name": name,
        "adapter": embedder.adapter,
        "model": embedder._source,  # noqa: SLF001 - ours
        "query_prompt": prompts.query,
        "document_prompt": prompts.document,
    }
    stored = json.dumps(details, ensure_ascii=False)
    return EmbedderBinding(stored_name(name, prompts.document), stored, forms)


def admission(
    index: Searchable, embedder: AnyEmbedder, *, reports: bool = True
) -> Steps[EmbedderBinding]:
    """Return the binding of an embedder to this index.

    With `reports`, vectors of an earlier version are logged. Raises InvalidInputError
    (`embedder_mismatch`) if the vectors of the index come from another embedder, or from another
    prompt.
    """
    own, name = own_admission(embedder), embedder_name(embedder)
    if name is None or own.name is None:
        return own
    known, details, _ = yield Call(embedder_of, index)
    if known is None:
        return own
    recorded = RecordedEmbedder.read(known, details)
    prompts = _prompts(embedder) if isinstance(embedder, PromptedModel) else None
    if known == own.name:
        if prompts is not None:
            _check_query_prompt(index, recorded, prompts)
        return own
    if prompts is None or recorded.name != name:
        yield Call(check_embedder, index, own.name)
        return own
    if recorded.document_prompt is None and not prompts.document_given:
        if reports:
            _report(index, name)
        return EmbedderBinding(name, None, own.forms.without_prompts, is_older=True)
    raise _mismatch(index, name, "document", recorded.document_prompt or "", prompts.document)


def _prompts(embedder: PromptedModel) -> Prompts:
    return embedder._prompts  # noqa: SLF001 - ours


def _check_query_prompt(index: Searchable, recorded: RecordedEmbedder, prompts: Prompts) -> None:
    """Reject a query prompt that differs from the file's, unless the caller chose it.

    The vectors of the index do not depend on it, so a caller may choose any prompt.
    """
    known = recorded.query_prompt
    if known is not None and known != prompts.query and not prompts.query_given:
        raise _mismatch(index, str(recorded.name), "query", known, prompts.query)


def _mismatch(index: Searchable, name: str, form: str, known: str, own: str) -> InvalidInputError:
    texts = "queries are" if form == "query" else "documents were"
    argument = f"{form}_prompt"
    other = (
        Fix("use another prompt", arguments={argument: None})
        if form == "query"
        else Fix("embed all chunks again", "reembed")
    )
    return InvalidInputError(
        f'{_place(index)} has vectors of the embedder "{name}", for which {texts} embedded with '
        f"{_shown(known)}, not with {_shown(own)}",
        code="embedder_mismatch",
        fixes=(Fix("give the embedder that prompt", arguments={argument: known}), other),
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
            "chunks are embedded without them too. For better results embed all chunks again",
            _place(index),
            name,
        )


# Functions that differ between an index and a collection.


def embedder_of(searched: Searchable) -> tuple[str | None, str | None, int | None]:
    """Return the name of the embedder, its details, and its dimension, as far as known."""
    return _embedder_of(searched) if isinstance(searched, Index) else searched._embedder_of()  # noqa: SLF001


def check_embedder(searched: Searchable, name: str) -> None:
    """Raise InvalidInputError (`embedder_mismatch`) unless the vectors come from this embedder."""
    if isinstance(searched, Index):
        _check_embedder(searched, name)
    else:
        refuse_other_embedder(searched._embedder_of()[0], name)  # noqa: SLF001


def refuse_other_embedder(known: str | None, name: str) -> None:
    """Raise InvalidInputError (`embedder_mismatch`) if a different embedder is known."""
    if known is not None and known != name:
        raise InvalidInputError(
            f'the collection has vectors of the embedder "{known}", not of "{name}"; use that one',
            code="embedder_mismatch",
            fixes=(Fix("embed all chunks again", "reembed_collection"),),
        )


def unembedded(searched: Searchable, chunks: Sequence[Chunk]) -> Sequence[int]:
    """Return the positions of the chunks that must be embedded."""
    if isinstance(searched, Index):
        return _unembedded(searched, chunks)
    return searched._unembedded(chunks)  # noqa: SLF001


def upsert_from(
    searched: Searchable, chunks: Sequence[Chunk], embedder: str | None, details: str | None
) -> int:
    """Store chunks with vectors from an embedder of this name."""
    if isinstance(searched, Index):
        return _upsert_from(searched, chunks, embedder, details)
    return searched._upsert_from(chunks, embedder, details)  # noqa: SLF001


# Embedding of chunks.

# The number of chunks embedded and stored in one step. An interruption can lose one step.
_BLOCK = 256


def embedded(admitted: EmbedderBinding, texts: Sequence[str]) -> Steps[Embeddings]:
    """Return an embedding for each text of a document."""
    form = admitted.forms.documents
    with observing.observer().embedding(form.embedder, len(texts)) as call:
        rows = yield from form.rows(texts)
        if call is not None:
            call.embedded(rows)
    return rows


def upserting(
    index: Searchable,
    embedder: AnyEmbedder | None,
    chunks: Iterable[ChunkLike],
    progress: Progress | None,
) -> Steps[int]:
    """Store chunks and return the number of distinct ids.

    Chunks that must be embedded first are stored in blocks.
    """
    given = listed(chunks)
    with observing.observer().writing("upsert", index, len(given)):
        return (yield from _upserting(index, embedder, given, progress))


def _upserting(
    index: Searchable,
    embedder: AnyEmbedder | None,
    items: list[ChunkLike],
    progress: Progress | None,
) -> Steps[int]:
    given = _chunks(items)
    if embedder is None:
        stored: int = yield Call(index.upsert, given)
        if progress is not None and given:
            progress(len(given), len(given))
        return stored
    admitted = yield from admission(index, embedder)
    without = frozenset((yield Call(unembedded, index, given)))
    for start in range(0, len(given), _BLOCK):
        block = given[start : start + _BLOCK]
        missing = [i for i in range(len(block)) if start + i in without]
        if missing:
            rows = yield from embedded(admitted, [chunk_text(block[i]) for i in missing])
            for i, row in zip(missing, rows, strict=True):
                block[i] = block[i]._with_embedding(row)  # noqa: SLF001 - of this package
        yield Call(upsert_from, index, block, admitted.name, admitted.details)
        if progress is not None:
            progress(start + len(block), len(given))
    return len({chunk.id for chunk in given})


class _Staging:
    """New vectors of an index, kept in its file until they take the place of the old ones."""

    def __init__(self, index: Index, embedder: str | None, details: str | None) -> None:
        self._index = index
        self.stored = _begin_staging(index, embedder, details)
        self.waiting = len(index)

    def pages(self, limit: int) -> Iterator[list[Chunk]]:
        """Yield the chunks without a new vector, in lists of at most `limit`."""
        after = 0
        while True:
            page, after = _unstaged_page(self._index, after, limit)
            if not page:
                return
            yield page

    def store(self, chunks: Sequence[Chunk], rows: Embeddings) -> int:
        """Keep the new vectors of chunks; returns the number of vectors."""
        return _stage_embeddings(self._index, chunks, rows)

    def finish(self) -> int:
        """Replace all vectors in one transaction; returns the number of chunks with a new vector."""
        return _replace_by_staged(self._index)

    def close(self) -> None:
        """Do nothing: an index that is not replaced keeps both."""


def reembedding(
    searched: Searchable, embedder: AnyEmbedder, progress: Progress | None
) -> Steps[int]:
    """Replace all vectors at once, and return the number of new vectors.

    New vectors are kept block by block, so that the next attempt with an embedder of the same name
    continues a failed one.
    """
    own, started = own_admission(embedder), perf_counter()
    begin = partial(_Staging, searched) if isinstance(searched, Index) else searched._replacement  # noqa: SLF001 - of this package
    new = yield Call(begin, own.name, own.details)
    try:
        done, pages = new.stored, new.pages(_BLOCK)
        while page := (yield Call(next, pages, None)):
            rows = yield from embedded(own, [chunk_text(chunk) for chunk in page])
            done += yield Call(new.store, page, rows)
            if progress is not None:
                progress(done, max(done, new.waiting))
        stored: int = yield Call(new.finish)
    finally:
        new.close()
    if isinstance(searched, Index):
        # Embed the chunks that were written during the loop above.
        stored += yield from embedding_missing(searched, embedder, None)
    seconds = perf_counter() - started
    _embedding_log.info(
        "re-embedded %d chunks in %.2f s with %s",
        stored,
        seconds,
        own.name or "an unnamed embedder",
    )
    return stored


def embedding_missing(index: Index, embedder: AnyEmbedder, progress: Progress | None) -> Steps[int]:
    """Embed the stored chunks without a vector, and return the number of new vectors."""
    admitted = yield from admission(index, embedder)
    stored = after = 0
    stats = yield Call(index.stats)
    waiting: int = stats.chunks - stats.vectors
    while True:
        page, after = yield Call(_unembedded_page, index, after, _BLOCK)
        if not page:
            return stored
        rows = yield from embedded(admitted, [chunk_text(chunk) for chunk in page])
        stored += yield Call(_set_embeddings, index, page, rows, admitted.name, admitted.details)
        if progress is not None:
            progress(stored, max(stored, waiting))


def chunk_text(chunk: Chunk) -> str:
    """Return the text of a chunk for its embedding: title, summary and content, one on each line,
    without blank ones.
    """
    return "\n".join(text for text in (chunk.title, chunk.summary, chunk.content) if text.strip())
