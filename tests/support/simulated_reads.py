"""The reading operations of a simulated root. Each result must equal that of the model."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import hedgerow as hr
from root_copy import Question, compare_answers, compare_files, copied
from root_model import Link, Note, RefusedError, Scope, Validity, links_in, time_of
from root_operations import Operation
from shrinking import MismatchError, expect
from simulated_root import ALL, SCOPES, SimulatedRoot, opened


class Reads(SimulatedRoot):
    """The read operations of a root."""

    def _recall(
        self, operation: Operation, words: tuple[str, ...], options: dict[str, Any]
    ) -> None:
        options = self._asked(options)
        found = self.handles[operation.handle].recall(" ".join(words), limit=ALL, **options)
        holding, left_out = self._recalled(SCOPES[operation.handle], words, options)
        files = [one.file for one in found]
        # By meaning alone an embedder also finds other memories.
        if operation.handle == 1:
            expect(holding - set(files), set(), "memories that a recall does not find")
        else:
            expect(sorted(files), sorted(holding), "memories of a recall")
        expect(dict(found.left_out), dict(left_out), "memories that a recall leaves out")
        ranks = [(-one.score, one.id) for one in found]
        expect(ranks, sorted(ranks), "the order of a recall")
        unreadable = [] if SCOPES[operation.handle].user else self.model.unreadable
        expect(sorted(skip.path for skip in found.unreadable), unreadable, "unreadable files")
        at = options.get("as_of")
        for one in found:
            expect(one.score, one.parts.total, f"the score of {one.file}")
            self._compare_validity(operation, one.file, one.validity, at)

    def _asked(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return recall options with numbers replaced by times of memories."""
        return {
            key: self._time_asked(value) if isinstance(value, tuple) else value
            for key, value in options.items()
        }

    def _time_asked(self, border: tuple[int, int, int]) -> str:
        """Return a time of a memory with an offset in microseconds.

        The present if the memory has no time.
        """
        picked, which, by = border
        note = self.model.notes.get(self._picked(picked))
        times = note.borders if note is not None else []
        time = times[which % len(times)] if times else self.clock.now
        return (time + timedelta(microseconds=by)).isoformat()

    def _recalled(
        self, scope: Scope, words: tuple[str, ...], options: dict[str, Any]
    ) -> tuple[set[str], Counter[str]]:
        """Return the memories that a recall finds, and the number of excluded ones by reason."""
        known, holding, left_out = self.model, set(), Counter[str]()
        at = options.get("as_of")
        time = self.clock.now if at is None else _end(at)
        for note in known.visible(scope):
            if not note.tokens & set(words):
                continue
            why = known.within(scope).at(note.path, time, was_known=at is not None).why
            if not _passes(note, options):
                left_out["filtered"] += 1
            elif why is None or options.get("include_superseded"):
                holding.add(note.path)
            else:
                left_out[why] += 1
        return holding, left_out

    def _list(self, operation: Operation, options: dict[str, Any]) -> None:
        scope, known = SCOPES[operation.handle], self.model
        found = self.handles[operation.handle].list(**options)
        validity = {
            note.path: self._validity_of(scope, note.path, None) for note in known.visible(scope)
        }
        notes = [
            note
            for note in known.visible(scope)
            if _passes(
                note, {key: options[key] for key in ("tags", "written_by") if key in options}
            )
        ]
        if "type" in options:
            notes = [note for note in notes if _type(note) == options["type"]]
        if "superseded" in options:
            notes = [note for note in notes if self._is_said_superseded(scope, note.path)]
        for why in ("retracted", "expired"):
            if why in options:
                notes = [note for note in notes if validity[note.path].why == why]
        listed = [
            (
                -note.changed((self.root / note.path).stat().st_mtime),
                note.path,
                note.type,
                note.title,
            )
            for note in notes
        ]
        begin = options.get("offset", 0)
        expected = sorted(listed)[begin : begin + options.get("limit", 100)]
        rows = [(-one.timestamp, one.file, one.type, one.title) for one in found.memories]
        expect(rows, expected, "a list")
        expect(found.count, len(listed), "the number of memories")
        for one in found.memories:
            self._compare_validity(operation, one.file, one.validity, None)

    def _is_said_superseded(self, scope: Scope, path: str) -> bool:
        known = self.model
        visible = {note.path for note in known.visible(scope)}
        by_itself = {known.linked(name, path) for name in known.names_of(path, "superseded_by")}
        by_others = {
            other
            for other in visible
            if path in {known.linked(name, other) for name in known.names_of(other, "supersedes")}
        }
        return bool((by_itself | by_others) & visible - {path})

    def _show(self, operation: Operation, picked: Any) -> None:
        key = self._key(picked)
        try:
            path = self._resolve(operation, key, own=False)
        except RefusedError as refused:
            expect(
                _code(lambda: self.handles[operation.handle].show(key)), refused.code, f"show {key}"
            )
            return
        shown = self.handles[operation.handle].show(key)
        data = self.files[path]
        expected = path, data.decode(), hashlib.sha256(data).hexdigest()
        expect((shown.file, shown.text, shown.digest), expected, f"show {key}")

    def _grep(self, operation: Operation, word: str) -> None:
        found = self.handles[operation.handle].grep(word, limit=ALL)
        lines = [(one.file, one.line, one.text) for one in found]
        expect(lines, list(self.model.lines(word, SCOPES[operation.handle], self.files)), "lines")
        expect(found.files, len({file for file, _, _ in lines}), "files with a line")

    def _validity(self, operation: Operation, picked: Any, at: Any) -> None:
        key, root = self._key(picked), self.handles[operation.handle]
        at = self._time_asked(at) if isinstance(at, tuple) else at
        try:
            path = self._resolve(operation, key, own=False)
        except RefusedError as refused:
            expect(_code(lambda: root.validity(key)), refused.code, f"the validity of {key}")
            return
        self._compare_validity(operation, path, root.validity(key, as_of=at), at)

    def _validity_of(self, scope: Scope, path: str, at: str | None) -> Validity:
        """Return the validity of a memory as a scope sees it."""
        time = self.clock.now if at is None else _end(at)
        return self.model.within(scope).at(path, time, was_known=at is not None)

    def _compare_validity(
        self, operation: Operation, path: str, found: Any, at: str | None
    ) -> None:
        expected = self._validity_of(SCOPES[operation.handle], path, at)
        fields = ("why", "since", "by", "reason", "doubtful", "stale_since")
        for name in fields:
            expect(getattr(found, name), getattr(expected, name), f"{name} of {path}")

    def _visit(self, operation: Operation, picked: Any, outcome: Any) -> None:
        key, root = self._key(picked), self.handles[operation.handle]
        try:
            path = self._resolve(operation, key, own=False)
        except RefusedError as refused:
            expect(_code(lambda: root.visit("linker", key)), refused.code, f"a visit of {key}")
            return
        done = root.visit("linker", key, outcome=outcome)
        expect((done.keys, done.at), ((path,), int(self.clock.now.timestamp())), "a visit")
        if outcome != "failed":
            self.visited.add(path)

    def _visited(self, operation: Operation) -> None:
        visible = {note.path for note in self.model.visible(SCOPES[operation.handle])}
        found = self._visited_now(operation.handle)
        expect(sorted(found), sorted(self.visited & visible), "visited memories")

    def _visited_now(self, handle: int = 0) -> set[str]:
        """Return the visited memories according to the store."""
        rows = self.handles[handle].query("all | visited:linker | select:key").rows or []
        return {str(row[0]) for row in rows}

    def _graph(self, operation: Operation) -> None:
        if operation.handle >= 2:
            return
        known = self.model
        expected = set()
        for path, note in known.notes.items():
            for relation, links in self._links_of(note).items():
                ends = (known.linked(one.name, path, is_path=one.is_path) for one in links)
                expected |= {(path, end, relation) for end in ends if end not in (None, path)}
        edges = self.handles[operation.handle].graph().edges
        expect(sorted(edge[:3] for edge in edges), sorted(expected), "edges")

    def _links_of(self, note: Note) -> dict[str, list[Link]]:
        """Return the links of a memory by relation."""
        relations = (
            "related",
            "derived_from",
            "conflicts_with",
            "see",
            "supersedes",
            "superseded_by",
        )
        stated = {
            key: [Link(name, is_path=False) for name in self.model.names_of(note.path, key)]
            for key in relations
        }
        return {**stated, "link": links_in(note.body.encode())}

    def _compare_with_a_copy(
        self, operation: Operation, words: tuple[str, ...], options: dict[str, Any], picked: int
    ) -> None:
        self.copies += 1
        folder = self.folder / f"copy-{self.copies}"
        copied(self.root, folder)
        root, path = self.handles[operation.handle], self._picked(picked)
        with opened(folder, operation.handle) as copy:
            question = Question(" ".join(words), self._asked(options), self.clock.now, path)
            compare_answers(root, copy, question)
            if SCOPES[operation.handle].user is None:
                compare_files(self.root, folder)

    def _check(self, _: Operation) -> None:
        from hedgerow.memory.doctor import diagnose  # noqa: PLC0415 - slow to import

        root = self.handles[0]
        root.graph()
        expect(root.status().compatible, True, "whether the root can be used")
        found = diagnose(self.root)
        expect((found.index.ok, found.index.message), (True, found.index.message), "the index")
        state = root.index_state()
        if state is None:
            raise MismatchError("there is no index")
        expect(
            (state.documents, state.stale), (len(self.model.notes), 0), "documents, and stale ones"
        )


def _code(call: Any) -> str | None:
    try:
        call()
    except hr.HedgerowError as error:
        return error.code
    return None


def _end(at: str) -> datetime:
    time = time_of(at, as_end=True)
    if time is None:
        raise MismatchError(f"no time: {at}")
    return time


def _type(note: Note) -> str:
    return note.type


def _is_nested(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}/")


def _passes(note: Note, options: dict[str, Any]) -> bool:
    """Return whether a memory passes the filters of a recall."""
    after, before = time_of(options.get("after")), time_of(options.get("before"))
    has_tags = all(
        any(_is_nested(tag, wanted) for tag in note.tags) for wanted in options.get("tags", [])
    )
    writers = options.get("written_by")
    has_writer = writers is None or any(
        _is_nested(name, wanted) for name in note.writers for wanted in writers
    )
    types = options.get("types")
    has_time = (after is None or (note.time is not None and note.time >= after)) and (
        before is None or (note.time is not None and note.time < before)
    )
    return has_tags and has_writer and (types is None or note.type in types) and has_time
