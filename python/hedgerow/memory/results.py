"""Results of writing into a root, and its graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.ingest.source import Skip

from .recall import Recall

__all__ = ["Remembered", "RootGraph", "Skip", "WrappedUp"]


_NOTICES = {
    True: ("Not indexed yet: ", ". The next recall reads it."),
    False: ("Not indexed: ", ". No recall finds it."),
}


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory that was written: its root, its path below that, and whether it is indexed.

    If it is not indexed, `problem` is the reason; the memory is written. `is_read_later` says
    whether the next recall reads it. `superseded` is the memory that it supersedes, below the
    indexed folder, or None.
    """

    root: str
    file: str
    indexed: bool
    problem: str | None = None
    is_read_later: bool = False
    superseded: str | None = None

    @property
    def notice(self) -> str | None:
        """Why no recall finds it yet, in sentences; None if it is indexed."""
        if self.problem is None:
            return None
        before, after = _NOTICES[self.is_read_later]
        return f"{before}{self.problem}{after}"

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON; `problem` is there only when it was not indexed."""
        told = {"problem": self.notice, "superseded": self.superseded}
        given = {name: value for name, value in told.items() if value is not None}
        return {"root": self.root, "file": self.file, "indexed": self.indexed, **given}

    @classmethod
    def _from_dict(cls, keys: Mapping[str, Any]) -> Remembered:
        """The memory of such a JSON."""
        notice = keys.get("problem")
        old = keys.get("superseded")
        written = cls(keys["root"], keys["file"], keys["indexed"], notice, superseded=old)
        for is_read_later, (before, after) in _NOTICES.items():
            if notice and notice.startswith(before) and notice.endswith(after):
                problem = notice[len(before) : -len(after)]
                return replace(written, problem=problem, is_read_later=is_read_later)
        return written


@dataclass(frozen=True, slots=True)
class WrappedUp:
    """A wrapup that was written into a root, and what was recalled about its topic before."""

    root: str
    file: str
    title: str
    topic: str | None
    body: str
    related: Recall | None

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        topic = {} if self.topic is None else {"recallTopic": self.topic}
        if self.related is None:
            related: dict[str, Any] = {"skipped": True, "reason": "no topic was given"}
        else:
            results = [result.to_dict() for result in self.related.results]
            unreadable = [skip.to_dict() for skip in self.related.unreadable]
            related = {
                "skipped": False,
                "query": self.related.query,
                "results": results,
                "unreadable": unreadable,
                **({"notices": list(self.related.notices)} if self.related.notices else {}),
            }
        return {
            "root": self.root,
            "file": self.file,
            "title": self.title,
            **topic,
            "body": self.body,
            "validation": {"valid": True, "missingSections": [], "emptySections": []},
            "relatedMemory": related,
        }


@dataclass(frozen=True, slots=True)
class RootGraph:
    """The links between the memories of a root (spec/memory.md, "Links").

    `edges` are (source, target, relation, strength), sorted, with a strength above 0 and up to 1;
    `unresolved` are the links that lead to no file, as (file, target); `skips` has the files that
    could not be read, and fields of front matter that cannot be used.
    """

    edges: tuple[tuple[str, str, str, float], ...]
    unresolved: tuple[tuple[str, str], ...]
    skips: tuple[Skip, ...]

    def within(self, files: Collection[str]) -> RootGraph:
        """Return the part within some files, without skips: a file that is not read has no scope."""
        edges = tuple(edge for edge in self.edges if edge[0] in files and edge[1] in files)
        return RootGraph(edges, tuple(one for one in self.unresolved if one[0] in files), ())
