"""Remembering: a memory is written, then indexed (spec/memory.md, "Memories")."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hedgerow._checks import checked_flag, checked_text, checked_texts
from hedgerow._engine import LIKE, Index, _find_secrets, _level_two_sections, _likeness, _words_of
from hedgerow._times import parse_age
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, passes_by, read_bytes
from hedgerow.typing import QuestionDate

from . import files, note
from .derived import Derived, check_folder
from .documents import Document, parse_document
from .edit import WRITTEN_BY, checked_writer
from .files import locked
from .links import written_name
from .marks import SUPERSEDES, Marks, check_markable, supersede
from .names import DIRECTORIES, separate_tags
from .note import checked_body, checked_type, iso_time, now, title_of
from .operations import RememberRequest, SupersedeRequest, WrapupRequest
from .recall import filter_of, ranked
from .results import RememberResult, Validation
from .root_files import RootFiles
from .scope import Scope, front_matter_of
from .sync import sync_one
from .times import checked_end

# Texts that look like secrets: keys, tokens, passwords and card numbers (spec/memory.md, "Secrets").


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that looks like a secret: its kind and its line, from 1.

    `start` has its first characters, which name the issuer; it is empty for a password.
    """

    kind: str
    line: int
    start: str

    def __str__(self) -> str:
        start = f" ({self.start}…)" if self.start else ""
        return f"{self.kind} on line {self.line}{start}"


def check_no_secret(text: str, title: str = "", *, allowed: bool) -> None:
    """Raise InvalidInputError (`looks_like_secret`) if a text or its title has one, unless allowed."""
    if checked_flag(allowed, "allow_secret"):
        return
    for part, name in ((text, "text"), (title, "title")):
        if found := _find_secrets(part):
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise InvalidInputError(
                f"the {name} looks like it has a secret: {Secret(*found[0])}{more}; nothing was written. "
                "Remove the secret, or write it with --allow-secret (allow_secret=True)",
                code="looks_like_secret",
            )


# Memories with the same content as a new text (spec/memory.md, "What is the same").


_logger = logging.getLogger("hedgerow.memory")

_CANDIDATES = 20
_LOOKED_UP = 64
"""The most distinct words of the text in the search for candidates."""


class Duplicate(NamedTuple):
    """A memory that says the same as a text, or nearly: the file, and its likeness."""

    file: str
    likeness: float

    def __str__(self) -> str:
        if self.likeness == 1:
            return f"{self.file} says the same"
        return f"{self.file} says nearly the same ({self.likeness:.0%} of the words)"


@contextmanager
def one_writer(derived: Derived) -> Iterator[None]:
    """Let one thread of one process at a time look for a duplicate and write, until it is indexed.

    A separate lock from the one of the index, which writing and indexing take. No embedder runs
    meanwhile. Where nothing can be locked, writers do not wait for each other.
    """
    with ExitStack() as held:
        try:
            check_folder(derived)
            held.enter_context(locked(derived.remember_lock))
        except HedgerowError as error:
            if error.code == "index_busy":
                raise
            _logger.info("%s is written to without a lock: %s", derived.root, error.message)
        yield


def duplicate_of(
    derived: Derived, index: Index, marks: Callable[[], Marks], text: str, scope: Scope
) -> Duplicate | None:
    """Return the memory of a scope that holds and says the same as a text, or most nearly so."""
    words = dict.fromkeys(word for word in _words_of(text) if word[0].isalnum())
    if not words:
        return None
    query = " ".join([*words][:_LOOKED_UP])
    found = ranked(index, None, query, _CANDIDATES, whole=True, where=filter_of(scope))
    read = [_read(derived, path) for path in found or ()]
    documents = [one for one in read if one and scope.has(Scope.stated(one.metadata))]
    shares = _likeness(text, [one.body for one in documents])
    known = zip(documents, shares, strict=True)
    alike = [Duplicate(one.path, share) for one, share in known if share >= LIKE]
    alike.sort(key=lambda one: -one.likeness)
    present = note.now()
    return next((one for one in alike if marks().holds(one.file, present)), None)


def error_of(found: Duplicate) -> HedgerowError:
    """Return the error of a text that is remembered already."""
    return HedgerowError(
        f'nothing was written: {found}; keep both with on_duplicate="keep" (--force), or put the '
        'new one in its place with on_duplicate="supersede" (--supersede)',
        code="duplicate_memory",
    )


def _read(derived: Derived, path: str) -> Document | None:
    """Read a file as it is now; None where the index knows more than there is."""
    try:
        return parse_document(path, read_bytes(Source(path, str(derived.source_root / path))))
    except UnreadableSourceError:
        return None


# Writing memories (spec/memory.md, "Memories"): always new files.


WRAPUP_SECTIONS = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")

_MOST_NAMES = 20


