"""The options of a run, checked before any actor starts, what an actor makes of them, and the answers that are kept in
a folder, so that a run that was stopped can continue (docs/ray.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from struct import pack
from typing import Any, TypedDict

from hedgerow._checks import checked_count, checked_text, listed, shown
from hedgerow._engine import Candidate, Chunk, Hit, Index, __version__
from hedgerow._retrieval.embedding import embedder_name, own_admission
from hedgerow._retrieval.reranking import reranker_name
from hedgerow._tables import FIELDS
from hedgerow.embedders.base import AnyEmbedder
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ranking import Ranking
from hedgerow.rerankers.base import Reranker
from hedgerow.retriever import Retriever
from hedgerow.typing import Aliases, CandidateLike, OnLegFailure, QuestionDate, SearchKeywords


@dataclass(frozen=True)
class Checkpoint:
    """The answers of one kind: of the same content, searched in the same way.

    The caller's folder has one for each kind, named by the digest of its settings. A file in that
    `folder` holds the answers to a batch of queries, of which its name is the digest.
    """

    folder: Path

    @classmethod
    def of(cls, folder: str | os.PathLike[str], settings: dict[str, Any]) -> Checkpoint:
        """Return the folder for these settings, with a file that lists them. Creates it if needed.

        Raises HedgerowError if the folder cannot be created.
        """
        text = json.dumps(
            {name: shape(value) for name, value in settings.items()}, indent=1, sort_keys=True
        )
        found = cls(Path(folder) / sha256(text.encode()).hexdigest()[:32])
        with _told(found.folder):
            found.folder.mkdir(parents=True, exist_ok=True)
        if found.read("settings.json") is None:
            found.write("settings.json", text.encode())
        return found

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        with _told(self.folder):
            try:
                return (self.folder / name).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that it is there whole or not at all, whatever ends the process.

        After a loss of power it may be damaged, which readers notice; waiting for the disk would take
        longer than searching.
        """
        partial = self.folder / f".{name}.{token_hex(8)}.partial"
        with _told(self.folder):
            try:
                partial.write_bytes(content)
                partial.replace(self.folder / name)
            except BaseException:
                with suppress(FileNotFoundError):
                    partial.unlink()
                raise


@dataclass(frozen=True)
class BatchQueries:
    """The queries of a batch, None for a row without one, and the values passed with each."""

    queries: Sequence[str | None]
    vectors: Sequence[Sequence[float]] | None = None
    dates: Sequence[Any] | None = None

    def digest(self) -> str:
        """A digest that any difference changes, and that is the same in every process."""
        found = sha256()

        def add(part: bytes | None) -> None:
            found.update(pack("<q", -1 if part is None else len(part)))
            found.update(part or b"")

        for query in self.queries:
            add(None if query is None else query.encode())
        found.update(b"." if self.vectors is None else b"v")
        for vector in self.vectors or ():
            add(pack(f"<{len(vector)}d", *vector))
        found.update(b"." if self.dates is None else b"d")
        for date in self.dates or ():
            add(repr(date).encode())
        return found.hexdigest()


def shape(value: Any) -> Any:
    """A value as JSON that is the same in every process, and differs for different values."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [shape(one) for one in value]
    if isinstance(value, (Chunk, Candidate, Hit)):
        # The reprs of fields leave out most of their options.
        return [type(value).__name__, repr(value.__reduce__()[1])]
    return repr(value)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Raise an error of the operating system as one of ours."""
    try:
        yield
    except OSError as error:
        raise HedgerowError(
            f"the checkpoint {folder} cannot be used: {error}; give checkpoint_path= a folder that "
            "every node sees and may write to",
            code="checkpoint_io",
        ) from error


