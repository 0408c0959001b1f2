"""The operations of a root that write: new memories, edits, marks, links and visits; and agents."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hedgerow._checks import checked_path
from hedgerow._times import checked_time

from .names import AGENTS
from .operations import (
    EditRequest,
    ForgetRequest,
    LinkRequest,
    ProcessRequest,
    RememberRequest,
    RenameRequest,
    RestoreRequest,
    RetractRequest,
    SupersedeRequest,
    UnlinkRequest,
    VisitRequest,
    WrapupRequest,
)
from .recall import Moment
from .results import (
    ForgetResult,
    LinkResult,
    MarkResult,
    Memory,
    ProcessResult,
    RememberResult,
    RenameResult,
    VisitResult,
    WrapupResult,
)
from .root_reads import RootReads
from .session import Session

if TYPE_CHECKING:
    from hedgerow.agents import AgentDefinition, Agents, ModelClient


class RootWrites(RootReads):
    """The part of `MemoryRoot` that writes."""

    def _remember(self, request: RememberRequest) -> RememberResult:
        from .remembering import remember  # noqa: PLC0415 - slow to import

        return remember(self._session(), request, self._check.files)

    def _wrapup(self, request: WrapupRequest) -> WrapupResult:
        from .remembering import wrapup  # noqa: PLC0415 - slow to import

        return wrapup(self._session(), request, lambda topic, most: self.recall(topic, limit=most))

    def _process(self, request: ProcessRequest) -> ProcessResult:
        from .process import Run  # noqa: PLC0415 - slow to import

        def recalled(topic: str, count: int) -> list[str]:
            return [one.file for one in self.recall(topic, limit=count, depth="deep")]

        return Run(self._derived(), request, self._scope).result(recalled)

    def _edit(self, request: EditRequest) -> Memory:
        from .edit import at_section, edit  # noqa: PLC0415 - slow to import

        session = self._session()
        file, request = at_section(session.own, request)
        done = edit(session.derived, file, request, self._scope.own)
        session.wrote([file])
        return done

    def _rename(self, request: RenameRequest) -> RenameResult:
        from . import rename as renaming  # noqa: PLC0415 - slow to import

        session = self._session()
        [path] = session.own(request.key)
        new = renaming.new_path(session.derived, path, request.to)
        changed, by_hand = renaming.rename(
            session.derived, session.nodes(), path, new, session.visible(self._scope.own)
        )
        self._session().nodes()
        return RenameResult(str(self._root), path, new, tuple(changed), tuple(by_hand))

    def _supersede(self, request: SupersedeRequest) -> MarkResult:
        from . import marks  # noqa: PLC0415 - slow to import
        from .remembering import check_no_secret, remember_instead  # noqa: PLC0415

        check_no_secret(request.text or "", allowed=request.allow_secret)
        session = self._session()
        if request.by is not None:
            old, new = session.own(request.old, request.by)
            marks.check_no_circle(session.marks(), old, new)
            return self._marked(session, old, marks.supersede(session.derived, old, new))
        [old] = session.own(request.old)
        new, changed = remember_instead(session, old, request, request.text or "")
        return self._marked(session, old, changed, new)

    def _retract(self, request: RetractRequest) -> MarkResult:
        from .marks import retract  # noqa: PLC0415 - slow to import

        session = self._session()
        [path] = session.own(request.key)
        return self._marked(session, path, retract(session.derived, path, request.reason))

    def _restore(self, request: RestoreRequest) -> MarkResult:
        from .marks import restore  # noqa: PLC0415 - slow to import

        session = self._session()
        [path] = session.own(request.key, ended=True)
        marks = session.marks()
        news = [
            one for one in marks.said_to_supersede(path) if self._scope.own.has(marks.scope(one))
        ]
        return self._marked(session, path, restore(session.derived, session.nodes(), path, news))

    def _marked(
        self, session: Session, path: str, changed: list[str], written: str | None = None
    ) -> MarkResult:
        """Sync, and return the result for a memory that was marked."""
        session.wrote([*changed, *([] if written is None else [written])])
        validity = Moment.of(None, self._scope).validity(session.marks(), path)
        return MarkResult(str(self._root), path, tuple(changed), validity, written)

    def _forget(self, request: ForgetRequest) -> ForgetResult:
        from .forget import forget  # noqa: PLC0415 - slow to import

        session = self._session()
        [path] = session.own(request.key)
        named_by = sorted(
            {source for source, target, *_ in session.graph().edges if target == path}
        )
        return forget(session.derived, path, named_by, session.visible())

    def _link(self, request: LinkRequest) -> LinkResult:
        from .links import link  # noqa: PLC0415 - slow to import

        session = self._session()
        a, b = *session.own(request.a), *session.resolve(request.b)
        link(session.derived, session.nodes(), a, b, request)
        session.wrote([a])
        return LinkResult(str(self._root), a, b, request.rel, strength=request.strength)

    def _unlink(self, request: UnlinkRequest) -> LinkResult:
        from .links import unlink  # noqa: PLC0415 - slow to import

        session = self._session()
        a, b = *session.own(request.a), *session.resolve(request.b)
        removed = unlink(session.derived, session.nodes(), a, b, relation=request.rel)
        session.wrote([a])
        return LinkResult(str(self._root), a, b, request.rel, removed=removed)

    def _visit(self, request: VisitRequest) -> VisitResult:
        session = self._session()
        keys: Sequence[str] = session.resolve(*request.keys)
        at = int(time.time()) if request.at is None else checked_time(request.at, "at")
        agent, outcome = request.agent, request.outcome
        visits = [(agent, key, at, outcome) for key in keys]
        self._nodes.use(session.config, lambda store: store.visit_many(visits))
        return VisitResult(str(self._root), agent, at, outcome, tuple(keys))

    def agents(
        self,
        model: ModelClient | None = None,
        folder: str | os.PathLike[str] | None = None,
        *,
        refuses: Callable[[AgentDefinition], str | None] | None = None,
    ) -> Agents:
        """Put agents to work on the memories (spec/memory.md, "Agents").

        `folder` has their definitions, by default `agents` in the root; `model` answers their
        prompts. `refuses` is that of `Agents`. Close the root when they are done.
        """
        self._check_whole("agents")
        from hedgerow.agents import Agents  # noqa: PLC0415 - slow to import

        from .agents import RootWorkspace  # noqa: PLC0415 - slow to import

        definitions = self._root / AGENTS if folder is None else checked_path(folder, "folder")
        return Agents(RootWorkspace(self), definitions, model, refuses=refuses)

    def refuses_model(self, definition: AgentDefinition) -> str | None:
        """Return why an agent may not use its model at OpenAI, as a sentence; None if it may.

        The agents of a root choose a model and what is sent to it, so the user has to allow each
        model (spec/memory.md, "Trust").
        """
        from .trust import agent_model  # noqa: PLC0415 - slow to import

        refused = self._choices.refused([agent_model(self._root, definition.model)])
        return refused[0].notice if refused else None
