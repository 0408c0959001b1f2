"""The protocols of embedders, and calling one: one form for queries, another for documents.

The form follows from the methods it has (spec/adapters.md, "Embedders").
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import GeneratorType
from typing import Any, NamedTuple, Protocol, TypeAlias

from hedgerow._checks import shown
from hedgerow._dual import Call, Steps, is_async
from hedgerow.errors import HedgerowError, InvalidInputError


class Embeddings(Protocol):
    """A row of numbers for each text: an array of (n, dimensions), or nested sequences."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows: sequences of numbers, empty for a text without a vector."""


class Embedder(Protocol):
    """Turns texts into vectors (spec/adapters.md, "Embedders").

    It may have an attribute `name: str` for the model and everything else that changes the vectors.
    An index stores the name, and rejects vectors of another embedder.
    """

    def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Return a row for each text, in order and of equal length, as float32 or floats.

        An empty row means that the text has no vector. If the method raises, the retriever searches
        only by keywords.
        """


class AsyncEmbedder(Protocol):
    """An `Embedder` whose `embed` is awaited."""

    async def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Like `Embedder.embed`, but asynchronous."""


class QueryDocumentEmbedder(Protocol):
    """An embedder with separate methods for queries and documents.

    LangChain's `Embeddings` is one. Either method may return an awaitable. For a batch of queries,
    `embed_query` is called for each, unless there is also `embed_queries(texts)`, which returns one
    row for each text.
    """

    def embed_query(self, text: str, /) -> Any:
        """Return the row of one query as numbers. Empty if the query has no vector."""

    def embed_documents(self, texts: list[str], /) -> Embeddings | Awaitable[Embeddings]:
        """Return a row for each text, like `Embedder.embed`."""


class AsyncQueryDocumentEmbedder(Protocol):
    """Like `QueryDocumentEmbedder`, with LangChain's names for asynchronous methods.

    If an embedder has both kinds, asynchronous searches call these.
    """

    async def aembed_query(self, text: str, /) -> Any:
        """Like `QueryDocumentEmbedder.embed_query`, but asynchronous."""

    async def aembed_documents(self, texts: list[str], /) -> Embeddings:
        """Like `QueryDocumentEmbedder.embed_documents`, but asynchronous."""


AnyEmbedder: TypeAlias = (
    Embedder
    | AsyncEmbedder
    | QueryDocumentEmbedder
    | AsyncQueryDocumentEmbedder
    | Callable[[list[str]], Embeddings | Awaitable[Embeddings]]
)
"""An embedder for a retriever: an object with one of these methods, or a function of texts."""


def bad_answer(source: str, what: str) -> HedgerowError:
    """Return the error for a response that does not fit the request."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model of this kind", code="bad_answer"
    )


def non_blank(texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts that are not blank."""
    return [i for i, text in enumerate(texts) if text.strip()]


class _Method(NamedTuple):
    """A method that takes all texts together, or each separately."""

    name: str
    one_by_one: bool = False


_CALLED = _Method("__call__")

_LAZY = (GeneratorType, map)
"""Lazy results that an embedder may return instead of rows. They are computed when iterated."""

# Methods for queries, each with its method for documents. The first pair is that of LangChain and
# sentence-transformers, the next ones are LlamaIndex's.
_KINDS: Sequence[tuple[_Method, _Method]] = (
    (_Method("embed_queries"), _Method("embed_documents")),
    (_Method("embed_query", one_by_one=True), _Method("embed_documents")),
    (_Method("get_query_embedding", one_by_one=True), _Method("get_text_embedding_batch")),
    (_Method("embed"), _Method("embed")),
    (_CALLED, _CALLED),
)