class GivenVectors:
    """Returns the vectors of the rows of the next search.

    It has no name: only the caller knows the embedder that made them.
    """

    def __init__(self) -> None:
        self._rows: Sequence[tuple[str, Any]] = ()

    def expect(self, queries: Sequence[str], vectors: Sequence[Any]) -> None:
        """Take the vectors of these queries, () for a query without one."""
        self._rows = list(zip(queries, vectors, strict=True))

    def embed(self, texts: Sequence[str], /) -> list[Any]:
        """The vectors of the texts, which are those that are expected, less the refused ones.

        A search embeds its queries in their order, without those over a limit, and only its text says
        whether a query is over one. So the next row with a text belongs to it, even where a text
        occurs twice.
        """
        rows = iter(self._rows)
        return [next(vector for query, vector in rows if query == text) for text in texts]


@dataclass(frozen=True)
class Place:
    """The recipe for an actor's handle. Picklable."""

    opener: Callable[..., Any]
    arguments: tuple[Any, ...]

    def open(self) -> Any:
        """A handle that only reads."""
        return self.opener(*self.arguments)


def place_of(index: Any) -> Place:
    """Return the way to open the caller's index in an actor: an open index, a path, or a collection.

    A collection pickles as its address. Raises InvalidInputError for an index in memory.
    """
    if isinstance(index, Index):
        restore, (path, dimensions, tokenizer, _, *ways) = index.__reduce__()
        return Place(restore, (_absolute(path), dimensions, tokenizer, True, *ways))
    if isinstance(index, (str, os.PathLike)):
        return Place(_open_file, (_absolute(index),))
    return Place(_itself, (index,))


def content_digest(index: Any) -> str:
    """A digest of everything in an index that answers depend on; for a collection, of its address.

    It takes about 5 microseconds a chunk.
    """
    if not isinstance(index, Index):
        return sha256(repr(index).encode("utf-8", "backslashreplace")).hexdigest()
    stats = index.stats()
    digest = sha256(
        repr((stats.tokenizer, stats.dimensions, stats.embedder, _words(index))).encode()
    )
    # In the order of rows, which decides between equal scores.
    for chunk in index.chunks():
        *texts, embedding = chunk.__reduce__()[1]
        vector = b"" if embedding is None else bytes(embedding)
        for part in (repr(texts).encode("utf-8", "backslashreplace"), vector):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _words(index: Index) -> Any:
    """The stop words of an index, in an order that is the same in each process."""
    words = index.stopwords
    return sorted(words) if isinstance(words, frozenset) else words


def _absolute(path: str | os.PathLike[str]) -> str:
    # The working directory of an actor may be another one.
    return os.path.abspath(path)  # noqa: PTH100 - it keeps links, and what comes after them


def _open_file(path: str) -> Index:
    return Index.open(path, read_only=True)


def _itself(index: Any) -> Any:
    return index


_PARTS = ("embedder", "reranker")


class RetrieverKeywords(TypedDict, total=False):
    """The options of `Retriever`, except its embedder and its reranker."""

    aliases: Aliases | None
    trigram_chunks: Iterable[Chunk | CandidateLike] | None
    ranking: Ranking | None
    on_leg_failure: OnLegFailure
    slow_ms: float | None


@dataclass(frozen=True)
class Columns:
    """The column of the query in a row, and the columns added to the row."""

    query: str
    vector: str | None
    date: str | None
    fields: tuple[str, ...]
    trace: bool
    prefix: str

    @property
    def read(self) -> list[str]:
        """The columns that rows must have."""
        return [name for name in (self.query, self.vector, self.date) if name is not None]

    @property
    def added(self) -> list[str]:
        """The columns that rows must not have."""
        names = ["results", "error", *(["trace"] if self.trace else [])]
        return [self.prefix + name for name in names]

    def check(self, names: Sequence[str]) -> None:
        """Raise InvalidInputError for rows without a column that is read, or with one that is added."""
        for name in self.read:
            if name not in names:
                raise InvalidInputError(
                    f"the dataset has no column {name!r}, but {shown([*names])}; name the right one "
                    "with query_column=, vector_column= or date_column=",
                    code="invalid_option",
                )
        for name in self.added:
            if name in names:
                raise InvalidInputError(
                    f"the dataset has a column {name!r} already; give prefix= a text to put before "
                    "the names of the columns that are added",
                    code="invalid_option",
                )


