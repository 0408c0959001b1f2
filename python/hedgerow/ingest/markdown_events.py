"""The one parser of Markdown: for the chunks of a file, and for the links of a memory.

It takes time linear in the length of a text, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

INLINE = frozenset({"Emphasis", "Strong", "Link", "Image"})
"""What starts and ends within a paragraph or another block with text."""

MOST_MARKERS = 200
"""The most markers of lists and quotations on a line, and spaces and tabs before them, together."""

_MARKER = r">|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])"
# Each alternative begins with other characters, so there is only one way to match a line.
_TOO_DEEP = re.compile(
    rf"^((?:[ \t]|{_MARKER}){{{MOST_MARKERS}}})([ \t]*(?:{_MARKER}).*)", re.MULTILINE
)

Event = tuple[str, Any, int, int]


def markdown_events(text: str, *, tables: bool = False) -> Iterator[Event]:
    """Yield (kind, value, start, end) of what is found in a text; start and end count bytes of UTF-8.

    The value of `Start` and `End` is the name of what starts or ends and its details, None for most;
    that of `Text` and `Code` is the text. Lines end in a newline. What a line has in lists and
    quotations beyond MOST_MARKERS is left out: for each line that continues a paragraph the parser
    may take time that grows with the number of blocks around it.
    """
    import pyromark  # noqa: PLC0415 - a recall that finds nothing changed does without

    options = pyromark.Options.ENABLE_TABLES if tables else pyromark.Options(0)
    for event, span in pyromark.events_with_range(_shallow(text), options=options):
        kind, value = _parts(event)
        if kind in {"Start", "End"}:
            value = _parts(value)
        yield kind, value, span["start"], span["end"]


def _parts(event: Any) -> tuple[str, Any]:
    """Split {name: details}; without details it is the name alone."""
    if isinstance(event, str):
        return event, None
    name: str
    [(name, details)] = event.items()
    return name, details


def _shallow(text: str) -> str:
    """Blank what is nested too deep, so that offsets stay what they are."""
    return _TOO_DEEP.sub(lambda found: found[1] + " " * len(found[2].encode()), text)
