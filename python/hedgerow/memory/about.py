"""Descriptions of folders: the texts of their `_about.md` files (spec/memory.md, "Folders")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hedgerow._engine import Chunk

from .results import About

NAME = "_about.md"
"""The name of the file that describes the memories of its folder and of the folders below."""

LONGEST = 1_000
"""The most characters of a text that is returned: it comes with every answer."""

MOST_FOLDERS = 20
"""The most folders of one answer."""


def about_files(files: Iterable[str]) -> list[str]:
    """Return the paths that the file of each folder around some files has, the outermost first.

    Of more than `MOST_FOLDERS` folders those of the first files count. A file that is among `files` is
    left out.
    """
    given = list(files)
    found: dict[str, None] = {}
    for file in given:
        folders = file.split("/")[:-1]
        for depth in range(len(folders) + 1):
            found["/".join([*folders[:depth], NAME])] = None
    return [path for path in found if path not in given]


def abouts(
    files: Iterable[str], get: Callable[[str], Chunk | None], is_seen: Callable[[str], bool]
) -> tuple[About, ...]:
    """Return the descriptions of the folders of some files, by path, each once.

    `get` returns a chunk of the index, and `is_seen` whether a memory may be shown.
    """
    found = []
    for path in about_files(files):
        text = _text(path, get)
        if text and is_seen(path):
            found.append(About(path.removesuffix(NAME).rstrip("/") or ".", path, text))
            if len(found) == MOST_FOLDERS:
                break
    return tuple(sorted(found, key=lambda one: one.file.split("/")[:-1]))


def _text(path: str, get: Callable[[str], Chunk | None]) -> str:
    """Return the text of a file of the index, cut between words; empty if it is not there."""
    text = "\n\n".join(_parts(path, get)).strip()
    if len(text) <= LONGEST:
        return text
    part = text[:LONGEST]
    return f"{part[: max(part.rfind(' '), LONGEST // 2)].rstrip()}…"


def _parts(path: str, get: Callable[[str], Chunk | None]) -> Iterator[str]:
    """Yield the texts of the chunks of a file, as far as they are returned."""
    size, ordinal = 0, 0
    while size <= LONGEST and (chunk := get(f"{path}#{ordinal}")) is not None:
        yield chunk.content
        size, ordinal = size + len(chunk.content), ordinal + 1
