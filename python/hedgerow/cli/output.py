"""Writing results: JSON that any reader decodes, text with colors where they show."""

from __future__ import annotations

import codecs
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from hedgerow import Trace
    from hedgerow.ingest import PassedBy


# Characters that a terminal obeys (C0, C1), that turn text around, that end a line for some
# readers, or that nobody sees; and halves of surrogate pairs. Not the joiners U+200C and U+200D,
# without which Persian, Hindi and many emoji are spelled wrong, nor the visible signs of Unicode's
# class Cf.
_ACTS = (
    "\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001\U000e0020-\U000e007f"
)
_UNSAFE = re.compile(f"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f{_ACTS}]")
_UNSAFE_ON_A_LINE = re.compile(f"[\x00-\x1f{_ACTS}]")
_UNSAFE_IN_JSON = re.compile(f"[{_ACTS}]")

_WIDEST = 100

_KINDS_SKIPPED = {
    "other": ("file of another kind", "files of other kinds"),
    "hidden": ("hidden name", "hidden names"),
    "link": ("link", "links"),
    "tools": ("tool folder", "tool folders"),
    "excluded": ("excluded name", "excluded names"),
}

Progress = Callable[[int, int], None]


def has_terminal() -> bool:
    """Whether standard input is a terminal, so that a question can be answered."""
    return sys.stdin is not None and sys.stdin.isatty()


def open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller closed, as with `>&-`.

    Python sets such a stream to None, and the next opened file would get its number.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - it stays open
            if stream.fileno() != number:
                os.dup2(stream.fileno(), number)
            setattr(sys, name, stream)


def escape_unencodable() -> None:
    """Have stdout and stderr escape what their encoding lacks, as in `\\u5473`.

    A pipe on Windows is cp1252 or the like, and a name of a file may be no text at all.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    r"""Show characters that act on a terminal, or hide in a text, as `\x1b` or `\u202e`.

    Newlines and tabs stay, and the line ends of Windows.
    """
    return _UNSAFE.sub(_escape, text)


def visible(text: str) -> str:
    r"""Show a text on one line: as `printable` does, with newlines and tabs as `\n` and `\t`."""
    return _UNSAFE_ON_A_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def echo(text: str | bytes = "", *, err: bool = False, nl: bool = True) -> None:
    """Write to stdout or stderr; every text of a command but tables goes through here.

    Nothing that was stored or given can drive the terminal: text is made `printable`. Bytes are
    JSON, and go out as they are.
    """
    click.echo(printable(text) if isinstance(text, str) else text, err=err, nl=nl)


class PrintableFormatter(logging.Formatter):
    """Formats records of a log as `printable` text; a warning has no traceback, an error has its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        if record.levelno < logging.ERROR and record.exc_info:
            record = copy(record)
            record.exc_info = record.exc_text = None
        return printable(super().format(record))


def log_printably() -> None:
    """Make log records on stderr `printable`, unless logging was set up."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(PrintableFormatter())


AS_JSON = "hedgerow.as_json"
"""The key of the context of click under which `--json` is kept, so that no command passes it on."""


def wants_json() -> bool:
    """Return whether the running command was given `--json`."""
    found: bool = click.get_current_context().meta.get(AS_JSON, False)
    return found


def wrote_json(result: Any) -> bool:
    """Write a result as JSON if the command was given `--json`, and return whether it was.

    A result is a mapping, or has `to_dict`.
    """
    if wants_json():
        write_json(result if isinstance(result, dict) else result.to_dict())
        return True
    return False


def write_json(value: Any) -> None:
    """Write one JSON object to stdout, indented by two."""
    echo(json_bytes(value, indent=2))


def json_bytes(value: Any, *, indent: int | None = None, err: bool = False) -> bytes:
    """Encode JSON for stdout or stderr: UTF-8 where the stream is, else ASCII with escapes."""
    encoding = codecs.lookup((sys.stderr if err else sys.stdout).encoding).name
    text = json.dumps(value, ensure_ascii=encoding != "utf-8", indent=indent)
    # All of these stand in strings, where an escape means the same.
    return _UNSAFE_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text).encode()


def make_console(*, stderr: bool = False) -> Console:
    """Make a console: colors only on a terminal and without NO_COLOR, never markup."""
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.segment import Segment  # noqa: PLC0415

    class QuietConsole(Console):
        """Makes all text `printable`, and leaves a closed pipe to the caller."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            # Tables are laid out before, so their texts should be printable already.
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else printable(segment.text)
                yield Segment(text, segment.style, segment.control)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = QuietConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.width = min(console.width, _WIDEST)
    else:
        # Lines in a file or a pipe are as long as they are.
        console.soft_wrap = True
        console.width = 10_000
    return console


