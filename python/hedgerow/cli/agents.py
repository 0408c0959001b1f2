"""`hedgerow agents`: agents that a folder defines, at work on a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow import InvalidInputError
from hedgerow import agents as library
from hedgerow._operations.fields import camel_case
from hedgerow._operations.shapes import with_camel_case

from .failures import FAILED, INTERRUPTED
from .options import (
    PATH,
    TEXT,
    Command,
    F,
    json_option,
    json_option_with,
    option,
    path_option,
    text_option,
)
from .output import (
    echo,
    json_bytes,
    make_console,
    plural,
    visible,
    wants_json,
    write_json,
    wrote_json,
)
from .place import db_option, is_root_named, open_store, place_options

if TYPE_CHECKING:
    from .place import OpenStore


Refuses = Callable[["library.AgentDefinition"], str | None]

_URL_VARIABLE = "HEDGEROW_MODEL_URL"
_KEY_VARIABLE = "HEDGEROW_MODEL_KEY"
_EXIT_CODES = {"failed": FAILED, "stopped": INTERRUPTED}


class _Agents(click.Group):
    command_class = Command


@click.group("agents", cls=_Agents, invoke_without_command=True)
@click.pass_context
def agents(context: click.Context) -> None:
    """Run agents on the nodes of a store: an agent is a file NAME.toml in a folder.

    \b
      hedgerow agents check agents
      hedgerow agents list --db memory.db
      hedgerow agents run linker --db memory.db --dry-run
      hedgerow agents daemon --db memory.db --model-url http://localhost:8000/v1

    docs/agents.md shows how to write one; spec/agents.md has the rules.
    """
    if context.invoked_subcommand is None:
        echo(context.get_help())


def _store_options(command: F) -> F:
    """Add `--db` and the options of a root on this machine."""
    return db_option("The file of a store.")(place_options(target=False)(command))


def _agents_option(command: F) -> F:
    return path_option(
        "--agents",
        "DIR",
        "The folder of the agents.  [default: agents, next to the store or in the root]",
        "folder",
    )(command)


def _model_option(command: F) -> F:
    return text_option(
        "--model-url",
        "URL",
        "A server with OpenAI's /chat/completions, as in http://localhost:8000/v1; its key "
        f"is in {_KEY_VARIABLE}.  [default: HEDGEROW_MODEL_URL, else OpenAI with OPENAI_API_KEY]",
        envvar=_URL_VARIABLE,
    )(command)


@agents.command("list")
@_store_options
@_agents_option
@json_option
def list_(*, folder: str | None, db: str | None) -> None:
    """List the agents with their schedules, whether they are due and why not, and their last run.

    \b
      hedgerow agents list --db memory.db
      hedgerow agents list --db memory.db --json

    Files with problems are named on stderr; `hedgerow agents check` has all about them.
    """
    with _working(db, folder) as working:
        statuses = working.statuses()
        if wrote_json({"agents": [with_camel_case(status.to_dict()) for status in statuses]}):
            return
        _show_statuses(statuses, working.folder)


@agents.command("run")
@click.argument("name", type=TEXT)
@_store_options
@_agents_option
@_model_option
@option("--dry-run", is_flag=True, help="Show the prompt, and store nothing.")
@json_option
@click.pass_context
def run(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    /,
    *,
    name: str,
    folder: str | None,
    model_url: str | None,
    dry_run: bool,
    db: str | None,
) -> None:
    """Run the agent NAME now, whether it is due or not.

    \b
      hedgerow agents run linker --db memory.db
      hedgerow agents run linker --db memory.db --dry-run
      hedgerow agents run linker --db memory.db --dry-run --model-url http://localhost:8000/v1

    --dry-run shows the prompt; with --model-url the model is asked too, and what would be
    applied is shown. Exit code 1 when the run fails. Ctrl-C and SIGTERM end it as they end the
    daemon.
    """
    with _working(db, folder, name, url=model_url, asks=not dry_run) as working:
        if dry_run:
            rehearsed = working.dry_run(name)
            if not wrote_json(rehearsed):
                _show_dry_run(rehearsed)
            return
        with library.stopped_by_signals(working):
            report = working.run(name)
        if not wrote_json({camel_case(name): value for name, value in report.to_dict().items()}):
            _show_report(report)
        if report.status in _EXIT_CODES:
            context.exit(_EXIT_CODES[report.status])


@agents.command("daemon")
@_store_options
@_agents_option
@_model_option
@option(
    "--tick",
    metavar="SECONDS",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="How often to look for an agent that is due.",
)
@json_option_with("Write each run as one line of JSON.")
def daemon(*, folder: str | None, model_url: str | None, tick: float, db: str | None) -> None:
    """Run agents whenever they are due, until SIGTERM or Ctrl-C.

    \b
      hedgerow agents daemon --db memory.db
      hedgerow agents daemon --db memory.db --tick 10 --json

    Files of agents are read again when they change. When stopped, it waits up to 5 seconds for
    a model that is answering, then abandons that run, which does not count.
    """
    with _working(db, folder, url=model_url, asks=True) as working:
        count = len(working.definitions)
        echo(f"Watching {plural(count, 'agent')} in {visible(str(working.folder))}.", err=True)
        for status in working.statuses():
            if status.verdict.word == "refused":
                name, why = status.definition.name, status.verdict.sentence
                echo(visible(f"{name} is not run. {why}"), err=True)
        with library.stopped_by_signals(working):
            library.serve(working, tick_s=tick, on_tick=_show_tick)
        echo("Stopped.", err=True)


@agents.command("resume")
@click.argument("name", type=TEXT)
@_store_options
@_agents_option
@json_option
def resume(*, name: str, folder: str | None, db: str | None) -> None:
    """Forget the failures of the agent NAME, so that it runs again when it is due.

    \b
      hedgerow agents resume linker --db memory.db
    """
    with _working(db, folder) as working:
        working.resume(name)
        if not wrote_json({"agent": name, "resumed": True}):
            echo(f"{visible(name)} runs again when it is due.")


@agents.command("check")
@click.argument("folder", type=PATH, required=False)
@_store_options
@json_option
@click.pass_context
def check(context: click.Context, /, *, folder: str | None, db: str | None) -> None:
    """Check the agents of FOLDER and the templates they name.

    \b
      hedgerow agents check agents
      hedgerow agents check --root memory --json

    Types of nodes and actions are those of the store --db or of the root --root, whose folder
    `agents` is the default; without FOLDER too the nearest root counts. Writes each problem as
    FILE:LINE:COLUMN: what is wrong. Exit code 1 when there is any. What an agent asks for and
    may not do is a warning.
    """
    checked = _checked(folder, db)
    if wants_json():
        warnings = [warning.to_dict() for warning in checked.warnings]
        write_json(
            {
                "folder": str(checked.folder),
                "agents": sorted(checked.definitions),
                "problems": [problem.to_dict() for problem in checked.problems],
                **({"warnings": warnings} if warnings else {}),
            }
        )
    else:
        _write(checked)
    if checked.problems:
        context.exit(FAILED)


@contextmanager
def _working(
    db: str | None,
    folder: str | None,
    name: str | None = None,
    *,
    url: str | None = None,
    asks: bool = False,
) -> Iterator[library.Agents]:
    """Put the agents of a folder to work on the store of a command; name problems on stderr.

    If it `asks` a model and the user named none, those that a root brings need consent. The model is
    opened last, after the agent `name` was found, so that its missing key does not stand in the way
    of the rest.
    """
    with open_store(db) as opened:
        path = _folder_of(opened, folder)
        # An address or a folder of agents that the user names is the user's choice.
        is_chosen = not asks or url is not None or folder is not None
        refuses = None if is_chosen or opened.root is None else opened.root.refuses_model
        found = _agents_of(opened, path, None, refuses)
        _show_problems(found.problems)
        if name is not None:
            found._allowed(name)  # noqa: SLF001 - of the same package
        with _model(url, wanted=asks) as client:
            yield _agents_of(opened, path, client, refuses)


def _agents_of(
    opened: OpenStore,
    folder: Path,
    model: library.ModelClient | None,
    refuses: Refuses | None = None,
) -> library.Agents:
    if opened.root is not None:
        return opened.root.agents(model, folder, refuses=refuses)
    return library.Agents(opened.store, folder, model)


def _folder_of(opened: OpenStore, folder: str | None) -> Path:
    """Return the folder of the agents: the named one, or that in the root or next to the store."""
    home = Path(opened.name).parent if opened.root is None else opened.root.path
    path = home / "agents" if folder is None else Path(folder)
    if not path.is_dir():
        raise InvalidInputError(
            f"there is no folder {path}; make it, or name the one that has the agents with "
            "--agents DIR",
            code="path_not_found",
        )
    return path


@contextmanager
def _model(url: str | None, *, wanted: bool) -> Iterator[library.ModelClient | None]:
    """Open the model at a URL; without one, OpenAI's if a model is needed, else none."""
    if url is None and not wanted:
        yield None
        return
    # The key is that of the address: without one, OpenAI must not see it.
    has_key = url is not None and os.environ.get(_KEY_VARIABLE)
    options: dict[str, Any] = {} if url is None else {"base_url": url}
    with library.OpenAIModel(
        api_key_variable=_KEY_VARIABLE if has_key else None, **options
    ) as model:
        yield model


