"""A model of a memory root in plain Python: files, their meaning, and operations.

Files are bytes by path. Files of the simulation have front matter with lines `key: JSON`, which
need no YAML parser. The rules are those of spec/memory.md.
"""

from __future__ import annotations

import json
import posixpath
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

Files = Mapping[str, bytes]
"""The files of a root: content by path."""

FOLDERS = {
    "note": "notes", "session": "sessions", "finding": "findings", "decision": "decisions",
    "preference": "preferences", "page": "pages",
}  # fmt: skip
_TYPES = {folder: kind for kind, folder in FOLDERS.items()}
LIKE = 0.65
"""The least likeness of near-duplicates."""

_MICROSECOND = timedelta(microseconds=1)
_DAY_OF_NAME = re.compile(r"\d{4}-\d\d-\d\d")
_LINK = re.compile(r"\[\[([^\[\]|#\n]+)\]\]|\]\(([^)#\s]+)(?:#[^)]*)?\)")
"""A name in brackets, or a path in a Markdown link."""
_TAG = re.compile(r"(?:^|(?<=\s))#([a-z][\w/]*)", re.MULTILINE)


class RefusedError(Exception):
    """The error that hedgerow raises for an operation, by its code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


# Times.


def iso(time: datetime) -> str:
    """Return a time in the format of front matter."""
    text = time.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def time_of(text: Any, *, as_end: bool = False) -> datetime | None:
    """Return the time in a front matter text. With `as_end`, a date means the end of its day."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    is_date = _DAY_OF_NAME.fullmatch(text)
    return time + timedelta(days=1) - _MICROSECOND if as_end and is_date else time


# Scopes.


@dataclass(frozen=True)
class Scope:
    """The memories that a handle sees.

    They are those of `user`, or all if `user` is None. With `shared` they include those without a
    user.
    """

    user: str | None = None
    shared: bool = False

    @property
    def own(self) -> Scope:
        """The memories that the handle writes."""
        return Scope(self.user)

    def has(self, other: str | None) -> bool:
        """Return whether memories of another user, or those without a user, are in this scope."""
        return self.user in (None, other) or (self.shared and other is None)


# Notes.


