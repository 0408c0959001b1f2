"""`hedgerow recall`: a recall in a memory root, and the output of its results."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hedgerow.memory.operations import ContextRequest, RecallRequest

from .options import TEXT, Command, F, json_option, option, request_options, sync_option
from .output import echo, make_console, steps, visible, wants_json, ways, write_json, wrote_json
from .place import (
    open_memory,
    open_roots,
    place_options,
    refuse_without_files,
    usage_errors,
    was_reported,
)
from .report import links_of, report_option, write_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hedgerow import MemoryRoot, Trace
    from hedgerow.ingest.source import Skip
    from hedgerow.memory.results import (
        Context,
        MemoryList,
        Recall,
        RecalledMemory,
        RelatedMemory,
        ScoreParts,
    )
    from hedgerow.memory.roots import MemoryRoots
    from hedgerow.remote import RemoteRoot

_NOTHING = "No memory matches found."

RECIPE = "memory:"
"""Before the name of a command that was run as a recipe of another tool's contract."""


def _contract_options(command: F) -> F:
    """Add `--topic` and `--query` of another tool's contract, in this order of precedence."""
    for name in ("--query", "--topic"):
        command = option(name, type=TEXT, hidden=True)(command)
    return command


@click.command("recall", cls=Command)
@click.argument("words", metavar="QUERY...", type=TEXT, nargs=-1)
@_contract_options
@request_options(RecallRequest, "limit", "depth", "asker", "recency", recency={"metavar": "AGE"})
@request_options(
    RecallRequest,
    *(
        "types",
        "tags",
        "written_by",
        "after",
        "before",
        "as_of",
        "include_superseded",
        "question_date",
    ),
    section="Filters",
)
@request_options(
    ContextRequest,
    *("budget", "per_file", "diversify"),
    section="For a model",
    budget={
        "default": None,
        "help": "Pack whole passages into at most this many tokens, instead of results.",
    },
    per_file={
        "default": None,
        "help": "With --budget, the most passages of a file.  [default: 10]",
    },
    diversify={"help": "With --budget, leave out near-duplicates of better passages."},
)
@sync_option
@option(
    "--explain", is_flag=True, help="Show the parts of each score, and the steps of the search."
)
@option("--why-not", metavar="FILE", type=TEXT, help="Say why a memory is not among the results.")
@report_option
@json_option
@place_options()
@click.pass_context
def recall(  # noqa: PLR0913 - one argument for each option that is more than passed on
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    limit: int,
    budget: int | None,
    per_file: int | None,
    diversify: bool,
    explain: bool,
    why_not: str | None,
    report: str | None,
    **options: Any,
) -> None:
    """Find memories about a question or a topic, the best first.

    \b
      hedgerow recall when do we cut the hedge
      hedgerow recall slugs pellets -n 10 --depth deep --json
      hedgerow recall hedge --type decision --tags garden,hedge --after 30d
      hedgerow recall "when do we cut the hedge?" --as-of 2025-06-30
      hedgerow recall "when do we cut the hedge?" --budget 2000
      hedgerow recall hedge --why-not notes/hedge-plan.md

    The index is brought up to date first. Superseded, retracted and expired memories are left out
    and counted. Finding nothing is not an error.
    """
    query = _query(words, options.pop("topic"), options.pop("query"))
    _check(options)
    _check_packing(budget, per_file, diversify=diversify, explain=explain or report is not None)
    several = open_roots()
    memory = several or open_memory()
    if report is not None and several is not None:
        raise click.UsageError("--report is about one root: pass --root once.")
    options |= syncing(memory, sync=options.pop("sync"))
    if why_not is not None:
        reason = memory.why_not(query, why_not, limit=limit, **options)
        if not wrote_json(reason):
            echo(visible(str(reason)))
        return
    if budget is not None:
        options |= {} if per_file is None else {"per_file": per_file}
        options |= {"diversify": True} if diversify else {}
        _show_context(memory.context(query, budget=budget, **options))
        return
    found = memory.recall(query, limit=limit, explain=True, **options)
    answer(
        memory,
        replace(found, mode=recall_mode(context, "recall")),
        heading=f"Prior memory scan for: {visible(found.query)}\n{roots_text(found)}\n",
        explain=explain,
        report=report,
        sync=options.get("sync", True),
    )


