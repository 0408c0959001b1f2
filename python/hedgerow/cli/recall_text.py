"""The results of a recall for a person to read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .output import echo, make_console, visible
from .steps_text import steps, ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hedgerow import Trace
    from hedgerow.ingest.source import Skip
    from hedgerow.memory.periods import Period
    from hedgerow.memory.recall import Recall, Recalled
    from hedgerow.memory.score import ScoreParts


def show_results(found: Recall, *, explain: bool = False, report: str | None = None) -> None:
    """Print results, or that there are none; on stderr notices and files that were left out."""
    show_left_out(found.unreadable)
    show_notices(found.notices, found.period)
    if not found.results:
        _show_nothing(found)
    elif sys.stdout.isatty():
        _show_in_terminal(found, explain=explain)
    else:
        ranked = enumerate(found.results, start=1)
        echo("\n\n".join(_block(rank, one, explain=explain) for rank, one in ranked))
    if found.period is not None:
        echo()
        show_period(found.period)
    if found.left_out:
        _show_what_is_left_out(found.left_out)
    if explain and found.trace is not None:
        _show_trace(found.trace)
    if report is not None:
        echo(f"\nReport: {visible(report)}")


def show_notices(notices: Sequence[str], period: Period | None) -> None:
    """Print notices on stderr, except those that are printed where the root or the period is."""
    from hedgerow.memory.requests import NOT_ALLOWED  # noqa: PLC0415 - slow to import

    for notice in notices:
        if not notice.startswith(NOT_ALLOWED) and (period is None or notice != period.notice):
            echo(f"Note: {visible(notice)}", err=True)


def show_period(period: Period, *, err: bool = False) -> None:
    """Print the period that narrowed the results, and how to search without it."""
    echo(visible(period.notice), err=err)


def _show_nothing(found: Recall) -> None:
    """Say that nothing was found, and to a person what was looked for."""
    echo("No memory matches found.")
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

    from hedgerow._answers.highlight import Highlighter  # noqa: PLC0415

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