@dataclass(frozen=True, slots=True)
class Form:
    """A method of an embedder, looked up when called, and its asynchronous counterpart."""

    embedder: Any
    plain: str | None
    awaited: str | None
    one_by_one: bool

    def rows(self, texts: Sequence[str]) -> Steps[Embeddings]:
        """Return a row for each text. Raises HedgerowError for any other result."""
        return checked_rows((yield from self.answer(texts)), len(texts))

    def answer(self, texts: Sequence[str]) -> Steps[Any]:
        """Return the unchecked result of the embedder."""
        if not self.one_by_one:
            answer = yield self._call(list(texts))
            # Iterate on the embedder's thread too.
            return (yield Call(list, answer)) if isinstance(answer, _LAZY) else answer
        rows: list[Any] = []
        for text in texts:
            rows += [(yield self._call(text))]
        return rows

    def _call(self, argument: Any) -> Call:
        if self.plain is None:
            return Call(_method(self.embedder, str(self.awaited)), argument)
        call = Call(_method(self.embedder, self.plain), argument)
        if self.awaited is not None:
            call.awaited = partial(_method(self.embedder, self.awaited), argument)
        return call


@dataclass(frozen=True, slots=True)
class Forms:
    """Both forms of an embedder. `plain` is its form for other texts."""

    queries: Form
    documents: Form

    @property
    def asynchronous(self) -> bool:
        """Whether only the asynchronous methods of a retriever can use it."""
        return self.queries.plain is None or self.documents.plain is None

    @property
    def without_prompts(self) -> Forms:
        """Return the forms of an adapter without prompts, as earlier versions used it."""
        plain = _form(self.queries.embedder, _Method("embed")) or self.documents
        return Forms(plain, plain)


def forms_of(embedder: AnyEmbedder) -> Forms:
    """Return the forms of an embedder. Raises InvalidInputError for any other object."""
    for queries, documents in () if isinstance(embedder, type) else _KINDS:
        if queries is _CALLED and hasattr(embedder, "encode"):
            continue
        of_queries, of_documents = _form(embedder, queries), _form(embedder, documents)
        if of_queries is not None and of_documents is not None:
            return Forms(of_queries, of_documents)
    raise InvalidInputError(
        f"embedder must have a method embed(texts), not {shown(embedder)}; or the methods "
        f"embed_query(text) and embed_documents(texts), or be a function of texts{_hint(embedder)}",
        code="invalid_option",
    )


def checked_rows(rows: Any, texts: int) -> Embeddings:
    """Return the rows of an embedder in a format that an index reads fast.

    Raises HedgerowError unless every text has a row, and for rows of bits.
    """
    # A str has a length too, but no rows.
    count = None if isinstance(rows, str) or not hasattr(rows, "__len__") else len(rows)
    if count != texts:
        answered = "something without rows" if count is None else f"{count} rows"
        raise HedgerowError(
            f"the embedder answered with {answered} for {texts} texts; "
            "it must return one row for each text, in their order",
            code="bad_answer",
        )
    kind = _kind(rows) or _kind(next(iter(rows), None))
    if kind in ("uint8", "bool"):
        raise HedgerowError(
            f"the embedder answered with rows of {kind}, which are bits or codes and no vectors; "
            "configure it for float32, float16 or int8",
            code="bad_answer",
        )
    if hasattr(rows, "detach"):  # a torch tensor, which may be on another device
        rows = rows.detach().cpu().tolist()
    elif kind not in (None, "float32", "float64") and hasattr(rows, "astype"):
        rows = rows.astype("float32")
    checked: Embeddings = rows
    return checked


def _kind(rows: Any) -> str | None:
    """Return numpy's name of the type of an array's or tensor's numbers."""
    dtype = getattr(rows, "dtype", None)
    return None if dtype is None else str(dtype).rpartition(".")[2]


def _form(embedder: Any, method: _Method) -> Form | None:
    plain = method.name if callable(_method(embedder, method.name)) else None
    awaited = None
    if plain is not None and is_async(_method(embedder, plain)):
        plain, awaited = None, plain
    elif method is not _CALLED and callable(_method(embedder, f"a{method.name}")):
        awaited = f"a{method.name}"
    if plain is None and awaited is None:
        return None
    return Form(embedder, plain, awaited, method.one_by_one)


def _method(embedder: Any, name: str) -> Any:
    return embedder if name == "__call__" and callable(embedder) else getattr(embedder, name, None)


def _hint(embedder: Any) -> str:
    if isinstance(embedder, type):
        return f"; that is a class: pass an object of it, {embedder.__name__}(...)"
    if hasattr(embedder, "encode"):
        return (
            "; a model of a library goes into its adapter, as in "
            "hr.embedders.SentenceTransformerEmbedder(model, name=...)"
        )
    return ""
