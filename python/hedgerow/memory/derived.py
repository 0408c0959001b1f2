"""The folder `.hedgerow` of a root: all data derived from the Markdown files.

That of a root which the user cannot write is in the user's own folder.
"""

from __future__ import annotations

import glob
import hashlib
import hmac
import json
import logging
import os
import shutil
import stat
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from hedgerow._engine import Index, Store, _Listing, _sync_note
from hedgerow.errors import Fix, HedgerowError, IndexFileError, RetrievalError
from hedgerow.ingest.source import list_folder

from .config import Config
from .documents import FolderKind, MemoryRules, memory_rules
from .files import system_errors
from .identity import ensure_key, signature_of, user_folder
from .names import (
    AGENTS,
    DERIVED,
    DIRECTORIES,
    NODE_TYPES,
    Vault,
    daily_note_format,
    folder_for_notes,
    mark_of,
    title_format,
    vault_patterns,
)

if TYPE_CHECKING:
    from hedgerow.typing import Durability

_logger = logging.getLogger("hedgerow.memory")
_BY_EFFECTIVE_IDS = os.access in os.supports_effective_ids

T = TypeVar("T", Index, Store)

REBUILD = Fix("rebuild it from the files, in a writable folder", arguments={"sync": True})
"""The fix of derived files that a recall without a sync cannot use."""

FOREIGN = "index_foreign"
"""The code of a file that somebody else made, or another machine."""

_OF_NO_USE = frozenset({"index_damaged", "not_an_index", FOREIGN})

TOKENIZER: Final = "words"
"""The tokenizer of every root."""

INDEX = "index.db"
"""The name of the embedded index."""

LEDGER_NOTE = "scope"
"""The note with the subject of a ledger."""

OLDER = "index_read_only"
"""The code of a file that has to be opened for writing once, since an earlier version made it."""

_REPLACED = "index_replaced"
"""The code of a file beside the write-ahead log of the file that it replaced, and of an open file that was replaced."""


