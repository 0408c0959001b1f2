"""Agents, their runs and their actions, for a person to read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from .output import echo, json_bytes, make_console, plural, visible

if TYPE_CHECKING:
    from hedgerow.agents import (
        Action,
        AgentRun,
        AgentStatus,
        DryRun,
        Problem,
        RejectedPart,
        RunReport,
        Tick,
    )


def show_problems(problems: Sequence[Problem]) -> None:
    """Report problems in files on stderr."""
    for problem in problems:
        echo(visible(str(problem)), err=True)


def show_statuses(statuses: Sequence[AgentStatus], folder: Path) -> None:
    """Print a table of the agents."""
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


def show_report(report: RunReport) -> None:
    """Print the result of a run."""
    echo(visible(_line(report)))
    _show_actions(report.actions, report.rejected)


def show_dry_run(rehearsed: DryRun) -> None:
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


def show_tick(tick: Tick, *, as_json: bool) -> None:
    """Print the run of a tick, and on stderr problems that are new."""
    show_problems(tick.problems)
    if tick.report is None:
        return
    if as_json:
        echo(json_bytes(tick.report.to_dict()))
    else:
        show_report(tick.report)


def _line(report: RunReport) -> str:
    if report.status != "ok":
        why = f": {report.error}" if report.error else ""
        return f"{report.agent} {report.status}{why}"
    rejected = len(report.actions) - len(report.applied) + len(report.rejected)
    return (
        f"{report.agent} ok: run {report.run}, {plural(len(report.nodes), 'node')}, "
        f"{len(report.applied)} applied, {rejected} rejected"
    )


def _show_actions(
    actions: Sequence[tuple[Action, str | None]], rejected: Sequence[RejectedPart]
) -> None:
    """Print actions in the order of the reply, each with the reason why it was rejected."""
    from hedgerow.agents import write_action  # noqa: PLC0415 - slow to import

    lines = [(action.line, write_action(action), reason) for action, reason in actions]
    lines += [(one.line, one.text, one.reason) for one in rejected]
    for _, text, reason in sorted(lines, key=lambda line: line[0]):
        first, *more = text.splitlines() or [""]
        shown = f"{first} …" if more else first
        echo(visible(f"  {'no ' if reason else 'yes'} {shown}"))
        if reason:
            echo(visible(f"      {reason}"))


def _last(run: AgentRun | None) -> str:
    if run is None:
        return "never"
    at = datetime.fromtimestamp(run.started, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
    return f"{at} {run.status}"