def write_memory(  # noqa: PLR0913 - the parts of a memory
    root: Path,
    body: str,
    *,
    title: str,
    kind: str = "note",
    folder: str | None = None,
    tags: Sequence[str] = (),
    fields: Mapping[str, Any] | None = None,
    scope: Scope = Scope(),  # noqa: B008 - frozen
) -> str:
    """Write a memory that a user asks to keep; returns its path below the root, with `/`.

    It is written to `folder`, by default that of its type.
    `fields` are put into its front matter after those that each has, and the scope after these.

    Raises InvalidInputError for an unknown type or a blank text, before anything is written.
    """
    note.checked_type(kind)
    text = note.checked_body(body)
    line = note.checked_title(title, "Untitled memory")
    time = note.now()
    matter = {
        "type": kind,
        "title": line,
        "source": "hedgerow-remember",
        "created_at": note.iso_time(time),
        "updated_at": note.iso_time(time),
        "confidence": "user-reviewed",
        "tags": separate_tags(checked_texts(tags, "tags")),
        **(fields or {}),
        **front_matter_of(scope),
    }
    name = note.slug(line, "untitled")
    return _write(
        root, folder or DIRECTORIES[kind], name, time, note.render_note(matter, line, text)
    )


def write_wrapup(  # noqa: PLR0913 - the parts of a memory
    root: Path,
    body: str,
    *,
    title: str,
    topic: str | None,
    folder: str | None = None,
    tags: Sequence[str] = (),
    fields: Mapping[str, Any] | None = None,
    scope: Scope = Scope(),  # noqa: B008 - frozen
) -> str:
    """Write the wrapup of a session, already checked; returns its path below the root.

    `fields` are put into its front matter as in `write_memory`.
    """
    line = note.checked_title(title, "Session wrapup")
    time = note.now()
    matter: dict[str, Any] = {
        "type": "session",
        "title": line,
        "source": "hedgerow-wrapup",
        "created_at": note.iso_time(time),
        "updated_at": note.iso_time(time),
        "confidence": "agent-drafted",
        "review": "user-review-recommended",
        "tags": separate_tags(checked_texts(tags, "tags")),
    }
    if topic is not None:
        matter["recall_topic"] = topic
    matter |= {**(fields or {}), **front_matter_of(scope)}
    name = note.slug(line, "session-wrapup")
    text = note.render_note(matter, line, body)
    return _write(root, folder or DIRECTORIES["session"], name, time, text)


def checked_wrapup(body: str) -> str:
    """Return the trimmed text of a wrapup; InvalidInputError that lists all sections it lacks."""
    text = note.checked_body(body) if checked_text(body, "text").strip() else ""
    validation = validate_wrapup(text)
    problems = []
    if validation.missing_sections:
        problems.append(f"Missing required sections: {_listed(validation.missing_sections)}.")
    if validation.empty_sections:
        problems.append(f"Sections without text: {_listed(validation.empty_sections)}.")
    if problems:
        raise InvalidInputError(
            f"{' '.join(problems)} Write each as a level-2 heading with text below it; "
            '"None captured." will do. Nothing was written',
            code="invalid_note",
        )
    return text


def validate_wrapup(body: str) -> Validation:
    """Find the sections of a wrapup, in any order and case, among others."""
    found: dict[str, str] = {}
    for name, text in _level_two_sections(body):
        found[name] = found.get(name, "") + text
    names = {name: found.get(name.casefold()) for name in WRAPUP_SECTIONS}
    missing = tuple(name for name, text in names.items() if text is None)
    empty = tuple(name for name, text in names.items() if text is not None and not text.strip())
    return Validation(not (missing or empty), missing, empty)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"## {name}" for name in names)


def _write(root: Path, folder: str, name: str, time: datetime, text: str) -> str:
    """Write under the first free name; two processes never get the same one."""
    files.check_folders(root, folder)
    base = f"{note.day(time)}-{name}"
    milliseconds = int(time.timestamp() * 1000)
    numbered = (f"{base}-{milliseconds}-{count}" for count in range(1, _MOST_NAMES + 1))
    for candidate in (base, *numbered):
        relative = (PurePosixPath(folder) / f"{candidate}.md").as_posix()
        if files.write_new(root / relative, text):
            return relative
    raise HedgerowError(
        f"{root / folder} has {_MOST_NAMES} files named {base}; give the memory another title",
        code="root_io",
    )


# Remembering: a memory is written, then indexed (spec/memory.md, "Memories").


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def remember(  # noqa: PLR0913 - the parts of a memory
    derived: Derived,
    text: str,
    *,
    title: str,
    kind: str,
    tags: Sequence[str],
    fields: Mapping[str, Any] | None = None,
    scope: Scope = Scope(),  # noqa: B008 - frozen
    instead_of: str | None = None,
    files: RootFiles | None = None,
) -> RememberResult:
    """Write a memory, with further `fields` of front matter, and index it.

    It takes the place of the memory `instead_of`, if one is given. `files` are the index and the store of
    a handle.
    """
    said = dict(fields or {})
    if instead_of is not None:
        check_markable(derived, instead_of)
        _check_inside(derived, kind)
        said[SUPERSEDES] = [written_name(instead_of)]
    file = write_memory(
        derived.root,
        text,
        title=title,
        kind=kind,
        folder=derived.folder_of(checked_type(kind)),
        tags=tags,
        fields=said,
        scope=scope,
    )
    done = _indexed(derived, file, files)
    if instead_of is not None:
        supersede(derived, instead_of, indexed_path(derived, file))
    return replace(done, superseded=instead_of)