@dataclass(frozen=True)
class Note:
    """A parsed file: its front matter, and its text."""

    path: str
    fields: Mapping[str, Any]
    body: str

    @property
    def sources(self) -> list[str]:
        """The memories that the generated part of a page was made from."""
        part = self.body.partition("<!-- hedgerow:begin -->")[2].partition("<!-- hedgerow:end -->")[
            0
        ]
        below = part.partition("## Source memories\n")[2].partition("\n#")[0]
        return re.findall(r"^- `([^`\n]+)` ", below, re.MULTILINE)

    @property
    def title(self) -> str:
        """The title in the front matter, or the first heading of level 1."""
        heading = re.search(r"(?m)^# (.*)$", self.body)
        return str(self.fields.get("title") or (heading[1] if heading else ""))

    @property
    def type(self) -> str:
        """The stated type, or that of the folder."""
        return str(self.fields.get("type") or _TYPES.get(self.path.partition("/")[0], "note"))

    @property
    def user(self) -> str | None:
        """The user in the scope of the memory."""
        scope = self.fields.get("scope") or {}
        return str(scope["user"]) if "user" in scope else None

    @property
    def tags(self) -> list[str]:
        """The tags of the front matter and of the text."""
        return [*self.fields.get("tags", []), *_TAG.findall(self.body)]

    @property
    def writers(self) -> list[str]:
        """The names of the writers."""
        stated = self.fields.get("written_by", [])
        return stated if isinstance(stated, list) else [stated]

    @property
    def time(self) -> datetime | None:
        """The time of the memory."""
        keys = ("date", "created_at", "created", "updated_at")
        stated = (time_of(self.fields.get(key)) for key in keys)
        return next((time for time in stated if time), self._day_of_name)

    @property
    def _day_of_name(self) -> datetime | None:
        day = _DAY_OF_NAME.match(self.path.rpartition("/")[2])
        return time_of(day[0]) if day else None

    def changed(self, modified: float) -> int:
        """Return the time of the last change in Unix seconds. `modified` is the file's own time."""
        keys = ("updated_at", "created_at", "created", "date")
        stated = [time_of(self.fields.get(key)) for key in keys]
        time = next((time for time in [*stated, self._day_of_name] if time), None)
        return int(modified if time is None else time.timestamp())

    @property
    def interval(self) -> tuple[datetime | None, datetime | None]:
        """The begin and end of the validity, ignored if they are contradictory."""
        begin = time_of(self.fields.get("valid_from"))
        end = time_of(self.fields.get("valid_until"), as_end=True)
        return (None, None) if begin and end and end < begin else (begin, end)

    @property
    def review(self) -> datetime | None:
        """The time of the next review."""
        given = self.fields.get("stale_after")
        days = re.fullmatch(r"(\d+)d", given or "")
        if days:
            return self.time + timedelta(days=int(days[1])) if self.time else None
        return time_of(given, as_end=True)

    @property
    def borders(self) -> list[datetime]:
        """The times at which the state of the memory changes."""
        times = [self.time, *self.interval, self.review, time_of(self.fields.get("retracted"))]
        return [time for time in times if time]

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The words and signs below the heading in their order; of the whole text if these have no word."""
        below = re.sub(r"\A\s*# [^\n]*(\n|\Z)", "", self.body)
        for text in (below, self.body):
            folded = unicodedata.normalize("NFKC", text).casefold()
            found = re.findall(r"\w+|[^\w\s]", folded)
            if any(re.match(r"\w", unit) for unit in found):
                return tuple(found)
        return ()

    def likeness(self, other: Note) -> float:
        """The share of common words, signs and pairs of neighbors, of those that either text has."""
        one, two = (
            {*note.units, *zip(note.units, note.units[1:], strict=False)} for note in (self, other)
        )
        return len(one & two) / len(one | two) if one and two else 0

    @cached_property
    def tokens(self) -> set[str]:
        """The words that a recall can match."""
        texts = [self.path, self.title, *self.tags, *self.fields.get("aliases", []), self.body]
        return set(re.findall(r"\w+", _form(" ".join(texts)).lower().replace("_", " ")))


@lru_cache(maxsize=4096)
def note_of(path: str, data: bytes) -> Note | None:
    """Parse a file. None if it is not text."""
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    if lines[0] != "---":
        return Note(path, {}, text)
    end = lines.index("---", 1)
    fields = (line.partition(": ") for line in lines[1:end])
    return Note(
        path, {key: json.loads(value) for key, _, value in fields}, "\n".join(lines[end + 1 :])
    )


# Changes of texts.


def compact(value: Any) -> str:
    """Return JSON in the format of front matter."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(fields: Mapping[str, Any], title: str, body: str) -> bytes:
    """Return the file of a new memory."""
    lines = [f"{key}: {compact(value)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---", "", f"# {title}", "", body, ""]).encode()


class _Parts(NamedTuple):
    """The lines of front matter by key, the rest of a file, and its line ends."""

    fields: dict[str, str]
    rest: str
    newline: str

    @classmethod
    def of(cls, data: bytes) -> _Parts:
        newline = "\r\n" if b"\r\n" in data else "\n"
        text = data.decode().replace("\r\n", "\n")
        lines = text.split("\n")
        if lines[0] != "---":
            return cls({}, text, newline)
        end = lines.index("---", 1)
        fields = (line.partition(": ") for line in lines[1:end])
        return cls({key: value for key, _, value in fields}, "\n".join(lines[end + 1 :]), newline)

    def joined(self, fields: Mapping[str, str]) -> bytes:
        """Return the file with other fields."""
        lines = (f"{key}: {value}\n" for key, value in fields.items())
        text = f"---\n{''.join(lines)}---\n{self.rest}"
        return text.replace("\n", self.newline).encode()


