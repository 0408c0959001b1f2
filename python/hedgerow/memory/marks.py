"""The marks in front matter that say what holds (spec/memory.md, "What holds").

A mark is a field that says from when and until when a memory holds, what took its place, or that
it was wrong. Nothing is guessed: without a mark, a memory holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from hedgerow._engine import _facts_of, _Names
from hedgerow.ingest.ledger import Ledger

from .cycles import in_cycles
from .documents import Document
from .links import links_in_fields
from .scope import FIELD, Scope
from .times import parse_age, parse_end, parse_time
from .validity import HOLDS, Validity

SUPERSEDES, SUPERSEDED_BY, DERIVED_FROM = "supersedes", "superseded_by", "derived_from"
RETRACTED, REASON = "retracted", "retraction_reason"
FROM, UNTIL, STALE_AFTER = "valid_from", "valid_until", "stale_after"

MARKS = (RETRACTED, SUPERSEDED_BY, SUPERSEDES, FROM, UNTIL, STALE_AFTER, DERIVED_FROM, REASON)
"""The fields of front matter that are marks."""

_LINKS = (SUPERSEDES, SUPERSEDED_BY, DERIVED_FROM)
_KEY = "marks"


def facts_of(document: Document, tags: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the ledger keeps of a file: names, time, scope, marks and parts of its score.

    `tags` are those of its chunks.
    """
    fields = document.matter.fields
    links = [
        (key, [link.target for link in links_in_fields({key: fields[key]})[0]])
        for key in _LINKS
        if fields.get(key) is not None
    ]
    return _facts_of(
        document.path, document.title, document.aliases, tags, document.metadata, links
    )


class _Marked(NamedTuple):
    """The marks of one memory, and its time."""

    values: Mapping[str, Any]
    time: datetime | None

    def names(self, key: str) -> list[str]:
        return list(self.values.get(key, ()))

    @property
    def is_retracted(self) -> bool:
        """Whether it is retracted: any text counts, so that no retraction is lost because it lacks a date."""
        return self.values.get(RETRACTED) not in (None, False, "", "false", "no")

    @property
    def interval(self) -> tuple[datetime | None, datetime | None]:
        """From when and until when it holds; neither, where these contradict each other."""
        start, end = parse_time(self.values.get(FROM)), parse_end(self.values.get(UNTIL))
        return (None, None) if start and end and end < start else (start, end)

    @property
    def stale_after(self) -> datetime | None:
        """When to look at it again: a date, or an age such as `90d` from when it is from."""
        value = self.values.get(STALE_AFTER)
        age = parse_age(value)
        if age is None or self.time is None:
            return parse_end(value)
        try:
            return self.time + age
        except OverflowError:
            return None