@dataclass(frozen=True)
class Makers:
    """Functions that make, in each actor, what does not pickle or should not."""

    embedder: Callable[[], AnyEmbedder] | None = None
    reranker: Callable[[], Reranker] | None = None


@dataclass(frozen=True)
class Plan:
    """All that an actor needs; it pickles when the parts of the retriever do."""

    place: Place
    retriever: Mapping[str, Any]
    makers: Makers
    search: Mapping[str, Any]
    columns: Columns
    on_error: str
    batch_size: int
    checkpoint_path: str | None = None
    content: str = ""

    def open(self) -> Retriever:
        """The retriever of an actor, which never writes."""
        given = dict(self.retriever)
        if self.makers.embedder is not None:
            given["embedder"] = self.makers.embedder()
        if self.makers.reranker is not None:
            given["reranker"] = self.makers.reranker()
        if self.columns.vector is not None:
            given["embedder"] = GivenVectors()
        return Retriever(self.place.open(), **given)

    def checkpoint(self, retriever: Retriever) -> Checkpoint | None:
        """Where the answers of this retriever are kept, if they are to be.

        Raises InvalidInputError for an embedder without a name, HedgerowError for a folder that cannot
        be used.
        """
        if self.checkpoint_path is None:
            return None
        options = {name: self.retriever.get(name) for name in self.retriever if name not in _PARTS}
        # Results depend neither on the number of threads nor on the threshold of a slow search.
        options.pop("slow_ms", None)
        searches = {name: value for name, value in self.search.items() if name != "threads"}
        settings = {
            "hedgerow": __version__,
            "content": self.content,
            "embedder": _identity(retriever.embedder),
            "reranker": None if retriever.reranker is None else reranker_name(retriever.reranker),
            "fields": self.columns.fields,
            "trace": self.columns.trace,
            **{f"retriever.{name}": value for name, value in options.items() if value is not None},
            **{f"search.{name}": value for name, value in searches.items() if value is not None},
        }
        return Checkpoint.of(self.checkpoint_path, settings)


def plan_of(  # noqa: PLR0913 - the options of `hedgerow.ray.search_many`
    index: Any,
    *,
    columns: Columns,
    embedder: AnyEmbedder | None,
    reranker: Reranker | None,
    makers: Makers,
    question_date: QuestionDate | None,
    threads: int,
    on_error: str,
    batch_size: int,
    checkpoint_path: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
) -> Plan:
    """Check everything, by making the retriever that the actors will make, here."""
    retrieving, searching = _split(options)
    chunks = retrieving.get("trigram_chunks")
    if isinstance(chunks, Iterable):  # maybe once
        retrieving["trigram_chunks"] = listed(chunks)
    parts: dict[str, Any] = {"embedder": embedder, "reranker": reranker}
    given = {name: value for name, value in {**retrieving, **parts}.items() if value is not None}
    if isinstance(index, Retriever):
        if given:
            raise InvalidInputError(
                f"the Retriever has its own options, besides {shown(sorted(given))}; give "
                "them to it, or pass its index instead of it",
                code="incompatible_options",
            )
        index, given = index.index, dict(index._arguments)  # noqa: SLF001 - of this package
    _check_sources(columns, given, makers, question_date)
    plan = Plan(
        place_of(index),
        given,
        makers,
        {**searching, "question_date": question_date, "threads": checked_count(threads, "threads")},
        columns,
        on_error,
        checked_count(batch_size, "batch_size"),
    )
    handle = index if isinstance(index, Index) else plan.place.open()
    try:
        return _checked(plan, handle, checkpoint_path)
    finally:
        if isinstance(handle, Index) and handle is not index:
            handle.close()


