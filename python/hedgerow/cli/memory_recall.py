"""`hedgerow recall`, and `search` and `index` where they are about a memory root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hedgerow import InvalidInputError

from .output import (
    echo,
    passed_by_json,
    passed_by_text,
    plural,
    progress_bar,
    show_passed_by,
    visible,
    write_json,
)
from .params import TEXT, Command
from .recall_text import show_left_out, show_notices, show_period, show_results
from .report import links_of, report_option, write_report
from .roots import (
    NO_ROOT,
    depth_option,
    json_option,
    limit_option,
    open_root,
    root_option,
    scope_option,
)
from .targets import open_memory, refuse_without_files, target_option

if TYPE_CHECKING:
    from hedgerow import MemoryRoot
    from hedgerow.memory import Context, Recall
    from hedgerow.memory.operations import Depth
    from hedgerow.memory.sync import SyncReport
    from hedgerow.remote import RemoteRoot

_RECIPE = "memory:"


@click.command("recall", cls=Command, short_help="Find what a memory root knows.")
@click.argument("question", type=TEXT, required=False)
@root_option
@scope_option
@target_option
@click.option("--topic", metavar="TEXT", type=TEXT, help="What to recall, in place of QUESTION.")
@click.option("--query", metavar="TEXT", type=TEXT, help="The same, where there is no --topic.")
@limit_option(5)
@depth_option
@click.option(
    "--type",
    "types",
    metavar="TYPE",
    type=TEXT,
    multiple=True,
    help="Only of this type; may be repeated.",
)
@click.option(
    "--tag",
    "tags",
    metavar="TAG",
    type=TEXT,
    multiple=True,
    help="Only with this tag; may be repeated.",
)
@click.option("--after", metavar="WHEN", type=TEXT, help="Only from this date or later, or 30d.")
@click.option("--before", metavar="WHEN", type=TEXT, help="Only from earlier than this date.")
@click.option(
    "--question-date",
    metavar="DATE",
    type=TEXT,
    help='When QUESTION was asked, for "last week" in it.  [default: now]',
)
@click.option("--as-of", metavar="DATE", type=TEXT, help="Find what held then, not now.")
@click.option("--include-superseded", is_flag=True, help="Find what no longer holds too.")
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(min=40),
    help="Pack whole passages into so many tokens, to hand to a model.",
)
@click.option(
    "--per-file",
    type=click.IntRange(min=1),
    help="With --budget, the most passages of a file.  [default: 2]",
)
@click.option(
    "--explain", is_flag=True, help="Show the parts of each score, and the steps of the search."
)
@click.option(
    "--why-not",
    metavar="FILE",
    type=TEXT,
    help="Say why a memory is not among the results. A path, a name or a title.",
)
@report_option
@json_option
@click.pass_context
def recall(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    question: str | None,
    topic: str | None,
    query: str | None,
    limit: int,
    depth: Depth,
    no_sync: bool,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    after: str | None,
    before: str | None,
    question_date: str | None,
    as_of: str | None,
    include_superseded: bool,
    budget: int | None,
    per_file: int | None,
    explain: bool,
    why_not: str | None,
    report: str | None,
    as_json: bool,
) -> None:
    """Find what the memory root knows about a question or a topic, the best first.

    \b
      hedgerow recall "when do we cut the hedge?"
      hedgerow recall --topic "slug control" --limit 10 --depth deep --json
      hedgerow recall "hedge" --type decision --tag garden --after 30d
      hedgerow recall "when do we cut the hedge?" --as-of 2025-06-30
      hedgerow recall "when do we cut the hedge?" --budget 2000

    The index is brought up to date first. Memories that were superseded or retracted, or are not
    valid at the time, are left out and counted. Finding nothing is not an error.
    """
    if question and (topic or query):
        raise click.UsageError("Pass what to recall once: as QUESTION, --topic or --query.")
    wanted = question or topic or query
    if not wanted:
        raise click.UsageError("Pass what to recall: a QUESTION, --topic TEXT or --query TEXT.")
    options: dict[str, Any] = {
        "depth": depth,
        "as_of": as_of,
        "include_superseded": include_superseded,
        "types": types,
        "tags": tags,
        "after": after,
        "before": before,
        "question_date": question_date or datetime.now().astimezone(),
    }
    _check(options)
    _check_packing(budget, per_file, explain=explain or report is not None)
    if why_not is not None:
        local = open_root(root, target_url, remote_url)
        _show_why_not(local, wanted, why_not, sync=not no_sync, options=options, as_json=as_json)
        return
    memory = open_memory(root, target_url, remote_url)
    options |= _syncing(memory, no_sync=no_sync)
    if budget is not None:
        packing = Packing(budget, 2 if per_file is None else per_file)
        _show_context(memory.context(wanted, **packing._asdict(), **options), as_json=as_json)
        return
    found = memory.recall(wanted, limit=limit, explain=True, **options)
    found = replace(found, mode=mode_of(context, "recall"))
    if report is not None:
        _write_report(report, memory, found, sync=not no_sync)
    if as_json:
        told = {} if report is None else {"report": report}
        write_json(found.to_dict(explain=explain) | told)
        return
    echo(f"Prior memory scan for: {visible(found.query)}")
    echo(f"Memory root: {visible(found.root)}\n")
    show_results(found, explain=explain, report=report)


def _show_why_not(  # noqa: PLR0913 - what the reason depends on
    memory: MemoryRoot,
    text: str,
    file: str,
    *,
    sync: bool,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    found = memory.why_not(text, file, sync=sync, **options)
    if as_json:
        write_json(found.to_dict())
    else:
        echo(visible(str(found)))


class Packing(NamedTuple):
    """How much is packed: the most tokens, and the most passages of a file."""

    budget: int
    per_file: int


def _check_packing(budget: int | None, per_file: int | None, *, explain: bool) -> None:
    if budget is None and per_file is not None:
        raise click.UsageError("--per-file goes with --budget.")
    if budget is not None:
        limit = click.get_current_context().get_parameter_source("limit")
        if limit is not None and limit.name == "COMMANDLINE":
            raise click.UsageError("--budget says how much there may be: leave --limit out.")
        if explain:
            raise click.UsageError("--budget packs passages: leave --explain and --report out.")


def _show_context(found: Context, *, as_json: bool) -> None:
    if as_json:
        write_json(found.to_dict())
        return
    show_left_out(found.unreadable)
    show_notices(found.notices, found.period)
    if found.period is not None:
        show_period(found.period, err=True)
    echo(str(found) or "No memory matches found.")


def search_root(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    text: str,
    limit: int,
    depth: Depth,
    sync: bool,
    explain: bool,
    report: str | None,
    as_json: bool,
) -> None:
    """Search a memory root as `search` without an index file does."""
    memory = open_memory(root, target_url, remote_url, NO_ROOT)
    asked = datetime.now().astimezone()
    syncing = _syncing(memory, no_sync=not sync)
    found = memory.recall(
        text, limit=limit, depth=depth, question_date=asked, explain=True, **syncing
    )
    found = replace(found, mode=mode_of(context, "search"))
    if report is not None:
        _write_report(report, memory, found, sync=sync)
    if as_json:
        told = {} if report is None else {"report": report}
        write_json(found.to_dict(explain=explain) | told)
    else:
        show_results(found, explain=explain, report=report)


def index_root(  # noqa: PLR0913 - one argument for each option
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    has_paths: bool,
    allow_empty: bool,
    verbose: bool,
    as_json: bool,
) -> SyncReport:
    """Index a memory root as `index` without an index file does."""
    memory = open_root(root, target_url, remote_url, NO_ROOT)
    if has_paths:
        raise click.UsageError(
            f"The memory root {memory.path} is indexed whole: leave PATH out, or name an index "
            "file with --db FILE."
        )
    with progress_bar("Indexing") as progress:
        report = memory.index(progress=progress, allow_empty=allow_empty)
    if as_json:
        passed_by = passed_by_json(report.passed_by, report.named) if verbose else {}
        write_json(report.to_dict() | passed_by)
        return report
    show_left_out(report.skips, len(report.skips))
    for pattern in report.unused:
        echo(
            f"Note: the exclude pattern {visible(repr(pattern))} of hedgerow.json matches nothing",
            err=True,
        )
    echo(
        f"Indexed {plural(report.documents, 'Markdown document')} in {visible(report.root)}: "
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed."
    )
    if verbose:
        show_passed_by(report.named)
        echo(f"Passed by {passed_by_text(report.passed_by) or 'nothing'}.")
    return report


def _syncing(memory: MemoryRoot | RemoteRoot, *, no_sync: bool) -> dict[str, Any]:
    """Return the option of a recall for `--no-sync`, which goes with a folder on this machine."""
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    refuse_without_files("--no-sync", given=no_sync and not isinstance(memory, MemoryRoot))
    return {"sync": False} if no_sync else {}


def _check(options: Mapping[str, Any]) -> None:
    """Raise the error of a date that does not exist, before anything is opened."""
    from hedgerow.memory.asked import resolved_recall  # noqa: PLC0415 - slow to import
    from hedgerow.memory.operations import RecallRequest  # noqa: PLC0415
    from hedgerow.memory.scope import Scope  # noqa: PLC0415

    try:
        resolved_recall(RecallRequest(".", **options), Scope())
    except InvalidInputError as error:
        raise click.UsageError(f"{error.message}.") from error


def mode_of(context: click.Context, name: str) -> str:
    """Name the command in its result, as a recipe where it was run as one."""
    is_recipe = (context.info_name or "").startswith(_RECIPE)
    return f"{_RECIPE}{name}" if is_recipe else name


def _write_report(
    report: str, memory: MemoryRoot | RemoteRoot, found: Recall, *, sync: bool
) -> None:
    write_report(
        report,
        kind="root",
        name=memory.name,
        answer=found.to_dict(explain=True),
        links=links_of(memory, found, sync=sync),
    )