def stated_fields(
    request: RememberRequest | WrapupRequest | SupersedeRequest, defaults: Mapping[str, str]
) -> dict[str, str]:
    """Return the front matter of who writes a memory, when it expires and when a review is due.

    `defaults` has an age for each of the times that is not given. Raises InvalidInputError for a date
    that does not exist, and for a name of a writer that is blank or too long.
    """
    given_until = None if isinstance(request, WrapupRequest) else request.valid_until
    given_review = None if isinstance(request, WrapupRequest) else request.stale_after
    until = defaults.get("validUntil") if given_until is None else given_until
    review = defaults.get("staleAfter") if given_review is None else given_review
    fields: dict[str, str] = {}
    if request.written_by is not None:
        fields[WRITTEN_BY] = checked_writer(request.written_by)
    if until is not None:
        age = parse_age(until)
        fields["valid_until"] = (
            _written_date(until, "valid_until") if age is None else iso_time(now() + age)
        )
    if review is not None:
        is_age = isinstance(review, str) and parse_age(review) is not None
        fields["stale_after"] = str(review) if is_age else _written_date(review, "stale_after")
    return fields


def _written_date(given: QuestionDate, name: str) -> str:
    """Return a date as front matter has it: as it was given, or as the time that a word such as 2030 means."""
    try:
        time = checked_end(given, name, now())
    except InvalidInputError as error:
        message = f"{error.message}; or give an age, as in 30d"
        raise InvalidInputError(message, code=error.code) from None
    if isinstance(given, date):
        return given.isoformat()
    return given if _DATE.match(given) else iso_time(time)


def _indexed(derived: Derived, file: str, files: RootFiles | None) -> RememberResult:
    """Index a new file, unless no recall would find it."""
    root, written = str(derived.root), derived.root / file
    if not written.is_relative_to(derived.source_root):
        problem = f"it lies outside indexRoot ({derived.source_root}), which alone is searched"
        return _unindexed(root, file, problem)
    inside = written.relative_to(derived.source_root).as_posix()
    if passes_by(derived.rules, inside):
        problem = "hedgerow.json excludes it, or a folder above it is hidden"
        return _unindexed(root, file, problem)
    try:
        skip = sync_one(derived, inside, files)
    except HedgerowError as error:
        problem = f"Not indexed yet: {error.message}. The next recall reads it."
        return RememberResult(root, file, indexed=False, problem=problem)
    return (
        RememberResult(root, file, indexed=True)
        if skip is None
        else _unindexed(root, file, skip.reason)
    )


def _unindexed(root: str, file: str, reason: str) -> RememberResult:
    """Return a memory that was written and that no recall finds."""
    problem = f"Not indexed: {reason}. No recall finds it."
    return RememberResult(root, file, indexed=False, problem=problem)


def remember_instead(  # noqa: PLR0913 - the parts of a memory
    derived: Derived,
    old: str,
    text: str,
    *,
    request: SupersedeRequest,
    defaults: Mapping[str, Mapping[str, str]],
    scope: Scope,
) -> tuple[str, list[str]]:
    """Write a memory that takes the place of another; returns its path and the changed files.

    Both are to be indexed by the caller. Type and tags are those of the other if the request has none, and
    the title is the beginning of the text. `defaults` has the ages of `stated_fields` by type.
    """
    tags = request.tags
    before = check_markable(derived, old)
    stated = before.matter.text("type")
    kind = checked_type(request.type or (stated if stated in DIRECTORIES else "note"))
    _check_inside(derived, kind)
    if tags is None:
        kept = before.metadata.get("tags")
        tags = [one for one in kept if isinstance(one, str)] if isinstance(kept, list) else []
    file = write_memory(
        derived.root,
        text,
        title=request.title or title_of(checked_body(text)),
        kind=kind,
        folder=derived.folder_of(kind),
        tags=tags,
        fields={**stated_fields(request, defaults.get(kind, {})), SUPERSEDES: [written_name(old)]},
        scope=scope,
    )
    new = indexed_path(derived, file)
    return new, supersede(derived, old, new)


def indexed_path(derived: Derived, file: str) -> str:
    """Return the path below the indexed folder of a file of the root."""
    return (derived.root / file).relative_to(derived.source_root).as_posix()


def _check_inside(derived: Derived, kind: str) -> None:
    """Raise InvalidInputError where a new memory could not take the place of another."""
    folder = derived.folder_of(checked_type(kind))
    if not (derived.root / folder).is_relative_to(derived.source_root):
        raise InvalidInputError(
            f"a new {kind} would lie outside indexRoot ({derived.source_root}), which alone is "
            "searched; write the file yourself, and name it with --by",
            code="invalid_option",
        )
