"""Writing results: JSON that any reader decodes, text with colors where they show."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from hedgerow.ingest import PassedBy

# Control characters and bidirectional overrides: a note must not be able to change the terminal
# or to hide its text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_WIDEST = 100

_KINDS_PASSED_BY = {
    "other": ("file of other kinds", "files of other kinds"),
    "hidden": ("hidden name", "hidden names"),
    "link": ("link", "links"),
    "tools": ("folder of tools", "folders of tools"),
    "excluded": ("excluded name", "excluded names"),
}

Progress = Callable[[int, int], None]


def escape_unencodable() -> None:
    """Have stdout and stderr escape what their encoding lacks, as in `\\u5473`.

    A pipe on Windows is cp1252 or the like, and a name of a file may be no text at all.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def write_json(value: Any) -> None:
    """Write one JSON object to stdout, indented by two."""
    click.echo(json_bytes(value, indent=2))


def json_bytes(value: Any, *, indent: int | None = None, err: bool = False) -> bytes:
    """Encode JSON for stdout or stderr: UTF-8 where the stream is, else ASCII with escapes."""
    try:
        encoding = codecs.lookup((sys.stderr if err else sys.stdout).encoding).name
        text = json.dumps(value, ensure_ascii=encoding != "utf-8", indent=indent)
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, from the name of a file
        return json.dumps(value, indent=indent).encode("ascii")


def make_console(*, stderr: bool = False) -> Console:
    """Make a console: colors only on a terminal and without NO_COLOR, never markup."""
    from rich.console import Console  # noqa: PLC0415 - slow to import

    class QuietConsole(Console):
        """Leaves a closed pipe to the caller, like all other errors."""

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


def visible(text: str) -> str:
    """Replace the characters that act on a terminal."""
    return _UNSAFE.sub("�", text)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Write a count with its noun: `1 file`, `1,204 files`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def passed_by_text(counts: Mapping[str, int]) -> str:
    """Return how much was passed by, by reason: `1 file of other kinds, 2 links`."""
    return ", ".join(
        plural(counts[code], *nouns) for code, nouns in _KINDS_PASSED_BY.items() if counts.get(code)
    )


def passed_by_json(counts: Mapping[str, int], named: Sequence[PassedBy]) -> dict[str, Any]:
    """Return what `--verbose` adds to JSON."""
    return {"passed_by": dict(counts), "named": [one.to_dict() for one in named]}


def show_passed_by(named: Sequence[PassedBy]) -> None:
    """Name on stderr what was passed by."""
    for one in named:
        click.echo(visible(f"Passed by ({one.code}): {one.path}"), err=True)


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
