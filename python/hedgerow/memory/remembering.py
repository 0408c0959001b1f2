"""Remembering: a memory is written, then indexed (spec/memory.md, "Memories")."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from unicodedata import category

from hedgerow._checks import checked_text
from hedgerow._engine import (
    CANDIDATES,
    LIKE,
    WORDS_LOOKED_UP,
    _compare,
    _find_secrets,
    _level_two_sections,
    _View,
    _with_section_names,
)
from hedgerow._retrieval.searching import Stages
from hedgerow._times import parse_age
from hedgerow.errors import Fix, HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, passes_by, read_bytes
from hedgerow.typing import QuestionDate

from . import files, note
from .derived import Derived, check_folder
from .documents import Document, parse_document
from .edit import WRITTEN_BY, checked_writer
from .files import locked
from .links import SUPERSEDES, check_markable, supersede, written_name
from .names import DIRECTORIES, separate_tags
from .note import iso_time, now
from .operations import RememberRequest, SupersedeRequest, WrapupRequest
from .recall import ranked
from .results import (
    Recall,
    RelatedMemory,
    RememberResult,
    SimilarMemory,
    Validation,
    WrapupResult,
)
from .root_files import RootFiles
from .scope import Scope, front_matter_of
from .session import Session, after_writing
from .sync import sync_one
from .times import checked_end, parse_end
from .view import Marks

# Texts that look like secrets: keys, tokens, passwords and card numbers (spec/memory.md, "Secrets").


def check_no_secret(text: str, title: str = "", *, allowed: bool) -> None:
    """Raise InvalidInputError (`looks_like_secret`) if a text or its title has one, unless allowed.

    The error has the kind of the first one, its line, and its first characters, which name the issuer.
    """
    for part, name in ((text, "text"), (title, "title")):
        if not allowed and (found := _find_secrets(part)):
            kind, line, start = found[0]
            shown = f" ({start}…)" if start else ""
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise InvalidInputError(
                f"the {name} looks like it has a secret: {kind} on line {line}{shown}{more}; nothing was "
                "written. Remove the secret",
                code="looks_like_secret",
                fixes=(Fix("write it nevertheless", arguments={"allow_secret": True}),),
            )


# Memories that are like a new text (spec/memory.md, "What is the same").


_logger = logging.getLogger("hedgerow.memory")

MOST_SIMILAR = 5
"""The most memories that a result names as similar. A caller who supersedes them sees the next ones."""


class Resemblance(NamedTuple):
    """The memories that are like a text, the most similar first, and whether the first has the same text."""

    similar: tuple[SimilarMemory, ...] = ()
    is_same: bool = False

    @property
    def file(self) -> str:
        """The path of the most similar memory."""
        return self.similar[0].file

    def without(self, file: str) -> tuple[SimilarMemory, ...]:
        """Return the similar memories except one, which the text supersedes."""
        return tuple(one for one in self.similar if one.file != file)

    def __str__(self) -> str:
        if self.is_same:
            return f"{self.file} has the same text"
        return f"{self.file} is {self.similar[0].percent} % like it"


@contextmanager
def one_writer(derived: Derived) -> Iterator[None]:
    """Let one thread of one process at a time look for similar memories and write, until it is indexed.

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


def resemblance(session: Session, text: str) -> Resemblance:
    """Return the memories of the scope that hold and are like a text.

    An index that fails is no reason not to write a text: then there are none.
    """
    derived, scope = session.derived, session.scope

    def look(view: _View, stages: Stages) -> Resemblance:
        return _resemblance(derived, view, stages, text, scope.own)

    found = session.index.search_if_possible(session.config, scope, look)
    return Resemblance() if found is None else found


def _resemblance(
    derived: Derived, view: _View, stages: Stages, text: str, scope: Scope
) -> Resemblance:
    query = lookup_words(text)
    if not query:
        return Resemblance()
    found = ranked(stages, query, CANDIDATES, whole=True)
    read = [_read(derived, path) for path in found or ()]
    documents = [one for one in read if one and scope.has(Scope.stated(one.metadata))]
    compared = zip(documents, _compare(text, [one.body for one in documents]), strict=True)
    marks, present = Marks(view), note.now()
    alike = [
        (not is_same, -likeness, one.path)
        for one, (is_same, likeness) in compared
        if likeness >= LIKE and marks.holds(one.path, present)
    ]
    alike.sort()
    similar = (SimilarMemory(path, -likeness) for _, likeness, path in alike[:MOST_SIMILAR])
    return Resemblance(tuple(similar), is_same=bool(alike) and not alike[0][0])


