"""`hedgerow recall`, and `search` and `index` where they are about a memory root."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

import click

from hedgerow import InvalidInputError
from hedgerow._answers.root import recall_answer

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
from .steps_text import steps, ways
from .targets import open_memory, refuse_without_files, target_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hedgerow import MemoryRoot, Trace
    from hedgerow.ingest.source import Skip
    from hedgerow.memory.recall import Recall, Recalled
    from hedgerow.memory.score import ScoreParts
    from hedgerow.memory.sync import SyncReport
    from hedgerow.remote import RemoteRoot
    from hedgerow.typing import ContextKeywords, RecallKeywords

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

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
    depth: str,
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

    The index is brought up to date first. What was superseded or retracted, or is not valid at
    the time, is left out and counted. Finding nothing is no error.
    """
    if question and (topic or query):
        raise click.UsageError("Pass what to recall once: as QUESTION, --topic or --query.")
    wanted = question or topic or query
    if not wanted:
        raise click.UsageError("Pass what to recall: a QUESTION, --topic TEXT or --query TEXT.")
    options: RecallKeywords = {
        "limit": limit,
        "depth": depth,
        "as_of": as_of,
        "include_superseded": include_superseded,
        "types": types,
        "tags": tags,
        "after": after,
        "before": before,
        "question_date": question_date or datetime.now(timezone.utc),
    }
    _check(options)
    _check_packing(budget, per_file, explain=explain or report is not None)
    memory = open_memory(root, target_url, remote_url)
    if budget is not None:
        del options["limit"]
        packing = Packing(budget, 2 if per_file is None else per_file)
        _show_context(memory, wanted, packing, sync=not no_sync, options=options, as_json=as_json)
        return
    found = _recalled(memory, wanted, sync=not no_sync, **options)
    mode = mode_of(context, "recall")
    if report is not None:
        _write_report(report, memory, found, mode, sync=not no_sync)
    if as_json:
        told = {} if report is None else {"report": report}
        write_json(recall_answer(found, mode, explain=explain) | told)
        return
    echo(f"Prior memory scan for: {visible(found.query)}")
    echo(f"Memory root: {visible(found.root)}\n")
    show_results(found, explain=explain, report=report)


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


def _show_context(  # noqa: PLR0913 - what a context depends on
    memory: MemoryRoot | RemoteRoot,
    text: str,
    packing: Packing,
    *,
    sync: bool,
    options: ContextKeywords,
    as_json: bool,
) -> None:
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    if isinstance(memory, MemoryRoot):
        found = memory.context(text, **packing._asdict(), sync=sync, **options)
    else:
        refuse_without_files("--no-sync", given=not sync)
        found = memory.context(text, **packing._asdict(), **options)
    if as_json:
        write_json(found.to_dict())
        return
    echo(str(found) or "No memory matches found.")


def search_root(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    text: str,
    limit: int,
    depth: str,
    sync: bool,
    explain: bool,
    report: str | None,
    as_json: bool,
) -> None:
    """Search a memory root as `search` without an index file does."""
    memory = open_memory(root, target_url, remote_url, NO_ROOT)
    found = _recalled(memory, text, limit=limit, depth=depth, sync=sync)
    mode = mode_of(context, "search")
    if report is not None:
        _write_report(report, memory, found, mode, sync=sync)
    if as_json:
        told = {} if report is None else {"report": report}
        write_json(recall_answer(found, mode, explain=explain) | told)
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
    echo(
        f"Indexed {plural(report.documents, 'Markdown document')} in {visible(report.root)}: "
        f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed."
    )
    if verbose:
        show_passed_by(report.named)
        echo(f"Passed by {passed_by_text(report.passed_by) or 'nothing'}.")
    return report


def _recalled(
    memory: MemoryRoot | RemoteRoot,
    text: str,
    *,
    sync: bool,
    **options: Unpack[RecallKeywords],
) -> Recall:
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    if isinstance(memory, MemoryRoot):
        return memory.recall(text, sync=sync, **options)
    refuse_without_files("--no-sync", given=not sync)
    return memory.recall(text, **options)


