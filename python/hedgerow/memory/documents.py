"""Markdown files as they are read: front matter, text, and their problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow._engine import (
    FrontMatter,
    _conflict_copies,
    _days_in_name,
    _Documents,
    _first_heading,
    _Ledger,
    _memory_time,
    _page_title,
    read_front_matter,
)
from hedgerow.ingest.source import Rules, Skip, text_of

from .names import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Vault
from .scope import Scope


class FolderKind(NamedTuple):
    """How the files of a folder are read: its tool, if it is a vault, and the formats of its daily notes.

    `day_format` is the format of their names, and `title_format` that of the titles by which links name them.
    """

    vault: Vault | None = None
    day_format: str | None = None
    title_format: str | None = None

    @property
    def has_named_paths(self) -> bool:
        """Whether a Markdown link leads to a name, as `[[name]]` does: Obsidian resolves both alike."""
        return self.vault == "obsidian"


PLAIN = FolderKind()
"""The kind of a folder that is no vault and has no daily notes."""


@dataclass(frozen=True)
class MemoryRules(Rules):
    """What is read of the folder of a root, and how."""

    kind: FolderKind = PLAIN


@dataclass(frozen=True)
class Document:
    """A Markdown file: its path below the root, its front matter, its lines."""

    path: str
    matter: FrontMatter
    lines: list[str]
    kind: FolderKind = PLAIN

    @property
    def body(self) -> str:
        """The text after the front matter."""
        return "\n".join(self.lines[self.matter.body_start :])

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The front matter as plain JSON, with the day of a daily note whose format is known as `date`."""
        found = self.matter.to_dict()
        if self.kind.day_format is not None and _memory_time("", found) is None:
            days = _days_in_name(self.path, self.kind.day_format)
            if len(days) == 1:
                found["date"] = days[0]
        return found

    @property
    def title(self) -> str:
        """The title in its front matter, else that of a vault, its first heading, or an empty string."""
        of_page = "" if self.kind.vault is None else _page_title(self.body)
        return self.matter.text("title") or of_page or _first_heading(self.body)


def memory_rules(
    exclude: Sequence[str] = (),
    include: Sequence[str] = (),
    kind: FolderKind = PLAIN,
) -> MemoryRules:
    """Return the rules of reading a root: Markdown files."""
    names = TEMPORARY_PREFIX, TEMPORARY_SUFFIX
    return MemoryRules((".md",), tuple(exclude), tuple(include), names, kind)


def read_documents(base: Path, rules: MemoryRules, scope: Scope = Scope()) -> _Documents:  # noqa: B008 - frozen
    """Read all memories of a folder that a scope sees, in path order."""
    listing = rules.compiled.list(base, False)
    return _Documents(base, listing, rules.kind, scope.ids, scope.shared)


def unread(documents: _Documents) -> tuple[Skip, ...]:
    """Return the files and folders that could not be read, each with the reason."""
    return tuple(Skip(*skip) for skip in documents.skips)


def parse_document(path: str, data: bytes, rules: MemoryRules = MemoryRules()) -> Document:
    """Parse a file's bytes; raises UnreadableSourceError when they are not text."""
    lines = text_of(data).split("\n")
    return Document(path, read_front_matter(lines), lines, rules.kind)


def unused_pattern(pattern: str) -> str:
    """Return the sentence about a pattern of `exclude` that decides about no file."""
    said = f"The exclude pattern {pattern!r} of hedgerow.json"
    if not pattern.startswith("!"):
        return f"{said} matches nothing"
    return (
        f"{said} takes nothing back: it must come after the pattern that excludes a file, and no folder above "
        "the file may be excluded (Private/* excludes the files of Private, and Private/ the folder)"
    )


def conflict_copies(files: Sequence[str], is_there: Callable[[str], bool]) -> list[Skip]:
    """Return the conflict copies of sync programs among files, each with the advice to merge it.

    `is_there` says whether the original with a path is there: any other file is no copy.
    """
    # Each recall asks, and the names of all copies have this word.
    if "conflict" not in "\n".join(files).lower():
        return []
    return list(starmap(Skip, _conflict_copies(files, is_there)))


CONFLICT = "git_conflict"
CODES = frozenset({"bad_front_matter", CONFLICT})
"""The codes of problems of files that are read, and found, nevertheless."""


def unread_files(ledger: _Ledger) -> list[Skip]:
    """Return the files that could not be read at the last sync, each with the reason."""
    return [skip for skip in starmap(Skip, ledger.skips) if skip.code not in CODES]


_SHOWN = 3
_NAMED_BY = "a diagnosis of the root names them"


def notices_of(
    skips: Iterable[Skip], files: Sequence[str], *, filtered: bool, whole: bool
) -> list[str]:
    """Return the notices for the problems of the files that were found, and for all conflicts.

    A conflict may hide a file: its marks are read from both versions. With `filtered`, also how many
    other files have front matter that could not be read whole, and may be missing for that reason.
    Unless the root is seen `whole`, only the files that were found are named.
    """
    found = set(files)
    problems = [one for one in skips if one.code in CODES and (whole or one.path in found)]
    own = [str(one) for one in problems if one.path in found or one.code == CONFLICT]
    shown = own[:_SHOWN]
    if len(own) > _SHOWN:
        shown.append(f"{len(own) - _SHOWN} more of these files have problems; {_NAMED_BY}")
    others = {skip.path for skip in problems if skip.path not in found}
    if filtered and others:
        count = "1 file" if len(others) == 1 else f"{len(others)} files"
        shown.append(f"{count} with front matter that cannot be read may be missing; {_NAMED_BY}")
    return shown
