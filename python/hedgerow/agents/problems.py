"""Problems in a text, with positions and suggestions (spec/agents.md, "Definitions")."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a definition. `line` and `column` count characters from 1.

    `suggestion` is the probable intention, or None.
    """

    file: Path
    line: int
    column: int
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        meant = f'; did you mean "{self.suggestion}"?' if self.suggestion else ""
        return f"{self.file}:{self.line}:{self.column}: {self.message}{meant}"

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        return {**asdict(self), "file": str(self.file)}


class DefinitionError(HedgerowError):
    """A definition cannot be used; `problems` lists everything wrong with it, in file order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)), code="invalid_definition")
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problems,))


class ReplyError(HedgerowError):
    """A reply cannot be read, so nothing in it is carried out and the run has failed."""

    def __init__(self, message: str, *, code: str = "unreadable_reply") -> None:
        super().__init__(message, code=code)


class Lines:
    """The lines of a text, which end in LF."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both from 1, in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def start(self, line: int) -> int:
        """Return the offset at which a line begins."""
        return self._starts[line - 1]


def encodable(word: str) -> str:
    """Return a word of a reply for a message.

    An escape in JSON may be half a surrogate pair, which stores and terminals reject.
    """
    return word.encode("utf-8", "backslashreplace").decode()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most like this one, ignoring case; None if none is close."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None