def _check(options: RecallKeywords) -> None:
    """Raise the error of a date that does not exist, before anything is opened."""
    from hedgerow.memory.asked import checked_recall  # noqa: PLC0415 - slow to import

    try:
        checked_recall(".", **options)
    except InvalidInputError as error:
        raise click.UsageError(f"{error.message}.") from error


def mode_of(context: click.Context, name: str) -> str:
    """Name the command in its result, as a recipe where it was run as one."""
    is_recipe = (context.info_name or "").startswith(_RECIPE)
    return f"{_RECIPE}{name}" if is_recipe else name


def _write_report(
    report: str, memory: MemoryRoot | RemoteRoot, found: Recall, mode: str, *, sync: bool
) -> None:
    write_report(
        report,
        kind="root",
        name=memory.name,
        answer=recall_answer(found, mode, explain=True),
        links=links_of(memory, found, sync=sync),
    )


def show_results(found: Recall, *, explain: bool = False, report: str | None = None) -> None:
    """Print results, or that there are none; on stderr the first files that were left out."""
    show_left_out(found.unreadable)
    blocks = (_block(rank, one, explain=explain) for rank, one in enumerate(found.results, start=1))
    echo("\n\n".join(blocks) or "No memory matches found.")
    if found.period is not None:
        said = "From" if found.period.found else "Nothing that was found is from"
        echo(f"\n{said} {visible(str(found.period))}.")
    if found.left_out:
        _show_what_is_left_out(found.left_out)
    if explain and found.trace is not None:
        _show_trace(found.trace)
    if report is not None:
        echo(f"\nReport: {visible(report)}")


def _show_what_is_left_out(counts: Mapping[str, int]) -> None:
    """Count what was found and is no result, and say how to see it."""
    from hedgerow.memory.asked import FILTERED, LEFT_OUT  # noqa: PLC0415 - slow to import

    said = ", ".join(f"{count:,} {LEFT_OUT[why]}" for why, count in counts.items())
    hint = "" if set(counts) == {FILTERED} else "; --include-superseded shows what does not hold"
    echo(f"\nLeft out: {said}{hint}.")


def _show_trace(trace: Trace) -> None:
    echo(f"\n{ways(trace)}")
    for label, done in steps(trace):
        echo(visible(f"{label}{done}"))
    if trace.not_searched_for:
        echo(f"Not searched for: {visible(', '.join(trace.not_searched_for))}.")


def show_left_out(skips: Sequence[Skip], shown: int = 3) -> None:
    """Name what could not be read on stderr."""
    for skip in skips[:shown]:
        echo(f"Left out: {visible(str(skip))}", err=True)
    if len(skips) > shown:
        echo(f"Left out: {len(skips) - shown:,} more (--json has all)", err=True)


def _block(rank: int, one: Recalled, *, explain: bool) -> str:
    session = f" session={one.session_id}" if one.session_id else ""
    where = f"{one.file}:{one.line_start}-{one.line_end}"
    head = visible(f"{rank}. {where}{session} score={one.score:.2f}")
    why = f"\n   why: {_why(one.parts)}" if explain else ""
    said = str(one.validity)
    marks = f"\n   [{visible(said)}]" if said else ""
    return f"{head}{marks}\n   {visible(one.snippet)}{why}"


def _why(parts: ScoreParts) -> str:
    """Where a score comes from: every part that is not 0."""
    named = [
        ("retrieval", parts.retrieval),
        ("words of the query in the passage", parts.exact_match),
        ("in the front matter", parts.metadata),
        ("time", parts.temporal),
        ("what it is", parts.strength),
        ("where it stands", parts.provenance),
        (f"depth {parts.retrieval_depth}", parts.depth),
    ]
    given = [f"{name} {value:+.2f}" for name, value in named if value]
    return visible(f"{', '.join(given) or 'nothing'}; found by {parts.driver.partition(':')[0]}")