def with_fields(data: bytes, values: Mapping[str, Any]) -> bytes:
    """Set fields of front matter. An existing field stays in its line."""
    parts = _Parts.of(data)
    fields = parts.fields
    new = {
        key: compact(value)
        for key, value in values.items()
        if key not in fields or json.loads(fields[key]) != value
    }
    return parts.joined({**fields, **new}) if new else data


def without_fields(data: bytes, keys: Collection[str]) -> bytes:
    """Remove fields of front matter, and the front matter itself with its last field."""
    parts = _Parts.of(data)
    fields = parts.fields
    kept = {key: value for key, value in fields.items() if key not in keys}
    if fields and not kept:
        return parts.rest.replace("\n", parts.newline).encode()
    return parts.joined(kept) if len(kept) < len(fields) else data


def with_item(data: bytes, key: str, item: Any, drop: Callable[[Any], bool] | None = None) -> bytes:
    """Add an item to a list in front matter, unless it is there, and drop others."""
    data = without_items(data, key, drop) if drop is not None else data
    parts = _Parts.of(data)
    fields = parts.fields
    value = json.loads(fields.get(key, "[]"))
    items = value if isinstance(value, list) else [value]
    if item in items:
        return data
    if not items or not isinstance(value, list):
        return parts.joined({**fields, key: compact([*items, item])})
    return parts.joined({**fields, key: f"{fields[key][:-1]}, {compact(item)}]"})


def without_items(data: bytes, key: str, drop: Callable[[Any], bool]) -> bytes:
    """Drop items from a list in front matter. An empty list stays."""
    parts = _Parts.of(data)
    fields = parts.fields
    items = json.loads(fields.get(key, "[]"))
    kept = [item for item in items if not drop(item)]
    return data if len(kept) == len(items) else parts.joined({**fields, key: compact(kept)})


# The root.


@dataclass(frozen=True)
class Validity:
    """The validity of a memory, with hedgerow's fields."""

    why: str | None = None
    since: datetime | None = None
    by: tuple[str, ...] = ()
    reason: str | None = None
    doubtful: tuple[str, ...] = ()
    stale_since: datetime | None = None


