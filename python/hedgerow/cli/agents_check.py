"""`hedgerow agents check`: everything that is wrong with the agents of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hedgerow import InvalidInputError

from .failures import FAILED
from .output import plural, visible, write_json
from .params import TEXT
from .roots import json_option
from .stores import open_store, store_options

if TYPE_CHECKING:
    from hedgerow.agents import AgentDefinition, Problem


class _Checked(NamedTuple):
    folder: Path
    definitions: Mapping[str, AgentDefinition]
    problems: Sequence[Problem]


@click.command("check", short_help="Check the definitions of agents.")
@click.argument("folder", type=TEXT, required=False)
@store_options
@json_option
@click.pass_context
def check(context: click.Context, /, *, folder: str | None, as_json: bool, **where: Any) -> None:
    """Check the agents of FOLDER and the templates they name.

    \b
      hedgerow agents check agents
      hedgerow agents check --root memory --json

    Types of nodes and actions are those of the store --db or of the root --root, whose folder
    `agents` is the default; without FOLDER too the nearest root counts. Writes each problem as
    FILE:LINE:COLUMN: what is wrong. Exit code 1 when there is any.
    """
    checked = _checked(folder, where)
    if as_json:
        write_json(
            {
                "folder": str(checked.folder),
                "agents": sorted(checked.definitions),
                "problems": [problem.to_dict() for problem in checked.problems],
            }
        )
    else:
        _write(checked)
    if checked.problems:
        context.exit(FAILED)


def _checked(folder: str | None, where: dict[str, Any]) -> _Checked:
    if not any(where.values()) and not (folder is None and _is_in_a_root()):
        return _without_a_store(Path("agents" if folder is None else folder))
    from .agents import agents_of, folder_of  # noqa: PLC0415 - it imports this module

    with open_store(**where) as opened:
        agents = agents_of(opened, folder_of(opened, folder), None)
        return _Checked(agents.folder, agents.definitions, agents.problems)


def _is_in_a_root() -> bool:
    from hedgerow.memory.config import (  # noqa: PLC0415 - slow to import
        nearest_root,
        root_from_environment,
    )

    return (root_from_environment() or nearest_root(Path.cwd())) is not None


def _without_a_store(folder: Path) -> _Checked:
    from hedgerow.agents import AgentLibrary  # noqa: PLC0415 - slow to import

    if not folder.is_dir():
        raise InvalidInputError(
            f"there is no folder {folder}; name the one that has the agents", code="path_not_found"
        )
    library = AgentLibrary(folder)
    library.reload()
    return _Checked(folder, library.definitions, library.problems)


def _write(checked: _Checked) -> None:
    for problem in checked.problems:
        click.echo(visible(str(problem)))
    fine = len(checked.definitions)
    if checked.problems:
        found = plural(len(checked.problems), "problem")
        click.echo(f"{found}; {plural(fine, 'agent')} can be used.")
    elif fine:
        click.echo(f"{plural(fine, 'agent')} in {checked.folder}: nothing is wrong.")
    else:
        click.echo(f"No agents in {checked.folder}: an agent is a file NAME.toml there.")
