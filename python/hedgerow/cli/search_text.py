"""The results of a search for a person to read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hedgerow import Filters
from hedgerow._engine import _nearest
from hedgerow._json.highlight import Highlighter
from hedgerow._json.index import AskedFilters
from hedgerow.query import surface

from .output import make_console, plural, printable, steps, visible, ways

if TYPE_CHECKING:
    from rich.console import Console

    from hedgerow import ExplainedWord, Hit, QueryExplanation, Response, Trace
    from hedgerow._json.highlight import Span

    from .search_run import Search

_MATCH_STYLE = "bold yellow"
"""From this likeness on, from 0 to 1, a key is taken for a field: `tgs` for `tag`, not `author` for `path`."""
_NO_SCORE = "0.00"
_COMMON_WORDS = (
    f"{_NO_SCORE}: only words match that half of the texts or more have, which hardly count."
)


def show(search: Search, *, explain: bool) -> None:
    """Print the hits, best first, or say that there are none and why."""
    console = make_console()
    if explain:
        _show_explanation(console, search)
    for notice in search.notices:
        console.print(Text(notice, style="yellow"))
    _show_failed(console, search.response)
    if not search.hits:
        _show_nothing(console, search)
        _show_query_notices(console, search.response.trace.notices)
        _show_why_not(console, search)
        if explain:
            _show_steps(console, search.response.trace)
        return
    for rank, hit in enumerate(search.hits, start=search.asked.request.offset + 1):
        _show_hit(console, rank, hit, search.highlighter, explain=explain)
    if explain:
        _show_scores(console, search.response)
    _show_why_not(console, search)
    console.print(Text(_count(search), style="dim"))
    is_by_words = search.response.trace.mode == "bm25"
    if is_by_words and any(_score_text(hit) == _NO_SCORE for hit in search.hits):
        console.print(Text(_COMMON_WORDS, style="dim"))
    is_failed = search.response.trace.error_stage is not None
    _show_query_notices(console, search.response.notices[is_failed:])


def _show_query_notices(console: Console, notices: Sequence[str]) -> None:
    for notice in notices:
        console.print(Text(visible(notice), style="dim"))


def _count(search: Search) -> str:
    """The number of shown hits, and the option that shows more."""
    found = plural(len(search.hits), "result")
    limit, offset = search.asked.request.limit, search.asked.request.offset
    if offset:
        found += f" from number {offset + 1:,} on"
    if len(search.hits) == limit:
        more = f"--offset {offset + limit}" if offset else f"--limit {2 * limit}"
        found += f", the limit: {more} may show more"
    return f"{found}."


def _show_hit(
    console: Console, rank: int, hit: Hit, highlighter: Highlighter, *, explain: bool
) -> None:
    line = hit.metadata.get("line_start")
    where = visible(hit.path) if line is None else f"{visible(hit.path)}:{line}"
    score = (f"  {_score_text(hit)}", "dim")
    console.print(Text.assemble((f"{rank}. ", "dim"), (where, "cyan"), score))
    if hit.title:
        title = visible(hit.title)
        [in_title] = highlighter.spans(title)
        _print_indented(console, _marked(title, in_title, "bold"))
    [(cut, spans)] = highlighter.snippets([printable(hit.content)], [hit.title])
    _print_indented(console, _marked(cut, spans))
    if explain:
        _print_indented(console, Text(f"why: {visible(hit.explain())}", style="dim"))
    console.print()


def _show_why_not(console: Console, search: Search) -> None:
    if search.why_not is not None:
        console.print(Text(f"Why not: {visible(str(search.why_not))}"))


def _show_failed(console: Console, response: Response) -> None:
    """Report a failed stage first: without it the results would look complete."""
    if response.trace.error_stage is not None:
        console.print(Text(response.notices[0], style="red"))


def _show_nothing(console: Console, search: Search) -> None:
    """Distinguish "nothing matches" from "nothing could be searched for", and name the fix."""
    explanation, trace = search.explanation, search.response.trace
    match = trace.match_query
    if search.asked.request.offset and trace.fused_count:
        console.print(Text(_past_the_last(search.asked.request.offset, trace)))
        return
    if not match:
        console.print(Text("Nothing was searched for: no word of the query is left."))
        _show_dropped(console, explanation)
        hint = "Put words in quotes to search for them as they stand."
        if search.tokenizer == "trigram":
            hint = "The index finds three characters in a row and more: search for longer words."
        console.print(Text(hint))
        return
    console.print(
        Text(f"No results in {visible(search.asked.db)} ({plural(search.chunks, 'chunk')}).")
    )
    console.print(Text(f"Searched for: {visible(match)}"))
    tried = dict.fromkeys(attempt.query for attempt in search.response.trace.attempts[1:])
    if tried:
        also = visible(", ".join(tried))
        console.print(Text(f"Also tried, and compared with file names: {also}"))
    if search.asked.request.filters != Filters():
        console.print(Text(f"Only among: {_filters(search)}"))
    for key in search.missing_keys:
        near = _nearest(key, ["tag", "path"])
        meant = f"; did you mean {near}?" if near else "."
        console.print(Text(f"No chunk has the key {visible(key)}{meant}"))
    _show_dropped(console, explanation)


def _past_the_last(offset: int, trace: Trace) -> str:
    there = "is" if trace.fused_count == 1 else "are"
    said = (
        f"There {there} {plural(trace.fused_count, 'result')}, none from number {offset + 1:,} on."
    )
    if trace.candidate_k in (trace.bm25_count, trace.vector_count):
        said += f" --candidates {2 * trace.candidate_k} may find more."
    return said


def _show_dropped(console: Console, explanation: QueryExplanation) -> None:
    for word in explanation.words:
        if word.outcome == "dropped":
            console.print(Text(f"Dropped: {_source(word)}: {visible(word.detail)}"))


def _filters(search: Search) -> str:
    filters = AskedFilters.of(search.asked.request.filters)
    parts = [f"path={path}" for path in filters.paths]
    if filters.path_prefix is not None:
        parts.append(f"prefix={filters.path_prefix}")
    parts.extend(f"tag={tag}" for tag in filters.tags)
    parts.extend(f"meta.{key}={value!r}" for key, value in filters.metadata.items())
    if filters.where:
        parts.append(json.dumps(filters.where, ensure_ascii=False))
    for name, date in (("from", filters.after), ("before", filters.before)):
        if date is not None:
            parts.append(f"{filters.date_key} {name} {date}")
    return visible(", ".join(parts))


def _show_explanation(console: Console, search: Search) -> None:
    explanation = search.explanation
    lines = [
        ("text", explanation.text),
        ("normalised", explanation.normalized),
        ("filtering", _filtering(search)),
    ]
    compiled = [
        ("normative", search.response.trace.compiled_query or "(nothing)"),
        ("executed", search.response.trace.match_query or "(nothing searchable: no search is run)"),
    ]
    for name, value in lines:
        console.print(_named(name, value))
    for line in _words(explanation.words):
        console.print(line)
    for name, value in compiled:
        console.print(_named(name, value))
    console.print()


def _named(name: str, value: str) -> Text:
    return Text.assemble((f"{name:<10}  ", "dim"), visible(value))


def _filtering(search: Search) -> str:
    if search.explanation.filtered and search.response.trace.matching == "extended":
        return "extended matching of a bare query: stop words and short parts are dropped"
    if search.explanation.filtered:
        return "a bare query: short words and stop words are dropped"
    return "a quote or an operator: every word is kept"


def _words(words: Sequence[ExplainedWord]) -> list[Text]:
    """Line up the words, what became of each, and why."""
    rows = [(_source(word), visible(_outcome(word)), visible(word.detail)) for word in words]
    first = max((cell_len(row[0]) for row in rows), default=0)
    second = max((cell_len(row[1]) for row in rows), default=0)
    lines = []
    for word, (source, outcome, detail) in zip(words, rows, strict=True):
        line = f"  {set_cell_size(source, first)}  {set_cell_size(outcome, second)}  {detail}"
        lines.append(Text(line.rstrip(), style="dim" if word.outcome == "dropped" else ""))
    return lines


def _source(word: ExplainedWord) -> str:
    return visible(word.source) or '""'


def _outcome(word: ExplainedWord) -> str:
    became = " or ".join(surface(token) for token in word.tokens)
    return f"kept as {became}" if word.outcome == "kept" else word.outcome


def _marked(text: str, spans: Sequence[Span], style: str = "") -> Text:
    marked = Text(text, style=style)
    for start, end in spans:
        marked.stylize(_MATCH_STYLE, start, end)
    return marked


def _print_indented(console: Console, text: Text) -> None:
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, 3), expand=False))
    else:
        console.print(Text("\n").join(Text("   ") + line for line in text.split("\n")))


def _score_text(hit: Hit) -> str:
    """The score of a hit, and its share of the best possible score if that is known."""
    parts = hit.explanation
    if parts is None or parts["best_possible"] is None:
        return f"{hit.score:.2f}"
    if parts["multipliers"]:
        return f"{hit.score:.4f}"
    return f"{hit.score:.4f} ({_percent(parts['fraction'])})"


def _show_scores(console: Console, response: Response) -> None:
    """Print the table of the hits, and the steps of the search."""
    explained = [hit.explanation or {} for hit in response]
    columns = [
        (name, [_cell(parts, key, show) for parts in explained]) for name, key, show in _COLUMNS
    ]
    columns = [(name, cells) for name, cells in columns if any(cells)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right")
    table.add_column("hit", overflow="fold")
    for name, _ in columns:
        table.add_column(name)
    table.add_column("score", justify="right")
    for at, hit in enumerate(response):
        cells = [cells[at] for _, cells in columns]
        table.add_row(f"{response.offset + at + 1}", visible(hit.id), *cells, _score_text(hit))
    console.print(table)
    console.print()
    _show_steps(console, response.trace)


def _show_steps(console: Console, trace: Trace) -> None:
    """Print the steps of a search, one on each line, with its time."""
    console.print(Text(ways(trace), style="dim"))
    for label, done in steps(trace):
        console.print(Text.assemble((label, "dim"), visible(done)))
    console.print()


def _cell(parts: dict[str, Any], key: str, show: Callable[[Any], str]) -> str:
    part = parts.get(key)
    return "" if part is None else show(part)


def _keywords(by: dict[str, Any]) -> str:
    what = "spelling" if by["fuzzy"] else "BM25"
    share = "" if by["share"] is None else f", {_percent(by['share'])} of the best"
    return f"{_ordinal(by['rank'])}, {what} {by['score']:.2f}{share}: {_added(by)}"


def _meaning(by: dict[str, Any]) -> str:
    rank = "not in its list" if by["rank"] is None else _ordinal(by["rank"])
    far = "" if by["deviations"] is None else f", {by['deviations']:+.1f} deviations"
    return f"{rank}, cosine {by['cosine']:.2f}{far}: {_added(by)}"


def _age(by: dict[str, Any]) -> str:
    old = "no date" if by["age"] is None else f"{by['age']} d"
    return f"{old}, weight {by['weight']:.2f}: {_added(by)}"


def _added(by: dict[str, Any]) -> str:
    return f"{by['contribution']:+.4f}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _ordinal(rank: int) -> str:
    number = rank + 1
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


_COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("keywords", "keywords", _keywords),
    ("meaning", "meaning", _meaning),
    ("neighbors", "neighbors", lambda each: ", ".join(map(_added, each))),
    ("speaker", "speaker", lambda by: f"{visible(by['name'])}: {_added(by)}"),
    ("answers", "answers", lambda by: f"{visible(by['id'])}: {_added(by)}"),
    ("date", "date", lambda by: f"{by['day']}: {_added(by)}"),
    ("age", "recency", _age),
    (
        "multiplied by",
        "multipliers",
        lambda each: ", ".join(f"{one['factor']:g} ({one['condition']})" for one in each),
    ),
    ("reranked", "rerank_score", "{:.3f}".format),
)
"""The columns of parts of a score: heading, key of the part, and what a cell shows of it."""
