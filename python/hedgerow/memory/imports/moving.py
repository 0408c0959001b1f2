"""Importing: a plan of what each memory becomes, and carrying it out."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, NamedTuple

from hedgerow._checks import shown
from hedgerow._engine import _Documents, _yaml_value
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import (
    Skip,
    Source,
    UnreadableSourceError,
    passes_by,
    read_bytes,
    text_of,
)
from hedgerow.memory import files
from hedgerow.memory.derived import Derived
from hedgerow.memory.documents import parse_document, read_documents
from hedgerow.memory.edit import Change, changed_text
from hedgerow.memory.files import locked
from hedgerow.memory.names import IMPORT_ID
from hedgerow.memory.note import now
from hedgerow.memory.results import SimilarMemory
from hedgerow.memory.times import micros_of
from hedgerow.typing import Progress

from .conversations import chatgpt, claude, claude_code, codex
from .exports import Item, Items, basic_memory, jsonl, mem0, obsidian

FORMATS: Mapping[str, Callable[[Path], Items]] = {
    "obsidian": obsidian,
    "basic-memory": basic_memory,
    "mem0": mem0,
    "chatgpt": chatgpt,
    "claude": claude,
    "claude-code": claude_code,
    "codex": codex,
    "jsonl": jsonl,
}
"""The forms of export, each with what reads it."""

TRANSCRIPTS = ("claude-code", "codex")
"""The forms of which one file is one session."""

REPEATED = ("obsidian", "basic-memory", "chatgpt", "claude", *TRANSCRIPTS)
"""The forms of which a memory is written even if another one has its text.

Notes link to each other by name, and each conversation has its own time.
"""

ID, DIGEST = IMPORT_ID, "import_digest"
"""The fields of front matter by which an imported memory, and an edit of it, are recognized."""

ACTIONS = ("new", "changed", "unchanged", "edited", "same", "taken")
"""What becomes of a memory: its file is written, rewritten, or left as it is, because it has not
changed, was edited here, a memory has the same text, or another file has its name (spec/memory.md, "Moving in")."""


@dataclass(frozen=True, slots=True)
class ImportedMemory(Result):
    """A memory of an export: its id there, what becomes of it (`ACTIONS`), and its file here.

    For `same` this is the memory with the same text. `similar` has the memory that a new one is most like.
    """

    id: str
    action: str
    file: str
    similar: Annotated[
        tuple[SimilarMemory, ...],
        Field("The memory that a new one is most like", omit_default=True),
    ] = ()


@dataclass(frozen=True, slots=True)
class ImportResult(Result):
    """What was imported, or would be: the memories in the order of the export.

    `unreadable` is what could not be read; `gone` are files of an earlier import that the export
    no longer has, which stay. Files are below the root.
    """

    root: str
    format: str
    source: str
    applied: bool
    memories: tuple[ImportedMemory, ...]
    gone: tuple[str, ...]
    unreadable: tuple[Skip, ...]

    JSON_PROPERTIES: ClassVar[Mapping[str, str]] = {"counts": "counts"}

    @property
    def counts(self) -> dict[str, int]:
        """The number of memories of each action."""
        found = Counter(one.action for one in self.memories)
        return {action: found[action] for action in ACTIONS if found[action]}


def checked_format(name: str) -> Callable[[Path], Items]:
    """Return the reader of a form of export; InvalidInputError for any other word."""
    if not isinstance(name, str) or name not in FORMATS:
        raise InvalidInputError(
            f"format must be one of {', '.join(FORMATS)}, not {shown(name)}", code="invalid_option"
        )
    return FORMATS[name]


def move(
    derived: Derived, name: str, source: Path, progress: Progress | None, *, apply: bool
) -> ImportResult:
    """Read an export. Writes new and changed memories if applied."""
    documents = read_documents(derived.source_root, derived.rules)
    known = _known(derived, documents, name)
    skips: list[Skip] = []
    items: dict[str, Item] = {}
    for item in checked_format(name)(source):
        if isinstance(item, Skip):
            skips.append(item)
        elif _is_memory(derived, source / item.where):
            skips.append(Skip(item.where, "not_imported", "it is a memory of this root already"))
        elif item.id in items:
            problem = f"another memory has the id {item.id}"
            skips.append(Skip(item.where, "refused", problem, item.line))
        else:
            items[item.id] = item
    new = [_in_vault(derived, item) for key, item in items.items() if key not in known]
    copies = _copies(derived, documents, new)
    items |= {item.id: item for item in new}
    moved = []
    for done, item in enumerate(items.values(), start=1):
        try:
            if item.id in known:
                moved.append(_updated(derived, name, item, known[item.id], apply=apply))
            else:
                moved.append(_added(derived, name, item, copies.get(item.id), apply=apply))
        except HedgerowError as error:
            skips.append(Skip(item.where, error.code, error.message, item.line))
        if progress is not None:
            progress(done, len(items))
    # A transcript is one session of many.
    is_part = name in TRANSCRIPTS and source.is_file()
    gone = sorted(path for key, (path, _) in known.items() if key not in items and not is_part)
    root = str(derived.root)
    return ImportResult(root, name, str(source), apply, tuple(moved), tuple(gone), tuple(skips))


def _is_memory(derived: Derived, file: Path) -> bool:
    """Whether a note of the source is a file that the root reads: the folders may overlap."""
    if file.suffix.lower() != ".md":
        return False
    path = file.resolve()
    if not path.is_relative_to(derived.source_root):
        return False
    return not passes_by(derived.rules, path.relative_to(derived.source_root).as_posix())


def _known(derived: Derived, documents: _Documents, name: str) -> dict[str, tuple[str, str]]:
    """Return the file, below the root, and the text of each earlier import, by its id there."""
    found: dict[str, tuple[str, str]] = {}
    for inside, import_id, text in documents.with_field(ID):
        tool, sign, id_ = import_id.partition(":")
        path = derived.source_root / inside
        if sign and tool == name and path.is_relative_to(derived.root):
            found.setdefault(id_, (path.relative_to(derived.root).as_posix(), text))
    return found


class _Copy(NamedTuple):
    """The memory that an item is most like, and whether it has the same text."""

    of: SimilarMemory
    is_same: bool


def _copies(derived: Derived, documents: _Documents, items: Sequence[Item]) -> dict[str, _Copy]:
    """Return which items are like a memory of the root that holds, or like an item before them, by id.

    Only memories of the same scope are compared.
    """
    items = [item for item in items if not (derived.root / item.path).exists()]
    own = {item.path for item in items}
    found: dict[str, _Copy] = {}
    files = [(item.path, item.plain) for item in items]
    for number, original, likeness, same_as in documents.copies_in(files, micros_of(now())):
        file = same_as or original
        path = derived.source_root / file
        if file not in own and path.is_relative_to(derived.root):
            file = path.relative_to(derived.root).as_posix()
        alike = SimilarMemory(file, 1.0 if same_as else likeness)
        found[items[number].id] = _Copy(alike, same_as is not None)
    return found


def _added(
    derived: Derived, name: str, item: Item, copy: _Copy | None, *, apply: bool
) -> ImportedMemory:
    """Write a new memory, unless its name is taken or a memory has the same text."""
    path = derived.root / item.path
    if path.exists():
        return ImportedMemory(item.id, "taken", item.path)
    if copy is not None and copy.is_same and name not in REPEATED:
        return ImportedMemory(item.id, "same", copy.of.file)
    if apply:
        files.check_folders(derived.root, str(Path(item.path).parent))
        if not files.write_new(path, _marked(item, name)):
            return ImportedMemory(item.id, "taken", item.path)
        _keep_time(path, item)
    return ImportedMemory(item.id, "new", item.path, () if copy is None else (copy.of,))


def _updated(
    derived: Derived, name: str, item: Item, known: tuple[str, str], *, apply: bool
) -> ImportedMemory:
    """Rewrite the memory of an earlier import if it has changed at the source alone."""
    file, present = known
    bare = _bare(present, file)
    was = str(parse_document(file, present.encode()).metadata.get(DIGEST, ""))
    if was == _digest(item.plain):
        return ImportedMemory(item.id, "unchanged", file)
    if was != _digest(bare):
        return ImportedMemory(item.id, "edited", file)
    if apply:
        with locked(derived.lock):
            _rewrite(derived, file, present, _marked(item, name))
            _keep_time(derived.root / file, item)
    return ImportedMemory(item.id, "changed", file)


def _keep_time(path: Path, item: Item) -> None:
    """Give a file the time at which its note was last changed: without a date in it, that is its time."""
    if item.modified is not None:
        with files.system_errors("write", path):
            os.utime(path, ns=(item.modified, item.modified))


def _in_vault(derived: Derived, item: Item) -> Item:
    """Return an item with its path in the folder for new notes, if the root is a vault."""
    _, _, rest = item.path.partition("/")
    if derived.vault is None or not rest:
        return item
    return replace(item, path=(PurePosixPath(derived.folder_of("note")) / rest).as_posix())


def _rewrite(derived: Derived, file: str, present: str, text: str) -> None:
    """Replace the text of a file; HedgerowError (`file_changed`) unless it is still `present`.

    Line ends do not count: version control may have changed them.
    """
    path = derived.root / file
    try:
        data = read_bytes(Source(file, str(path)))
        is_same = text_of(data) == present
    except UnreadableSourceError as error:
        raise HedgerowError(f"{file} cannot be read: {error.reason}", code="root_io") from error
    expected = data if is_same else present.encode()
    files.update(path, text.encode(), expected=expected, root=derived.root)


_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its end."""


