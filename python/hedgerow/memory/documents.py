"""Memories as they are read: front matter and text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hedgerow.ingest.discovery import Rules, list_folder
from hedgerow.ingest.front_matter import FrontMatter, read_front_matter
from hedgerow.ingest.source import Source, UnreadableSourceError, read_bytes, text_of

from . import sections
from .front_matter import metadata_of
from .names import DIRECTORIES, TEMPORARY_PREFIX, TEMPORARY_SUFFIX, bucket_of


@dataclass(frozen=True)
class Document:
    """One Markdown file, read: its path below the root, its front matter, its lines."""

    path: str
    matter: FrontMatter
    lines: list[str]

    @property
    def body(self) -> str:
        """The text after the front matter."""
        return "\n".join(self.lines[self.matter.body_start :])

    @property
    def body_start_line(self) -> int:
        """The line, from 1, on which the text begins."""
        return self.matter.body_start + 1

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The front matter as plain JSON."""
        return metadata_of(self.matter)

    @property
    def is_page(self) -> bool:
        """Whether it sums up others: by its type, or by the folder it lies in."""
        in_pages = self.path.startswith(f"{DIRECTORIES['page']}/")
        return in_pages or bucket_of(self.path, self.metadata) == "page"

    @property
    def title(self) -> str:
        """The title it states, else its first heading; may be empty."""
        return self.matter.text("title") or sections.first_heading(self.body)


def memory_rules(exclude: Sequence[str] = (), include: Sequence[str] = ()) -> Rules:
    """Give what is read of a root: Markdown files."""
    names = TEMPORARY_PREFIX, TEMPORARY_SUFFIX
    return Rules((".md",), tuple(exclude), tuple(include), names)


def read_documents(base: Path, rules: Rules) -> Iterator[Document]:
    """Give the documents that can be read, in path order; the others belong to no report."""
    for path in sorted(list_folder(str(base), rules).files):
        try:
            yield parse_document(path, read_bytes(Source(path, str(base / path))))
        except UnreadableSourceError:  # noqa: PERF203 - each file by itself
            continue


def parse_document(path: str, data: bytes) -> Document:
    """Read a file's bytes; raises UnreadableSourceError when they are no text."""
    lines = text_of(data).split("\n")
    return Document(path, read_front_matter(lines), lines)
