"""Options of several commands on indexes, checked before anything is opened, and the models that they name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import click

from hedgerow import (
    AliasTable,
    Embedder,
    Filters,
    HedgerowError,
    Index,
    InvalidInputError,
    Reranker,
)
from hedgerow._retrieval.embedding import RecordedEmbedder
from hedgerow._retrieval.embedding import embedder_of as embedder_recorded_in
from hedgerow._retrieval.operations import SearchRequest
from hedgerow.ranking import Ranking

from .filter_text import FilterTextError, condition, key_and_operator
from .options import F, TextType, option, request_options, text_option, with_options
from .output import visible

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection


T = TypeVar("T")

EMBEDDER_HELP = (
    "local for an installed model, or ADAPTER:MODEL, with one of model2vec, "
    "sentence-transformers, onnx, static, openai, ollama; on another server ADAPTER:MODEL@URL."
)


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """The embedder that the user named, and its prompts; each is None if it was not given."""

    name: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None

    def __bool__(self) -> bool:
        return self != EmbedderOptions()

    @property
    def prompts(self) -> dict[str, str | None]:
        """The prompts as an adapter takes them."""
        return {"query_prompt": self.query_prompt, "document_prompt": self.document_prompt}


def embedder_option(help_text: str) -> Callable[[F], F]:
    """Add `--embedder` and its prompts, which a command gets as one `embedder`, a `EmbedderOptions`."""
    prompt = 'The text before each {}, "" for none.  [default: that of its model]'
    options = [
        text_option(name, metavar, text, section="Embedder")
        for name, metavar, text in (
            ("--embedder", "NAME", f"{help_text} {EMBEDDER_HELP}"),
            ("--query-prompt", "TEXT", prompt.format("query")),
            ("--document-prompt", "TEXT", prompt.format("chunk")),
        )
    ]

    def decorate(command: F) -> F:
        @wraps(command)
        def with_wanted(*args: Any, embedder: str | None, **rest: Any) -> Any:
            prompts = (rest.pop(name) for name in ("query_prompt", "document_prompt"))
            return command(*args, embedder=EmbedderOptions(embedder, *prompts), **rest)

        return with_options(cast("F", with_wanted), *options)

    return decorate


@contextmanager
def embedder_of(wanted: EmbedderOptions) -> Iterator[Embedder | None]:
    """Open the embedder that was named; None without a name."""
    if wanted.name is None:
        yield None
        return
    from hedgerow.embedders import embedder_named  # noqa: PLC0415 - only when it is asked for

    with _closed(embedder_named(wanted.name, **wanted.prompts)) as embedder:
        yield embedder


@contextmanager
def reranker_of(name: str | None) -> Iterator[Reranker | None]:
    """Open the reranker of a name; None for None."""
    if name is None:
        yield None
        return
    from hedgerow.rerankers import reranker_named  # noqa: PLC0415 - only when it is asked for

    with _closed(reranker_named(name)) as reranker:
        yield reranker


@contextmanager
def _closed(adapter: T) -> Iterator[T]:
    try:
        yield adapter
    finally:
        # A model in this process has no connections to close.
        close = getattr(adapter, "close", None)
        if close is not None:
            close()


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedder to use, if any, and why an index with vectors has to do without."""

    embedder: Embedder | None = None
    notice: str | None = None


def recorded_embedder(index: Index | Collection, wanted: EmbedderOptions) -> EmbedderChoice:
    """The embedder of an index, if it has vectors; `wanted` may have other prompts."""
    name, details, dimensions = embedder_recorded_in(index)
    # Without a name the dimensions may be all there is of vectors; counting takes a while.
    if dimensions is None or (name is None and index.stats().vectors == 0):
        return EmbedderChoice()
    recorded = RecordedEmbedder.read(name, details)
    try:
        embedder = _loaded(recorded, wanted)
    except HedgerowError as error:
        why = error.message
        if error.code == "model_unavailable":
            why += f". To download it, name it: --embedder {_given(recorded)}"
        return EmbedderChoice(notice=_notice(index, recorded, why))
    except Exception as error:  # noqa: BLE001 - whatever a library raises, keywords answer
        return EmbedderChoice(notice=_notice(index, recorded, f"it cannot be loaded ({error})"))
    return (
        EmbedderChoice(embedder)
        if embedder
        else EmbedderChoice(notice=_notice(index, recorded, _how(recorded)))
    )


def check_prompts(wanted: EmbedderOptions, embedder: Embedder | None) -> None:
    """Refuse prompts where there is no embedder to use them."""
    if wanted and embedder is None:
        raise click.UsageError("--query-prompt and --document-prompt go with --embedder NAME.")