class Marks:
    """The marks of all memories of a root, and which memories hold at a time.

    A memory can supersede only those of the same scope or a narrower one. Marks by which memories
    supersede each other in a cycle do not count, and neither do times of validity that end before
    they begin; lint names both.
    """

    def __init__(
        self,
        facts: Mapping[str, Mapping[str, Any]],
        fact: Callable[[str], Mapping[str, Any]],
        paths: Iterable[str],
    ) -> None:
        """`facts` are those of the files with marks; `fact` returns those of any of `paths`."""
        self._marked = {
            path: _Marked(one[_KEY], parse_time(one.get("time"))) for path, one in facts.items()
        }
        self._fact = fact
        self._paths = paths

    @classmethod
    def of_ledger(cls, ledger: Ledger) -> Marks:
        """Read the marks that the ledger of an index keeps."""

        def fact(path: str) -> Mapping[str, Any]:
            record = ledger.record(path)
            return {} if record is None else record.facts

        marked = {one.path: one.facts for one in ledger.with_fact(_KEY)}
        return cls(marked, fact, ledger.paths)

    @classmethod
    def of_documents(cls, documents: Iterable[Document]) -> Marks:
        """Read the marks of documents."""
        facts = {document.path: facts_of(document) for document in documents}
        marked = {path: one for path, one in facts.items() if _KEY in one}
        return cls(marked, lambda path: facts.get(path, {}), facts)

    def at(self, path: str, time: datetime, *, was_known: bool = False) -> Validity:
        """Return whether a memory holds at a time.

        With `was_known`, a memory without `valid_from` holds from its own time on.
        """
        if not self._marked and not was_known:
            return HOLDS
        ended = self._ended(path, time) or self._not_begun(path, time, was_known=was_known)
        marked = self._marked.get(path)
        stale = None if marked is None else marked.stale_after
        why = ended or HOLDS
        return Validity(
            why.why,
            why.since,
            why.by,
            why.reason,
            self._doubtful(path, time),
            stale if stale is not None and stale < time else None,
        )

    def holds(self, path: str, time: datetime) -> bool:
        """Tell whether a memory holds; quicker than `at`, which follows what it is derived from."""
        return not (self._ended(path, time) or self._not_begun(path, time, was_known=False))

    @cached_property
    def superseded(self) -> dict[str, tuple[str, ...]]:
        """What supersedes each memory, without cycles; names that lead to no file count too."""
        edges, cycles = self._all_superseded
        return {
            old: kept
            for old, news in edges.items()
            if (kept := tuple(new for new in news if (old, new) not in cycles))
        }

    def said_to_supersede(self, path: str) -> tuple[str, ...]:
        """Return everything that is said to supersede a memory, also in a cycle."""
        return self._all_superseded[0].get(path, ())

    @cached_property
    def cycles(self) -> list[tuple[str, str]]:
        """The pairs (old, new) of memories that supersede each other, in path order."""
        return sorted(self._all_superseded[1])

    @cached_property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """What each memory is derived from, as far as that is a file."""
        found = {
            path: [self._find(name, path) for name in marked.names(DERIVED_FROM)]
            for path, marked in self._marked.items()
        }
        return {
            path: tuple(dict.fromkeys(one for one in sources if one is not None and one != path))
            for path, sources in found.items()
            if any(sources)
        }

    def scope(self, path: str) -> Scope:
        """Return the scope that a memory states."""
        return Scope(**self._fact(path).get(FIELD, {}))

    def contradicts_itself(self, path: str) -> bool:
        """Tell whether the `valid_until` of a memory is before its `valid_from`."""
        values = self._marked[path].values if path in self._marked else {}
        start, end = parse_time(values.get(FROM)), parse_end(values.get(UNTIL))
        return start is not None and end is not None and end < start

    def unreadable(self, path: str) -> list[tuple[str, str]]:
        """Return the marks (field, value) of a memory that should be a time and are not."""
        values = self._marked[path].values if path in self._marked else {}
        return [
            (key, str(values[key]))
            for key in (FROM, UNTIL, STALE_AFTER)
            if key in values
            and parse_time(values[key]) is None
            and (key != STALE_AFTER or parse_age(values[key]) is None)
        ]

    @cached_property
    def _all_superseded(self) -> tuple[dict[str, tuple[str, ...]], set[tuple[str, str]]]:
        """What is said to supersede each memory, and which of these pairs are in a cycle."""
        news: dict[str, set[str]] = {}
        for path, marked in self._marked.items():
            for name in marked.names(SUPERSEDES):
                old = self._find(name, path)
                if old is not None and old != path and self.scope(path).has(self.scope(old)):
                    news.setdefault(old, set()).add(path)
            for name in marked.names(SUPERSEDED_BY):
                new = self._find(name, path)
                if new != path:
                    news.setdefault(path, set()).add(name if new is None else new)
        edges = {old: tuple(sorted(news[old])) for old in sorted(news)}
        return edges, in_cycles(edges)

    def _ended(self, path: str, time: datetime) -> Validity | None:
        """Return why a memory no longer holds; None where it does, or does not yet."""
        marked = self._marked.get(path)
        if marked is not None and marked.is_retracted:
            since = parse_time(marked.values.get(RETRACTED))
            if since is None or since <= time:
                reason = marked.values.get(REASON)
                said = None if reason is None else " ".join(str(reason).split())
                return Validity("retracted", since, reason=said)
        begun = [
            (since, new)
            for new in self.superseded.get(path, ())
            if (since := self._begins(new)) is None or since <= time
        ]
        if begun:
            since = min((one for one, _ in begun if one is not None), default=None)
            return Validity("superseded", since, by=tuple(new for _, new in begun))
        end = None if marked is None else marked.interval[1]
        return None if end is None or time <= end else Validity("expired", end)

    def _not_begun(self, path: str, time: datetime, *, was_known: bool) -> Validity | None:
        marked = self._marked.get(path)
        start = None if marked is None else marked.interval[0]
        if start is None and was_known:
            start = self._time(path)
        return Validity("not_yet_valid", start) if start is not None and start > time else None

    def _doubtful(self, path: str, time: datetime) -> tuple[str, ...]:
        """Return what a memory is derived from, through any number of steps, that has ended."""
        seen, waiting = {path}, [path]
        while waiting:
            for source in self.sources.get(waiting.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return tuple(sorted(one for one in seen - {path} if self._ended(one, time)))

    def _begins(self, path: str) -> datetime | None:
        """Return from when a memory supersedes another; None if it has no time."""
        marked = self._marked.get(path)
        return (marked.interval[0] if marked else None) or self._time(path)

    def _time(self, path: str) -> datetime | None:
        marked = self._marked.get(path)
        return marked.time if marked else parse_time(self._fact(path).get("time"))

    def _find(self, name: str, source: str) -> str | None:
        """Return the file that a name in the front matter of `source` means."""
        for whole in (name, f"{name}.md"):
            if whole in self._known:
                return whole
        return self._names.find(name, False, source)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._paths)

    @cached_property
    def _names(self) -> _Names:
        """All names of files, which take a while to read: most marks have paths."""
        facts = ((path, self._fact(path)) for path in self._known)
        return _Names([(path, one.get("title", ""), one.get("aliases", ())) for path, one in facts])
