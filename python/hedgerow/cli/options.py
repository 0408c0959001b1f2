"""Options of commands: made from the requests of operations, and listed in groups in `--help`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click

from hedgerow import __version__
from hedgerow._checks import from_home
from hedgerow._operations.fields import declared, without_none
from hedgerow._operations.shapes import is_list

from .fixes import note_running
from .output import AS_JSON, echo

if TYPE_CHECKING:
    from hedgerow._operations.fields import FieldSpec
    from hedgerow._operations.operation import Request
    from hedgerow.ranking import Ranking

F = TypeVar("F", bound=Callable[..., Any])

GENERAL = "Options"
"""The section of options that belong to no other one; it is the first of a help text."""


class Option(click.Option):
    """An option with the section of the help text that lists it."""

    def __init__(self, *names: Any, section: str = GENERAL, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.section = section

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the value of the environment variable; None for a blank one, as for one that is not set."""
        found = super().resolve_envvar_value(ctx)
        return found if found and found.strip() else None


def option(*names: str, section: str = GENERAL, **attributes: Any) -> Callable[[F], F]:
    """Add an option to a section; the other arguments are those of `click.option`."""
    return click.option(*names, cls=Option, section=section, **attributes)


def text_option(
    name: str, metavar: str, help_text: str, *names: str, **attributes: Any
) -> Callable[[F], F]:
    """Add an option that takes a text; `names` are further names, and that of its parameter."""
    return option(name, *names, metavar=metavar, type=TEXT, help=help_text, **attributes)


def path_option(
    name: str, metavar: str, help_text: str, *names: str, **attributes: Any
) -> Callable[[F], F]:
    """Add an option that takes the path of a file or a folder, as `text_option` does."""
    return option(name, *names, metavar=metavar, type=PATH, help=help_text, **attributes)


def repeated_option(
    name: str, metavar: str, help_text: str, *names: str, **attributes: Any
) -> Callable[[F], F]:
    """Like `text_option`, of an option that may be repeated."""
    return text_option(name, metavar, help_text, *names, multiple=True, **attributes)


def with_options(command: F, *options: Callable[[Any], Any]) -> F:
    """Add several options to a command, in the order in which its help lists them."""
    decorated: Any = command
    for add in reversed(options):
        decorated = add(decorated)
    result: F = decorated
    return result


def given_options() -> list[tuple[str, click.Parameter]]:
    """Return the options of the running command that were given on the command line, with their names."""
    context = click.get_current_context()
    found = []
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            found.append((name, parameter))
    return found


