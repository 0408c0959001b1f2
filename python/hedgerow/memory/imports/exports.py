"""Exports of other tools: the items that every form is read into, the records of mem0 and JSON Lines, and folders of Markdown: vaults of Obsidian, and the projects of basic-memory."""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from itertools import starmap
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from hedgerow._checks import checked_text
from hedgerow._times import utc
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import (
    Skip,
    Source,
    UnreadableSourceError,
    list_folder,
    read_bytes,
    text_of,
)
from hedgerow.memory import note
from hedgerow.memory.documents import Document, memory_rules, parse_document
from hedgerow.memory.edit import Change, ListItems, changed_text
from hedgerow.memory.files import system_errors
from hedgerow.memory.links import OWN_FIELDS, RELATIONS, is_relation
from hedgerow.memory.names import DIRECTORIES, TEMPLATES, setting, type_word
from hedgerow.memory.scope import FIELD, Scope
from hedgerow.memory.times import parse_time

# The files of exports: JSON, JSON Lines, and JSON in a ZIP archive.

LARGEST = 1 << 30
"""The most bytes of an export that are read."""

# The errors that `zipfile` raises for damage, an unknown compression and an encrypted member.
_BAD_ARCHIVE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
)  # fmt: skip
with suppress(ImportError):  # an optional part of CPython
    from lzma import LZMAError

    _BAD_ARCHIVE += (LZMAError,)


def read_json(source: Path, name: str) -> Any:
    """Read the JSON of an export: a file, or `name` in a folder or in a ZIP archive.

    Raises InvalidInputError for anything that is not JSON, or is over the limit.
    """
    file = source / name if source.is_dir() else source
    if not file.is_file():
        raise _refused(file, "there is no such file")
    with system_errors("read", file):
        if zipfile.is_zipfile(file):
            data = _member(file, name)
        else:
            with file.open("rb") as stream:
                data = _limited(stream, file)
    return _parsed(data, file)


def _parsed(data: bytes, file: Path) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _refused(file, f"it is no JSON ({error})") from error


def read_parts(source: Path, *stems: str) -> Iterator[tuple[str, Any]]:
    """Read the JSON of an export that may be in several files: `stem`.json, `stem`-000.json, ...

    Yields the name and the value of each, from a folder, a ZIP archive or one file. One of several
    that cannot be read is a Skip, and so is other JSON next to them. Raises InvalidInputError for anything else.
    """
    pattern = re.compile(
        rf"(?:{'|'.join(map(re.escape, stems))})(?:[-_]?\d+)?\.json", re.IGNORECASE
    )
    with system_errors("read", source), ExitStack() as stack:
        if source.is_dir():
            others = {one.name: partial(read_json, one, one.name) for one in source.iterdir()}
        elif source.is_file() and zipfile.is_zipfile(source):
            archive = stack.enter_context(_archive(source))
            others = {
                PurePosixPath(name).name: partial(_json_member, archive, source, name)
                for name in _members(archive, pattern)
            }
        else:
            others = {source.name: partial(read_json, source, f"{stems[0]}.json")}
            pattern = re.compile(".*", re.DOTALL)
        read = {
            name: others.pop(name)
            for name in sorted(others, key=_numbered)
            if pattern.fullmatch(name)
        }
        if not read:
            raise _refused(source, f"it holds no {stems[0]}.json")
        for name, value in read.items():
            try:
                yield name, value()
            except InvalidInputError as error:  # noqa: PERF203 - each file by itself
                if len(read) == 1:
                    raise
                yield name, Skip(name, "refused", error.message)
        for name in sorted(others):
            if name.lower().endswith(".json"):
                yield name, Skip(name, "not_imported", "it holds no conversation")


def _numbered(name: str) -> tuple[int, str]:
    return len(name), name


def read_lines(source: Path) -> Iterator[tuple[int, dict[str, Any] | Skip]]:
    """Read the objects of JSON Lines, each with its line; any other line is a Skip.

    Raises InvalidInputError for a ZIP archive, and for one JSON list.
    """
    if not source.is_file():
        problem = (
            "it is a folder; name a file in it" if source.is_dir() else "there is no such file"
        )
        raise _refused(source, problem)
    with system_errors("read", source), source.open("rb") as stream:
        _refuse_archive(source)
        data = _limited(stream, source)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16", errors="replace").encode(errors="replace")
    if _is_list(data):
        raise _refused(source, "it is one JSON list; write each object of it on a line")
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            problem = "" if isinstance(found, dict) else "the line is no JSON object"
        except (ValueError, RecursionError) as error:
            found, problem = None, f"the line is no JSON ({error})"
        yield number, Skip(source.name, "refused", problem, number) if problem else found


