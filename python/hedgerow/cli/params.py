"""Options of several commands on indexes, checked before anything is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, cast

import click

from hedgerow import AliasTable, Filters, InvalidInputError
from hedgerow._retrieval.operations import SearchRequest
from hedgerow.ranking import Ranking

from .filter_text import FilterTextError, condition, key_and_operator
from .models import embedder_option
from .options import F, TextType, option, request_options, text_option, with_options

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