def lookup_words(text: str) -> str:
    """Return the first distinct words of a text as a query without operators."""
    plain = "".join(
        one if one.isalnum() or category(one)[0] == "M" else " " for one in text.casefold()
    )
    return " ".join(islice(dict.fromkeys(plain.split()), WORDS_LOOKED_UP))


def _read(derived: Derived, path: str) -> Document | None:
    """Read a file as it is now; None where the index knows more than there is."""
    try:
        return parse_document(path, read_bytes(Source(path, str(derived.source_root / path))))
    except UnreadableSourceError:
        return None


# Writing memories (spec/memory.md, "Memories"): always new files.


WRAPUP_SECTIONS = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")

_MOST_NAMES = 20


def write_memory(  # noqa: PLR0913, PLR0917 - the parts of a memory
    derived: Derived,
    kind: str,
    title: str,
    body: str,
    tags: Sequence[str],
    fields: Mapping[str, Any],
    scope: Scope,
) -> str:
    """Write a memory that a user asks to keep; returns its path below the root, with `/`.

    `fields` are put into its front matter after those that each has, and the scope after these.
    """
    stated = {"confidence": "user-reviewed", "tags": separate_tags(tags), **fields}
    stated |= front_matter_of(scope)
    line = note.checked_title(title, "Untitled memory")
    return _write(
        derived, "hedgerow-remember", kind, line, note.slug(line, "untitled"), body, stated
    )


def checked_wrapup(body: str) -> str:
    """Return the trimmed text of a wrapup; InvalidInputError that lists all sections it lacks."""
    text = note.checked_body(body) if checked_text(body, "text").strip() else ""
    text = _with_section_names(text, WRAPUP_SECTIONS)
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
    """Find the sections of a wrapup, in any order, case and form of a heading, among others."""
    found: dict[str, str] = {}
    for name, text in _level_two_sections(_with_section_names(body, WRAPUP_SECTIONS)):
        found[name] = found.get(name, "") + text
    names = {name: found.get(name.casefold()) for name in WRAPUP_SECTIONS}
    missing = tuple(name for name, text in names.items() if text is None)
    empty = tuple(name for name, text in names.items() if text is not None and not text.strip())
    return Validation(not (missing or empty), missing, empty)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"## {name}" for name in names)


def _write(  # noqa: PLR0913, PLR0917 - the parts of a memory
    derived: Derived,
    source: str,
    kind: str,
    title: str,
    name: str,
    body: str,
    stated: Mapping[str, Any],
) -> str:
    """Write under the first free name; two processes never get the same one."""
    root, folder, time = derived.root, derived.folder_of(kind), note.now()
    at = note.iso_time(time)
    matter = {"type": kind, "title": title, "source": source, "created_at": at, "updated_at": at}
    text = note.render_note({**matter, **stated}, title, body)
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


def remember(session: Session, request: RememberRequest, files: RootFiles) -> RememberResult:
    """Write a memory and index it, unless a memory has the same text.

    `files` are the index and the store of a handle.
    """
    body = note.checked_body(request.text)
    title = request.title or note.title_of(body)
    check_no_secret(body, title, allowed=request.allow_secret)
    derived, kind, choice = session.derived, request.type, request.on_duplicate
    fields = _stated_fields(session, request, kind)
    with one_writer(derived):
        found = resemblance(session, body)
        is_refused = (found.is_same and choice == "report") or (
            found.similar and choice == "refuse"
        )
        if is_refused:
            raise HedgerowError(
                f"nothing was written: {found}",
                code="duplicate_memory",
                key=found.file,
                fixes=(
                    Fix("keep both", arguments={"on_duplicate": "keep"}),
                    Fix("replace that memory", arguments={"on_duplicate": "supersede"}),
                ),
            )
        old = found.file if found.similar and choice == "supersede" else None
        if old is not None:
            check_markable(derived, old)
            _check_inside(derived, kind, old)
            fields[SUPERSEDES] = [written_name(old)]
        file = write_memory(derived, kind, title, body, request.tags, fields, session.scope)
        done = _indexed(derived, file, files)
        if old is not None:
            with after_writing(file):
                supersede(derived, old, indexed_path(derived, file))
    until = parse_end(fields.get("valid_until"))
    if done.problem is None and until is not None and until < now():
        problem = f"It has expired: valid_until is {fields['valid_until']}. Recall leaves it out."
        done = replace(done, problem=problem)
    return replace(done, superseded=old, similar=found.without(old or ""))