def _is_list(data: bytes) -> bool:
    """Whether the lines are one JSON list of objects."""
    if not data.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
        return False
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return any(isinstance(one, dict) for one in found)


def list_in(value: Any, source: Path, *keys: str) -> list[Any]:
    """Return the list of an export, which may be the value of one of some keys."""
    if isinstance(value, dict):
        value = next((value[key] for key in keys if isinstance(value.get(key), list)), value)
    if not isinstance(value, list):
        where = f", or an object with {' or '.join(keys)}" if keys else ""
        raise _refused(source, f"it is no list{where}")
    return value


@contextmanager
def _archive(file: Path) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive. Raises InvalidInputError if it cannot be read."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except _BAD_ARCHIVE as error:
        raise _refused(file, f"it is no ZIP archive that can be read ({error})") from error


def _member(file: Path, name: str) -> bytes:
    """Read the member of an archive with such a name, in the folder nearest to its top."""
    with _archive(file) as archive:
        members = [one for one in archive.namelist() if PurePosixPath(one).name == name]
        if not members:
            raise _refused(file, f"it holds no {name}")
        with archive.open(min(members, key=len)) as stream:
            return _limited(stream, file)


def _members(archive: zipfile.ZipFile, pattern: re.Pattern[str]) -> list[str]:
    """Return the members of the folder with a name of the pattern, the nearest to the top of an archive."""
    paths = {name: PurePosixPath(name) for name in archive.namelist()}
    folders = {path.parent for path in paths.values() if pattern.fullmatch(path.name)}
    top = min(folders, key=lambda one: (len(one.parts), str(one)), default=None)
    return [name for name, path in paths.items() if path.parent == top]


def _json_member(archive: zipfile.ZipFile, file: Path, name: str) -> Any:
    try:
        with archive.open(name) as stream:
            data = _limited(stream, file)
    except _BAD_ARCHIVE as error:
        raise _refused(file, f"it is no ZIP archive that can be read ({name}: {error})") from error
    return _parsed(data, file)


def _refuse_archive(file: Path) -> None:
    """Raise InvalidInputError for a ZIP archive, where a form of export is not read from one."""
    if zipfile.is_zipfile(file):
        raise _refused(file, "it is a ZIP archive; unpack it first")


def _limited(stream: IO[bytes], file: Path) -> bytes:
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _refused(file, f"it has more than {LARGEST:,} bytes; split it")
    return data


def _refused(file: Path, problem: str) -> InvalidInputError:
    return InvalidInputError(f"{file} cannot be imported: {problem}", code="invalid_export")


# The items that every form of export is read into.


_MARK = 8


@dataclass(frozen=True, slots=True)
class Item:
    """A memory of another tool: its id there, and the file that it becomes.

    `path` is below the root, `text` the whole file without what marks it as imported, with the byte order
    mark and the line ends of the export. `where` and `line` are its place in the export. `modified` is the
    time of the last change of a file there, in Unix nanoseconds.
    """

    id: str
    path: str
    text: str
    where: str
    line: int | None = None
    modified: int | None = None

    @property
    def plain(self) -> str:
        """The text as memories are read: without a byte order mark, with newlines as line ends."""
        return text_of(self.text.encode())


Items = Iterator[Item | Skip]


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as parts, for exports that are not Markdown."""

    id: str
    text: str
    title: str = ""
    kind: str = "note"
    tags: tuple[str, ...] = ()
    created: datetime | None = None
    updated: datetime | None = None
    scope: Scope = field(default_factory=Scope)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def item(self, tool: str, where: str, line: int | None = None) -> Item | Skip:
        """Return the file that it becomes, or a Skip at its place in the export.

        A blank text is skipped, and half of a surrogate pair anywhere.
        """
        try:
            return self._item(tool, where, line)
        except HedgerowError as error:
            return Skip(where, "refused", error.message, line)

    def _item(self, tool: str, where: str, line: int | None) -> Item:
        """Return the file that it becomes, whose name ends with a hash of its id."""
        checked_text(self.id, "the id")
        title = note.checked_title(self.title or note.title_of(self.text), "Untitled memory")
        matter: dict[str, Any] = {"type": self.kind, "title": title, "source": tool}
        for name, time in (("created_at", self.created), ("updated_at", self.updated)):
            if time is not None:
                matter[name] = note.iso_time(time)
        if self.tags:
            matter["tags"] = list(self.tags)
        matter |= self.fields
        if self.scope:
            matter[FIELD] = self.scope.to_dict()
        mark = hashlib.sha256(f"{tool}\0{self.id}".encode()).hexdigest()[:_MARK]
        # As for any memory in a folder of another name, a type without a folder is stated alone.
        known = self.kind if self.kind in DIRECTORIES else "note"
        if self.created is None:
            name = note.undated_name(title, known, "untitled")
        else:
            name = f"{self.created.date()}-{note.slug(title, 'untitled')}"
        path = f"{DIRECTORIES[known]}/{name}-{mark}.md"
        text = note.render_note(matter, title, note.checked_body(self.text))
        return Item(self.id, path, checked_text(text, "the memory"), where, line)


_FIRST_IN_MILLISECONDS = 100_000_000_000
"""Unix times from this number on are milliseconds: as seconds it is in the year 5138, as milliseconds in 1973."""
_NUMBER = re.compile(r"\d{9,13}(?:\.\d+)?")
"""A Unix time as text: fewer digits may be a date such as 20240501."""


def time_from(value: object) -> datetime | None:
    """Return a time given as ISO 8601, or as Unix seconds or milliseconds; None for anything else.

    A text may be a Unix time of 9 digits or more.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float):
        seconds = value / 1000 if abs(value) >= _FIRST_IN_MILLISECONDS else value
        try:
            return datetime.fromtimestamp(seconds, timezone.utc)
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, str):
        value = re.sub(r"\s*UTC\Z", "Z", value.strip())
    found = parse_time(value)
    return None if found is None else utc(found)