class Command(click.Command):
    """A command of `hedgerow`.

    `-v`, `--v` and `--version` print the version wherever they stand. `--limit` may stand without
    its value; any other option that takes one is an error without it.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer `--version`, drop a `--limit` without a value, and name other options without."""
        note_running(ctx)
        if ctx.resilient_parsing:
            # For a completion: the value is the unfinished word.
            return super().parse_args(ctx, args)
        end = args.index("--") if "--" in args else len(args)
        if any(self._asks_version(args, index) for index in range(end)):
            echo(__version__)
            ctx.exit()
        kept = []
        for index, argument in enumerate(args[:end]):
            following = args[index + 1] if index + 1 < end else "--"
            if self._takes_value(argument) and following.startswith("--"):
                if argument == "--limit":
                    continue
                raise click.UsageError(f"{argument} requires a value.", ctx)
            kept.append(argument)
        return super().parse_args(ctx, kept + args[end:])

    def _asks_version(self, args: list[str], index: int) -> bool:
        if args[index] == "-v":
            return index == 0 or not self._takes_value(args[index - 1])
        return args[index] in {"--v", "--version"}

    def _takes_value(self, argument: str) -> bool:
        return any(
            isinstance(param, click.Option) and argument in param.opts and not param.is_flag
            for param in self.params
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section, the general ones first."""
        sections: dict[str, list[tuple[str, str]]] = {GENERAL: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                sections.setdefault(getattr(param, "section", GENERAL), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class TextType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """Text that is UTF-8; the shell may pass any bytes."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text, or fail with the bytes that are not UTF-8."""
        try:
            # Python keeps bytes that the locale cannot decode; in the C locale they may be UTF-8.
            return value.encode("utf-8", "surrogateescape").decode()
        except UnicodeError:
            self.fail(
                f"{_printable(value)} is not UTF-8; check the terminal's encoding",
                param,
                ctx,
            )


def _printable(value: str) -> str:
    """Escape the bytes of an argument that are not UTF-8."""
    try:
        data = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = value.encode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")


TEXT = TextType()


class PathType(TextType):
    """A path in UTF-8. A `~` that no shell expanded is the home folder."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail with the bytes that are not UTF-8."""
        return from_home(super().convert(value, param, ctx))


PATH = PathType()


class AnyPath(click.Path):
    """A path in any bytes. A `~` that no shell expanded is the home folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path in the type that was asked for."""
        return super().convert(from_home(os.fsdecode(value)), param, ctx)


# Options from requests.


def request_options(
    request: type[Request[Any] | Ranking],
    *names: str,
    section: str = GENERAL,
    **changes: dict[str, Any],
) -> Callable[[F], F]:
    """Add an option for each of some fields of a request, which a command gets by the field's name.

    Without `names`, these are all fields with a default, except those for this process alone.
    Bounds, choices, help text and default are those of the field. A flag that is on by default
    becomes `--no-NAME`, one that may be None `--NAME/--no-NAME`. A list becomes an option in the singular that may be repeated, takes several
    values with commas between, and may be written in the plural. `changes` replaces attributes of
    `click.option` for one field; `spelled` is another name of its option, `short` an additional one.
    """
    fields = {one.name: one for one in declared(request)}
    if not names:
        optional = (one for one in fields.values() if not (one.is_required or one.field.local))
        names = tuple(one.name for one in optional)

    options = [_option_of(fields[name], section, changes.get(name, {})) for name in names]
    return lambda command: with_options(command, *options)


def _option_of(field: FieldSpec, section: str, changes: dict[str, Any]) -> Callable[[F], F]:
    of = without_none(field.type)
    default = None if field.is_required else field.default
    attributes: dict[str, Any] = {"help": f"{field.field.doc}."}
    if default is not None:
        attributes |= {"default": default, "show_default": bool(default)}
    word = field.name.replace("_", "-")
    if of is bool and default is None:
        names, kind = [f"--{word}/--no-{word}"], {"default": None}
    elif of is bool:
        names, kind = _flag(word, is_on=bool(default))
    elif is_list(of):
        names, kind = _listed(word, default)
    else:
        names = [f"--{word}"] if word != "limit" else ["-n", "--limit"]
        kind = _single(of, field, word)
    attributes |= kind | changes
    spelled, short = attributes.pop("spelled", None), attributes.pop("short", None)
    names = [short, *names] if short else names
    return option(*([spelled] if spelled else names), field.name, section=section, **attributes)


def _flag(word: str, *, is_on: bool) -> tuple[list[str], dict[str, Any]]:
    """Return the name and the attributes of a flag; one that is on by default turns it off."""
    if not is_on:
        return [f"--{word}"], {"is_flag": True}
    off = {"is_flag": True, "default": False, "show_default": False, "callback": _negated}
    return [f"--no-{word}"], off


def _negated(_: click.Context, __: click.Parameter, given: bool) -> bool:
    return not given


def _listed(word: str, default: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the names and the attributes of an option that takes several values."""
    one = word.removesuffix("s")

    def separate(_: click.Context, __: click.Parameter, given: Sequence[str]) -> Any:
        values = [value.strip() for text in given for value in text.split(",")]
        return tuple(dict.fromkeys(filter(None, values))) or default

    attributes = {
        "type": TEXT,
        "multiple": True,
        "metavar": f"{one.upper()},...",
        "default": (),
        "show_default": False,
        "callback": separate,
    }
    return list(dict.fromkeys([f"--{one}", f"--{word}"])), attributes


def _single(of: Any, field: FieldSpec, word: str) -> dict[str, Any]:
    """Return the attributes of an option that takes one value."""
    bounds = field.field
    if get_origin(of) is Literal:
        return {"type": click.Choice(get_args(of))}
    if of is int:
        least, most = (None if one is None else int(one) for one in (bounds.least, bounds.most))
        return {"type": click.IntRange(least, most)}
    if of is float:
        is_open = bounds.least is None and bounds.above is not None
        start = bounds.above if is_open else bounds.least
        return {"type": click.FloatRange(start, bounds.most, min_open=is_open)}
    is_time = any(isinstance(one, type) and issubclass(one, date) for one in get_args(of))
    return {"type": TEXT, "metavar": "WHEN" if is_time else re.sub(r".*-", "", word).upper()}


def list_option(name: str, help_text: str, *, section: str) -> Callable[[F], F]:
    """Add the option of a list as `request_options` does, without importing the request."""
    names, attributes = _listed(name, ())
    return option(*names, name, section=section, help=help_text, **attributes)


def sync_option(command: F, *, hidden: bool = False) -> F:
    """Add `--no-sync`, which a command gets as `sync`."""
    text = "Read the index as it is, without looking at files."
    attributes = _flag("sync", is_on=True)[1] | {"help": text, "hidden": hidden}
    return option("--no-sync", "sync", **attributes)(command)


def json_option_with(help_text: str) -> Callable[[F], F]:
    """Add `--json`, which `wants_json` and `wrote_json` read."""

    def keep(context: click.Context, _: click.Parameter, given: bool) -> None:
        context.meta[AS_JSON] = given

    attributes: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": keep}
    return option("--json", "as_json", help=help_text, **attributes)


json_option = json_option_with("Write the result as JSON.")
"""Add `--json` to a command that has one result."""