def checked_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """The fields of hits that results have; raises InvalidInputError for unknown ones."""
    if fields == "all":
        return FIELDS
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise InvalidInputError(
            f'fields must be "all" or a list of str, not {shown(fields)}', code="invalid_option"
        )
    found = tuple(listed(fields))
    unknown = [name for name in found if name not in FIELDS]
    if unknown or not found or len(set(found)) < len(found):
        raise InvalidInputError(
            f'fields must be "all" or some of {", ".join(FIELDS)}, each once, not {shown(list(found))}',
            code="invalid_option",
        )
    return found


def checked_column(name: str | None, what: str) -> str | None:
    """The name of a column, or None; raises InvalidInputError for anything else."""
    return None if name is None else checked_text(name, what)


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the retriever and those of its searches; raises InvalidInputError for unknown ones."""
    known = {**RetrieverKeywords.__annotations__, **SearchKeywords.__annotations__}
    for name in options:
        if name not in known:
            raise TypeError(f"search_many() got an unexpected keyword argument {name!r}")
    searching = {name: options[name] for name in options if name in SearchKeywords.__annotations__}
    return {name: options[name] for name in options if name not in searching}, searching


def _check_sources(
    columns: Columns, given: Mapping[str, Any], makers: Makers, question_date: QuestionDate | None
) -> None:
    """Raise InvalidInputError for two sources of the same thing."""
    vectors = {
        "embedder": given.get("embedder"),
        "make_embedder": makers.embedder,
        "vector_column": columns.vector,
    }
    rerankers = {"reranker": given.get("reranker"), "make_reranker": makers.reranker}
    dates = {"question_date": question_date, "date_column": columns.date}
    for sources in (vectors, rerankers, dates):
        found = [name for name, source in sources.items() if source is not None]
        if len(found) > 1:
            raise InvalidInputError(
                f"{' and '.join(found)} are for the same thing; give one of them",
                code="incompatible_options",
            )
    for name, maker in (("make_embedder", makers.embedder), ("make_reranker", makers.reranker)):
        if maker is not None and not callable(maker):
            raise InvalidInputError(
                f"{name} must be a function without arguments, not {shown(maker)}",
                code="invalid_option",
            )


def _checked(plan: Plan, handle: Any, checkpoint_path: str | os.PathLike[str] | None) -> Plan:
    """The plan, when a retriever of it can be made and searched with the options."""
    given = dict(plan.retriever)
    if plan.makers.embedder is not None or plan.columns.vector is not None:
        given["embedder"] = GivenVectors()
    retriever = Retriever(handle, **given)
    _check_awaits_nothing(retriever)
    retriever.search_many([], **{**plan.search, "on_error": plan.on_error})
    if checkpoint_path is None:
        return plan
    if not isinstance(checkpoint_path, (str, os.PathLike)):
        raise InvalidInputError(
            f"checkpoint_path must be a path, not {shown(checkpoint_path)}", code="invalid_option"
        )
    if plan.makers.embedder is None:
        _identity(retriever.embedder)
    return Plan(
        **{
            **vars(plan),
            "checkpoint_path": os.path.abspath(checkpoint_path),  # noqa: PTH100 - of this machine
            "content": content_digest(handle),
        }
    )


def _check_awaits_nothing(retriever: Retriever) -> None:
    parts = retriever._asynchronous  # noqa: SLF001 - of this package
    if parts:
        raise InvalidInputError(
            f"the {parts[0]} is asynchronous, and actors await nothing; give one with plain methods",
            code="incompatible_options",
        )


def _identity(embedder: AnyEmbedder | None) -> list[str | None] | None:
    """Return the identity of an embedder's vectors; None without an embedder."""
    if embedder is None or isinstance(embedder, GivenVectors):
        return None
    name = embedder_name(embedder)
    if name is None:
        raise InvalidInputError(
            "a checkpoint tells embedders apart by their names, and this one has none; give it an "
            "attribute name that identifies the model",
            code="invalid_option",
        )
    return [name, own_admission(embedder).details]
