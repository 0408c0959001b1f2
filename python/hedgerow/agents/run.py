"""One run of an agent, from its query to the transaction that ends it (spec/agents.md, "A run")."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow._engine import _begin_run, _end_run, _rehearse
from hedgerow.errors import HedgerowError

from .actions import Refine, Rejected
from .asking import RunStopped, ask
from .directives import Reply, parse_reply, write_action
from .instructions import instructions
from .models import ModelPermanent, ModelReply, ModelRequest, ModelTransient
from .places import Harvest
from .prompting import Desk
from .reports import DryRun, RunReport
from .template import render

if TYPE_CHECKING:
    from hedgerow._engine import QueryResult, Store

    from .actions import Action
    from .definition import AgentDefinition
    from .models import ModelClient
    from .places import Place
    from .runs import Standing

__all__ = ["CLAIM_MARGIN_S", "dry_run", "run_once"]

_LOG = logging.getLogger("hedgerow")

CLAIM_MARGIN_S = 60
"""How much longer than its timeout a run holds its nodes."""

_OVER = (
    f"the run took longer than its timeout and {CLAIM_MARGIN_S} s more, so its nodes may be "
    "another's by now; nothing was applied"
)


def run_once(  # noqa: PLR0913 - what a run depends on
    place: Place,
    definition: AgentDefinition,
    model: ModelClient,
    standing: Standing,
    *,
    clock: Callable[[], int],
    stop: threading.Event,
) -> RunReport:
    """Run an agent once, due or not. `standing` is what the decision was made on.

    A failure of the model, of its reply or of its time is in the report. Raises IndexFileError
    when the store cannot be written; the run then counts as failed once its time is up.
    """
    started = clock()
    found = place.select(definition.pipeline, started)
    run = _begin(place, definition, found, standing, started)
    if run is None:
        why = _why_idle(len(found.keys), _least(definition))
        return RunReport(definition.name, "idle", error=why)
    try:
        question = _Question.about(place.store(), definition, run.keys, found.pairs, started)
        answer = ask(model, question.request, stop)
        return run.end(question, answer, question.read(answer), clock())
    except RunStopped:
        return run.stop(clock())
    except Exception as error:  # noqa: BLE001 - a client may raise anything; the run has failed
        return run.fail(error, clock())
    except BaseException:
        # Ctrl-C, or the thread is being ended: it is nobody's failure.
        run.stop(clock())
        raise


def dry_run(
    place: Place, definition: AgentDefinition, model: ModelClient | None, *, now: int
) -> DryRun:
    """Say what a run would ask, and with a model what it would do; nothing is stored.

    Raises what the model raises, and ReplyError for a reply that cannot be read.
    """
    found = place.select(definition.pipeline, now)
    store = place.store()
    name, keys = definition.name, tuple(found.keys)
    if len(keys) < _least(definition):
        return DryRun(name, keys)
    question = _Question.about(store, definition, keys, found.pairs, now)
    system, prompt = question.request.system, question.request.prompt
    if model is None:
        return DryRun(name, keys, question.cut, system, prompt)
    answer = ask(model, question.request, threading.Event())
    reply = question.read(answer)
    reasons = _rehearse(store, name, reply.actions, list(question.shown.items()), now)
    actions = tuple(zip(reply.actions, reasons, strict=True))
    return DryRun(
        name, keys, question.cut, system, prompt, answer.text, actions, tuple(reply.rejected)
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """What a model is asked; what each node said, by key; and which nodes had no room."""

    definition: AgentDefinition
    request: ModelRequest
    shown: dict[str, str]
    cut: tuple[str, ...]

    @classmethod
    def about(
        cls,
        store: Store,
        definition: AgentDefinition,
        keys: Sequence[str],
        pairs: Sequence[tuple[str, str, float]],
        now: int,
    ) -> _Question:
        """Make the question about these nodes."""
        desk = Desk(store, definition, now)
        rendered = render(definition, desk.data(keys, pairs))
        request = ModelRequest(
            model=definition.model,
            system=instructions(definition),
            prompt=rendered.prompt,
            timeout_s=definition.timeout_s,
            metadata={"agent": definition.name, "definition": definition.sha},
        )
        return cls(definition, request, desk.shown, rendered.cut)

    def read(self, answer: ModelReply) -> Reply:
        """Read the answer; what would lose text that the model never saw is rejected."""
        definition = self.definition
        reply = parse_reply(
            answer.text, allowed=definition.actions, max_actions=definition.max_actions
        )
        judged = [self._unseen(action) or action for action in reply.actions]
        unseen = [one for one in judged if isinstance(one, Rejected)]
        rejected = sorted([*reply.rejected, *unseen], key=lambda one: one.line)
        actions = tuple(one for one in judged if not isinstance(one, Rejected))
        return Reply(actions, tuple(rejected))

    def _unseen(self, action: Action) -> Rejected | None:
        if not isinstance(action, Refine):
            return None
        seen, whole = self.definition.node_chars, len(self.shown.get(action.key, ""))
        if whole <= seen:
            return None
        reason = (
            f"the agent was shown {seen} of the {whole} characters that "
            f'"{action.key}" has; raise node_chars to have it refined'
        )
        return Rejected(action.line, write_action(action), reason, action.op)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that has begun: its number, and the nodes it has claimed."""

    place: Place
    definition: AgentDefinition
    number: int
    keys: tuple[str, ...]

    def end(self, question: _Question, answer: ModelReply, reply: Reply, now: int) -> RunReport:
        """Apply it, in one transaction."""
        cut = set(question.cut)
        harvest = Harvest(
            self.number,
            self.definition.name,
            now,
            reply.actions,
            reply.rejected,
            tuple(key for key in self.keys if key not in cut),
            question.shown,
            answer.tokens_in or 0,
            answer.tokens_out or 0,
        )
        reasons = self.place.apply(harvest)
        if reasons is None:
            raise ModelTransient(_OVER)
        return RunReport(
            self.definition.name,
            "ok",
            self.number,
            self.keys,
            question.cut,
            tuple(zip(reply.actions, reasons, strict=True)),
            tuple(reply.rejected),
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )

    def fail(self, error: Exception, now: int) -> RunReport:
        """Note that it failed."""
        if isinstance(error, HedgerowError):
            what = error.message
        else:
            what = f"{type(error).__name__}: {error}"
            name = self.definition.name
            _LOG.warning("run %d of the agent %s failed", self.number, name, exc_info=error)
        permanent = isinstance(error, ModelPermanent)
        _end_run(
            self.place.store(),
            self.number,
            now=now,
            status="failed",
            error=what,
            permanent=permanent,
        )
        return RunReport(self.definition.name, "failed", self.number, self.keys, error=what)

    def stop(self, now: int) -> RunReport:
        """Note that it was given up."""
        _end_run(self.place.store(), self.number, now=now, status="stopped")
        return RunReport(self.definition.name, "stopped", self.number, self.keys)


def _begin(
    place: Place, definition: AgentDefinition, found: QueryResult, standing: Standing, now: int
) -> _Run | None:
    least = _least(definition)
    if len(found.keys) < least:
        return None
    begun = _begin_run(
        place.store(),
        definition.name,
        definition.sha,
        found.keys,
        least=least,
        last=None if standing.last is None else standing.last.id,
        now=now,
        expires=now + int(definition.timeout_s) + CLAIM_MARGIN_S,
    )
    return None if begun is None else _Run(place, definition, begun[0], tuple(begun[1]))


def _least(definition: AgentDefinition) -> int:
    return max(definition.min_results, 1)


def _why_idle(found: int, least: int) -> str:
    if found < least:
        return f"its query finds {found} nodes that are free, and it wants {least}"
    return "another process runs it, or has claimed its nodes"
