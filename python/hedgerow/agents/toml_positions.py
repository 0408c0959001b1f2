"""The positions of keys and values in a TOML text.

Written here because no maintained library has them: tomllib and tomlkit keep no positions, and
spanned-toml, which does, has had no release since 2022.

The text is known to be valid, so this only distinguishes keys, headers and values and matches
brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .problems import Lines

__all__ = ["KeyPath", "Position", "Positions"]

KeyPath = tuple[str | int, ...]
"""Keys from the top level down, and indexes of array elements."""

DEEPEST = 32
"""The longest paths whose positions are kept. Those of a definition are shorter, and all paths of a key
with thousands of parts would fill the memory."""

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


class Position(NamedTuple):
    """Where a key and its value begin: offsets in characters."""

    key: int
    value: int


class Positions(Lines):
    """The positions in a TOML text, by path."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text
        self._positions = _Finder(text).positions()
        # A string, one of its characters and the offset of that: usually a later one is looked up next.
        self._known = (-1, 0, 0)

    def of(self, path: KeyPath) -> Position | None:
        """Return the position of a key or an array element; None if the text has no such key."""
        return self._positions.get(path)

    def in_text(self, value: int, index: int) -> int:
        """Return the offset of character `index` of the string that begins at offset `value`."""
        quotes = _QUOTES.match(self._text, value)
        offset = value if quotes is None else quotes.end()
        if self._text.startswith("'", value):
            return offset + index
        start = 0
        if self._known[0] == value and self._known[1] <= index:
            _, start, offset = self._known
        for _ in range(start, index):
            offset = self._after_character(offset)
        self._known = (value, index, offset)
        return self._after_joined_lines(offset)

    def _after_character(self, offset: int) -> int:
        found = _CHARACTER.match(self._text, self._after_joined_lines(offset))
        return offset if found is None else found.end()

    def _after_joined_lines(self, offset: int) -> int:
        """Skip a backslash at the end of a line, which joins the line to the next."""
        found = _CHARACTER.match(self._text, offset)
        joined = found is not None and len(found[0]) > 1 and "\n" in found[0]
        return found.end() if found is not None and joined else offset


class _Finder:
    """Visits each token once."""

    def __init__(self, text: str) -> None:
        self._tokens = [found for found in _TOKEN.finditer(text) if found.lastgroup != "blank"]
        self._next = 0
        self._positions: dict[KeyPath, Position] = {}

    def positions(self) -> dict[KeyPath, Position]:
        table: KeyPath = ()
        while self._next < len(self._tokens):
            before = self._next
            if self._sees("["):
                table = self._header()
            else:
                self._pair(table)
            self._next = max(self._next, before + 1)
        return self._positions

    def _sees(self, *marks: str) -> bool:
        token = self._token()
        return token is not None and token.lastgroup == "mark" and token[0] in marks

    def _token(self) -> re.Match[str] | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _offset(self) -> int:
        token = self._token()
        return self._tokens[-1].end() if token is None else token.start()

    def _header(self) -> KeyPath:
        start = self._offset()
        while self._sees("["):
            self._next += 1
        table = self._keys((), value=start)
        while self._sees("]"):
            self._next += 1
        return table

    def _keys(self, path: KeyPath, value: int | None = None) -> KeyPath:
        """Record the keys up to the mark after them, with where their value begins."""
        above = len(path)
        starts = []
        while not self._sees("=", "]", "\n", "}") and self._token() is not None:
            if not self._sees("."):
                starts.append(self._offset())
                # Paths longer than those kept need not differ.
                path = (*path, _unquoted(self._tokens[self._next]))[: DEEPEST + 1]
            self._next += 1
        if self._sees("="):
            self._next += 1
            value = self._offset()
        for length, start in zip(range(above + 1, DEEPEST + 1), starts, strict=False):
            at = Position(start, start if value is None else value)
            self._positions.setdefault(path[:length], at)
        return path

    def _pair(self, table: KeyPath) -> None:
        self._value(self._keys(table))

    def _value(self, path: KeyPath) -> None:
        if self._sees("["):
            self._array(path)
        elif self._sees("{"):
            self._inline_table(path)
        else:
            while not self._sees("\n", ",", "]", "}") and self._token() is not None:
                self._next += 1

    def _array(self, path: KeyPath) -> None:
        count = 0

        def element() -> None:
            nonlocal count
            at = (*path, count)[: DEEPEST + 1]
            if len(at) <= DEEPEST:
                self._positions[at] = Position(self._offset(), self._offset())
            self._value(at)
            count += 1

        self._inside("]", element)

    def _inline_table(self, path: KeyPath) -> None:
        self._inside("}", lambda: self._pair(path))

    def _inside(self, closer: str, one: Callable[[], None]) -> None:
        """Visit the content of brackets, advancing by at least one token each time."""
        self._next += 1
        while not self._sees(closer) and self._token() is not None:
            before = self._next
            if not self._sees("\n", ","):
                one()
            self._next = max(self._next, before + 1)
        self._next += 1


def _unquoted(token: re.Match[str]) -> str:
    """The text of a key; escapes are not decoded, as none of our keys needs one."""
    return token[0][1:-1] if token.lastgroup == "text" else token[0]