def digest_of(text: str) -> str:
    """Return the id of a record that has none: a digest of its text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def texts_from(value: object) -> tuple[str, ...]:
    """Return the texts of a list, or those between the commas of a text; none for anything else."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return ()
    return tuple(one.strip() for one in value if isinstance(one, str) and one.strip())


# Memories as records: those of mem0, and JSON Lines of any origin.


_TEXTS = ("text", "memory", "content")
_SCOPE = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
_TIMES = ("date", "created_at", "updated_at")
_READ = frozenset(
    [*_TEXTS, *_SCOPE, "id", "title", "type", "tags", "categories", "scope", "hash"]
) | {*_TIMES, "metadata", "score"}


def mem0(source: Path) -> Items:
    """Read the JSON of mem0's `get_all`: a list, or an object with `results`."""
    name = source.name or "mem0"
    records = list_in(read_json(source, "memories.json"), source, "results", "memories")
    for at, record in enumerate(records):
        yield _item(record, f"{name}[{at}]", "mem0")


def jsonl(source: Path) -> Items:
    """Read JSON Lines: an object with `text` on each line, and any of the fields of a memory."""
    for number, record in read_lines(source):
        yield record if isinstance(record, Skip) else _item(record, source.name, "jsonl", number)


def _item(record: Any, where: str, tool: str, line: int | None = None) -> Item | Skip:
    is_record = isinstance(record, dict)
    text = next((record[key] for key in _TEXTS if key in record), None) if is_record else None
    if not isinstance(text, str) or not text.strip():
        return Skip(where, "refused", f"it has no {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}", line)
    ids = [record[key] for key in _SCOPE if isinstance(record.get(key), str)]
    try:
        for one in (text, *ids):
            checked_text(one, "the memory")
    except HedgerowError as error:
        return Skip(where, "refused", error.message, line)
    scope = _scope(record)
    if scope.is_unreadable:
        problem = 'its scope cannot be read; write it as in {"user": "ana"}, with texts of 1 to 200 characters'
        return Skip(where, "refused", problem, line)
    given = record.get("id")
    own = str(given) if isinstance(given, str | int) and str(given).strip() else ""
    kind, title = record.get("type"), record.get("title")
    created = time_from(record.get("date")) or time_from(record.get("created_at"))
    return Memory(
        own or digest_of(text),
        text,
        title if isinstance(title, str) else "",
        (type_word(kind) if isinstance(kind, str) else "") or "note",
        texts_from(record.get("tags")) or texts_from(record.get("categories")),
        created,
        time_from(record.get("updated_at")),
        scope,
        _fields(record),
    ).item(tool, where, line)


def _scope(record: dict[str, Any]) -> Scope:
    ids = {name: record.get(key) for key, name in _SCOPE.items() if record.get(key) != ""}
    return Scope.stated(record) or Scope.stated({FIELD: ids})


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    """Return further fields of front matter: those that are not read, and what mem0 calls metadata."""
    metadata = record.get("metadata")
    further = {key: value for key, value in record.items() if key not in _READ}
    more = metadata if isinstance(metadata, dict) else {}
    # A time that cannot be read stays as it is written: `doctor` names it.
    unread = {key: record[key] for key in _TIMES if _is_unread_time(record.get(key))}
    return unread | {
        # JSON has no NaN and no infinity, and Python reads both from it.
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in {**more, **further}.items()
        if key.isidentifier()
        and key not in _READ
        and key not in OWN_FIELDS
        and key not in RELATIONS
        and isinstance(value, str | int | float | bool)
    }


def _is_unread_time(value: object) -> bool:
    """Whether a value is a text that names no time."""
    return isinstance(value, str) and bool(value.strip()) and time_from(value) is None


