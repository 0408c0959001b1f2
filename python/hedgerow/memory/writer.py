"""Writing memories (spec/memory.md, "Memories"): always new files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from hedgerow._checks import checked_text, checked_texts
from hedgerow._engine import _level_two_sections
from hedgerow.errors import HedgerowError, InvalidInputError

from . import files, note
from .names import DIRECTORIES, separate_tags
from .results import Validation
from .scope import Scope, front_matter_of

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