@dataclass(frozen=True)
class Derived:
    """The paths of the derived files of a root."""

    root: Path
    source_root: Path
    rules: MemoryRules
    members: tuple[Derived, ...] = ()
    durability: Durability = "normal"

    @classmethod
    def of(cls, config: Config) -> Derived:
        """Return the derived files of a configured root: one object while the same patterns exclude.

        The rules cache the listing of the folder.
        """
        known: Derived | None = config.__dict__.get("_derived")
        if known is not None and config.vault is None:
            return known
        # Prompts, not memories. Those of a vault depend on its files.
        exclude = (
            *_own_patterns(config.root, config.source_root, config.vault),
            *config.exclude,
        )
        rules = memory_rules(exclude, config.include, _kind_of(config))
        if known is None or known.rules != rules:
            members = tuple(map(cls.of, config.members))
            known = cls(config.root, config.source_root, rules, members, config.durability)
            config.__dict__["_derived"] = known
        return known

    def listing(self, *, named: bool = False) -> _Listing:
        """List the files that are read; `named` keeps what is passed by.

        Those of several roots that are recalled together begin with `@/`, `@@/` and so on.
        """
        if not self.members:
            return list_folder(self.source_root, self.rules, named=named)
        parts = [
            (mark_of(number), one.listing(named=named)) for number, one in enumerate(self.members)
        ]
        return _Listing.joined(parts)

    def folder_of(self, kind: str) -> str:
        """Return the folder, below the root, for new memories of a type; `.` for the root itself."""
        return DIRECTORIES[kind] if self.vault is None else folder_for_notes(self.root, self.vault)

    @property
    def vault(self) -> Vault | None:
        """The tool that keeps the folder, if it is a vault."""
        return self.rules.kind.vault

    @property
    def kinds(self) -> list[tuple[str, FolderKind]]:
        """How the files are read, each kind with the beginning of the paths that it is for."""
        if not self.members:
            return [("", self.rules.kind)]
        return [(f"{mark_of(number)}/", one.rules.kind) for number, one in enumerate(self.members)]

    def unused(self, listing: _Listing) -> list[str]:
        """Return the patterns of `exclude` in hedgerow.json that match nothing."""
        own = _own_patterns(self.root, self.source_root, self.vault)
        return [pattern for pattern in listing.unused if pattern not in own]

    @cached_property
    def folder(self) -> Path:
        """The folder itself, which need not exist.

        For a root that cannot be written it is one of the user's own, unless the index in the root was made
        by this user.
        """
        inside = self.root / DERIVED
        written = inside if os.path.exists(inside) else self.root  # noqa: PTH110 - raises nothing
        if _is_writable(written) or _is_made_by_us(self, inside / INDEX):
            return inside
        apart = user_folder() / _APART / _short_digest(os.fsencode(self.root))
        with suppress(OSError):  # A writer says why.
            apart.mkdir(mode=0o700, parents=True, exist_ok=True)
        return apart

    @cached_property
    def index(self) -> Path:
        """The embedded index."""
        return self.folder / INDEX

    @cached_property
    def store(self) -> Path:
        """The store whose nodes are the files."""
        return self.folder / "store.db"

    @cached_property
    def lock(self) -> Path:
        """The file that a writer locks."""
        return self.folder / "lock"

    @property
    def remember_lock(self) -> Path:
        """The lock for comparing a memory with the others and writing it."""
        return self.folder / "remember.lock"

    @property
    def embedding_lock(self) -> Path:
        """The lock of a process that embeds."""
        return self.folder / "embedding.lock"

    @property
    def manifest(self) -> Path:
        """The list of documents for other programs."""
        return self.folder / "index.json"

    @property
    def is_writable(self) -> bool:
        """Whether files can be made in the folder, so that a sync is possible."""
        return _is_writable(self.folder)

    @property
    def has_index(self) -> bool:
        """Whether there is an index; HedgerowError if the folder cannot be read."""
        return identity_of(self.index) is not None

    @property
    def has_store(self) -> bool:
        """Whether there is a store, as `has_index`."""
        return identity_of(self.store) is not None

    @property
    def reports(self) -> Path:
        """The folder of the reports of lint."""
        return self.folder / "reports"

    @property
    def index_scope(self) -> str:
        """The scope of the ledger of the index."""
        return self._scope_of(self.index)

    @property
    def store_scope(self) -> str:
        """The scope of the ledger of the store."""
        return self._scope_of(self.store)

    def _scope_of(self, file: Path) -> str:
        """Return the scope of a ledger: the indexed folder, how it is read, and the signature of the file."""
        known: str | None = self.__dict__.get(f"_scope {file.name}")
        if known is not None:
            return known
        try:
            folder = os.path.relpath(self.source_root, self.root)
        except ValueError:  # on another drive of Windows
            folder = str(self.source_root)
        signature = self.signature_of(file)
        kinds = "".join(f" {start}{json.dumps(kind)}" for start, kind in self.kinds if any(kind))
        scope = f"{folder.replace(os.sep, '/')}{kinds} {signature}"
        if signature:  # else the key of the user is not made yet
            self.__dict__[f"_scope {file.name}"] = scope
        return scope

    def signature_of(self, file: Path) -> str:
        """Return the signature of the root's path and the name of a derived file; empty without a key.

        An index in the place of the store has another one.
        """
        return signature_of(self.root / file.name)


def _kind_of(config: Config) -> FolderKind:
    vault, day_format = config.vault, config.daily_notes
    if vault is None:
        return FolderKind(day_format=day_format)
    day_format = day_format or daily_note_format(config.root, vault)
    return FolderKind(vault, day_format, title_format(config.root, vault))


def _own_patterns(root: Path, source_root: Path, vault: str | None) -> tuple[str, ...]:
    """Return the patterns of files that are never memories: definitions of agents, and parts of a
    vault.
    """
    folder = root / AGENTS
    # In a vault `agents` may be a folder of notes.
    has_agents = vault is None or any(folder.glob("*.toml"))
    agents: tuple[str, ...] = ()
    if has_agents and folder.is_relative_to(source_root):
        agents = (f"/{glob.escape(folder.relative_to(source_root).as_posix())}",)
    return agents if vault is None else (*agents, *vault_patterns(root, vault))