def roots_text(found: Recall | MemoryList) -> str:
    """Return the lines that name the root of a result, or its roots with their numbers."""
    if not found.roots:
        return f"Memory root: {visible(found.root)}"
    named = enumerate(found.roots, start=1)
    return "\n".join(f"Memory root {'@' * at}/: {visible(one)}" for at, one in named)


def recall_mode(context: click.Context, name: str) -> str:
    """Return the name of a recall in its result: that of the recipe, if it was run as one."""
    return f"{RECIPE}{name}" if (context.info_name or "").startswith(RECIPE) else name


def _query(words: Sequence[str], topic: str | None, query: str | None) -> str:
    if words and (topic or query):
        raise click.UsageError("Pass what to recall once: as QUERY, --topic or --query.")
    found = " ".join(words) or topic or query
    if not found:
        raise click.UsageError("Missing argument 'QUERY...': what to recall.")
    return found


def _check(options: Mapping[str, Any]) -> None:
    """Report a date that does not exist as wrong usage, before anything is opened."""
    from hedgerow.memory.recall import resolved_options  # noqa: PLC0415 - slow to import

    with usage_errors():
        resolved_options(RecallRequest(".", **options))


def _check_packing(
    budget: int | None, per_file: int | None, *, diversify: bool, explain: bool
) -> None:
    if budget is None and per_file is not None:
        raise click.UsageError("--per-file goes with --budget.")
    if budget is None and diversify:
        raise click.UsageError("--diversify goes with --budget.")
    if budget is not None:
        limit = click.get_current_context().get_parameter_source("limit")
        if limit is not None and limit.name == "COMMANDLINE":
            raise click.UsageError("--budget limits the text: leave out --limit.")
        if explain:
            raise click.UsageError("--budget packs passages: leave --explain and --report out.")


def syncing(memory: MemoryRoot | MemoryRoots | RemoteRoot, *, sync: bool) -> dict[str, Any]:
    """Return the option of a recall for `--no-sync`, which goes with a folder on this machine."""
    from hedgerow.remote import RemoteRoot  # noqa: PLC0415 - slow to import

    refuse_without_files("--no-sync", given=not sync and isinstance(memory, RemoteRoot))
    return {} if sync else {"sync": False}


def answer(  # noqa: PLR0913 - the options of output
    memory: MemoryRoot | MemoryRoots | RemoteRoot,
    found: Recall,
    *,
    heading: str | None = None,
    explain: bool,
    report: str | None,
    sync: bool,
) -> None:
    """Write the result of a recall as a report, if one is wanted, and as JSON or text."""
    if report is not None and not found.roots:
        links = links_of(memory, found, sync=sync)
        whole = found.to_dict(explain=True)
        write_report(report, kind="root", name=memory.name, answer=whole, links=links)
    if wants_json():
        written = {} if report is None else {"report": report}
        write_json(found.to_dict(explain=explain) | written)
        return
    if heading is not None:
        echo(heading)
    show_results(found, explain=explain, report=report)


def _show_context(found: Context) -> None:
    if wrote_json(found):
        return
    show_skips(found.unreadable)
    show_notices(found.notices)
    echo(str(found) or _NOTHING)


# Results for a person to read.


def show_results(found: Recall, *, explain: bool = False, report: str | None = None) -> None:
    """Print results, or that there are none; on stderr notices and files that were skipped."""
    show_skips(found.unreadable)
    show_notices(found.notices)
    for one in found.about:
        echo(visible(f"About {one.folder}/: {' '.join(one.text.split())}"))
    if found.about:
        echo()
    if not found.results:
        _show_nothing(found)
    elif sys.stdout.isatty():
        _show_in_terminal(found, explain=explain)
    else:
        ranked = enumerate(found.results, start=1)
        echo("\n\n".join(_block(rank, one, explain=explain) for rank, one in ranked))
    if found.left_out:
        _show_left_out(found.left_out)
    if explain and found.trace is not None:
        _show_trace(found.trace)
    if report is not None:
        echo(f"\nReport: {visible(report)}")


def show_related(found: RelatedMemory) -> None:
    """Print the memories about the topic of a wrapup."""
    show_skips(found.unreadable or ())
    show_notices(found.notices)
    echo("\n\n".join(_block(rank, one) for rank, one in enumerate(found, start=1)) or _NOTHING)


