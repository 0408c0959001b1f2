"""The positions of links in the source of a Markdown text (spec/memory.md, "Renaming")."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple

from hedgerow.ingest.markdown_events import markdown_events

from .links import ADDRESSES, NO_TEXT, WIKILINK, LinkReader

_DESTINATION = re.compile(
    rb"\]\(\s*(?:<(?P<angled>(?:[^<>\n\\]|\\.)*)>|(?P<bare>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
)
_DEFINITION = re.compile(rb"^ {0,3}\[(?:[^\]\\\n]|\\.)+\]:[ \t]*<?(?P<bare>[^\s<>]+)", re.MULTILINE)
_HTML_PATH = re.compile(r"""\b(?:src|href)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)


class LinkPosition(NamedTuple):
    """A name or a destination in a source: `start` and `end` count bytes of UTF-8.

    `target` is its text without escapes; `is_path` is false for a `[[name]]`.
    """

    start: int
    end: int
    target: str
    is_path: bool


class LinkPositions(NamedTuple):
    """The links of a text, also to images and attachments, in their order, and paths in its HTML."""

    links: list[LinkPosition]
    html_paths: list[str]


def link_positions(text: str) -> LinkPositions:
    """Return where the links of a Markdown text are; none in code, comments and escapes."""
    reader = _Reader(text)
    reader.read(markdown_events(text))
    source = text.encode()
    for found in _DEFINITION.finditer(source):
        if not reader.is_hidden(found.start()):
            start, end = found.span("bare")
            reader.positions.append(LinkPosition(start, end, source[start:end].decode(), True))
    return LinkPositions(sorted(reader.positions), reader.html_paths)


class _Reader(LinkReader):
    """Collects positions in the same way in which links are collected."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.positions: list[LinkPosition] = []
        self.html_paths: list[str] = []
        self._starts: list[int] = []
        self._open: list[str | None] = []
        self._hidden_spans: list[tuple[int, float]] = []
        self._hidden_ends: list[int] = []

    def read(self, events: Any) -> None:
        def watched() -> Any:
            for event in events:
                kind, value, start, end = event
                name = value[0] if kind == "Start" else kind
                if name in {"CodeBlock", "HtmlBlock", "Code", "Html", "InlineHtml"}:
                    self._hidden_spans.append((start, end))
                    # A block of code or HTML contains others of its kind: the furthest end counts.
                    furthest = self._hidden_ends[-1] if self._hidden_ends else 0
                    self._hidden_ends.append(max(furthest, end))
                if kind in {"Html", "InlineHtml"}:
                    self.html_paths += _HTML_PATH.findall(value)
                yield event

        super().read(watched())

    def is_hidden(self, at: int) -> bool:
        """Whether a position is in code or HTML."""
        before = bisect_right(self._hidden_spans, (at, math.inf)) - 1
        return before >= 0 and at < self._hidden_ends[before]

    def _start(self, name: str, details: Any, start: int) -> None:
        is_link = name in {"Link", "Image"} and details["link_type"] not in ADDRESSES
        self._open.append(details["dest_url"] if is_link else None)
        super()._start(name, details, start)

    def _end(self, name: str, end: int) -> None:
        target = self._open.pop()
        if target is not None:
            found = _DESTINATION.match(self._source, self._text_end(end))
            if found is not None and found.end() <= end:
                start, stop = found.span("angled" if found["angled"] is not None else "bare")
                self.positions.append(LinkPosition(start, stop, target, True))
        super()._end(name, end)

    def _text_end(self, end: int) -> int:
        """Return where the text of a link ends: at the bracket after its last part."""
        at = self._source.find(b"](", self._read_to, end)
        return end if at < 0 else at

    def _write(self, text: str, start: int) -> None:
        super()._write(text, start)
        self._starts.append(start)

    def _end_block(self) -> None:
        text = "".join(self._written)
        offsets = [0, *accumulate(map(len, self._written))]
        for found in WIKILINK.finditer(text):
            name = found[1]
            if name.strip() and NO_TEXT not in name:
                lead = len(name) - len(name.lstrip())
                first, last = found.start(1) + lead, found.start(1) + len(name.rstrip()) - 1
                start = self._position(offsets, first)
                end = self._position(offsets, last) + len(text[last].encode())
                self.positions.append(LinkPosition(start, end, name.strip(), False))
        self._starts.clear()
        super()._end_block()

    def _position(self, offsets: list[int], at: int) -> int:
        """Return the offset in the source of a character of the text of the open block."""
        part = bisect_right(offsets, at) - 1
        return self._starts[part] + len(self._written[part][: at - offsets[part]].encode())
