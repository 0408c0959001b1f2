"""`MemoryRoot`: a folder of Markdown memories, written, recalled and processed."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow._checks import checked_flag
from hedgerow.typing import OnDuplicate, Progress, QuestionDate

from . import config, setup
from .asked import checked_recall
from .choices import Choices
from .config import RootStatus
from .derived import Derived
from .freshness import FileCheck, IndexState, index_state
from .node_store import NodeStore
from .opened import OpenedIndex
from .recall import Recall
from .results import Remembered, RootGraph, WrappedUp
from .root_edits import RootEdits
from .scope import Scope
from .score import DepthPolicy, depth_boost
from .setup import Initialized

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder
    from hedgerow.typing import ContextKeywords

    from .context import Context
    from .imports.moving import Imported
    from .process import Processed
    from .sync import SyncReport

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

__all__ = ["MemoryRoot", "Remembered", "RootGraph", "WrappedUp"]


class MemoryRoot(RootEdits):
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
    ) -> None:
        self._root = root
        self._scope = Scope.of(scope, shared=shared)
        self._choices = Choices(trust, embedder, notify)
        self._check = FileCheck(watch=watch)
        self._opened = OpenedIndex(root, depth_policy, embedder, self._check)
        self._nodes = NodeStore(root, self._check)

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
        )

    @classmethod
    def init(cls, path: str | os.PathLike[str], *, force: bool = False) -> MemoryRoot:
        """Set up a root: configuration, folders, `.gitignore`; then open it.

        Existing files stay; `force` writes a new configuration, but never over a newer schema.
        Raises HedgerowError for a configuration that cannot be read, without `force`, and for one
        with a newer schema.
        """
        setup.initialize(path, force=force)
        return cls.open(path)

    @staticmethod
    def initialize(
        path: str | os.PathLike[str], *, force: bool = False, embedder: str | None = None
    ) -> Initialized:
        """Set up a root as `init` does, and report what was done.

        `embedder` is a name as in `hedgerow.json`, such as "local". It is used once the user allows it
        (`hedgerow trust`).
        """
        return setup.initialize(path, force=force, embedder=embedder)

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
        wanted = Scope.of({**self.scope, **ids} if shared else ids, shared=shared)
        view = copy.copy(self)
        view._scope = self._scope.narrowed(wanted)  # noqa: SLF001 - of this class
        return view

    def status(self) -> RootStatus:
        """Report whether the root is set up, and whether this hedgerow can use it.

        `not_allowed` has what the root asks for and its user has not allowed, `watch` says whether a
        root that was opened to watch can. Raises HedgerowError
        (`root_config_invalid`) for a configuration that cannot be read.
        """
        return replace(config.read_status(self._root, self._choices), watch=self._check.state)

    def sync(self, *, progress: Progress | None = None, allow_empty: bool = False) -> SyncReport:
        """Bring the index up to date with the files, and its vectors if there is an embedder.

        `progress(done, total)` is called as files are read, and then as chunks are embedded. Only
        what changed is read. A file that cannot be read is named in the report. If the embedder
        fails, its error is raised; keyword search is up to date nevertheless.

        Raises InvalidInputError (`nothing_found`) if the index knows several memories and the root
        has none, since its disk may not be mounted; `allow_empty` drops them from the index.
        """
        from .sync import sync  # noqa: PLC0415 - slow to import

        self._check_whole("sync")
        found = self._config()
        report = sync(Derived.of(found), progress, allow_empty=allow_empty)
        self._opened.embed(found, progress)
        return report

    def index(self, *, progress: Progress | None = None, allow_empty: bool = False) -> SyncReport:
        """Sync, and write the manifest `.hedgerow/index.json` for other programs."""
        from .manifest import write_manifest  # noqa: PLC0415 - slow to import

        report = self.sync(progress=progress, allow_empty=allow_empty)
        write_manifest(self._derived())
        return report

    def remember(
        self,
        text: str,
        *,
        title: str,
        type: str = "note",  # noqa: A002 - what it is called in the file
        tags: Sequence[str] = (),
        on_duplicate: OnDuplicate = "error",
    ) -> Remembered:
        """Write a memory as a new file, then index it.

        `type` is note, session, finding, decision, preference or page. A memory that cannot be
        indexed is written nevertheless; the result says why, and whether a later recall reads it.

        A text that says the same as a memory of the root, or nearly the same (spec/memory.md, "What
        is the same"), is refused with HedgerowError (`duplicate_memory`). With
        `on_duplicate="keep"` it is written nevertheless, and with "supersede" it supersedes that
        memory. Of several threads and processes that remember the same text at once, one writes it.
        Raises InvalidInputError for a blank text or an unknown type; nothing is written then.
        """
        from . import duplicates, note  # noqa: PLC0415 - slow to import
        from .remembering import remember  # noqa: PLC0415

        duplicates.checked_choice(on_duplicate)
        note.checked_type(type)
        body = note.checked_body(text)
        found = self._config()
        derived = Derived.of(found)
        old = None
        with duplicates.one_writer(derived):
            if on_duplicate != "keep":
                same = self._opened.duplicate(found, body, self._scope.own)
                if same is not None and on_duplicate == "error":
                    raise duplicates.error_of(same)
                old = same.file if same else None
            return remember(
                derived,
                text,
                title=title,
                kind=type,
                tags=tags,
                scope=self._scope,
                instead_of=old,
            )

    def import_from(
        self,
        source: str | os.PathLike[str],
        format: str,  # noqa: A002 - what the command calls it
        *,
        apply: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Read the memories of another tool from `source`, a file or a folder.

        `format` is obsidian, basic-memory, mem0, chatgpt, claude or jsonl (spec/memory.md, "Moving
        in"). Without `apply` nothing is written, and the result is a plan. A later import rewrites
        what has changed in the export, and leaves what was edited here. `progress(done, total)`
        counts memories.

        Raises InvalidInputError (`invalid_export`) for a source that cannot be read in that format.
        """
        from .imports.moving import move  # noqa: PLC0415 - slow to import

        checked_flag(apply, "apply")
        self._check_whole("import_from")
        done = move(self._derived(), format, Path(source), progress, apply=apply)
        if apply:
            self.sync(allow_empty=True)
        return done

    def recall(  # noqa: PLR0913 - what a recall can be asked for
        self,
        query: str,
        *,
        limit: int = 5,
        depth: str = "normal",
        as_of: QuestionDate | None = None,
        include_superseded: bool = False,
        types: Sequence[str] = (),
        tags: Sequence[str] = (),
        after: QuestionDate | None = None,
        before: QuestionDate | None = None,
        question_date: QuestionDate | None = None,
        sync: bool = True,
    ) -> Recall:
        """Find what the root knows about a text, the best first.

        `limit` is the number of results, 1 or more. `depth` is shallow (condensed memory first),
        normal or deep (raw sessions too). Memories that do not hold (spec/memory.md, "What holds")
        are left out and counted in `left_out`; with `as_of`, a date or a time, those that did not
        hold then. `include_superseded` leaves none of them out.

        Results have one of `types` and all `tags`, and their time is `after` or later and earlier
        than `before`: each a date, a time, or an age such as `30d`. With `question_date`, the time
        at which the question was asked, a period that the query names, such as "last week", narrows
        the time if anything is found in it (spec/memory.md, "Periods"); it is `period` in the
        result, and `notices` says how to undo it.

        Without `sync` the index is read as it is. Files that could not be read are in `unreadable`.
        Raises InvalidInputError for a blank query or an option out of range, and IndexFileError if
        there is no index to read.
        """
        asked = checked_recall(
            query,
            limit=limit,
            depth=depth,
            as_of=as_of,
            include_superseded=include_superseded,
            types=types,
            tags=tags,
            after=after,
            before=before,
            question_date=question_date,
            scope=self._scope,
        )
        return self._opened.recall(self._config(), asked, sync=sync)

    def context(
        self,
        query: str,
        *,
        budget: int = 2000,
        per_file: int = 2,
        count_tokens: Callable[[str], int] | None = None,
        sync: bool = True,
        **options: Unpack[ContextKeywords],
    ) -> Context:
        """Pack what the root knows about a text into at most `budget` tokens, to pass to a model.

        `str()` of the result has passages with their file and lines, the best first: whole
        headings, paragraphs, list items, tables and code, from at most `per_file` passages of a
        file. Its last line says what was left out. `count_tokens` counts the tokens of a text; by
        default one is counted for every four bytes of UTF-8 (spec/memory.md, "Context").

        The other options are those of `recall`. Raises InvalidInputError for a budget below 40.
        """
        from . import context  # noqa: PLC0415 - slow to import

        context.checked_budget(budget, per_file)
        found = self.recall(query, limit=context.FILES, sync=sync, **options)
        files = [one.file for one in found]
        hits = self._opened.passages(self._config(), query, files, sync=False)
        return context.pack(found, hits, budget, per_file, count_tokens or context.estimated_tokens)

    def wrapup(
        self,
        text: str,
        *,
        title: str,
        topic: str | None = None,
        limit: int = 5,
        tags: Sequence[str] = (),
    ) -> WrappedUp:
        """Write the wrapup of a session, with the four sections it must have.

        The sections are Findings, Decisions, Conflicts / Corrections and Open Questions. With a
        `topic`, up to `limit` memories about it are recalled first, as `related`. Raises
        InvalidInputError, which names every section that is missing or empty; nothing is written
        then.
        """
        from . import note, writer  # noqa: PLC0415 - slow to import

        self._derived()
        body = writer.checked_wrapup(text)
        related = None if topic is None else self.recall(topic, limit=limit)
        file = writer.write_wrapup(
            self._root, body, title=title, topic=topic, tags=tags, scope=self._scope
        )
        line = note.checked_title(title, "Session wrapup")
        stored = note.with_heading(line, body)
        return WrappedUp(str(self._root), file, line, topic, stored, related)

    def process(  # noqa: PLR0913 - what a run depends on
        self,
        mode: str,
        *,
        apply: bool = False,
        topic: str | None = None,
        since: QuestionDate | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> Processed:
        """Process the memories: `lint` reports, `synthesize` makes a page about a topic, and
        `dedupe` marks copies of a memory as superseded by the oldest.

        Only memories about `topic` are read that are not older than `since`, a date, a datetime or
        an age such as `30d` or `2w`: the newest first, up to `limit`, by default 8 for `synthesize` and
        100,000 for the others (spec/memory.md, "Processing"). Without `apply` no file is written, and the result says what
        would be done. `synthesize` syncs the index in either case. `progress(done, total)` counts the
        memories that `dedupe` compared. Files that could not be read are
        in `unreadable`. Raises InvalidInputError for another mode, and for `synthesize` without a
        topic, and HedgerowError (`no_sources`) if no memory is about it.
        """
        from . import process  # noqa: PLC0415 - slow to import
        from .selection import Selection  # noqa: PLC0415

        process.checked_mode(mode)
        checked_flag(apply, "apply")
        derived = self._derived()
        most = process.LIMITS[mode] if limit is None else limit
        scope = self._scope.own if mode == "dedupe" else self._scope
        selection = Selection.of(topic, since, most, scope)

        def recalled(wanted: str, count: int) -> list[str]:
            return [one.file for one in self.recall(wanted, limit=count, depth="deep")]

        return process.run(mode, derived, selection, recalled, apply=apply, progress=progress)

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
