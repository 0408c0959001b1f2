"""Writing results: JSON as UTF-8 whatever the terminal, text with colours where they show."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from hedgerow.ingest import PassedBy

# Control characters, and those that turn the direction of writing: a note must not be able to
# change the terminal or hide what it says.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_WIDEST = 100

_KINDS_PASSED_BY = {
    "other": ("file of other kinds", "files of other kinds"),
    "hidden": ("hidden name", "hidden names"),
    "link": ("link", "links"),
    "tools": ("folder of tools", "folders of tools"),
    "excluded": ("excluded name", "excluded names"),
}


def write_json(value: Any) -> None:
    """Write one JSON object to stdout, indented by two."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    click.echo(text.encode("utf-8"))


def make_console(*, stderr: bool = False) -> Console:
    """Make a console: colours only on a terminal and without NO_COLOR, never markup."""
    from rich.console import Console  # noqa: PLC0415 - slow to import

    class QuietConsole(Console):
        """Leaves a closed pipe to the caller, as everything else that goes wrong."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = QuietConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.width = min(console.width, _WIDEST)
    else:
        # Lines in a file or a pipe are as long as they are.
        console.soft_wrap = True
        console.width = 10_000
    if (console.encoding or "").lower().replace("-", "") != "utf8":
        _replace_what_cannot_be_shown(console)
    return console


def visible(text: str) -> str:
    """Give a text without characters that act on a terminal."""
    return _UNSAFE.sub("�", text)


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Write a count with its noun: `1 file`, `1,204 files`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def passed_by_text(counts: Mapping[str, int]) -> str:
    """Write how much was passed by, by reason: `1 file of other kinds, 2 links`."""
    return ", ".join(
        plural(counts[code], *nouns) for code, nouns in _KINDS_PASSED_BY.items() if counts.get(code)
    )


def passed_by_json(counts: Mapping[str, int], named: Sequence[PassedBy]) -> dict[str, Any]:
    """Give what `--verbose` adds to JSON."""
    return {"passed_by": dict(counts), "named": [one.to_dict() for one in named]}


def show_passed_by(named: Sequence[PassedBy]) -> None:
    """Name on stderr what was passed by."""
    for one in named:
        line = visible(f"Passed by ({one.code}): {one.path}")
        click.echo(line.encode("utf-8", "backslashreplace"), err=True)


def _replace_what_cannot_be_shown(console: Console) -> None:
    reconfigure = getattr(console.file, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="replace")
