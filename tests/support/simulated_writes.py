"""The writing operations of a simulated root, each with its planned files or error."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import hedgerow as hr
import root_model as model
from root_model import Note, RefusedError
from root_operations import TITLES, Change, NewMemory, Operation
from shrinking import expect
from simulated_reads import Reads
from simulated_root import MOST_FILES, SCOPES, Plan


class Writes(Reads):
    """The write operations of a root."""

    def _new_path(self, folder: str, title: str) -> str:
        day = self.clock.now.astimezone().strftime("%Y-%m-%d")
        base = f"{folder}/{day}-{title.lower().replace(' ', '-')}"
        milliseconds = int(self.clock.now.timestamp() * 1000)
        names = (base, *(f"{base}-{milliseconds}-{number}" for number in range(1, 21)))
        return next(f"{name}.md" for name in names if f"{name}.md" not in self.files)

    def _new_file(self, new: NewMemory, body: str, further: Mapping[str, Any]) -> tuple[str, bytes]:
        """Return the path and the content of a new memory."""
        now = model.iso(self.clock.now)
        fields = {
            "type": new.kind,
            "title": new.title,
            "source": "hedgerow-remember",
            "created_at": now,
            "updated_at": now,
            "confidence": "user-reviewed",
            "tags": list(dict.fromkeys(new.tags)),
            **further,
        }
        path = self._new_path(model.FOLDERS[new.kind], new.title)
        return path, model.text_of(fields, new.title, body)

    def _stated(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the front matter fields that a writer states, in order."""
        stated = {
            key: given[key] for key in ("written_by", "valid_until", "stale_after") if key in given
        }
        if stated.get("valid_until") == "2d":
            stated["valid_until"] = model.iso(self.clock.now + timedelta(days=2))
        return stated

    def _remember(self, operation: Operation, new: NewMemory) -> None:
        if len(self.files) >= MOST_FILES:
            return
        body, scope = self._filled(new.body), SCOPES[operation.handle]
        self.handles[operation.handle].list()  # loads all edits by hand
        alike = self.model.alike(body, scope, self.clock.now)
        same = self.model.same(body, scope, self.clock.now)
        most = same or [path for path, share in alike.items() if share == max(alike.values())]
        replaced: list[str] = []

        def call(root: hr.MemoryRoot) -> Any:
            done = root.remember(
                body,
                title=new.title,
                type=new.kind,
                tags=new.tags,
                on_duplicate=new.on_duplicate,
                **new.stated,
            )
            replaced.extend(filter(None, [done.superseded]))
            return done

        def plan(old: str | None) -> Plan:
            if (same and new.on_duplicate == "report") or (alike and new.on_duplicate == "refuse"):
                raise RefusedError("duplicate_memory")
            further = self._stated(new.stated)
            if old is not None:
                further["supersedes"] = [f"[[{old[:-3]}]]"]
            path, data = self._new_file(new, body, {**further, **self._scope_of_new(operation)})
            after = {**self.files, path: data}
            if old is not None:
                after[old] = model.with_item(after[old], "superseded_by", f"[[{path[:-3]}]]")
            return Plan(after)

        # Of several equally similar memories, any may be replaced.
        plans = [plan(old) for old in most] if new.on_duplicate == "supersede" and alike else []

        def is_like(path: str, found: bytes | None, planned: bytes | None) -> bool:
            return found == planned or any(found == one.files.get(path) for one in plans)

        result = self._write(
            operation, lambda: replace(plans[0], is_like=is_like) if plans else plan(None), call
        )
        if result is not None:
            expect(
                result.superseded in most if plans else result.superseded is None,
                True,
                "what was superseded",
            )
            shares = {one.file: one.likeness for one in result.similar}
            others = {path: share for path, share in alike.items() if path != result.superseded}
            expected = sorted(others.values(), reverse=True)[: len(shares)]
            expect(
                [shares[path] for path in shares if others.get(path) == shares[path]],
                expected,
                "similar memories",
            )
            most_named = min(len(others), 5 - (result.superseded is not None))
            expect(len(shares), most_named, "the number of similar memories")
            is_indexed = operation.fault is not None or result.indexed
            expect(is_indexed, True, f"whether it is indexed, {result.problem}")

    def _wrapup(self, operation: Operation, title: str, words: str) -> None:
        if len(self.files) >= MOST_FILES:
            return
        names = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")
        body = "\n\n".join(f"## {name}\n\n{words}" for name in names)

        def plan() -> Plan:
            now = model.iso(self.clock.now)
            fields = {
                "type": "session",
                "title": title,
                "source": "hedgerow-wrapup",
                "created_at": now,
            }
            fields |= {
                "updated_at": now,
                "confidence": "agent-drafted",
                "review": "user-review-recommended",
            }
            more = {
                "tags": [],
                "recall_topic": words.split(maxsplit=1)[0],
                **self._scope_of_new(operation),
            }
            path = self._new_path("sessions", title)
            return Plan({**self.files, path: model.text_of({**fields, **more}, title, body)})

        self._write(
            operation,
            plan,
            lambda root: root.wrapup(body, title=title, topic=words.split(maxsplit=1)[0]),
        )

    def _edit(self, operation: Operation, change: Change) -> None:
        how, word, writer = change.how, change.word, change.writer
        key, scope = self._key(change.key), SCOPES[operation.handle]
        whole = self._file(self._picked(change.key[0]), *change.file)
        new = {"whole": whole.decode(), "append": word, "replace": "exchanged"}[how]
        known = self.files.get(self._picked(change.key[0]), b"")
        options: dict[str, Any] = (
            {"append": True} if how == "append" else {"replace": word} if how == "replace" else {}
        )
        digest: list[str] = []

        def plan() -> Plan:
            path = self._resolve(operation, key)
            before = self.files[path]
            newline = "\r\n" if b"\r\n" in before else "\n"
            digest.append(hashlib.sha256(known if change.is_late else before).hexdigest())
            if change.is_late and known != before:
                raise RefusedError("file_changed")
            if how == "replace" and before.count(word.encode()) != 1:
                raise RefusedError("invalid_option")
            edited = {
                "whole": whole,
                "append": f"{before.decode().rstrip()}{newline * 2}{word}{newline}".encode(),
                "replace": before.replace(word.encode(), b"exchanged"),
            }[how]
            if writer is not None:
                edited = model.with_item(edited, "written_by", writer)
                note = _read(path, edited)
                if {"created_at", "updated_at"} & note.fields.keys():
                    edited = model.with_fields(edited, {"updated_at": model.iso(self.clock.now)})
            if not scope.own.has(_read(path, edited).user):
                raise RefusedError("invalid_note")
            return Plan({**self.files, path: edited})

        def call(root: hr.MemoryRoot) -> Any:
            return root.edit(
                key, new, digest[0] if digest else "0" * 64, written_by=writer, **options
            )

        done = self._write(operation, plan, call)
        if done is not None:
            expect(
                (done.text.encode(), done.digest),
                _shown(self.files[done.file]),
                "the text after an edit",
            )

    def _rename(self, operation: Operation, picked: Any, to: str) -> None:
        key, moved, before_files = self._key(picked), self.model, self.files
        visible = {note.path for note in moved.visible(SCOPES[operation.handle].own)}
        paths: list[str] = []

        def plan() -> Plan:
            path = self._resolve(operation, key)
            name = to if to.endswith(".md") else f"{to}.md"
            new = name if "/" in name or "/" not in path else f"{path.rpartition('/')[0]}/{name}"
            if new in self.files:
                raise RefusedError("invalid_option")
            paths.extend([path, new])
            rest = {one: data for one, data in self.files.items() if one != path}
            return Plan({**rest, new: self.files[path]}, is_like=is_like)

        def is_like(_: str, found: bytes | None, planned: bytes | None) -> bool:
            both = found is not None and planned is not None
            return found == planned or (
                both and model.without_links(found or b"") == model.without_links(planned or b"")
            )

        done = self._write(operation, plan, lambda root: root.rename(key, to))
        if done is None:
            if operation.fault and paths and paths[1] in self.files and paths[0] in self.files:
                # The new name exists, and the old one is still there, as after a crash in between.
                self.files.pop(paths[0])
                (self.root / paths[0]).unlink()
            return
        expect([done.file, done.to], paths, "what was renamed")
        after, by_hand = self.model, {skip.path for skip in done.by_hand}
        for path in after.notes:
            old = done.file if path == done.to else path
            if old not in visible or path in by_hand or old not in moved.notes:
                continue
            before = [
                moved.linked(link.name, old, is_path=link.is_path)
                for link in model.links_in(before_files[old])
            ]
            now = [
                after.linked(link.name, path, is_path=link.is_path)
                for link in model.links_in(self.files[path])
            ]
            for was, one in zip(before, now, strict=True):
                # A name that resolved to nothing may resolve to the new file.
                if was == done.file or (path == done.to and was is not None):
                    expect(one, done.to if was == done.file else was, f"a link of {path}")

    def _supersede(self, operation: Operation, old_picked: Any, new_picked: Any) -> None:
        old_key, new_key = self._key(old_picked), self._key(new_picked)

        def plan() -> Plan:
            old, new = self._resolve(operation, old_key), self._resolve(operation, new_key)
            chain = [new]
            for path in chain:
                chain += [one for one in self.model.said_to_supersede(path) if one not in chain]
            if old in chain:
                raise RefusedError("invalid_edge")
            after = dict(self.files)
            after[new] = model.with_item(after[new], "supersedes", f"[[{old[:-3]}]]")
            after[old] = model.with_item(after[old], "superseded_by", f"[[{new[:-3]}]]")
            return Plan(after)

        self._check_mark(
            operation,
            self._write(operation, plan, lambda root: root.supersede(old_key, by=new_key)),
        )

    def _supersede_with_a_text(self, operation: Operation, picked: Any, body: str) -> None:
        if len(self.files) >= MOST_FILES:
            return
        key, body = self._key(picked), self._filled(body)

        def plan() -> Plan:
            old = self._resolve(operation, key)
            if self.model.same(body, SCOPES[operation.handle], self.clock.now):
                raise RefusedError("duplicate_memory")
            note = self.model.notes[old]
            stated = note.fields.get("type")
            kind = stated if stated in model.FOLDERS else "note"
            further = {"supersedes": [f"[[{old[:-3]}]]"], **self._scope_of_new(operation)}
            tags = note.fields.get("tags", [])
            new = NewMemory(TITLES[0], body, kind, tags, "keep", {})
            path, data = self._new_file(new, body, further)
            after = {**self.files, path: data}
            after[old] = model.with_item(after[old], "superseded_by", f"[[{path[:-3]}]]")
            return Plan(after)

        done = self._write(
            operation, plan, lambda root: root.supersede(key, text=body, title=TITLES[0])
        )
        self._check_mark(operation, done)

    def _retract(self, operation: Operation, picked: Any, reason: str | None) -> None:
        key = self._key(picked)

        def plan() -> Plan:
            path = self._resolve(operation, key)
            fields = {"retracted": model.iso(self.clock.now)}
            if reason is not None:
                fields["retraction_reason"] = reason
            return Plan({**self.files, path: model.with_fields(self.files[path], fields)})

        self._check_mark(
            operation, self._write(operation, plan, lambda root: root.retract(key, reason))
        )

    def _restore(self, operation: Operation, picked: Any) -> None:
        key, scope = self._key(picked), SCOPES[operation.handle].own

        def plan() -> Plan:
            known, path = self.model, self._resolve(operation, key, ended=True)
            after = dict(self.files)
            marks = ("retracted", "retraction_reason", "superseded_by")
            after[path] = model.without_fields(after[path], marks)
            for new in known.said_to_supersede(path):
                if new in known.notes and scope.has(known.notes[new].user):

                    def leads(item: Any, source: str = new) -> bool:
                        return (
                            known.linked(item.removeprefix("[[").removesuffix("]]"), source) == path
                        )

                    after[new] = model.without_items(after[new], "supersedes", leads)
                    if _read(new, after[new]).fields.get("supersedes") == []:
                        after[new] = model.without_fields(after[new], ("supersedes",))
            return Plan(after)

        self._check_mark(operation, self._write(operation, plan, lambda root: root.restore(key)))

    def _check_mark(self, operation: Operation, done: Any) -> None:
        if done is not None:
            self._compare_validity(operation, done.file, done.validity, None)

    def _forget(self, operation: Operation, picked: Any) -> None:
        key = self._key(picked)
        paths: list[str] = []

        def plan() -> Plan:
            paths.append(self._resolve(operation, key))
            rest = {path: data for path, data in self.files.items() if path != paths[0]}
            if not rest:
                raise RefusedError("nothing_found")
            return Plan(rest, is_like=_but_quoting(paths[0]))

        if len(self.files) > 1:
            done = self._write(operation, plan, lambda root: root.forget(key, purge=True))
            # Visits are deleted before the file, so a crash may leave only the file.
            if done is not None or (paths and paths[0] not in self._visited_now()):
                self.visited.discard(paths[0])

    def _link(
        self, operation: Operation, first: Any, second: Any, relation: str, strength: float
    ) -> None:
        a_key, b_key = self._key(first), self._key(second)

        def plan() -> Plan:
            a, b = self._resolve(operation, a_key), self._resolve(operation, b_key, own=False)
            if a == b:
                raise RefusedError("invalid_edge")
            name = f"[[{b[:-3]}]]"
            item = name if strength == 1.0 else {"to": name, "strength": strength}
            leads = self._leads(a, b)
            return Plan(
                {
                    **self.files,
                    a: model.with_item(
                        self.files[a], relation, item, lambda old: old != item and leads(old)
                    ),
                }
            )

        self._write(operation, plan, lambda root: root.link(a_key, b_key, strength, relation))

    def _unlink(self, operation: Operation, first: Any, second: Any, relation: str) -> None:
        a_key, b_key = self._key(first), self._key(second)
        removed: list[bool] = []

        def plan() -> Plan:
            a, b = self._resolve(operation, a_key), self._resolve(operation, b_key, own=False)
            if a == b:
                raise RefusedError("invalid_edge")
            after = model.without_items(self.files[a], relation, self._leads(a, b))
            removed.append(after != self.files[a])
            in_text = model.links_in(self.model.notes[a].body.encode())
            if not removed[0] and any(
                self.model.linked(one.name, a, is_path=one.is_path) == b for one in in_text
            ):
                raise RefusedError("invalid_edge")
            return Plan({**self.files, a: after})

        done = self._write(operation, plan, lambda root: root.unlink(a_key, b_key, relation))
        if done is not None:
            expect([done.removed], removed, "whether a link was removed")

    def _leads(self, source: str, target: str) -> Callable[[Any], bool]:
        known = self.model

        def leads(item: Any) -> bool:
            name = item["to"] if isinstance(item, dict) else item
            return known.linked(name.removeprefix("[[").removesuffix("]]"), source) == target

        return leads

    def _dedupe(self, operation: Operation) -> None:
        def plan() -> Plan:
            known = self.model
            groups: dict[tuple[str | None, tuple[str, ...]], list[str]] = {}
            own = SCOPES[operation.handle].own
            for note in sorted(known.visible(own), key=_age):
                has_text = re.sub(r"(?m)^#+( .*)?$", "", note.body).strip()
                if (
                    note.units
                    and has_text
                    and known.within(own).at(note.path, self.clock.now).why is None
                ):
                    groups.setdefault((note.user, note.units), []).append(note.path)
            after = dict(self.files)
            for first, *copies in groups.values():
                for copy in copies:
                    after[first] = model.with_item(after[first], "supersedes", f"[[{copy[:-3]}]]")
                    after[copy] = model.with_item(after[copy], "superseded_by", f"[[{first[:-3]}]]")
            return Plan(after)

        self._write(operation, plan, lambda root: root.process("dedupe", apply=True))

    def _synthesize(self, operation: Operation, topic: str) -> None:
        if len(self.files) >= MOST_FILES:
            return
        try:
            done = self.handles[operation.handle].process("synthesize", topic=topic, apply=True)
        except hr.HedgerowError as error:
            expect(error.code in {"no_sources", "invalid_front_matter"}, True, f"no page: {error}")
            expect(self._on_disk(), self.files, "files without a page")
            return
        found = self._on_disk()
        rest = {path: data for path, data in found.items() if path not in done.files}
        expect(
            rest,
            {path: data for path, data in self.files.items() if path not in done.files},
            "the others",
        )
        expect(len(done.files), 1, "pages")
        self.files = found

    def _import(self, operation: Operation, *records: dict[str, Any]) -> None:
        if operation.handle >= 2 or len(self.files) + len(records) > MOST_FILES:
            return
        source = self.folder / "export.jsonl"
        source.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
        done = self.handles[operation.handle].import_from(source, "jsonl", apply=True)
        written = {one.file for one in done.memories if one.action in {"new", "changed"}}
        expect(len(done.memories), len(records), f"records, without {done.unreadable}")
        found = self._on_disk()
        for path in found.keys() | self.files.keys():
            if path in written:
                expect(
                    _read(path, found[path]).fields["import_id"][:6],
                    "jsonl:",
                    f"the mark of {path}",
                )
            else:
                expect(found.get(path), self.files.get(path), f"the file {path} after an import")
        self.files = found


def _read(path: str, data: bytes) -> Note:
    """Parse a file that must be text."""
    note = model.note_of(path, data)
    if note is None:
        raise UnicodeError(path)
    return note


def _shown(data: bytes) -> tuple[bytes, str]:
    return data, hashlib.sha256(data).hexdigest()


def _but_quoting(file: str) -> Callable[[str, bytes | None, bytes | None], bool]:
    """Return a comparison of files after a memory is forgotten.

    Pages may lose the lines that quote the memory, and a page whose generated part quotes no other may be gone.
    """

    def is_like(_: str, found: bytes | None, planned: bytes | None) -> bool:
        _, begin, rest = (planned or b"").decode(errors="replace").partition("hedgerow:begin")
        if not begin or found is not None:
            return found == planned or bool(begin)
        quotes = [line for line in rest.split("\n") if line.startswith("- ")]
        return all(f"`{file}`" in line for line in quotes)

    return is_like


def _age(note: Note) -> tuple[bool, datetime, str]:
    """Return the sort key for the oldest first. A memory without a time counts as the youngest."""
    never = datetime.max.replace(tzinfo=timezone.utc)
    return note.time is None, note.time or never, note.path
