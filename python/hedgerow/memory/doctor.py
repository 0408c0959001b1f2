"""Health checks (spec/memory.md, "Doctor")."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

from hedgerow._engine import (
    Chunk,
    Index,
    Store,
    __version__,
    _day_format_problem,
    _Documents,
    _is_linked,
    _Ledger,
)
from hedgerow.embedders.by_name import why_unusable
from hedgerow.errors import HedgerowError, IndexFileError, InvalidInputError
from hedgerow.ingest.source import PassedBy, Skip

from .derived import OLDER, Derived, identity_of, is_mended_by_sync
from .documents import conflict_copies, read_documents, unread, unused_pattern
from .installing.tools import configured_file
from .links import without_attachments
from .names import DERIVED
from .note import now
from .results import RootStatus
from .root import MemoryRoot
from .times import micros_of

_INTEGRATIONS = {
    "codex": ".agents/skills/hedgerow-memory/SKILL.md",
    "claude": ".claude/skills/hedgerow-memory/SKILL.md",
    "pi": ".pi/agent/extensions/hedgerow-memory.ts",
}
_TOOLS = {"codex": "codex", "claude": "claude-code"}
"""The names of integrations for `hedgerow install`, which adds a server instead of a skill."""
_KEYS = {
    "engine": "engine",
    "memory_root": "memoryRoot",
    "index": "index",
    "links": "links",
    "edges": "edges",
    "files": "files",
    "permissions": "permissions",
}
"""The checks in the order of the report, each with its key in JSON."""

_NOT_CHECKED = "Not looked at."
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; a warning makes nothing unhealthy. `facts` go into JSON."""

    ok: bool
    message: str
    facts: dict[str, Any]
    is_warning: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        return {**self.facts, "ok": self.ok, "message": self.message}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The checks, and what of the root is not read."""

    engine: Check
    memory_root: Check
    index: Check
    links: Check
    edges: Check
    files: Check
    permissions: Check
    integrations: dict[str, Check]
    passed_by: tuple[PassedBy, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the engine, the root and its permissions are as they should be, and an index is possible."""
        needed = (self.engine, self.memory_root, self.permissions, self.index)
        return all(check.ok or check.is_warning for check in needed)

    def checks(self) -> list[tuple[str, Check]]:
        """Return the checks with their names, in the order of the report."""
        return [
            *((name.replace("_", " ").capitalize(), getattr(self, name)) for name in _KEYS),
            *((f"Integration {name}", check) for name, check in self.integrations.items()),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the documented JSON."""
        named = {key: getattr(self, name).to_dict() for name, key in _KEYS.items()}
        integrations = {name: check.to_dict() for name, check in self.integrations.items()}
        return {"ok": self.ok, **named, "integrations": integrations}


def diagnose(path: Path, *, trust: bool | None = None) -> Diagnosis:
    """Run all checks; problems are in the diagnosis, not raised. `trust` is that of a MemoryRoot."""
    root: MemoryRoot | None = None
    status: RootStatus | None = None
    try:
        # The message of the root names requests that are not allowed.
        root = MemoryRoot.open(path, trust=trust, notify=lambda _: None)
        status = root.status()
        message = " ".join([status.message, *(one.notice for one in status.not_allowed)])
        ok = status.compatible
    except HedgerowError as error:
        message, ok = error.message, False
    facts: dict[str, Any] = {"root": str(root.path if root else path)}
    if status is not None:
        facts |= {"initialized": status.initialized, "compatible": status.compatible}
        if status.not_allowed:
            facts["notAllowed"] = [request.to_dict() for request in status.not_allowed]
    usable = root if ok else None
    index, passed_by = _index(usable)
    links, edges, problems = _links_and_files(usable)
    return Diagnosis(
        engine=_engine(),
        memory_root=Check(ok, message, facts),
        index=index,
        links=links,
        edges=edges,
        files=problems,
        permissions=_permissions(root.path if root else None),
        integrations={name: _integration(name) for name in _INTEGRATIONS},
        passed_by=passed_by,
    )


def _warning(message: str, *, ok: bool = False, **facts: Any) -> Check:
    """Return a check that makes nothing unhealthy."""
    return Check(ok, message, facts, is_warning=True)


def _engine() -> Check:
    facts = {"version": __version__}
    try:
        with Index.in_memory() as index:
            index.upsert([Chunk("a", "a.md", "hedgehog")])
            works = len(index.search_bm25("hedgehog")) == 1
    except HedgerowError as error:
        return Check(ok=False, message=error.message, facts=facts)
    message = f"hedgerow {__version__} stores and finds." if works else "it does not find."
    return Check(works, message, facts)


def _index(root: MemoryRoot | None) -> tuple[Check, tuple[PassedBy, ...]]:
    if root is None:
        return _warning(_NOT_CHECKED), ()
    try:
        folder = Derived.of(root._config()).folder  # noqa: SLF001 - of the same package
        if folder.is_file():
            message = (
                f"{folder} is a file, and the index needs a folder of that name; move it away."
            )
            return Check(ok=False, message=message, facts={}), ()
        broken, aside = _broken(root), _put_aside(root)
        facts: dict[str, Any] = {"broken": broken, "putAside": aside}
        kept = f" Quarantined by a sync: {', '.join(aside)}." if aside else ""
        if broken:
            message = f"Damaged: {_some(broken)}. The next recall or query rebuilds it.{kept}"
            return _warning(message, **facts), ()
        state = root.index_state()
    except HedgerowError as error:
        return _warning(error.message), ()
    how = _retrieval(root)
    if state is None:
        message = f"Not made yet; the first recall makes it. {how}{kept}"
        return _warning(message, **facts), ()
    stale = state.stale > 0
    behind = f"{state.stale} files have changed since; the next recall reads them."
    passed = f" Passed by: {state.passed_by.total():,}."
    unused = "".join(f" {unused_pattern(pattern)}." for pattern in state.unused)
    message = f"{behind if stale else 'Up to date.'} {how}{passed if state.passed_by else ''}{unused}{kept}"
    facts |= {
        "documents": state.documents,
        "stale": stale,
        "passedBy": dict(state.passed_by),
    }
    return _warning(message, ok=not stale, **facts), state.named


def _retrieval(root: MemoryRoot) -> str:
    """Return how memories are found, and why by keywords alone if the embedder cannot be used."""
    how = f"Retrieval: {root.retrieval}."
    name = root._config().embedder  # noqa: SLF001 - of the same package
    if name is None:
        return how
    try:
        why = why_unusable(name)
    except InvalidInputError as error:
        return f"{how} Recall fails: {error.message}."
    return how if why is None else f"{how} Keywords alone are searched while it fails: {why}."


def _broken(root: MemoryRoot) -> list[str]:
    """Return the damage in the index and the store of a root."""
    derived = Derived.of(root._config())  # noqa: SLF001 - of the same package
    found = []
    for file, opened in ((derived.index, Index.open), (derived.store, Store.open)):
        if identity_of(file) is None:
            continue
        try:
            with opened(file, read_only=True) as checked:
                index = checked if isinstance(checked, Index) else checked.index
                found += [f"{file.name}: {problem}" for problem in index.check()]
        except IndexFileError as error:
            if not is_mended_by_sync(error):
                raise
            # A file of an earlier version is migrated by the next sync.
            if error.code != OLDER:
                found.append(f"{file.name}: {error.message}")
    return found


def _put_aside(root: MemoryRoot) -> list[str]:
    """Return the names of files that a sync put aside, because they were damaged or made by others."""
    folder = Derived.of(root._config()).folder  # noqa: SLF001 - of the same package
    names = [file.name for why in ("damaged", "foreign") for file in folder.glob(f"*.{why}*")]
    return sorted(name for name in names if not name.endswith(("-wal", "-shm")))


def _links_and_files(root: MemoryRoot | None) -> tuple[Check, Check, Check]:
    """Check the links of all files, their edges in the store, and whether all of each file could be read."""
    if root is None:
        return _warning(_NOT_CHECKED), _warning(_NOT_CHECKED), _warning(_NOT_CHECKED)
    try:
        derived = Derived.of(root._config())  # noqa: SLF001 - of the same package
    except HedgerowError as error:
        return _warning(error.message), _warning(error.message), _warning(error.message)
    documents = read_documents(derived.source_root, derived.rules)
    problems = [*unread(documents), *starmap(Skip, documents.problems())]
    problems += [*_bad_format(derived), *starmap(Skip, documents.ambiguous_days())]
    problems += starmap(Skip, documents.several_successors(micros_of(now())))
    problems += conflict_copies(documents.paths, set(documents.paths).__contains__)
    broken = without_attachments(documents.unresolved_links(), derived.source_root)
    return _links(broken), _edges(derived, documents), _files(problems)


def _bad_format(derived: Derived) -> list[Skip]:
    """Return the problems of the formats of daily notes that a vault is configured with."""
    kind = derived.rules.kind
    formats = {
        "names": (
            kind.day_format,
            'Notes named by it have no time; hedgerow.json may state another ("dailyNotes")',
        ),
        "titles": (kind.title_format, "Links with such a title lead to no daily note"),
    }
    return [
        Skip(
            f"{derived.vault} settings",
            "bad_day_format",
            f"the format of the {what} of daily notes {given!r} is not read: {problem}. {effect}",
        )
        for what, (given, effect) in formats.items()
        if given is not None and (problem := _day_format_problem(given)) is not None
    ]


def _links(found: Sequence[tuple[str, str]]) -> Check:
    unresolved = [{"file": file, "link": target} for file, target in found]
    if not found:
        return _warning("None is broken.", ok=True, unresolved=unresolved)
    shown = _some([f"{file}: {target}" for file, target in found])
    return _warning(f"{len(found)} broken: {shown}.", unresolved=unresolved)


def _edges(derived: Derived, documents: _Documents) -> Check:
    """Compare the edges of the store with those of the links of the files."""
    try:
        if not derived.has_store:
            return _warning("No store yet; the first query or graph makes it.", ok=True)
        with Store.open(derived.store, read_only=True) as store:
            ledger = _Ledger(store.index, derived.store_scope, False)
            stale = ledger.stale(derived.listing(), derived.source_root)
            if stale or not ledger.is_current or not _is_linked(store):
                message = "Not compared: the store is behind the files; the next query or graph updates it."
                return _warning(message, ok=True)
            stored = store._edges()  # noqa: SLF001 - of the same package
    except HedgerowError as error:
        return _warning(f"Not compared: {error.message}.")
    different = sorted(set(stored) ^ set(documents.edges()))
    facts = [{"from": edge[0], "to": edge[1], "relation": edge[2]} for edge in different]
    if not different:
        return _warning("Those of the links of the files.", ok=True, different=facts)
    shown = _some([f"{source} -> {target} ({name})" for source, target, name, _ in different])
    message = (
        f"{len(different)} differ from the links of the files: {shown}. Move {derived.store} away while "
        "nothing uses it, and the next query or graph rebuilds it, without visits."
    )
    return _warning(message, different=facts)


def _files(found: Sequence[Skip]) -> Check:
    problems = [skip.to_dict() for skip in found]
    if not found:
        return _warning("All are readable.", ok=True, problems=problems)
    count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    # The list is complete, since notices of other commands refer to it.
    return _warning(f"{count}: {'; '.join(map(str, found))}.", problems=problems)


def _some(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return "; ".join([*texts[:_SHOWN], *more])


def _lacking(path: Path) -> list[str]:
    """Return the actions on a file or a folder that the user is not allowed."""
    needed = {"read": os.R_OK, "write": os.W_OK} | ({"enter": os.X_OK} if path.is_dir() else {})
    by_effective = os.access in os.supports_effective_ids
    return [
        name
        for name, mode in needed.items()
        if not os.access(path, mode, effective_ids=by_effective)
    ]


def _permissions(root: Path | None) -> Check:
    if root is None:
        return Check(ok=False, message="There is no folder to write to.", facts={})
    folder = root / DERIVED
    for path in (root, folder, folder / "index.db", folder / "store.db"):
        lacking = _lacking(path) if os.path.exists(path) else []  # noqa: PTH110 - False without permission
        if lacking:
            message = f"You may not {', '.join(lacking)} {path}; change its mode or its owner."
            return Check(ok=False, message=message, facts={})
    return Check(ok=True, message="Files can be read and written.", facts={})


def _integration(name: str) -> Check:
    path = Path.home() / _INTEGRATIONS[name]
    installed, message = os.path.isfile(path), ""  # noqa: PTH113 - False without permission
    if not installed and name in _TOOLS:
        try:
            found = configured_file(_TOOLS[name])
        except HedgerowError as error:
            message = error.message
        else:
            installed, path = found is not None, found or path
    message = message or ("Installed." if installed else "Not installed.")
    return _warning(message, ok=installed, path=str(path))