def check_folder(derived: Derived) -> None:
    """Raise HedgerowError where `.hedgerow` is a link to a folder in which this user made nothing."""
    if derived.folder.is_symlink() and not any(
        identity_of(file) and _is_ours(derived, file) for file in (derived.index, derived.store)
    ):
        raise _link(derived.folder, "where you have made no index of this root on this machine")


def check_reports(derived: Derived) -> None:
    """Raise HedgerowError where reports would be written outside of the root."""
    check_folder(derived)
    if derived.reports.is_symlink():
        raise _link(derived.reports, "where hedgerow writes no reports")


def _link(path: Path, why: str) -> HedgerowError:
    return HedgerowError(
        f"nothing was written: {path} is a link to {os.path.realpath(path)}, {why}; remove the link",
        code="root_io",
    )


def check_ours(derived: Derived, index: Index, file: Path) -> None:
    """Raise IndexFileError for an index or the index of a store that somebody else made."""
    if not _has_signature(derived, index, file):
        raise _foreign(file)


def check_regular(file: Path) -> None:
    """Raise IndexFileError for a derived file that is a link or no file: we make neither."""
    if not stat.S_ISREG(file.lstat().st_mode):
        raise _foreign(file)


def _foreign(file: Path) -> IndexFileError:
    return IndexFileError(
        f"{file} was not made by you on this machine under this name for a root at this path, so it is not read "
        "(was the root moved, renamed or copied?)",
        code="index_foreign",
        path=file,
        fixes=(REBUILD,),
    )


def _has_signature(derived: Derived, index: Index, file: Path) -> bool:
    signature = derived.signature_of(file)
    _, _, noted = (_sync_note(index, LEDGER_NOTE) or "").rpartition(" ")
    return signature != "" and hmac.compare_digest(noted.encode(), signature.encode())


def _is_writable(path: Path) -> bool:
    """Return whether the system lets this process write there."""
    return os.access(path, os.W_OK, effective_ids=_BY_EFFECTIVE_IDS)


def _is_made_by_us(derived: Derived, file: Path) -> bool:
    """Return whether this user made an index that can be read as it is."""
    with suppress(IndexFileError, OSError):
        check_regular(file)
        with Index.open(file, read_only=True) as index:
            return _has_signature(derived, index, file)
    return False


def _is_ours(derived: Derived, file: Path, known: Collection[tuple[int, int]] = ()) -> bool:
    """Return whether this user made an index or a store. True if the file cannot be opened."""
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode):
        return False
    if (status.st_dev, status.st_ino) in known:
        return True
    try:
        index = _opened_to_check(file)
    except IndexFileError as error:
        if not is_of_no_use(error):
            raise
        return True
    with index:
        return _has_signature(derived, index, file)


def _opened_to_check(file: Path) -> Index:
    """Open an index or the index of a store, without the write-ahead log of a file that it replaced."""
    try:
        return Index.open(file, read_only=True)
    except IndexFileError as error:
        if error.code not in {OLDER, _REPLACED}:
            raise
        is_replaced = error.code == _REPLACED
    if is_replaced:
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        _logger.warning("%s replaced a file that was open, whose log is removed", file)
    return Index.open(file, read_only=is_replaced)


def _is_blank(file: Path) -> bool:
    """Return whether a file of another user is empty, as after a process was killed early."""
    if not stat.S_ISREG(file.lstat().st_mode):
        return False
    with Index.open(file, read_only=True) as index:
        return len(index) == 0 and _sync_note(index, LEDGER_NOTE) is None


def quarantine_foreign(derived: Derived, known: Collection[tuple[int, int]] = ()) -> None:
    """Put away what somebody else made, which is logged; the caller holds the lock.

    `known` are the identities of files that were found to be of this user, and are open since.
    Rebuildable files are removed, and the store, which alone has visits, is kept next to it. Raises
    HedgerowError where the system refuses that.
    """
    ensure_key()
    with system_errors("change", derived.folder):
        _quarantine_foreign(derived, known)


