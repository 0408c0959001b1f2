"""What is wrong with a definition, and where (spec/agents.md, "Definitions")."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError

__all__ = ["DefinitionError", "Problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a definition, and where: line and column count from 1, in characters.

    `suggestion` is what was probably meant, or None.
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
        """Give it as JSON."""
        return {
            "file": str(self.file),
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "suggestion": self.suggestion,
        }


class DefinitionError(HedgerowError):
    """A definition cannot be used; `problems` has all that is wrong with it, in their order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)), code="invalid_definition")
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problems,))