def _checked(folder: str | None, db: str | None) -> library.Agents | library.AgentLibrary:
    """Read the agents of a folder, by the rules of the store if there is one."""
    is_named = db is not None or is_root_named()
    if not is_named and not (folder is None and _is_in_a_root()):
        return _without_a_store(Path("agents" if folder is None else folder))
    with open_store(db) as opened:
        return _agents_of(opened, _folder_of(opened, folder), None)


def _is_in_a_root() -> bool:
    from hedgerow.memory.config import nearest_root, root_from_environment  # noqa: PLC0415

    return (root_from_environment() or nearest_root(Path.cwd()).root) is not None


def _without_a_store(folder: Path) -> library.AgentLibrary:
    if not folder.is_dir():
        raise InvalidInputError(
            f"there is no folder {folder}; name the one that has the agents", code="path_not_found"
        )
    found = library.AgentLibrary(folder)
    found.reload()
    return found


def _write(checked: library.Agents | library.AgentLibrary) -> None:
    for problem in checked.problems:
        echo(visible(str(problem)))
    for warning in checked.warnings:
        echo(visible(f"{warning} (warning)"))
    fine = len(checked.definitions)
    warned = f" {plural(len(checked.warnings), 'warning')}." if checked.warnings else ""
    if checked.problems:
        found = plural(len(checked.problems), "problem")
        echo(f"{found}; {plural(fine, 'agent')} can be used.{warned}")
    elif fine:
        echo(
            f"{plural(fine, 'agent')} in {visible(str(checked.folder))}: nothing is wrong.{warned}"
        )
    else:
        echo(f"No agents in {visible(str(checked.folder))}: an agent is a file NAME.toml there.")


