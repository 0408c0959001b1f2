"""Renaming: a file gets another path, and the links to it follow (spec/memory.md, "Renaming")."""

from __future__ import annotations

import codecs
import os
import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from hedgerow._checks import checked_text
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.discovery import passes_by
from hedgerow.ingest.markdown_events import markdown_events
from hedgerow.ingest.source import Skip, UnreadableSourceError, decode

from . import files
from .derived import Derived
from .documents import parse_document
from .links import RELATIONS, STATED, Link, Names, links_of
from .lock import locked
from .node_state import NodeState
from .texts import data_of, path_of

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# On Windows `C:` is a drive, and `a:b` a stream of the file `a`.
_SEPARATORS = "\\:" if os.name == "nt" else "\\"
_WIKILINK = re.compile(r"(\[\[)([^\[\]|#\n]+)((?:[|#][^\[\]\n]*)?\]\])")
_MARKDOWN = re.compile(r"(\]\(\s*<?|^ {0,3}\[[^\]\n]+\]:\s*<?)([^)\s>#?]+)", re.MULTILINE)
_PLAIN = re.compile(rf"(?m)^({'|'.join(RELATIONS)}):(?P<value>.*(?:\n[ \t-].*)*)")
_NAME = re.compile(r"[^\s\[\]{},:'\"][^\[\]{},:'\"\r\n]*")
_CODE = frozenset({"CodeBlock", "HtmlBlock"})