class RootModel:
    """The meaning of the files of a root. A new model is built for each state of the files."""

    def __init__(self, files: Files) -> None:
        found = (note_of(path, files[path]) for path in sorted(files))
        self.notes = {note.path: note for note in found if note is not None}
        self.unreadable = sorted(files.keys() - self.notes.keys())
        self._views: dict[Scope, RootModel] = {}

    def visible(self, scope: Scope) -> list[Note]:
        """Return the memories of a scope in path order."""
        return [note for note in self.notes.values() if scope.has(note.user)]

    def within(self, scope: Scope) -> RootModel:
        """Return the model of the memories of a scope, as if there were no others.

        The scope of an unreadable file is unknown, so no scope has it.
        """
        if scope.user is None:
            return self
        if scope not in self._views:
            view = self._views[scope] = RootModel({})
            view.notes = {note.path: note for note in self.visible(scope)}
        return self._views[scope]

    # Names.

    def _candidates(
        self, name: str, folder: str, among: Iterable[str], *, by_user: bool = False
    ) -> list[str]:
        # File systems and editors use different Unicode forms.
        paths = {_form(path): path for path in among}
        name = _form(name)
        from_folder = f"{folder}/{name}" if folder else name
        for path in (name, from_folder):
            for one in (path, f"{path}.md"):
                if one in paths:
                    return [paths[one]]
        stem = name.lower().removesuffix(".md")
        ends = [form for form in sorted(paths) if f"/{form[:-3]}".lower().endswith(f"/{stem}")]
        ends = [paths[form] for form in ends]
        is_of_pages = all(map(self._is_page, ends))
        if ends and not (by_user and is_of_pages):
            return ends
        titled = [
            path
            for path in sorted(paths.values())
            if path in self.notes
            and " ".join(name.lower().split()) in self._titles(self.notes[path])
        ]
        return sorted({*ends, *titled})

    def _is_page(self, path: str) -> bool:
        return path in self.notes and self.notes[path].type == "page"

    def _titles(self, note: Note) -> list[str]:
        return [_form(one).lower() for one in (note.title, *note.fields.get("aliases", [])) if one]

    def linked(self, name: str, source: str, *, is_path: bool = False) -> str | None:
        """Return the memory that a link resolves to: of several the nearest, then the first.

        A path is relative to the folder of the memory, or after `/` to the root, and leads nowhere above it.
        """
        if is_path:
            folder = "" if name.startswith("/") else posixpath.dirname(source)
            path = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
            found = {_form(one): one for one in self.notes}
            return found.get(_form(path)) or found.get(_form(f"{path}.md"))
        return self._nearest(name, source, self.notes)

    def _marked(self, name: str, source: str) -> str | None:
        """Return the file that a mark refers to, which may be unreadable.

        That of another user is none, and neither is an unreadable file for a memory of a user.
        """
        user = self._user(source)
        unreadable = self.unreadable if user is None else []
        notes = [
            path for path in self.notes if None in (user, of := self._user(path)) or of == user
        ]
        return self._nearest(name, source, [*notes, *unreadable])

    def _nearest(self, name: str, source: str, among: Iterable[str]) -> str | None:
        folder = source.rpartition("/")[0]
        found = self._candidates(name, folder, among)
        return min(found, key=lambda path: (_steps(folder, path), path), default=None)

    def resolve(
        self,
        key: str,
        scope: Scope,
        now: datetime,
        *,
        seen: Scope | None = None,
        ended: bool = False,
    ) -> str:
        """Return the memory of a key among those of a scope. With `ended`, prefer an invalid one among several.

        Marks are those that the scope `seen` has, which may also be of shared memories.
        """
        visible = [note.path for note in self.visible(scope)]
        found = self._candidates(key, "", visible, by_user=True)
        if not found:
            raise RefusedError("unknown_node")
        if len(found) > 1:
            found = [path for path in found if not self._is_page(path)] or found
        if len(found) > 1:
            view = self.within(seen or scope)
            found = [path for path in found if (view.at(path, now).why is None) is not ended]
        if len(found) != 1:
            raise RefusedError("ambiguous_node")
        return found[0]

    def names_of(self, path: str, key: str) -> list[str]:
        """Return the names under a key of front matter, without brackets."""
        value = self.notes[path].fields.get(key, [])
        items = value if isinstance(value, list) else [value]
        texts = [item["to"] if isinstance(item, dict) else item for item in items]
        return [text.removeprefix("[[").removesuffix("]]") for text in texts]

    # Validity.

    @cached_property
    def _said(self) -> dict[str, dict[str, str | None]]:
        """Superseding memories by superseded memory: path by name, None without a file."""
        said: dict[str, dict[str, str | None]] = {}
        for path, note in self.notes.items():
            for name in self.names_of(path, "supersedes"):
                old = self._marked(name, path)
                if old not in (None, path) and Scope(note.user).has(self._user(old)):
                    said.setdefault(old or "", {})[path] = path
            for name in self.names_of(path, "superseded_by"):
                new = self._marked(name, path)
                if new != path:
                    said.setdefault(path, {})[new or name] = new
        return said

    def _user(self, path: str | None) -> str | None:
        """Return the user of a memory. None if the file is unreadable."""
        return self.notes[path].user if path in self.notes else None

    def _leads(self, start: str, end: str) -> bool:
        """Return whether a chain of supersessions leads from one memory to another."""
        seen, waiting = {start}, [start]
        while waiting:
            news = {new for new in self._said.get(waiting.pop(), {}).values() if new} - seen
            seen |= news
            waiting += news
        return end in seen

    def said_to_supersede(self, path: str) -> list[str]:
        """Return the names of all memories stated to supersede a memory, including cycles."""
        return sorted(self._said.get(path, {}))

    @cached_property
    def superseding(self) -> dict[str, dict[str, str | None]]:
        """Superseding memories by superseded memory, without cycles."""
        return {
            old: {
                name: new
                for name, new in sorted(news.items())
                if new is None or not self._leads(new, old)
            }
            for old, news in self._said.items()
        }

    def _ended(self, path: str, time: datetime) -> Validity | None:
        note = self.notes.get(path) or Note(path, {}, "")
        retracted = note.fields.get("retracted")
        if retracted:
            since = time_of(retracted)
            if since is None or since <= time:
                return Validity("retracted", since, reason=note.fields.get("retraction_reason"))
        begins = {
            name: self.notes[new].interval[0] or self.notes[new].time if new in self.notes else None
            for name, new in self.superseding.get(path, {}).items()
        }
        begun = {name: since for name, since in begins.items() if since is None or since <= time}
        if begun:
            known = [since for since in begun.values() if since]
            return Validity("superseded", min(known, default=None), tuple(sorted(begun)))
        until = note.interval[1]
        return Validity("expired", until) if until and until < time else None

    def at(self, path: str, time: datetime, *, was_known: bool = False) -> Validity:
        """Return whether a memory is valid. `was_known` is for a recall as of a time."""
        note = self.notes[path]
        begin = note.interval[0] or (note.time if was_known else None)
        begins_later = Validity("not_yet_valid", begin) if begin and begin > time else Validity()
        found = self._ended(path, time) or begins_later
        review = note.review
        return Validity(
            found.why,
            found.since,
            found.by,
            found.reason,
            tuple(one for one in self._sources(path) if self._ended(one, time)),
            review if review and review < time else None,
        )

    def _sources(self, path: str) -> list[str]:
        """Return the memories that a memory is derived from, transitively."""
        seen, waiting = {path}, [path]
        while waiting:
            of = waiting.pop()
            names = []
            if of in self.notes:
                names = [*self.names_of(of, "derived_from"), *self.notes[of].sources]
            found = {self._marked(name, of) for name in names} - seen - {None}
            seen |= {one for one in found if one}
            waiting += [one for one in found if one]
        return sorted(seen - {path})

    # Searches.

    def alike(self, text: str, scope: Scope, now: datetime) -> dict[str, float]:
        """Return valid memories that are like a text, with their likeness."""
        given, found = Note("", {}, text), {}
        for note in self.visible(scope.own):
            likeness = given.likeness(note)
            if likeness >= LIKE and not self.within(scope).at(note.path, now).why:
                found[note.path] = likeness
        return found

    def same(self, text: str, scope: Scope, now: datetime) -> list[str]:
        """Return valid memories with the same text."""
        units = Note("", {}, text).units
        return [path for path in self.alike(text, scope, now) if self.notes[path].units == units]

    def lines(self, word: str, scope: Scope, texts: Files) -> Iterator[tuple[str, int, str]]:
        """Yield the lines that contain a word: file, line number and text."""
        for note in self.visible(scope):
            for number, line in enumerate(
                texts[note.path].decode().replace("\r\n", "\n").split("\n"), start=1
            ):
                if word in line:
                    yield note.path, number, line


def _form(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _steps(folder: str, path: str) -> int:
    """Return the number of folders up and down between a folder and a file."""
    here = folder.split("/") if folder else []
    there = path.split("/")[:-1]
    common = 0
    while here[common : common + 1] == there[common : common + 1] != []:
        common += 1
    return len(here) + len(there) - 2 * common


class Link(NamedTuple):
    """A link: a name or a path."""

    name: str
    is_path: bool


def links_in(data: bytes) -> list[Link]:
    """Return the links of a file in order."""
    found = _LINK.finditer(data.decode())
    return [Link(one[1] or unquote(one[2]), one[1] is None) for one in found]


def without_links(data: bytes) -> str:
    """Return a file without its link targets, to compare the text that a rename must not change."""
    return _LINK.sub("", data.decode())