def _show_problems(problems: Sequence[library.Problem]) -> None:
    """Report problems in files on stderr."""
    for problem in problems:
        echo(visible(str(problem)), err=True)


def _show_statuses(statuses: Sequence[library.AgentStatus], folder: Path) -> None:
    from rich.table import Table  # noqa: PLC0415 - slow to import
    from rich.text import Text  # noqa: PLC0415

    console = make_console()
    if not statuses:
        console.print(Text(f"No agents in {visible(str(folder))}."))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("agent", "schedule", "state", "last run", "why"):
        table.add_column(column, overflow="fold", no_wrap=column in {"agent", "state"})
    for status in statuses:
        why = "" if status.verdict.due else status.verdict.sentence
        last = _last(status.standing.last)
        row = [status.definition.name, status.definition.schedule, status.verdict.word, last, why]
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)


def _show_report(report: library.RunReport) -> None:
    echo(visible(_line(report)))
    _show_actions(report.actions, report.rejected)


def _show_dry_run(rehearsed: library.DryRun) -> None:
    """Print the request to a model, and the planned actions."""
    if rehearsed.prompt is None:
        found = plural(len(rehearsed.nodes), "node")
        echo(f"{rehearsed.agent} would not run: its query finds {found}, too few.")
        return
    echo(f"--- system\n{rehearsed.system}\n\n--- prompt\n{rehearsed.prompt.rstrip()}")
    if rehearsed.cut:
        echo(f"\nNo room for {plural(len(rehearsed.cut), 'node')}, not visited.")
    if rehearsed.reply is None:
        echo("\nNot asked; add --model-url to ask a model too. Nothing was stored.")
        return
    echo(f"\n--- reply\n{rehearsed.reply}\n\n--- what would be done")
    _show_actions(rehearsed.actions, rehearsed.rejected)
    echo("Nothing was stored.")


def _show_tick(tick: library.Tick) -> None:
    """Print the run of a tick, and on stderr problems that are new."""
    _show_problems(tick.problems)
    if tick.report is None:
        return
    if wants_json():
        echo(json_bytes(tick.report.to_dict()))
    else:
        _show_report(tick.report)


def _line(report: library.RunReport) -> str:
    if report.status != "ok":
        why = f": {report.error}" if report.error else ""
        return f"{report.agent} {report.status}{why}"
    rejected = len(report.actions) - len(report.applied) + len(report.rejected)
    return (
        f"{report.agent} ok: run {report.run}, {plural(len(report.nodes), 'node')}, "
        f"{len(report.applied)} applied, {rejected} rejected"
    )


def _show_actions(
    actions: Sequence[tuple[library.Action, str | None]], rejected: Sequence[library.RejectedPart]
) -> None:
    """Print actions in the order of the reply, each with the reason why it was rejected."""
    lines = [(action.line, library.write_action(action), reason) for action, reason in actions]
    lines += [(one.line, one.text, one.reason) for one in rejected]
    for _, text, reason in sorted(lines, key=lambda line: line[0]):
        first, *more = text.splitlines() or [""]
        shown = f"{first} …" if more else first
        echo(visible(f"  {'no ' if reason else 'yes'} {shown}"))
        if reason:
            echo(visible(f"      {reason}"))


def _last(run: library.AgentRun | None) -> str:
    if run is None:
        return "never"
    at = datetime.fromtimestamp(run.started, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
    return f"{at} {run.status}"