@dataclass(frozen=True, slots=True)
class Renamed:
    """A memory that was renamed: where it was, and is, and the files whose links were changed.

    `by_hand` are files with links to it that were left as they are, and why.
    """

    root: str
    file: str
    to: str
    changed: tuple[str, ...]
    by_hand: tuple[Skip, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        return {
            "root": self.root,
            "file": self.file,
            "to": self.to,
            "changed": list(self.changed),
            "byHand": [skip.to_dict() for skip in self.by_hand],
        }


def new_path(derived: Derived, file: str, to: str) -> str:
    """Return the path that a file is to have: `to`, in the same folder unless it names one.

    Raises InvalidInputError for a path that no memory can have, and HedgerowError where a folder of
    it is a link: before any link to the memory is changed.
    """
    path = to if checked_text(to, "to").lower().endswith(".md") else f"{to}.md"
    if "/" not in path:
        path = posixpath.join(posixpath.dirname(file), path)
    is_bad = _CONTROL.search(path) or any(one in path for one in _SEPARATORS)
    if is_bad or path.startswith(("/", "../")) or posixpath.normpath(path) != path:
        raise InvalidInputError(
            f"{to!r} is no path below the indexed folder, as in notes/hedge.md",
            code="invalid_option",
        )
    if passes_by(derived.rules, path):
        raise InvalidInputError(
            f"no memory can be {path}: hedgerow.json excludes it, or a folder of it is hidden",
            code="invalid_option",
        )
    if _exists(derived.source_root / path) and not _is_same(derived, file, path):
        raise InvalidInputError(f"there is a file {path} already", code="invalid_option")
    for parent in Path(path).parents:
        files.check_no_link(derived.source_root / parent)
    return path


def _exists(path: Path) -> bool:
    """Tell whether there is a file; HedgerowError for a name that is too long, or below a file."""
    with files.system_errors("rename it to", path):
        try:
            path.lstat()
        except FileNotFoundError:
            return False
    return True


def rename(
    derived: Derived, state: NodeState, file: str, to: str, visible: Collection[str] | None
) -> tuple[list[str], list[Skip]]:
    """Change the links to a file, then its path; returns the files that were changed.

    A file whose links cannot be changed is left, and returned with the reason. With `visible` the
    links of these files alone are changed.
    """
    names = state.names()
    titles = {to if path == file else path: title for path, title in state.titles().items()}
    others = state.aliases()
    after = Names(titles, {to if path == file else path: others[path] for path in others})
    changed, by_hand = [], []
    with locked(derived.lock):
        for path in sorted(state.records):
            if path != file and not _leads_to(state, names, path, file):
                continue
            if visible is not None and path not in visible:
                continue
            try:
                if _relink(derived, path, to if path == file else path, file, to, names, after):
                    changed.append(to if path == file else path)
            except HedgerowError as error:
                by_hand.append(Skip(path, error.code, error.message))
        _move(derived, file, to)
    return changed, by_hand


def _leads_to(state: NodeState, names: Names, path: str, file: str) -> bool:
    return any(names.find(link, path) == file for link in state.records[path].links)


def _relink(  # noqa: PLR0913, PLR0917 - what a link depends on
    derived: Derived, path: str, path_after: str, file: str, to: str, names: Names, after: Names
) -> bool:
    """Rewrite the links of a file; `path_after` is where it will be. Returns whether any changed."""
    data = data_of(derived, path)
    try:
        text = decode(data)
    except UnreadableSourceError as error:
        raise HedgerowError(f"{path} cannot be read: {error.reason}", code="root_io") from error
    new = _Writer(path, path_after, file, to, names, after).rewritten(text)
    moved = {file: to}
    expected = [moved.get(one or "", one) for one in _found(path, text, names)]
    if _found(path_after, new, after, path) != expected:
        raise HedgerowError(
            f"the links of {path} cannot be changed without changing more; edit it by hand",
            code="invalid_front_matter",
        )
    if new == text:
        return False
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    files.update(
        path_of(derived, path), mark + new.encode(), expected=data, root=derived.source_root
    )
    return True


def _found(path_after: str, text: str, names: Names, path: str = "") -> list[str | None]:
    """Return the files that the links of a text mean, in their order."""
    links, _ = links_of(parse_document(path or path_after, text.encode()))
    return [names.find(link, path_after) for link in links]


class _Writer:
    """Rewrites the links of one text."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a link depends on
        self, path: str, path_after: str, file: str, to: str, names: Names, after: Names
    ) -> None:
        self._path, self._path_after = path, path_after
        self._file, self._to = file, to
        self._names, self._after = names, after

    def rewritten(self, text: str) -> str:
        """Return a text with the links that would else lead elsewhere changed."""
        text = _outside(_WIKILINK, text, self._wikilink)
        text = _outside(_MARKDOWN, text, self._markdown)
        body = parse_document(self._path, text.encode()).matter.body_start
        if not body:
            return text
        lines = text.split("\n")
        block = _PLAIN.sub(self._plain, "\n".join(lines[:body]))
        return "\n".join([block, *lines[body:]])

    def _wikilink(self, found: re.Match[str]) -> str:
        return f"{found[1]}{self._named(found[2])}{found[3]}"

    def _plain(self, found: re.Match[str]) -> str:
        value = _NAME.sub(lambda name: self._named(name[0]), found["value"])
        return f"{found[1]}:{value}"

    def _markdown(self, found: re.Match[str]) -> str:
        href = found[2]
        target = self._names.find(Link(unquote(href), "", STATED, is_path=True), self._path)
        if target is None or (target != self._file and self._path_after == self._path):
            return found[0]
        target = self._to if target == self._file else target
        if (
            self._after.find(Link(unquote(href), "", STATED, is_path=True), self._path_after)
            == target
        ):
            return found[0]
        folder = posixpath.dirname(self._path_after)
        return f"{found[1]}{quote(posixpath.relpath(target, folder or '.'))}"

    def _named(self, name: str) -> str:
        """Return what to call a file that a name meant; the name itself where it still does."""
        link = Link(name.strip(), "", STATED)
        target = self._names.find(link, self._path)
        if target is None:
            return name
        target = self._to if target == self._file else target
        if self._after.find(link, self._path_after) == target:
            return name
        suffix = ".md" if name.strip().lower().endswith(".md") else ""
        short = posixpath.basename(target)[: -len(".md")] + suffix
        whole = target[: -len(".md")] + suffix
        is_short = "/" not in name
        fits = self._after.find(Link(short, "", STATED), self._path_after) == target
        return short if is_short and fits else whole


def _outside(
    pattern: re.Pattern[str],
    text: str,
    change: Callable[[re.Match[str]], str],
) -> str:
    """Substitute where a match does not lie in code or HTML."""
    spans = list(_hidden(text))
    starts = [start for start, _ in spans]

    def changed(found: re.Match[str]) -> str:
        at = bisect_right(starts, found.start()) - 1
        is_hidden = at >= 0 and found.start() < spans[at][1]
        return found[0] if is_hidden else change(found)

    return pattern.sub(changed, text)


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Yield where code and HTML stand in a text, whose front matter has no Markdown."""
    body = parse_document("", text.encode()).matter.body_start
    head = len("".join(f"{line}\n" for line in text.split("\n")[:body]))
    below = text[head:]
    # Events count bytes.
    offsets = [0, *accumulate(len(one.encode()) for one in below)] if not below.isascii() else None
    for kind, value, start, end in markdown_events(below):
        if kind == "Code" or (kind == "Start" and value[0] in _CODE):
            first, last = start, end
            if offsets is not None:
                first, last = bisect_left(offsets, start), bisect_left(offsets, end)
            yield head + first, head + last


def _move(derived: Derived, file: str, to: str) -> None:
    """Return a file its new path; a file that came there meanwhile stays."""
    old, new = path_of(derived, file), derived.source_root / to
    with files.system_errors("rename", old):
        new.parent.mkdir(parents=True, exist_ok=True)
        if _is_same(derived, file, to):
            old.rename(new)
            return
        files.move_new(old, new)


def _is_same(derived: Derived, file: str, to: str) -> bool:
    """Tell whether both paths are one file, as where upper and lower case do not differ."""
    old, new = derived.source_root / file, derived.source_root / to
    return file != to and new.exists() and old.samefile(new) and not new.is_symlink()