def _quarantine_foreign(derived: Derived, known: Collection[tuple[int, int]]) -> None:
    for file in (derived.index, derived.store):
        for suffix in ("-wal", "-shm", "-journal"):
            beside = file.with_name(file.name + suffix)
            if beside.is_symlink():
                beside.unlink()
    told = []
    # A link that leads nowhere is one too: a new file would be made where it leads.
    if os.path.lexists(derived.index) and not _is_ours(derived, derived.index, known):
        if not _is_blank(derived.index):
            told.append("the index is rebuilt from the files")
        _remove(derived.index)
    if os.path.lexists(derived.store) and not _is_ours(derived, derived.store, known):
        if _is_blank(derived.store):
            _remove(derived.store)
        else:
            kept = _put_aside(derived.store, "foreign")
            told.append(f"the store is rebuilt without visits, and the old one is kept as {kept}")
    if not derived.has_index:
        derived.manifest.unlink(missing_ok=True)
    if told:
        _logger.warning(
            "%s was not made by you on this machine for a root at this path (was the root moved, renamed or "
            "copied?): %s",
            derived.folder,
            "; ".join(told),
        )


def open_to_write(derived: Derived) -> Index:
    """Open the index. Rebuilds it if it is damaged or not an index.

    Keywords of an index with another tokenizer are indexed again: the file is from an earlier version.
    """

    def opened() -> Index:
        return Index.open(derived.index, durability=derived.durability)

    index = _rebuilt(opened, partial(discard, derived))
    return with_words(index, index)


def open_store_to_write(derived: Derived) -> Store:
    """Open the store, as `open_to_write` does the index."""

    def opened() -> Store:
        return Store.open(derived.store, types=NODE_TYPES, durability=derived.durability)

    store = _rebuilt(opened, partial(quarantine_store, derived))
    return with_words(store, store.index)


def _rebuilt(opened: Callable[[], T], remove: Callable[[IndexFileError], None]) -> T:
    """Open a file; one that cannot be read is removed first, so that opening makes a new one."""
    try:
        return opened()
    except IndexFileError as error:
        if not is_of_no_use(error):
            raise
        remove(error)
    return opened()


def is_of_no_use(error: IndexFileError) -> bool:
    """Report whether the file cannot be read at all, so that a new one loses nothing."""
    return error.code in _OF_NO_USE


def is_mended_by_sync(error: IndexFileError) -> bool:
    """Report whether a sync rebuilds a damaged file, upgrades an older one, or opens one that replaced another."""
    return error.code in {OLDER, _REPLACED} or is_of_no_use(error)


def damage_in(error: HedgerowError) -> IndexFileError | None:
    """Return the damage that an error reports, or that kept a search from answering; else None."""
    cause = error.__cause__ if isinstance(error, RetrievalError) else error
    return cause if isinstance(cause, IndexFileError) and is_of_no_use(cause) else None


def with_words(opened: T, index: Index) -> T:
    """Give an open index or store the tokenizer of roots, and return it. It is closed if that fails."""
    if index.tokenizer != TOKENIZER:
        _logger.info(
            "%s had the tokenizer %s: its texts are indexed again", index.path, index.tokenizer
        )
        try:
            index.retokenize(TOKENIZER)
        except BaseException:
            opened.close()
            raise
    return opened


def remove_damaged(derived: Derived, damage: IndexFileError) -> bool:
    """Remove a damaged index, or quarantine a damaged store. Return False if the damage is in neither.

    The caller holds the lock, and rebuilds the file.
    """
    if damage.path == str(derived.store):
        quarantine_store(derived, damage)
    elif damage.path == str(derived.index):
        discard(derived, damage)
    else:
        return False
    return True


def quarantine_store(derived: Derived, damage: IndexFileError) -> None:
    """Keep a damaged store under another name, for only the store has visits; which is logged."""
    kept = _put_aside(derived.store, "damaged")
    _logger.warning(
        "%s; it is rebuilt from the files, without visits, and the old one kept as %s",
        damage.message,
        kept,
    )