def _loaded(recorded: RecordedEmbedder, wanted: EmbedderOptions) -> Embedder | None:
    from hedgerow.embedders.by_name import local_embedder, may_be_local  # noqa: PLC0415 - for some

    adapter, model, name = recorded.adapter, recorded.model, recorded.name
    if adapter is None or model is None or name is None or not may_be_local(adapter, model):
        return None
    query, document = wanted.query_prompt, wanted.document_prompt
    return local_embedder(
        adapter,
        model,
        name=name,
        query_prompt=(recorded.query_prompt or "") if query is None else query,
        document_prompt=(recorded.document_prompt or "") if document is None else document,
    )


def _notice(index: Index | Collection, recorded: RecordedEmbedder, why: str) -> str:
    of = "without a name" if recorded.name is None else f'"{recorded.name}"'
    place = index.path if isinstance(index, Index) else f"{index.url}/{index.name}"
    return visible(f"{place} has vectors of the embedder {of}, which is not used: {why}")


def _how(recorded: RecordedEmbedder) -> str:
    """Say how to name an embedder that a file alone may not bring into use."""
    from hedgerow.embedders.by_name import sends_texts  # noqa: PLC0415 - for some indexes only

    if recorded.adapter is None or recorded.model is None:
        return "the file does not say how to load it; name it with --embedder ADAPTER:MODEL"
    how = (
        "sends texts to an address" if sends_texts(recorded.adapter) else "is loaded from a folder"
    )
    return f"it {how}, so name it yourself: --embedder {_given(recorded)}"


def _given(recorded: RecordedEmbedder) -> str:
    return shlex.quote(f"{recorded.adapter}:{recorded.model}")


Tokenizer = Literal["words", "porter unicode61", "unicode61", "trigram"]

_RANKING = "Ranking"


class _Alias(TextType):
    """`k=a,b`: the key and its alternatives."""

    name = "k=a,b"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the key and the list of its alternatives."""
        if isinstance(value, tuple):
            return value
        key, equals, listed = super().convert(value, param, ctx).partition("=")
        alternatives = [part.strip() for part in listed.split(",") if part.strip()]
        if not (equals and key.strip() and alternatives):
            self.fail(
                f"{value!r} is no alias; write a key and its alternatives, "
                "as in k8s=kubernetes,kube",
                param,
                ctx,
            )
        return key.strip(), alternatives


class Filter(TextType):
    """`path=`, `prefix=`, `tag=`, `meta.KEY=` or a condition such as `year >= 2024`."""

    name = "condition"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a name and its value, or "where" and a condition."""
        if isinstance(value, tuple):
            return value
        text = super().convert(value, param, ctx)
        found = key_and_operator(text)
        if found:
            name, signs, wanted = found
            of_meta = name.startswith("meta.") and name != "meta."
            if signs == "=" and (name in {"path", "prefix", "tag"} or of_meta) and wanted.strip():
                # A value that touches the sign is not stripped.
                return name, wanted.strip() if wanted != wanted.lstrip() else wanted
        try:
            read = condition(text)
            Filters(where=read)
        except FilterTextError as error:
            wrong = error.pointing()
        except InvalidInputError as error:
            wrong = str(error)
        else:
            return "where", read
        return self.fail(
            f"{value!r} is no filter; write path=FILE, prefix=FOLDER/, tag=TAG, "
            f"meta.KEY=VALUE or a condition such as 'year >= 2024': {wrong}",
            param,
            ctx,
        )


class Choices(TextType):
    """A selection of a few words, with commas between; each counts once."""

    name = "list"

    def __init__(self, choices: Sequence[str]) -> None:
        self._choices = tuple(choices)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the distinct words in their order."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in super().convert(value, param, ctx).split(",")]
        for word in words:
            if word not in self._choices:
                self.fail(
                    f"{word!r} is not one of {', '.join(self._choices)}; write them with commas "
                    "between",
                    param,
                    ctx,
                )
        return tuple(dict.fromkeys(words))


