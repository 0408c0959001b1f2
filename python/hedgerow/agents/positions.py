"""Where keys and values stand in a TOML text: Python's reader tells values and no places.

The text has been read before, so it is valid and this only has to find its way: a key at the
beginning of a statement, headers in brackets, and values, in which brackets are counted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys from the top, and places in arrays from 0."""

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t]+|\#[^\n]*)
    | (?P<text>
          \"\"\"(?:[^\\"]|\\[\s\S]|"{1,2}(?!"))*"{3,5}
        | '''(?:[^']|'{1,2}(?!'))*'{3,5}
        | "(?:[^"\\\n]|\\.)*"
        | '[^'\n]*'
      )
    | (?P<mark>[\[\]{}=,.\n])
    | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE,
)
_QUOTES = re.compile(r"\"\"\"\n?|'''\n?|\"|'")
_CHARACTER = re.compile(r"\\[ \t]*\n[ \t\n]*|\\(?:u.{4}|U.{8}|x..|.)|[\s\S]")


class Place(NamedTuple):
    """Where a key begins, and its value: offsets in characters."""

    key: int
    value: int


class Lines:
    """The lines of a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Give the line and the column of an offset, both from 1, in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def start(self, line: int) -> int:
        """Give the offset at which a line begins."""
        return self._starts[line - 1]


class Positions(Lines):
    """The places of a TOML text, by path."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text
        self._places = _Finder(text).places()

    def of(self, path: Path) -> Place | None:
        """Give the place of a key, or of an element of an array; None for what is not there."""
        return self._places.get(path)

    def in_text(self, value: int, index: int) -> int:
        """Give the offset of character `index` of the string whose value begins at `value`."""
        quotes = _QUOTES.match(self._text, value)
        offset = value if quotes is None else quotes.end()
        if self._text.startswith("'", value):
            return offset + index
        for _ in range(index):
            offset = self._after_character(offset)
        return self._after_joined_lines(offset)

    def _after_character(self, offset: int) -> int:
        found = _CHARACTER.match(self._text, self._after_joined_lines(offset))
        return offset if found is None else found.end()

    def _after_joined_lines(self, offset: int) -> int:
        """A backslash at the end of a line stands for no character."""
        found = _CHARACTER.match(self._text, offset)
        joined = found is not None and len(found[0]) > 1 and "\n" in found[0]
        return found.end() if found is not None and joined else offset


class _Finder:
    """Walks over the tokens once."""

    def __init__(self, text: str) -> None:
        self._tokens = [found for found in _TOKEN.finditer(text) if found.lastgroup != "blank"]
        self._next = 0
        self._places: dict[Path, Place] = {}

    def places(self) -> dict[Path, Place]:
        table: Path = ()
        while self._next < len(self._tokens):
            before = self._next
            if self._sees("["):
                table = self._header()
            else:
                self._pair(table)
            self._next = max(self._next, before + 1)
        return self._places

    def _sees(self, *marks: str) -> bool:
        token = self._token()
        return token is not None and token.lastgroup == "mark" and token[0] in marks

    def _token(self) -> re.Match[str] | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _offset(self) -> int:
        token = self._token()
        return self._tokens[-1].end() if token is None else token.start()

    def _header(self) -> Path:
        start = self._offset()
        while self._sees("["):
            self._next += 1
        table = self._keys((), value=start)
        while self._sees("]"):
            self._next += 1
        return table

    def _keys(self, path: Path, value: int | None = None) -> Path:
        """The keys up to the mark after them, which are noted with where the value begins."""
        starts = []
        while not self._sees("=", "]", "\n", "}") and self._token() is not None:
            if not self._sees("."):
                starts.append(self._offset())
                path = (*path, _unquoted(self._tokens[self._next]))
            self._next += 1
        if self._sees("="):
            self._next += 1
            value = self._offset()
        for depth, start in enumerate(starts):
            known = path[: len(path) - len(starts) + depth + 1]
            self._places.setdefault(known, Place(start, start if value is None else value))
        return path

    def _pair(self, table: Path) -> None:
        self._value(self._keys(table))

    def _value(self, path: Path) -> None:
        if self._sees("["):
            self._array(path)
        elif self._sees("{"):
            self._inline_table(path)
        else:
            while not self._sees("\n", ",", "]", "}") and self._token() is not None:
                self._next += 1

    def _array(self, path: Path) -> None:
        count = 0

        def element() -> None:
            nonlocal count
            at = (*path, count)
            self._places[at] = Place(self._offset(), self._offset())
            self._value(at)
            count += 1

        self._inside("]", element)

    def _inline_table(self, path: Path) -> None:
        self._inside("}", lambda: self._pair(path))

    def _inside(self, closer: str, one: Callable[[], None]) -> None:
        """Walk over what stands between brackets, a step at least each time."""
        self._next += 1
        while not self._sees(closer) and self._token() is not None:
            before = self._next
            if not self._sees("\n", ","):
                one()
            self._next = max(self._next, before + 1)
        self._next += 1


def _unquoted(token: re.Match[str]) -> str:
    """A key as its text; escapes in keys are not read, for no key of ours has one."""
    return token[0][1:-1] if token.lastgroup == "text" else token[0]
