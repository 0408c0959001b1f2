"""Renaming a memory, with the links to it, and forgetting one: deleting it and everything derived from it (spec/memory.md,
"Renaming", "Forgetting").
"""

from __future__ import annotations

import codecs
import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from hedgerow._engine import (
    _files_with,
    _link_positions,
    _links_in_fields,
    _links_in_text,
    _Names,
    _vacuum,
)
from hedgerow._regular_files import read_regular
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import (
    Rules,
    Skip,
    UnreadableSourceError,
    decode,
    list_folder,
    passes_by,
    text_of,
    why_unreadable,
)

from . import files
from .derived import Derived, forget_elsewhere, open_store_to_write, open_to_write
from .documents import MemoryRules, parse_document, read_documents, unread_files
from .edit import data_of, path_of
from .files import locked, remove, system_errors, update
from .links import OWN_FIELDS, RELATIONS, attachments
from .names import (
    IMPORT_ID,
    TEMPORARY_SUFFIX,
    compared,
    is_refused_by_windows,
    pattern_of,
    repository_of,
)
from .process import is_empty_page, without_source
from .results import ForgetResult
from .scope import Scope
from .sync import sync, write_manifest

if TYPE_CHECKING:
    from .session import Session
    from .view import View

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNREAD = "its links were not read"
_IS_WINDOWS = os.name == "nt"
_WIKILINK = re.compile(r"(\[\[)([^\[\]|#\n]+)((?:[|#][^\[\]\n]*)?\]\])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN = re.compile(rf"(?m)^({'|'.join(RELATIONS)}):(?P<value>.*(?:\n[ \t-].*)*)")
# Not the dash before an item of a list.
_NAME = re.compile(r"(?!-[ \t])[^\s\[\]{},:'\"][^\[\]{},:'\"\r\n]*")
_LARGEST_SEARCHED = 64 << 20
"""The most bytes of a file around the memories that `forget` searches. Texts are smaller; pictures of disks are larger."""
_MOST_SEARCHED = 1 << 30
"""The most bytes that it searches in all, the smallest files first: some seconds."""
_MOST_NAMED = 5
"""The most files beyond these limits that it names."""


def new_path(derived: Derived, file: str, to: str) -> str:
    """Return the path that a file is to have: `to`, in the same folder unless it names one.

    Raises InvalidInputError for a path that no memory can have, and HedgerowError where a folder of
    it is a link: before any link to the memory is changed.
    """
    path = to if to.lower().endswith(".md") else f"{to}.md"
    if "/" not in path:
        path = posixpath.join(posixpath.dirname(file), path)
    is_bad = "\\" in path or _CONTROL.search(path) or not posixpath.basename(path)[:-3].strip()
    if is_bad or path.startswith(("/", "../")) or posixpath.normpath(path) != path:
        raise InvalidInputError(
            f"{to!r} is no path below the indexed folder, as in notes/hedge.md",
            code="invalid_option",
        )
    # Windows takes `C:` for a drive, `a:b` for a part of the file `a`, and drops a dot at an end.
    if _IS_WINDOWS and is_refused_by_windows(path):
        raise InvalidInputError(
            f'Windows has no file {path}: choose another name, without the characters <>:"|?*, a dot '
            "or space at an end, and names of devices such as aux",
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
    """Return whether a file exists.

    Raises HedgerowError for a name that is too long, or below a file.
    """
    with files.system_errors("rename it to", path):
        try:
            path.lstat()
        except FileNotFoundError:
            return False
    return True


def rename(session: Session, file: str, to: str) -> tuple[list[str], list[Skip]]:
    """Change the links to a file, then its path; returns the files that were changed.

    A file whose links cannot be changed or read is left, and returned with the reason. Within a scope only
    its own files are changed.
    """
    derived, view, own = session.derived, session.view, session.own
    names, after = view.names, view.nodes.names_after(file, to)
    changed: list[str] = []
    unread = [] if session.scope else unread_files(session.nodes().ledger)
    by_hand = [replace(one, reason=f"{_UNREAD}: {one.reason}") for one in unread]
    with locked(derived.lock):
        exists = _known_paths(derived, view)
        for path in sorted({file, *filter(own.has, view.nodes.linking_to(file))}):
            path_after = to if path == file else path
            try:
                writer = _Writer(derived, exists, path, path_after, file, to, names, after)
                is_new, html = _relink(writer)
                if is_new:
                    changed.append(path_after)
                if html:
                    reason = f"HTML in it names {', '.join(html)}, which leads elsewhere from there"
                    by_hand.append(Skip(path_after, "html_path", reason))
            except HedgerowError as error:
                by_hand.append(Skip(path_after, error.code, error.message))
        _move(derived, file, to)
    if not session.scope:
        by_hand += _canvases(derived, file)
    return changed, by_hand


def _known_paths(derived: Derived, view: View) -> Callable[[str], bool]:
    """Return a predicate: whether there is a file or a folder at a path below the indexed folder.

    Within a scope, Markdown files that are not visible do not exist, and neither do folders with no others.
    """
    if not view.scope:
        return lambda path: (derived.source_root / path).exists()

    @cache
    def known() -> list[str]:
        return [*view.nodes.paths(), *attachments(derived.source_root)]

    def exists(path: str) -> bool:
        below = "" if path == "." else f"{path}/"
        return any(one == path or one.startswith(below) for one in known())

    return exists


def _canvases(derived: Derived, file: str) -> Iterator[Skip]:
    """Yield the canvases of a vault that show a file or link to it, which keep its old path."""
    if derived.vault is None:
        return
    names = "|".join(map(re.escape, {file, file[: -len(".md")], posixpath.basename(file)[:-3]}))
    link = re.compile(rf"\[\[\s*(?:{names})\s*[\]#|]", re.IGNORECASE)
    for path in list_folder(derived.source_root, Rules((".canvas",))).files:
        with suppress(OSError, ValueError, RecursionError):
            canvas = json.loads(read_regular(derived.source_root / path))
            if any(one == file or link.search(one) for one in _texts_of_nodes(canvas)):
                yield Skip(path, "canvas", f"it shows {file}, and canvases are not changed")


def _texts_of_nodes(canvas: Any) -> Iterator[str]:
    """Yield the files and the texts that a canvas shows."""
    nodes = canvas.get("nodes") if isinstance(canvas, dict) else None
    for node in nodes if isinstance(nodes, list) else []:
        found = (node.get("file"), node.get("text")) if isinstance(node, dict) else ()
        yield from (one for one in found if isinstance(one, str))


def _relink(writer: _Writer) -> tuple[bool, list[str]]:
    """Rewrite the links of a file.

    Returns whether any changed, and the paths in HTML that lead elsewhere from there.
    """
    derived, path, to = writer.derived, writer.path, writer.to
    data = data_of(derived, path)
    try:
        text = decode(data)
    except UnreadableSourceError as error:
        raise HedgerowError(f"{path} cannot be read: {error.reason}", code="root_io") from error
    new, html = writer.rewritten(text)
    moved = {writer.file: to}
    before = [moved.get(one or "", one) for one in writer.targets(text, path, writer.names)]
    found = writer.targets(new, writer.path_after, writer.after)
    # A link that led nowhere may lead to the new path.
    expected = [
        to if old is None and one == to else old for old, one in zip(before, found, strict=False)
    ]
    if found != expected or len(found) != len(before):
        raise HedgerowError(
            f"the links of {path} cannot be changed without changing more; edit it by hand",
            code="invalid_front_matter",
        )
    if new != text:
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        root = derived.source_root
        files.update(path_of(derived, path), mark + new.encode(), expected=data, root=root)
    return new != text, html


@dataclass(frozen=True, slots=True)
class _Writer:
    """Rewrites the links of the file `path`, which will be `path_after`, when `file` becomes `to`.

    `names` and `after` say what links mean before and after that.
    """

    derived: Derived
    exists: Callable[[str], bool]
    path: str
    path_after: str
    file: str
    to: str
    names: _Names
    after: _Names

    @property
    def _has_named_paths(self) -> bool:
        return self.derived.rules.kind.has_named_paths

    def targets(self, text: str, place: str, names: _Names) -> list[str | None]:
        """Return the files that the links of a text mean, in their order, if the file is at `place`."""
        document = parse_document(self.path, text.encode())
        stated, _ = _links_in_fields(document.matter)
        in_text = _links_in_text(document.body, has_named_paths=self._has_named_paths)
        links = [*((target, False) for target, *_ in stated), *in_text]
        return [names.find(target, is_path, place) for target, is_path in links]

    def rewritten(self, text: str) -> tuple[str, list[str]]:
        """Return a text with the links changed that would otherwise lead elsewhere.

        Also returns the paths in HTML that lead elsewhere from a new folder: they are not changed.
        """
        body = parse_document(self.path, text.encode()).matter.body_start
        lines = text.split("\n")
        block = "\n".join(map(self._line, lines[:body]))
        block = _PLAIN.sub(self._plain, block)
        below = "\n".join(lines[body:])
        links, html_paths = _link_positions(below)
        source, done = below.encode(), 0
        parts = []
        for start, end, target, is_path in links:  # in bytes, without those in code and comments
            new = self._destination(target) if is_path else self._named(target)
            if start >= done and new != target:
                parts += [source[done:start], new.encode()]
                done = end
        rest = b"".join([*parts, source[done:]]).decode()
        html = [one for one in html_paths if self._destination(one) != one]
        return "\n".join([block, rest]) if body else rest, html

    def _line(self, line: str) -> str:
        """Return a line of front matter with its `[[name]]` changed, but for a comment."""
        at = _comment_in(line)
        return _WIKILINK.sub(self._wikilink, line[:at]) + line[at:]

    def _wikilink(self, found: re.Match[str]) -> str:
        return f"{found[1]}{self._named(found[2])}{found[3]}"

    def _plain(self, found: re.Match[str]) -> str:
        def line(text: str) -> str:
            at = _comment_in(text)
            return _NAME.sub(name, text[:at]) + text[at:]

        def name(one: re.Match[str]) -> str:
            bare = one[0].rstrip()
            return self._named(bare) + one[0][len(bare) :]

        value = "\n".join(map(line, found["value"].split("\n")))
        return f"{found[1]}:{value}"

    def _destination(self, href: str) -> str:
        """Return the new address of a link to a path; the same if it still leads there."""
        path, mark, rest = _split(href)
        decoded = unquote(path)
        if not decoded or _SCHEME.match(href):
            return href
        is_path = not self._has_named_paths
        target = self.names.find(decoded, is_path, self.path)
        if target is None:
            moved = None if href.startswith("/") else self._attachment(decoded)
            return href if moved is None else f"{quote(self._from_folder(moved))}{mark}{rest}"
        new = self.to if target == self.file else target
        # A title still leads there, but Obsidian finds the file by its name alone.
        is_renamed = not is_path and self._is_renamed(decoded, target)
        if not is_renamed and self.after.find(decoded, is_path, self.path_after) == new:
            return href
        # A path without `.md` is no link of the graph, and must not become one.
        suffix = ".md" if decoded.lower().endswith(".md") else ""
        for form in self._forms(decoded, target, new):
            path = form.removesuffix(".md") + suffix
            if self.after.find(path, is_path, self.path_after) == new:
                break
        return f"{quote(path)}{mark}{rest}"

    def _forms(self, path: str, target: str, new: str) -> Iterator[str]:
        """Yield the paths of a file in the form of a path that meant it, and the forms that replace it."""
        if path.startswith("/"):
            yield f"/{new}"
        is_from_folder = compared(target) in {
            compared(posixpath.normpath(posixpath.join(posixpath.dirname(self.path), one)))
            for one in (path, f"{path}.md")
        }
        if not self._has_named_paths:
            yield self._from_folder(new)
        elif path.startswith(("./", "../")):
            yield self._from_folder(new, dotted=True)
        elif "/" not in path:
            yield posixpath.basename(new)
        elif is_from_folder and compared(target) not in {compared(path), compared(f"{path}.md")}:
            yield self._from_folder(new)
        yield new

    def _from_folder(self, target: str, *, dotted: bool = False) -> str:
        path = posixpath.relpath(target, posixpath.dirname(self.path_after) or ".")
        return f"./{path}" if dotted and not path.startswith("../") else path

    def _attachment(self, path: str) -> str | None:
        """Return the file that is no memory, or the folder, that a path leads to; None if none moved."""
        before, after = posixpath.dirname(self.path), posixpath.dirname(self.path_after)
        target = posixpath.normpath(posixpath.join(before, path))
        is_outside = target.startswith("../") or before == after
        is_from_top = (
            self._has_named_paths and not path.startswith(("./", "../")) and self.exists(path)
        )
        return None if is_outside or is_from_top or not self.exists(target) else target

    def _named(self, name: str) -> str:
        """Return the new name of a file that a name meant.

        The old name if it still means that file.
        """
        target = self.names.find(name.strip(), False, self.path)
        if target is None:
            return name
        # A title still leads there, but other programs find the file by its name alone.
        is_renamed = self._is_renamed(name, target)
        target = self.to if target == self.file else target
        if not is_renamed and self.after.find(name.strip(), False, self.path_after) == target:
            return name
        suffix = ".md" if name.strip().lower().endswith(".md") else ""
        short = posixpath.basename(target)[: -len(".md")] + suffix
        whole = target[: -len(".md")] + suffix
        is_short = "/" not in name
        fits = self.after.find(short, False, self.path_after) == target
        return short if is_short and fits else whole

    def _is_renamed(self, name: str, target: str) -> bool:
        """Whether a name that means the target is the name of the file that gets another one."""
        return target == self.file and _stem(name) == _stem(self.file) != _stem(self.to)


def _stem(name: str) -> str:
    """The file name that a name or a path ends with, without `.md`, as names are compared."""
    return compared(posixpath.basename(name.strip())).removesuffix(".md")


def _split(href: str) -> tuple[str, str, str]:
    """Split an address into its path, the mark after it, `#` or `?`, and the rest."""
    at = min((at for at in (href.find("#"), href.find("?")) if at >= 0), default=len(href))
    return href[:at], href[at : at + 1], href[at + 1 :]


def _comment_in(line: str) -> int:
    """Return where the comment of a line of YAML begins; its length if there is none."""
    quote_mark = ""
    for at, one in enumerate(line):
        if quote_mark:
            quote_mark = "" if one == quote_mark else quote_mark
        elif one in "'\"":
            quote_mark = one
        elif one == "#" and (at == 0 or line[at - 1] in " \t"):
            return at
    return len(line)


def _move(derived: Derived, file: str, to: str) -> None:
    """Return a file its new path; a file that came there meanwhile stays."""
    old, new = path_of(derived, file), derived.source_root / to
    with files.system_errors("rename", old):
        files.make_folders(new.parent)
        if _is_same(derived, file, to):
            files.rename(old, new)
            return
        files.move_new(old, new)


def _is_same(derived: Derived, file: str, to: str) -> bool:
    """Return whether both paths are one file, as on a file system without case."""
    old, new = derived.source_root / file, derived.source_root / to
    if file == to or not new.exists() or new.is_symlink():
        return False
    # exFAT numbers a file anew for each spelling of its name, so that only the list of the folder tells.
    return old.samefile(new) or (
        compared(file) == compared(to) and new.name not in os.listdir(new.parent)  # noqa: PTH208
    )


def forget(derived: Derived, file: str, named_by: Sequence[str], view: View) -> ForgetResult:
    """Delete all that was derived from a file, and then the file: one that is stopped can be repeated.

    The lines of pages that quote it are removed. Only files of the view are named. Raises HedgerowError
    (`not_forgotten`) if something of it is found in the derived folder afterwards, or if that cannot be known.
    """
    # A file that is no text is refused before anything is deleted: no trace of it could be recognized.
    data, path = data_of(derived, file), path_of(derived, file)
    text, metadata = text_of(data), parse_document(file, data).metadata
    without = replace(derived, rules=_rules_without(derived.rules, file))
    with locked(derived.lock), system_errors("remove", path):
        # First: a process that is killed leaves no node with the path of a deleted file.
        if derived.has_store:
            with open_store_to_write(derived) as store:
                store._purge([file])  # noqa: SLF001 - of the same package
    try:
        rewritten, emptied = _rewritten_pages(without, file, Scope.stated(metadata))
        others = read_documents(derived.source_root, without.rules)
        quoting, traces = others.quotes_and_traces(file, text, OWN_FIELDS)
        own_traces = traces
        if view.scope:
            visible = read_documents(derived.source_root, without.rules, view.scope)
            quoting, own_traces = visible.quotes_and_traces(file, text, OWN_FIELDS)
        removed = [
            *_purged(without, traces),
            *_without_traces(_reports(derived, view.scope), own_traces, derived),
        ]
    except (HedgerowError, OSError) as error:
        raise _not_forgotten(derived, f"{file} was not deleted", error) from error
    with locked(derived.lock), system_errors("remove", path):
        remove(path)
    try:
        left = _left(derived, traces)
        if left:  # another process read the file meanwhile
            removed += _purged(derived, traces)
            left = _left(derived, traces)
        found, unread = ([], []) if view.scope else _copies(derived, traces, others.paths)
    except (HedgerowError, OSError) as error:
        raise _not_forgotten(derived, f"{file} was deleted", error) from error
    if left:
        names = ", ".join(map(str, left))
        problem = f"{names} still has parts of it, perhaps for a process that reads it"
        raise _not_forgotten(derived, f"{file} was deleted", problem)
    return ForgetResult(
        str(derived.root),
        file,
        tuple(named_by),
        tuple(one for one in removed if not view.scope or one.endswith(f"{view.scope.suffix}.md")),
        tuple(filter(view.has, rewritten)),
        tuple(filter(view.has, emptied)),
        tuple(quoting),
        tuple(found),
        (*unread, *_out_of_reach(derived, metadata.get(IMPORT_ID))),
    )


def _out_of_reach(derived: Derived, imported: object) -> Iterator[str]:
    if isinstance(imported, str):
        tool, _, key = imported.partition(":")
        yield f"the export of {tool} with {key}, from which the next import writes the memory again"
    repository = repository_of(derived.source_root)
    if repository is not None:
        yield f"the git history of {repository}, and its clones"
    yield "backups, synced copies, and what other processes have in memory"


def _rewritten_pages(derived: Derived, file: str, scope: Scope) -> tuple[list[str], list[str]]:
    """Remove the lines of pages that quote a file of a scope, and the pages of which nothing is left.

    Returns the pages that were changed, and those that were removed. A page of another user, which cannot have seen
    the file, only names a file of that path.
    """
    changed: list[str] = []
    removed: list[str] = []
    for page in read_documents(derived.source_root, derived.rules).pages:
        path = derived.source_root / page
        data = read_regular(path)
        if not scope.is_comparable(Scope.stated(parse_document(page, data).metadata)):
            continue
        new = without_source(decode(data), file)
        if new is not None:
            mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
            is_empty = is_empty_page(new, page)
            with locked(derived.lock):
                if is_empty and read_regular(path) == data:
                    remove(path)
                else:
                    update(path, mark + new.encode(), expected=data, root=derived.source_root)
            (removed if is_empty else changed).append(page)
    return changed, removed


def _purged(derived: Derived, traces: list[str]) -> list[str]:
    """Remove everything that was derived from a deleted file. Returns the paths of the deleted files."""
    sync(derived, allow_empty=True)
    forget_elsewhere(derived)
    with locked(derived.lock):
        with open_to_write(derived) as index:
            _vacuum(index)
        if derived.has_store:
            with open_store_to_write(derived) as store:
                _vacuum(store.index)
        if derived.manifest.exists():
            write_manifest(derived)
        return list(_without_traces(_replaceable(derived), traces, derived))


def _rules_without(rules: MemoryRules, file: str) -> MemoryRules:
    pattern = pattern_of(file)
    include = (*rules.include, f"!{pattern}") if rules.include else ()
    return replace(rules, exclude=(*rules.exclude, pattern), include=include)


def _left(derived: Derived, traces: list[str]) -> list[Path]:
    return _with(_derived_files(derived), traces)


def _not_forgotten(derived: Derived, done: str, problem: str | Exception) -> HedgerowError:
    if isinstance(problem, Exception):
        message = problem.message if isinstance(problem, HedgerowError) else str(problem)
        problem = f"derived files may be left: {message}"
    return HedgerowError(
        f"{done}, but {problem}; delete {derived.folder} when nothing uses it, and the "
        "next command rebuilds it from the files",
        code="not_forgotten",
    )


def _replaceable(derived: Derived) -> list[Path]:
    """Return the reports, and the stores, indexes and writes of old."""
    old = f"{derived.store.name}.", f"{derived.index.name}."
    return [
        other
        for other in _derived_files(derived)
        if other.parent == derived.reports
        or other.name.startswith(old)
        or other.name.endswith(TEMPORARY_SUFFIX)
    ]


def _reports(derived: Derived, scope: Scope) -> list[Path]:
    """Return the reports of a scope; none without a scope."""
    if not scope:
        return []
    return [one for one in _derived_files(derived) if one.name.endswith(f"{scope.suffix}.md")]


def _without_traces(files: Sequence[Path], traces: list[str], derived: Derived) -> Iterator[str]:
    """Delete the files with traces of a forgotten one; yields their paths."""
    for other in _with(files, traces):
        with system_errors("remove", other):
            remove(other)
        yield other.relative_to(derived.root).as_posix()


def _derived_files(derived: Derived) -> list[Path]:
    return sorted(file for file in derived.folder.rglob("*") if file.is_file())


def _copies(
    derived: Derived, traces: list[str], memories: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the files below the root and the indexed folder that have traces of a memory.

    Hidden folders such as a trash count, memories and the derived folder do not, and neither does the
    history of a repository. Also returns what was not searched: files and folders that cannot be read, each with the
    reason, and files beyond the limits of a search.
    """
    known = {derived.source_root / path for path in memories}
    unread: dict[Path, str] = {}
    others = [file for file in _files(derived, unread) if file not in known]
    found, unread_files, large = _files_with(others, traces, (_LARGEST_SEARCHED, _MOST_SEARCHED))
    unread.update((others[at], reason) for at, reason in unread_files)

    def name(file: Path) -> str:
        return os.path.relpath(file, derived.root).replace(os.sep, "/")

    reasons = sorted(f"{name(file)} ({reason})" for file, reason in unread.items())
    if large:
        names = sorted(name(others[at]) for at in large)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        reasons.append(f"large files: {', '.join(names[:_MOST_NAMED])}{more}")
    return sorted(name(others[at]) for at in found), reasons


def _files(derived: Derived, unread: dict[Path, str]) -> Iterator[Path]:
    """Yield the files around the memories. Folders that cannot be listed are added to `unread`."""

    def report(error: OSError) -> None:
        unread[Path(error.filename)] = why_unreadable(error)

    bases = dict.fromkeys([derived.root, derived.source_root])
    seen: set[str] = set()
    for base in bases:
        for folder, folders, names in os.walk(base, onerror=report):
            folders[:] = [
                name for name in folders if name != ".git" and Path(folder, name) != derived.folder
            ]
            if folder in seen:
                folders[:] = []
                continue
            seen.add(folder)
            for name in names:
                file = Path(folder, name)
                if file.is_file() and not file.is_symlink():
                    yield file


def _with(files: Sequence[Path], traces: list[str]) -> list[Path]:
    """Return the files that have any of the traces. Raises HedgerowError if one cannot be read."""
    found, unread, _ = _files_with(files, traces)
    for at, reason in unread:
        raise HedgerowError(f"{files[at]}: {reason}", code="root_io")
    return [files[at] for at in found]