class StopWords(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The name of lists, or words with commas between."""

    name = "stopwords"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse a word alone, which is rather the name of a list; the index checks the other words."""
        if value in {"en+nl", "en", "nl", "none"}:
            return value
        if "," not in value:
            self.fail(
                f"{value!r} is no list of stop words: give en+nl, en, nl, none, or words with commas "
                f"between; a single word is {value},",
                param,
                ctx,
            )
        return value.removesuffix(",").split(",")


def alias_option(command: F) -> F:
    """Add `--alias`, which a command gets as an `AliasTable`, or None."""
    return option(
        "--alias",
        type=_Alias(),
        multiple=True,
        callback=_alias_table,
        help="Search for other words instead of one: k8s=kubernetes,kube. May be repeated.",
    )(command)


_OPERATOR: dict[str, Any] = {
    "type": click.Choice(["OR", "AND"], case_sensitive=False),
    "default": "OR",
    "show_default": True,
}


def language_options(command: F) -> F:
    """Add `--operator` and `--matching`."""
    matching = {"default": "spec", "show_default": True}
    add = request_options(
        Ranking, "operator", "matching", section=_RANKING, operator=_OPERATOR, matching=matching
    )
    return add(command)


rerank_option = text_option(
    "--rerank", "NAME", "Rerank the best 20: cross-encoder:MODEL or tei:URL.", section=_RANKING
)
"""Add `--rerank`."""


def ranking_options(command: F) -> F:
    """Add the options of ranking by keywords and meaning."""
    ranking = request_options(
        Ranking,
        *(
            "operator",
            "profile",
            "matching",
            "fusion",
            "neighbors",
            "speakers",
            "dates",
            "reweight",
        ),
        section=_RANKING,
        operator=_OPERATOR,
    )
    searching = request_options(
        SearchRequest,
        *("mode", "group_by", "candidates", "question_date", "asker", "recency"),
        section=_RANKING,
        recency={"metavar": "AGE"},
    )
    embedder = embedder_option(
        "Search by meaning too; that of the index, where it can be used unnamed:"
    )
    return ranking(embedder(searching(rerank_option(command))))


def _alias_table(
    _: click.Context, __: click.Parameter, given: Sequence[tuple[str, list[str]]]
) -> AliasTable | None:
    """Join the aliases given; a key that is repeated gathers its alternatives."""
    gathered: dict[str, list[str]] = {}
    for key, alternatives in given:
        gathered.setdefault(key, []).extend(alternatives)
    return AliasTable(gathered) if gathered else None


def _filter_date(name: str, help_text: str) -> Callable[[F], F]:
    return text_option(name, "DATE", help_text, section="Filters")


def filter_options(command: F) -> F:
    """Add `--filter`, `--after`, `--before` and `--date-key`; a command gets them as one `where`."""
    options = [
        option(
            "--filter",
            "given_filters",
            type=Filter(),
            multiple=True,
            section="Filters",
            help="Only chunks with path=FILE, prefix=FOLDER/, tag=TAG or meta.KEY=VALUE (JSON or "
            "text), or that meet a condition: 'year >= 2024', 'status in (open, done)'. "
            "May be repeated: one of the paths and every other condition must hold.",
        ),
        _filter_date("--after", "Only chunks of this date or later: 2024-03-05, or with a time."),
        _filter_date("--before", "Only chunks of an earlier date."),
        text_option(
            "--date-key",
            "KEY",
            "The key of the metadata that has the date.",
            default="date",
            show_default=True,
            section="Filters",
        ),
    ]

    @wraps(command)
    def with_filters(*args: Any, given_filters: Any, **rest: Any) -> Any:
        dates = {name: rest.pop(name) for name in ("after", "before", "date_key")}
        return command(*args, where=_filters_of(given_filters, **dates), **rest)

    return with_options(cast("F", with_filters), *options)


def _filters_of(given: Sequence[tuple[str, Any]], **dates: str) -> Filters:
    """Join the filters given: any of the paths, and everything else together."""
    paths = [wanted for name, wanted in given if name == "path"]
    prefixes = [wanted for name, wanted in given if name == "prefix"]
    tags = [wanted for name, wanted in given if name == "tag"]
    conditions = [wanted for name, wanted in given if name == "where"]
    if len(prefixes) > 1:
        raise click.UsageError("--filter prefix= can be given once; search twice for two folders.")
    metadata: dict[str, Any] = {}
    for name, wanted in given:
        if name.startswith("meta."):
            key = name.removeprefix("meta.")
            if key in metadata:
                raise click.UsageError(f"--filter {name}= can be given once.")
            metadata[key] = json_or_text(wanted)
    where = {"$and": conditions} if len(conditions) > 1 else next(iter(conditions), {})
    try:
        return Filters(
            paths=paths,
            path_prefix=prefixes[0] if prefixes else None,
            tags=tags,
            metadata=metadata,
            where=where,
            **dates,
        )
    except InvalidInputError as error:
        raise click.UsageError(f"{error}.") from error


def json_or_text(value: str) -> Any:
    """Read a value as JSON where it is JSON: `2`, `true`, `"2"`; else take it as text."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