def _marked(item: Item, name: str) -> str:
    """Return the file with the mark of an import. All other characters stay.

    The marks are the last lines of front matter that is not YAML, and a block of their own above a text
    that begins otherwise, as with TOML.
    """
    fields = {ID: f"{name}:{item.id}", DIGEST: _digest(item.plain)}
    text = item.text.removeprefix("\ufeff")
    mark = item.text[: len(item.text) - len(text)]
    try:
        return mark + changed_text(text, item.path, Change(fields=fields))
    except HedgerowError:
        lines = _LINE.findall(text)
        newline = lines[0][len(lines[0].rstrip("\r\n")) :]
        end = parse_document(item.path, item.text.encode()).matter.body_start - 1
        if end < 1:
            end, lines = 1, [f"---{newline}", f"---{newline}", *lines]
        marks = [f"{key}: {_yaml_value(value)}{newline}" for key, value in fields.items()]
        return mark + "".join([*lines[:end], *marks, *lines[end:]])


def _bare(text: str, path: str) -> str:
    """Return a file without those marks."""
    try:
        return changed_text(text, path, Change(removed=(ID, DIGEST)))
    except HedgerowError:
        lines = text.split("\n")
        end = parse_document(path, text.encode()).matter.body_start
        kept = (one for one in lines[:end] if not one.startswith((f"{ID}: ", f"{DIGEST}: ")))
        return "\n".join([*kept, *lines[end:]])


def _digest(text: str) -> str:
    # Marks make a block where there was none, which taking them out leaves empty.
    return hashlib.sha256(text.removeprefix("---\n---\n").encode()).hexdigest()[:16]
