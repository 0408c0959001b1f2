"""`hedgerow agents check`: everything that is wrong with the agents of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hedgerow import InvalidInputError

from .failures import FAILED
from .output import plural, visible, write_json
from .params import TEXT
from .roots import json_option

if TYPE_CHECKING:
    from hedgerow.agents.library import AgentLibrary


@click.command("check", short_help="Check the definitions of agents.")
@click.argument("folder", type=TEXT, default="agents")
@json_option
@click.pass_context
def check(context: click.Context, *, folder: str, as_json: bool) -> None:
    """Check the agents of FOLDER, by default `agents`, and the templates they name.

    \b
      hedgerow agents check
      hedgerow agents check memory/agents --json

    Writes each problem as FILE:LINE:COLUMN: what is wrong. Exit code 1 when there is any.
    """
    from hedgerow.agents.library import AgentLibrary  # noqa: PLC0415 - slow to import

    if not Path(folder).is_dir():
        raise InvalidInputError(
            f"there is no folder {folder}; name the one that has the agents", code="path_not_found"
        )
    library = AgentLibrary(folder)
    library.reload()
    if as_json:
        problems = [problem.to_dict() for problem in library.problems]
        write_json({"folder": folder, "agents": sorted(library.definitions), "problems": problems})
    else:
        _write(library)
    if library.problems:
        context.exit(FAILED)


def _write(library: AgentLibrary) -> None:
    for problem in library.problems:
        click.echo(visible(str(problem)))
    fine = len(library.definitions)
    if library.problems:
        found = plural(len(library.problems), "problem")
        click.echo(f"{found}; {plural(fine, 'agent')} can be used.")
    elif fine:
        click.echo(f"{plural(fine, 'agent')} in {library.folder}: nothing is wrong.")
    else:
        click.echo(f"No agents in {library.folder}: an agent is a file NAME.toml there.")