def wrapup(
    session: Session,
    request: WrapupRequest,
    files: RootFiles,
    recall: Callable[[str, int], Recall],
) -> WrapupResult:
    """Write the wrapup of a session and index it, after a recall of its topic.

    A session that left nothing may have the text of another one, so no text is refused.
    """
    fields = _stated_fields(session, request, "session")
    body = checked_wrapup(request.text)
    check_no_secret(body, request.title, allowed=request.allow_secret)
    topic = request.topic
    related = RelatedMemory.of(None if topic is None else recall(topic, request.limit))
    title = note.checked_title(request.title, "Session wrapup")
    stated = {
        "confidence": "agent-drafted",
        "review": "user-review-recommended",
        "tags": separate_tags(request.tags),
        **({} if topic is None else {"recall_topic": topic}),
        **fields,
        **front_matter_of(session.scope),
    }
    name, derived = note.slug(title, "session-wrapup"), session.derived
    similar = resemblance(session, body).similar
    file = _write(derived, "hedgerow-wrapup", "session", title, name, body, stated)
    # A failure is no problem here: the next recall reads the file.
    _indexed(derived, file, files)
    stored = note.with_heading(title, body)
    root = str(derived.root)
    return WrapupResult(root, file, title, topic, stored, related, similar=similar)


def _stated_fields(
    session: Session, request: RememberRequest | WrapupRequest | SupersedeRequest, kind: str
) -> dict[str, Any]:
    """Return the front matter of who writes a memory, when it expires and when a review is due.

    The root has an age for each of the times that is not given. Raises InvalidInputError for a date
    that does not exist, and for a name of a writer that is blank or too long.
    """
    until = review = None
    if not isinstance(request, WrapupRequest):
        until, review = request.valid_until, request.stale_after
    defaults = session.config.defaults.get(kind, {})
    until = defaults.get("validUntil") if until is None else until
    review = defaults.get("staleAfter") if review is None else review
    fields: dict[str, Any] = {}
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


def _indexed(derived: Derived, file: str, files: RootFiles) -> RememberResult:
    """Index a new file, unless no recall would find it."""
    problem: str | None = None
    written = derived.root / file
    if not written.is_relative_to(derived.source_root):
        problem = f"it lies outside indexRoot ({derived.source_root}), which alone is searched"
    elif passes_by(derived.rules, inside := indexed_path(derived, file)):
        problem = "hedgerow.json excludes it, or a folder above it is hidden"
    else:
        try:
            skip = sync_one(derived, inside, files)
        except HedgerowError as error:
            problem = f"Not indexed yet: {error.message}. The next recall reads it."
            return RememberResult(str(derived.root), file, indexed=False, problem=problem)
        problem = None if skip is None else skip.reason
    if problem is not None:
        problem = f"Not indexed: {problem}. No recall finds it."
    return RememberResult(str(derived.root), file, indexed=problem is None, problem=problem)


def remember_instead(
    session: Session, old: str, request: SupersedeRequest, text: str
) -> tuple[str, list[str], tuple[SimilarMemory, ...]]:
    """Write a memory that supersedes another; returns its path, the changed files, and similar memories.

    Raises HedgerowError (`duplicate_memory`) if a memory has the same text. Both are to be indexed by the caller. Type
    and tags are those of the other if the request has none, and the title is the beginning of the text.
    """
    derived, tags = session.derived, request.tags
    before = check_markable(derived, old)
    stated = before.matter.text("type")
    kind = request.type or (stated if stated in DIRECTORIES else "note")
    _check_inside(derived, kind, old)
    if tags is None:
        kept = before.metadata.get("tags")
        tags = [one for one in kept if isinstance(one, str)] if isinstance(kept, list) else []
    body = note.checked_body(text)
    found = resemblance(session, body)
    if found.is_same:
        fix = Fix("supersede by that memory", "supersede", {"old": old, "by": found.file})
        raise HedgerowError(
            f"nothing was written: {found}",
            code="duplicate_memory",
            key=found.file,
            fixes=() if found.file == old else (fix,),
        )
    title = request.title or note.title_of(body)
    fields = _stated_fields(session, request, kind)
    fields[SUPERSEDES] = [written_name(old)]
    file = write_memory(derived, kind, title, body, tags, fields, session.scope)
    new = indexed_path(derived, file)
    with after_writing(new):
        return new, supersede(derived, old, new), found.without(old)


def indexed_path(derived: Derived, file: str) -> str:
    """Return the path below the indexed folder of a file of the root."""
    return (derived.root / file).relative_to(derived.source_root).as_posix()


def _check_inside(derived: Derived, kind: str, old: str) -> None:
    """Raise InvalidInputError where a new memory could not take the place of `old`."""
    folder = derived.folder_of(kind)
    if not (derived.root / folder).is_relative_to(derived.source_root):
        raise InvalidInputError(
            f"a new {kind} would lie outside indexRoot ({derived.source_root}), which alone is "
            "searched; write the file yourself",
            code="invalid_option",
            key=old,
            fixes=(Fix("supersede by that file", "supersede", {"old": old, "by": None}),),
        )
