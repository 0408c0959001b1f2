"""`MemoryRoot`: a folder of Markdown memories, written, recalled and processed."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow._checks import checked_flag, checked_path
from hedgerow.typing import Durability, Progress

from . import config
from .config import InitResult
from .derived import Derived
from .index_handle import OpenedIndex
from .names import CONFIG, LEGACY_CONFIG
from .node_store import NodeStore
from .results import DepthPolicy, depth_boost
from .root_files import FileCheck, IndexState, index_state
from .root_writes import RootWrites
from .scope import Scope
from .trust import Choices

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder

    from .imports.moving import ImportResult
    from .sync import SyncReport

__all__ = ["MemoryRoot"]

_OTHER_NAMES = {"read": "show", "aread": "ashow"}


class MemoryRoot(RootWrites):
    """A folder whose Markdown files are memories (spec/memory.md).

    The files are the source of truth: people read, edit and commit them. What is derived from
    them is in `.hedgerow/`, which may be deleted at any time and is rebuilt. Threads and processes
    may use one root at the same time.

    `depth_policy` replaces the function from bucket and depth to a part of the score. Paths in
    results are relative to the indexed folder, with `/`. Raises HedgerowError with the codes of
    spec/errors.md.

    The configuration of a root decides only about the root. An embedder that it names, or a folder
    outside the root that it wants indexed, is used if the user allowed it (`hedgerow trust`) or
    with `trust=True`, and never with `trust=False`. `embedder`, an object or a name, replaces the
    one in the configuration. Whatever is not allowed is left out, and `notify` is called once for
    each, with a sentence that says how to allow it; by default it is logged as a warning.

    With a `scope` such as `{"user": "ana"}`, whose keys are any of user, agent and session, all
    methods see and write only the memories of that scope (spec/memory.md, "Scopes"). With `shared`
    they also see memories without a scope, and do not write them.

    With `watch`, for processes that live long, a recall looks at the files only after the system has
    reported a change of one, which it does within 200 ms; `status` says whether it can.

    `durability` is that of index and store, as in `Index.open`, instead of the one in the configuration.
    Markdown files are on the disk when a method returns, whatever it is. Raises InvalidInputError for
    another word than "normal" and "full".
    """

    def __init__(  # noqa: PLR0913 - what a root depends on
        self,
        root: Path,
        *,
        depth_policy: DepthPolicy = depth_boost,
        embedder: AnyEmbedder | str | None = None,
        trust: bool | None = None,
        notify: Callable[[str], object] | None = None,
        scope: Mapping[str, str] | None = None,
        shared: bool = False,
        watch: bool = False,
        durability: Durability | None = None,
    ) -> None:
        self._root = root
        self._scope = Scope.of(scope, shared=shared)
        self._choices = Choices(trust, embedder, notify, durability)
        self._configured = self._stamp = None
        self._config_files = f"{root}/{CONFIG}", f"{root}/{LEGACY_CONFIG}"
        self._check = FileCheck(watch=watch)
        self._opened = OpenedIndex(root, depth_policy, embedder, self._check)
        self._nodes = NodeStore(root, self._check)

    if not TYPE_CHECKING:  # so that checkers of types still find misspelt names

        def __getattr__(self, name: str) -> Any:
            """Return `show` for `read`, and `ashow` for `aread`: programs of others call them so."""
            if name in _OTHER_NAMES:
                return getattr(self, _OTHER_NAMES[name])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def open(  # noqa: PLR0913 - what a root depends on
        cls,
        path: str | os.PathLike[str],
        *,
        depth_policy: DepthPolicy = depth_boost,
        embedder: AnyEmbedder | str | None = None,
        trust: bool | None = None,
        notify: Callable[[str], object] | None = None,
        scope: Mapping[str, str] | None = None,
        shared: bool = False,
        watch: bool = False,
        durability: Durability | None = None,
    ) -> MemoryRoot:
        """Open the root at `path`, whether it was set up or not.

        Raises InvalidInputError (`root_not_found`) if there is no such folder.
        """
        return cls(
            config.existing_root(path),
            depth_policy=depth_policy,
            embedder=embedder,
            trust=trust,
            notify=notify,
            scope=scope,
            shared=shared,
            watch=watch,
            durability=durability,
        )

    @classmethod
    def init(
        cls, path: str | os.PathLike[str], *, force: bool = False, vault: bool = False
    ) -> MemoryRoot:
        """Set up a root: configuration, folders, `.gitignore`; then open it.

        A vault of Obsidian or Logseq is recognized and gets no folders; with `vault` any folder is one.

        Existing files stay; `force` writes a new configuration, but never over a newer schema.
        Raises HedgerowError for a configuration that cannot be read, without `force`, and for one
        with a newer schema.
        """
        config.initialize(path, force=force, vault=vault)
        return cls.open(path)

    @staticmethod
    def initialize(
        path: str | os.PathLike[str],
        *,
        force: bool = False,
        embedder: str | None = None,
        vault: bool = False,
    ) -> InitResult:
        """Set up a root as `init` does, and report what was done.

        `embedder` is a name as in `hedgerow.json`, such as "local". It is used once the user allows it
        (`hedgerow trust`).
        """
        return config.initialize(path, force=force, embedder=embedder, vault=vault)

    @property
    def path(self) -> Path:
        """The folder: its absolute path, with links resolved."""
        return self._root

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self._root.name

    @property
    def scope(self) -> dict[str, str]:
        """The user, the agent and the session whose memories these are; empty for the whole root."""
        return self._scope.to_dict()

    def scoped(
        self,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        shared: bool = False,
    ) -> MemoryRoot:
        """Return the same root with only the memories of a scope; both share the open index.

        With `shared`, memories without a scope are seen as well, and never written.

        Raises InvalidInputError for a scope that is not within the scope of this root.
        """
        given = {"user": user, "agent": agent, "session": session}
        ids = {key: value for key, value in given.items() if value is not None}
        checked_flag(shared, "shared")
        wanted = Scope.of({**self.scope, **ids} if shared else ids, shared=shared)
        view = copy.copy(self)
        view._scope = self._scope.narrowed(wanted)  # noqa: SLF001 - of this class
        return view

    def sync(self, *, progress: Progress | None = None, allow_empty: bool = False) -> SyncReport:
        """Bring the index up to date with the files, and its vectors if there is an embedder.

        `progress(done, total)` is called as files are read, and then as chunks are embedded. Only
        what changed is read. A file that cannot be read is named in the report. If the embedder
        fails, its error is raised; keyword search is up to date nevertheless.

        Raises InvalidInputError (`nothing_found`) if the index knows several memories and the root
        has none, since its disk may not be mounted; `allow_empty` drops them from the index.
        """
        from .sync import sync  # noqa: PLC0415 - slow to import

        checked_flag(allow_empty, "allow_empty")
        self._check_whole("sync")
        found = self._config()
        report = sync(Derived.of(found), progress, files=self._check.files, allow_empty=allow_empty)
        self._opened.embed(found, progress)
        return report

    def index(self, *, progress: Progress | None = None, allow_empty: bool = False) -> SyncReport:
        """Sync, and write the manifest `.hedgerow/index.json` for other programs."""
        from .sync import write_manifest  # noqa: PLC0415 - slow to import

        report = self.sync(progress=progress, allow_empty=allow_empty)
        write_manifest(self._derived())
        return report

    def import_from(
        self,
        source: str | os.PathLike[str],
        format: str,  # noqa: A002 - what the command calls it
        *,
        apply: bool = False,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Read the memories of another tool from `source`, a file or a folder.

        `format` is obsidian, basic-memory, mem0, chatgpt, claude,
        claude-code, codex or jsonl (spec/memory.md, "Moving
        in"). Without `apply` nothing is written, and the result is a plan. A later import rewrites
        what has changed in the export, and leaves what was edited here. `progress(done, total)`
        counts memories.

        Raises InvalidInputError (`invalid_export`) for a source that cannot be read in that format.
        """
        from .imports.moving import move  # noqa: PLC0415 - slow to import

        checked_flag(apply, "apply")
        self._check_whole("import_from")
        done = move(self._derived(), format, checked_path(source, "source"), progress, apply=apply)
        if apply:
            self.sync(allow_empty=True)
        return done

    def index_state(self) -> IndexState | None:
        """Return how many documents the index has and how many files differ; None without one."""
        self._check_whole("index_state")
        return index_state(self._derived())

    @property
    def retrieval(self) -> str:
        """How memories are found: `keywords`, or `hybrid` with the embedder that is configured."""
        name = self._config().embedder
        return "keywords" if name is None else f"hybrid, with {name}"

    def close(self) -> None:
        """Close index, store and embedder; the next call opens them again."""
        self._opened.close()
        self._nodes.close()
        self._check.close()

    def __enter__(self) -> MemoryRoot:  # noqa: PYI034 - not for subclasses
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryRoot({str(self._root)!r})"