def discard(derived: Derived, damage: IndexFileError) -> None:
    """Remove a damaged index, with its WAL and shared memory, which is logged.

    The caller holds the lock.
    """
    if derived.has_index and derived.index.stat().st_size > 0:
        _logger.warning("%s; it is rebuilt from the files", damage.message)
    _remove(derived.index)


def _put_aside(file: Path, why: str) -> Path:
    """Rename a file, with its WAL and shared memory, over what was put aside before; or a folder."""
    kept = file.with_name(f"{file.name}.{why}")
    for number in range(2, 1000):
        if not kept.is_dir() and not (file.is_dir() and kept.exists()):
            break
        # Nothing replaces a folder, and a folder replaces nothing.
        kept = file.with_name(f"{file.name}.{why}-{number}")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            file.with_name(file.name + suffix).replace(f"{kept}{suffix}")
    return kept


def _remove(file: Path) -> None:
    """Remove a file, with its WAL and shared memory; a folder in its place, which we never make, is kept."""
    for suffix in ("", "-wal", "-shm"):
        part = file.with_name(file.name + suffix)
        if part.is_dir() and not part.is_symlink():
            _put_aside(part, "foreign")
        else:
            part.unlink(missing_ok=True)


def identity_of(file: Path) -> tuple[int, int] | None:
    """Tell a file from the one that takes its name later; None where there is none.

    Raises HedgerowError if the system does not say, as in a folder without permissions.
    """
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        with system_errors("read", file):  # entered here alone: each recall looks
            raise
    return status.st_dev, status.st_ino


# The folder in which several roots have one index (spec/memory.md, "Several roots").


_JOINT = "joint"
_APART = "read-only"
"""The folder, in that of the user, of the derived files of roots that cannot be written."""
_NO_PRIVILEGE = 1314
"""Windows' error for a link by a user who may not make links."""


def link_to(link: Path, target: Path) -> None:
    """Make a link lead to a folder."""
    with suppress(OSError):
        if link.readlink() == target:
            return
        link.unlink()
    # Several processes may make it at the same time.
    with suppress(FileExistsError):
        try:
            link.symlink_to(target, target_is_directory=True)
        except OSError as error:
            if getattr(error, "winerror", None) != _NO_PRIVILEGE:
                raise
            raise HedgerowError(
                "Windows makes no links for this user, which several roots at once need; turn on the "
                "developer mode in its settings, or name one root",
                code="root_io",
            ) from error


def joint_folder(roots: Sequence[Path]) -> Path:
    """Return the folder, which need not exist, for the index of several roots."""
    names = "\0".join(map(str, roots)).encode("utf-8", "surrogateescape")
    return user_folder() / _JOINT / _short_digest(names)


def _short_digest(name: bytes) -> str:
    return hashlib.sha256(name).hexdigest()[:16]


def forget_elsewhere(derived: Derived) -> None:
    """Delete the indexes in the user's folder that may have the files of this root; recalls remake them.

    These are those of several roots with this one, and those of all roots that cannot be written: they
    may have the files of this one at another path. Raises HedgerowError if the system refuses it.
    """
    with system_errors("delete", user_folder() / _APART):
        for file in (user_folder() / _APART).rglob("*"):
            # The folders stay for processes that have them open.
            if file.is_file():
                file.unlink()
    folder = user_folder() / _JOINT
    if not folder.is_dir():
        return
    for one in sorted(folder.iterdir()):
        if any(_leads_to(link, derived.source_root) for link in _links(one)):
            with system_errors("delete", one):
                for link in _links(one):
                    link.unlink(missing_ok=True)
                shutil.rmtree(one)


def _links(folder: Path) -> Sequence[Path]:
    return [one for one in folder.iterdir() if one.is_symlink()] if folder.is_dir() else []


def _leads_to(link: Path, target: Path) -> bool:
    try:
        return link.resolve() == target
    except (OSError, RuntimeError):
        return False