_PASSED_BY = {"other": "not Markdown", "link": "a link"}
_NAMES_OF_TEMPLATES = frozenset({"templates", "template"})
_RELATION = re.compile(r"\s*[-*]\s+(\w[\w -]*)\Z")
_NAME = re.compile(r"[^\[\]|#\n]+")
_MOST_RELATIONS = 100
"""The most relations of a note, each with any number of links, that become front matter."""


def obsidian(source: Path) -> Items:
    """Read the notes of a vault, unchanged, in the folders of the vault."""
    for one in _documents(source):
        if isinstance(one, Skip):
            yield one
        else:
            path = one.document.path
            yield Item(path, f"notes/{path}", one.text, path, modified=one.modified)


def basic_memory(source: Path) -> Items:
    """Read the notes of a project; their relations become links of front matter as well."""
    for one in _documents(source):
        if isinstance(one, Skip):
            yield one
            continue
        document, text = one.document, one.text
        path = document.path
        folder = DIRECTORIES.get(document.matter.text("type"), "notes")
        # Front matter that is not YAML is kept unchanged; its relations are still links in the text.
        with suppress(HedgerowError):
            links = [ListItems(relation, names) for relation, names in _relations(document).items()]
            bare = text.removeprefix("\ufeff")
            text = text[: len(text) - len(bare)] + changed_text(bare, path, Change(links))
        id_ = document.matter.text("permalink") or path
        yield Item(id_, f"{folder}/{path}", text, path, modified=one.modified)


class Note(NamedTuple):
    """A Markdown file: how it is read, its whole text, and the time of its last change in nanoseconds."""

    document: Document
    text: str
    modified: int


def _documents(source: Path) -> Iterator[Note | Skip]:
    """Yield the Markdown files of a folder in path order, and a skip for each other file."""
    if not source.is_dir():
        with system_errors("read", source):
            _refuse_archive(source)
        raise _refused(source, "it is no folder")
    listing = list_folder(source, memory_rules((), ()), named=True)
    yield from starmap(Skip, listing.skips)
    for path, code in listing.named:
        if code in _PASSED_BY:
            yield Skip(path, "not_imported", _PASSED_BY[code])
    templates = _template_folders(source)
    for path in sorted(listing.files):
        if _is_template(path, templates):
            yield Skip(path, "not_imported", "it is a template")
            continue
        if path.lower().endswith(".excalidraw.md"):
            yield Skip(path, "not_imported", "it is a drawing")
            continue
        with suppress(FileNotFoundError):  # deleted meanwhile
            yield read_note(source / path, path)


def read_note(file: Path, name: str) -> Note | Skip:
    """Read a Markdown file; a skip if it cannot be read or is empty. Raises FileNotFoundError."""
    try:
        data = read_bytes(Source(name, str(file)))
        document = parse_document(name, data)
        modified = file.stat().st_mtime_ns
    except UnreadableSourceError as error:
        return Skip(name, error.code, error.reason)
    if _is_empty(document):
        return Skip(name, "not_imported", "it is empty")
    return Note(document, data.decode(), modified)


def _is_empty(document: Document) -> bool:
    """Whether a note has no text, and its front matter none either."""
    stated = document.matter.text("title", "summary", "description")
    return not (document.body.strip() or stated or document.metadata.get("aliases"))


def _template_folders(source: Path) -> frozenset[str]:
    """Return the folders of templates that the settings of Obsidian name, in lower case."""
    named = [setting(source, file, key) for file, key in TEMPLATES]
    folders = [one.strip("/ ").casefold() for one in named if isinstance(one, str)]
    return frozenset(one for one in folders if one)


def _is_template(path: str, folders: Collection[str]) -> bool:
    """Whether a note is in a folder of templates, by the settings or by the name of the folder."""
    parents = [str(one).casefold() for one in PurePosixPath(path).parents]
    return any(
        one in folders or one.rpartition("/")[2].strip("_- 0123456789") in _NAMES_OF_TEMPLATES
        for one in parents
    )


def _relations(document: Document) -> dict[str, list[Any]]:
    """Return the links of the lines `- relation [[Name]]` of a note, by relation."""
    found: dict[str, list[Any]] = {}
    for line in document.body.split("\n"):
        head, _, tail = line.partition("[[")
        name = _NAME.match(tail)
        # Without the spaces before the brackets: a pattern for both would take quadratic time.
        match = _RELATION.match(head.rstrip()) if name and head[-1:].isspace() else None
        if match and name:
            relation = re.sub(r"[ -]+", "_", match[1].lower())
            if is_relation(relation) and (relation in found or len(found) < _MOST_RELATIONS):
                found.setdefault(relation, []).append(f"[[{name[0].strip()}]]")
    return found
