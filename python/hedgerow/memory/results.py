"""What writing into a root gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow.ingest.source import Skip

from .recall import Recall


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory that was written: its path below the root, and whether the index has it.

    When it has not, `problem` says why; the memory is safe. `is_read_later` says that the next
    recall reads it; otherwise none does as things are.
    """

    file: str
    indexed: bool
    problem: str | None = None
    is_read_later: bool = False

    @property
    def notice(self) -> str | None:
        """Why it cannot be found, in sentences; None when it can."""
        if self.problem is None:
            return None
        if self.is_read_later:
            return f"Not indexed yet: {self.problem}. The next recall reads it."
        return f"Not indexed: {self.problem}. No recall finds it."

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON; `problem` is there only when it was not indexed."""
        notice = self.notice
        problem = {} if notice is None else {"problem": notice}
        return {"file": self.file, "indexed": self.indexed, **problem}


@dataclass(frozen=True, slots=True)
class WrappedUp:
    """A wrapup that was written, with what was recalled about its topic first."""

    file: str
    title: str
    topic: str | None
    body: str
    related: Recall | None

    def to_dict(self) -> dict[str, Any]:
        """Give the documented JSON."""
        topic = {} if self.topic is None else {"recallTopic": self.topic}
        if self.related is None:
            related: dict[str, Any] = {"skipped": True, "reason": "no topic was given"}
        else:
            results = [result.to_dict() for result in self.related.results]
            related = {"skipped": False, "query": self.related.query, "results": results}
        return {
            "file": self.file,
            "title": self.title,
            **topic,
            "body": self.body,
            "validation": {"valid": True, "missingSections": [], "emptySections": []},
            "relatedMemory": related,
        }


@dataclass(frozen=True, slots=True)
class RootGraph:
    """What joins the memories of a root.

    `edges` are (source, target, relation, strength) in that order, `unresolved` links that lead
    to no memory, as (file, what it names), and `skips` what could not be used as it is written.
    """

    edges: tuple[tuple[str, str, str, float], ...]
    unresolved: tuple[tuple[str, str], ...]
    skips: tuple[Skip, ...]
