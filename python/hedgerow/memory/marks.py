"""The marks in front matter that say what holds (spec/memory.md, "What holds").

A mark is a field that says from when and until when a memory holds, what took its place, or that
it was wrong. Nothing is guessed: without a mark, a memory holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from hedgerow._checks import checked_text
from hedgerow._engine import FrontMatter, _Marks
from hedgerow.errors import InvalidInputError

from . import files, note
from .derived import Derived
from .documents import Document, parse_document
from .edit import Change, Edit, planned, with_fields, with_items, without_empty, without_fields
from .files import locked
from .links import leads_to, links_in_fields, written_name
from .root_files import NodeState
from .scope import Scope
from .times import HOLDS, Validity, micros_of

SUPERSEDES, SUPERSEDED_BY = "supersedes", "superseded_by"
RETRACTED, REASON = "retracted", "retraction_reason"


class Marks:
    """The marks of all memories of a root, and which memories hold at a time.

    A memory can supersede only those of the same scope or a narrower one. Marks by which memories
    supersede each other in a cycle do not count, and neither do times of validity that end before
    they begin; lint names both.
    """

    def __init__(self, found: _Marks, scope: Scope = Scope()) -> None:  # noqa: B008 - frozen
        self._found = found
        self._scope = scope

    @classmethod
    def of_documents(
        cls,
        documents: Iterable[Document],
        scope: Scope = Scope(),  # noqa: B008 - frozen
    ) -> Marks:
        """Read the marks of all documents of a root; only memories of `scope` are named."""
        found = _Marks([(one.path, one.title, one.aliases, one.matter) for one in documents])
        return cls(found, scope)

    def at(self, path: str, time: datetime, *, was_known: bool = False) -> Validity:
        """Return whether a memory holds at a time.

        With `was_known`, a memory without `valid_from` holds from its own time on.
        """
        found = self._found.at(path, micros_of(time), was_known)
        if found is None:
            return HOLDS
        validity = Validity.of_texts(*found)
        return validity.seen(self._is_named) if self._scope else validity

    def _is_named(self, path: str) -> bool:
        return not self._scope or self._scope.has(self.scope(path))

    def holds(self, path: str, time: datetime) -> bool:
        """Return whether a memory holds.

        Faster than `at`, which follows the memories it is derived from.
        """
        return self._found.holds(path, micros_of(time))

    def superseding(self, path: str) -> list[str]:
        """Return the memories that supersede a memory, without cycles.

        Names of missing files count too.
        """
        return list(filter(self._is_named, self._found.superseding(path)))

    def said_to_supersede(self, path: str) -> list[str]:
        """Return everything that is said to supersede a memory, also in a cycle."""
        in_cycles = [new for old, new in self.cycles if old == path]
        return sorted([*self.superseding(path), *in_cycles])

    @property
    def cycles(self) -> list[tuple[str, str]]:
        """The pairs (old, new) of memories that supersede each other, in path order."""
        return [pair for pair in self._found.cycles if all(map(self._is_named, pair))]

    def scope(self, path: str) -> Scope:
        """Return the scope that a memory states."""
        return Scope(*self._found.scope(path))

    def contradicts_itself(self, path: str) -> bool:
        """Return whether the `valid_until` of a memory is before its `valid_from`."""
        return self._found.contradicts_itself(path)

    def unreadable(self, path: str) -> list[tuple[str, str]]:
        """Return the marks (field, value) of a memory that should be a time and are not."""
        return self._found.unreadable(path)


def supersede(derived: Derived, old: str, new: str) -> list[str]:
    """Mark `old` as superseded by `new` in both files; returns those that were changed."""
    if old == new:
        raise InvalidInputError(f"the memory {old!r} cannot supersede itself", code="invalid_edge")
    with locked(derived.lock):
        return _written(
            derived,
            {
                new: _planned(derived, new, with_items(SUPERSEDES, add=[written_name(old)])),
                old: _planned(derived, old, with_items(SUPERSEDED_BY, add=[written_name(new)])),
            },
        )


def check_markable(derived: Derived, path: str) -> Document:
    """Read a memory that is to be marked; HedgerowError where its front matter cannot be edited."""
    _planned(derived, path, with_items(SUPERSEDED_BY, add=["[[_]]"]))
    return parse_document(path, (derived.source_root / path).read_bytes())


def retract(derived: Derived, path: str, reason: str | None) -> list[str]:
    """Mark a memory as retracted; returns the files that were changed."""
    fields: dict[str, Any] = {RETRACTED: note.iso_time(note.now())}
    said = "" if reason is None else note.one_line(checked_text(reason, "reason"))
    if said:
        fields[REASON] = said
    with locked(derived.lock):
        return _written(derived, {path: _planned(derived, path, with_fields(fields))})


def restore(derived: Derived, state: NodeState, path: str, news: Sequence[str]) -> list[str]:
    """Remove the marks by which a memory is retracted or superseded, there and in `news`."""
    names = state.names()

    def leads(item: Any, source: str) -> bool:
        links, _ = links_in_fields(FrontMatter({SUPERSEDES: [item]}))
        return any(leads_to(one, source, path, names) for one in links)

    with locked(derived.lock):
        own = without_fields((RETRACTED, REASON, SUPERSEDED_BY))
        edits = {path: _planned(derived, path, own)}
        for new in news:
            if new in state.nodes:

                def drop(item: Any, source: str = new) -> bool:
                    return leads(item, source)

                dropped = with_items(SUPERSEDES, drop=drop)
                edits[new] = _planned(derived, new, dropped, without_empty(SUPERSEDES))
        return _written(derived, edits)


def _planned(derived: Derived, path: str, *changes: Change) -> Edit:
    return planned(derived.source_root / path, changes, root=derived.source_root)


def _written(derived: Derived, edits: Mapping[str, Edit]) -> list[str]:
    """Write edits that were all checked; returns the files that were changed."""
    changed = {path: edit for path, edit in edits.items() if edit.new != edit.old}
    if changed:
        contents = {edit.path: (edit.new, edit.old) for edit in changed.values()}
        files.update_all(contents, root=derived.source_root)
    return list(changed)


RULES: dict[str, str] = {
    "contradiction": "marks that contradict each other, and so do not count, or hide both memories",
    "several-successors": "a memory that several memories supersede, as after a merge of two branches",
    "unreadable-mark": "a time of validity that is no date",
    "in-doubt": "a memory derived from one that no longer holds",
    "expired": "a memory whose time is over, and which nothing supersedes",
    "stale": "a memory that should have been looked at again",
}


def findings_of_marks(
    chosen: Sequence[Document], marks: Marks, now: datetime
) -> Iterator[tuple[str, str]]:
    """Yield the rule and the text of each finding, rule by rule, in path order."""
    paths = [document.path for document in chosen]
    yield from _contradictions(paths, marks, now)
    for path in paths:
        news = [one for one in marks.superseding(path) if marks.holds(one, now)]
        if len(news) > 1:
            listed = ", ".join(f"`{one}`" for one in news)
            said = f"`{path}` is superseded by several memories that hold: {listed}"
            yield "several-successors", f"{said}; supersede all but one of them"
    for path in paths:
        for field, value in marks.unreadable(path):
            yield "unreadable-mark", f"`{path}` has {field}: {value}, which is no date"
    validities = [(path, marks.at(path, now)) for path in paths]
    for path, validity in validities:
        if validity.doubtful:
            ended = ", ".join(f"`{one}`" for one in validity.doubtful)
            yield "in-doubt", f"`{path}` is derived from what no longer holds: {ended}"
    yield from _over(validities)


def _over(validities: Sequence[tuple[str, Validity]]) -> Iterator[tuple[str, str]]:
    """Yield the memories whose time is over, and those that hold and are due for review."""
    for path, validity in validities:
        if validity.why == "expired" and validity.since is not None:
            said = f"`{path}` is no longer valid since {validity.since:%Y-%m-%d}"
            yield "expired", f"{said}: supersede it, retract it, or change its valid_until"
    for path, validity in validities:
        if validity.holds and validity.stale_since is not None:
            yield "stale", f"`{path}` is due for review since {validity.stale_since:%Y-%m-%d}"


def _contradictions(paths: Sequence[str], marks: Marks, now: datetime) -> Iterator[tuple[str, str]]:
    wanted = set(paths)
    for old, new in marks.cycles:
        if old in wanted:
            said = f"`{old}` is superseded by `{new}`, which it supersedes, perhaps through others"
            yield "contradiction", said
    for path in paths:
        if marks.contradicts_itself(path):
            yield "contradiction", f"`{path}` is valid until a time before it begins to be"
    for path in paths:
        for new in marks.superseding(path):
            if marks.at(new, now).why == "retracted":
                said = f"`{path}` is superseded by `{new}`, which was retracted"
                yield "contradiction", f"{said}: restore the one that holds"