def show_rows(rows: Iterable[tuple[str, str]], width: int = 10) -> None:
    """Print names with their values, a line each."""
    for name, value in rows:
        echo(f"{name:<{width}}  {visible(value)}")


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Write a count with its noun: `1 file`, `1,204 files`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def skipped_text(counts: Mapping[str, int]) -> str:
    """Return the numbers of skipped names, by reason: `1 file of another kind, 2 links`."""
    return ", ".join(
        plural(counts[code], *nouns) for code, nouns in _KINDS_SKIPPED.items() if counts.get(code)
    )


def skipped_json(counts: Mapping[str, int], named: Sequence[PassedBy]) -> dict[str, Any]:
    """Return the fields that `--verbose` adds to JSON."""
    return {"passedBy": dict(counts), "named": [one.to_dict() for one in named]}


def show_skipped(named: Sequence[PassedBy]) -> None:
    """Name the skipped files on stderr."""
    for one in named:
        echo(visible(f"Skipped ({one.code}): {one.path}"), err=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Return a callback for the number done and the total; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (label, BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def ways(trace: Trace) -> str:
    """Name the profile, or the options that replace it."""
    ways = [f"mode {trace.mode}"]
    if trace.profile is not None:
        ways.append(f"profile {trace.profile}")
    ways += [f"matching {trace.matching}", f"fusion {trace.fusion}"]
    ways.append("with neighbors" if trace.neighbors else "without neighbors")
    if trace.speakers:
        ways.append("with speakers")
    if trace.dates:
        ways.append("with dates")
    if trace.recency is not None:
        ways.append(f"halved every {trace.recency}")
    ways.append("reweighted" if trace.reweight else "not reweighted")
    if trace.backend is not None:
        ways.append(f"on {trace.backend}")
    if trace.shards is not None:
        ways.append(f"{trace.shards['successful']} of {trace.shards['total']} shards")
    if trace.approximate:
        ways.append("approximate")
    return ", ".join(ways)


def steps(trace: Trace) -> Iterator[tuple[str, str]]:
    """Each step with its time and its result."""
    timed: set[str] = set()
    for name, done in _done(trace):
        # The rungs of the ladder have one time together.
        time = " " * 11 if name in timed else f"{trace.timings[name]:8.2f} ms"
        timed.add(name)
        yield f"  {name:<9}{time}  ", done


def _done(trace: Trace) -> list[tuple[str, str]]:
    steps = []
    if trace.embedder_used:
        steps.append(("embed", "the query"))
    if trace.attempts:
        hits = plural(trace.attempts[0].hits, "hit")
        steps.append(("bm25", f"{hits} for {trace.match_query or 'nothing: no word is left'}"))
    steps.extend(
        ("ladder", f"{attempt.strategy} {attempt.query}: {plural(attempt.hits, 'hit')}")
        for attempt in trace.attempts[1:]
    )
    if trace.embedder_used:
        steps.append(("vector", plural(trace.vector_count, "hit")))
    steps.append(("fuse", f"{plural(trace.fused_count, 'hit')} in one ranking"))
    if trace.reranked:
        steps.append(("rerank", f"by {trace.rerank_provider}"))
    elif trace.rerank_skipped_reason == "unanimity":
        steps.append(("rerank", "left out: keywords and meaning agree on the best"))
    return steps