def show_notices(notices: Sequence[str]) -> None:
    """Print notices on stderr, except those that were printed when the root was opened."""
    for notice in notices:
        if not was_reported(notice):
            echo(f"Note: {visible(notice)}", err=True)


def _show_nothing(found: Recall) -> None:
    """Print that nothing was found, and in a terminal the words of the query."""
    echo(_NOTHING)
    if found.trace is None or not sys.stdout.isatty():
        return
    if found.trace.match_query:
        echo(f"Searched for: {visible(found.trace.match_query)}")
    else:
        said = "Nothing was searched for: no word of the query is left. Put words in quotes."
        echo(said)
    if found.trace.not_searched_for:
        echo(f"Not searched for: {visible(', '.join(found.trace.not_searched_for))}.")


def _show_in_terminal(found: Recall, *, explain: bool) -> None:
    """Print results wrapped, with the words that were found in bold."""
    from rich.padding import Padding  # noqa: PLC0415 - slow to import
    from rich.text import Text  # noqa: PLC0415

    from hedgerow._json.highlight import Highlighter  # noqa: PLC0415

    console = make_console()
    match = "" if found.trace is None else found.trace.match_query or ""
    highlighter = Highlighter(match, "words")
    for rank, one in enumerate(found.results, start=1):
        head, *lines = _block(rank, one, explain=explain).split("\n   ")
        where, sign, score = head.rpartition(" score=")
        console.print(Text.assemble((where, "cyan"), (sign + score, "dim")))
        for line in lines:
            text = Text(line)
            for start, end in highlighter.spans(line)[0]:
                text.stylize("bold yellow", start, end)
            console.print(Padding(text, (0, 0, 0, 3)))
        console.print()


def _show_left_out(counts: Mapping[str, int]) -> None:
    """Print the numbers of memories that matched and are no results, and how to see them."""
    from hedgerow.memory.times import FILTERED, REASONS  # noqa: PLC0415 - slow to import

    echo()
    reasons = [f"{count:,} {REASONS[why]}" for why, count in counts.items() if why != FILTERED]
    if reasons:
        listed = ", ".join(reasons)
        echo(f"Left out: {listed}; --include-superseded shows what does not hold.")
    if FILTERED in counts:
        echo(f"Filtered out: {counts[FILTERED]:,} (by type, tag or date).")


def _show_trace(trace: Trace) -> None:
    echo(f"\n{ways(trace)}")
    for label, done in steps(trace):
        echo(visible(f"{label}{done}"))
    if trace.not_searched_for:
        echo(f"Not searched for: {visible(', '.join(trace.not_searched_for))}.")


def show_skips(skips: Sequence[Skip], shown: int = 3) -> None:
    """Name unreadable files on stderr."""
    for skip in skips[:shown]:
        echo(f"Skipped {visible(str(skip))}", err=True)
    if len(skips) > shown:
        echo(f"Skipped {len(skips) - shown:,} more (--json has all)", err=True)


def _block(rank: int, one: RecalledMemory, *, explain: bool = False) -> str:
    session = f" session={one.session_id}" if one.session_id else ""
    where = f"{one.file}:{one.line_start}-{one.line_end}"
    head = visible(f"{rank}. {where}{session} score={one.score:.2f}")
    why = f"\n   why: {_why(one.parts)}" if explain else ""
    said = str(one.validity)
    marks = f"\n   [{visible(said)}]" if said else ""
    return f"{head}{marks}\n   {visible(one.snippet)}{why}"


def _why(parts: ScoreParts) -> str:
    """Return the parts of a score that are not 0, in words."""
    named = [
        ("retrieval", parts.retrieval),
        ("exact words", parts.exact_match),
        ("front matter", parts.metadata),
        ("time", parts.temporal),
        ("type", parts.strength),
        ("source", parts.provenance),
        (f"depth {parts.retrieval_depth}", parts.depth),
    ]
    given = [f"{name} {value:+.2f}" for name, value in named if value]
    if parts.recency_weight is not None:
        given.append(f"age {parts.recency:+.2f} (weight {parts.recency_weight:g})")
    return visible(f"{', '.join(given) or 'nothing'}; found by {parts.driver.partition(':')[0]}")
