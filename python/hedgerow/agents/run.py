"""One run of an agent, from its query to the transaction that ends it (spec/agents.md, "A run")."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow import _engine
from hedgerow.errors import HedgerowError

from .asking import RunStopped, ask
from .actions import Refine, Rejected
from .directives import Reply, parse_reply
from .instructions import instructions
from .models import ModelPermanent, ModelReply, ModelRequest, ModelTransient
from .prompting import Desk
from .template import render

if TYPE_CHECKING:
    from hedgerow.pipeline import Store

    from .actions import Action
    from .definition import AgentDefinition
    from .models import ModelClient
    from .runs import Standing
    from .template import Rendered

__all__ = ["CLAIM_MARGIN_S", "DryRun", "RunReport", "dry_run", "run_once"]

_LOG = logging.getLogger("hedgerow")

CLAIM_MARGIN_S = 60
"""How much longer than its timeout a run holds its nodes."""

_OVER = (
    f"the run took longer than its timeout and {CLAIM_MARGIN_S} s more, so its nodes may be "
    "another's by now; nothing was applied"
)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run came to.

    `status` is "ok"; "failed", with `error`; "stopped", by whoever wanted to stop; or "idle" when
    it did not begin, with the reason in `error`. `run` is its number, None when it did not begin.
    `nodes` are the keys it was about, `cut` those of them that the prompt had no room for.
    `actions` has what the model asked for, each with the reason why it was rejected or None;
    `rejected` what was rejected unread. Nothing is applied unless the status is "ok".
    """

    agent: str
    status: str
    run: int | None = None
    nodes: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    actions: tuple[tuple[Action, str | None], ...] = ()
    rejected: tuple[Rejected, ...] = ()
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def applied(self) -> list[Action]:
        """The actions that were applied."""
        return [action for action, reason in self.actions if reason is None]

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "agent": self.agent,
            "status": self.status,
            "run": self.run,
            "nodes": list(self.nodes),
            "cut": list(self.cut),
            "actions": actions_json(self.actions),
            "rejected": [one.to_dict() for one in self.rejected],
            "error": self.error,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would ask and do; nothing was stored.

    `system` and `prompt` are what the model is asked, None when the agent has too few nodes.
    `reply` is its answer, None when there was no model to ask; `actions` and `rejected` are as in
    a RunReport, for the store as it was.
    """

    agent: str
    nodes: tuple[str, ...]
    cut: tuple[str, ...] = ()
    system: str | None = None
    prompt: str | None = None
    reply: str | None = None
    actions: tuple[tuple[Action, str | None], ...] = ()
    rejected: tuple[Rejected, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "agent": self.agent,
            "nodes": list(self.nodes),
            "cut": list(self.cut),
            "system": self.system,
            "prompt": self.prompt,
            "reply": self.reply,
            "actions": actions_json(self.actions),
            "rejected": [one.to_dict() for one in self.rejected],
        }


def actions_json(actions: Sequence[tuple[Action, str | None]]) -> list[dict[str, Any]]:
    """Give actions and why they were rejected as JSON."""
    return [{**action.to_dict(), "rejected": reason} for action, reason in actions]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A run on its way: what the model was asked, and about which nodes."""

    desk: Desk
    rendered: Rendered
    request: ModelRequest


def run_once(  # noqa: PLR0913 - what a run depends on
    store: Store,
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
    found = _engine._unclaimed(store, definition.pipeline, started)
    least = max(definition.min_results, 1)
    begun = None
    if len(found.keys) >= least:
        begun = _engine._begin_run(
            store,
            definition.name,
            definition.sha,
            found.keys,
            least=least,
            last=None if standing.last is None else standing.last.id,
            now=started,
            expires=started + int(definition.timeout_s) + CLAIM_MARGIN_S,
        )
    if begun is None:
        return RunReport(definition.name, "idle", error=_why_idle(len(found.keys), least))
    run, keys = begun
    try:
        asked = _prepare(store, definition, keys, found.pairs, started)
        answer = ask(model, asked.request, stop)
        reply = _read(answer, definition, asked.desk)
        return _end(store, definition, run, keys, asked, answer, reply, clock())
    except RunStopped:
        _engine._end_run(store, run, now=clock(), status="stopped")
        return RunReport(definition.name, "stopped", run, tuple(keys))
    except Exception as error:  # noqa: BLE001 - a client may raise anything; the run has failed
        return _fail(store, definition, run, keys, error, clock())
    except BaseException:
        # Ctrl-C, or the thread is being ended: it is nobody's failure.
        _engine._end_run(store, run, now=clock(), status="stopped")
        raise


def dry_run(
    store: Store, definition: AgentDefinition, model: ModelClient | None, *, now: int
) -> DryRun:
    """Say what a run would ask, and with a model what it would do; nothing is stored.

    Raises what the model raises, and ReplyError for a reply that cannot be read.
    """
    found = _engine._unclaimed(store, definition.pipeline, now)
    name, keys = definition.name, tuple(found.keys)
    if len(keys) < max(definition.min_results, 1):
        return DryRun(name, keys)
    asked = _prepare(store, definition, found.keys, found.pairs, now)
    system, prompt, cut = asked.request.system, asked.rendered.prompt, asked.rendered.cut
    if model is None:
        return DryRun(name, keys, cut, system, prompt)
    answer = ask(model, asked.request, threading.Event())
    reply = _read(answer, definition, asked.desk)
    reasons = _engine._rehearse(store, name, reply.actions, list(asked.desk.shown.items()), now)
    actions = tuple(zip(reply.actions, reasons, strict=True))
    return DryRun(name, keys, cut, system, prompt, answer.text, actions, tuple(reply.rejected))


def _prepare(
    store: Store,
    definition: AgentDefinition,
    keys: Sequence[str],
    pairs: Sequence[tuple[str, str, float]],
    now: int,
) -> _Asked:
    desk = Desk(store, definition, now)
    rendered = render(definition, desk.data(keys, pairs))
    request = ModelRequest(
        model=definition.model,
        system=instructions(definition),
        prompt=rendered.prompt,
        timeout_s=definition.timeout_s,
        metadata={"agent": definition.name, "definition": definition.sha},
    )
    return _Asked(desk, rendered, request)


def _read(answer: ModelReply, definition: AgentDefinition, desk: Desk) -> Reply:
    """Read a reply; what would lose text that the model never saw is rejected."""
    reply = parse_reply(
        answer.text, allowed=definition.actions, max_actions=definition.max_actions
    )
    actions: list[Action] = []
    rejected = list(reply.rejected)
    for action in reply.actions:
        whole = len(desk.shown.get(action.key, "")) if isinstance(action, Refine) else 0
        if isinstance(action, Refine) and whole > definition.node_chars:
            reason = (
                f"the agent was shown {definition.node_chars} of the {whole} characters that "
                f'"{action.key}" has; raise node_chars to have it refined'
            )
            text = _json(action.to_dict())
            rejected.append(Rejected(action.line, text, reason, action.op))
        else:
            actions.append(action)
    return Reply(tuple(actions), tuple(sorted(rejected, key=lambda one: one.line)))


def _end(  # noqa: PLR0913 - all that a run came to
    store: Store,
    definition: AgentDefinition,
    run: int,
    keys: Sequence[str],
    asked: _Asked,
    answer: ModelReply,
    reply: Reply,
    now: int,
) -> RunReport:
    cut = set(asked.rendered.cut)
    reasons = _engine._apply_run(
        store,
        run,
        now=now,
        actions=[(action, action.line, _json(action.to_dict())) for action in reply.actions],
        rejected=[(one.line, _json(one.text), one.reason) for one in reply.rejected],
        visited=[key for key in keys if key not in cut],
        shown=list(asked.desk.shown.items()),
        tokens_in=answer.tokens_in or 0,
        tokens_out=answer.tokens_out or 0,
    )
    if reasons is None:
        raise ModelTransient(_OVER)
    return RunReport(
        definition.name,
        "ok",
        run,
        tuple(keys),
        asked.rendered.cut,
        tuple(zip(reply.actions, reasons, strict=True)),
        tuple(reply.rejected),
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
    )


def _fail(  # noqa: PLR0913 - all that is known of it
    store: Store,
    definition: AgentDefinition,
    run: int,
    keys: Sequence[str],
    error: Exception,
    now: int,
) -> RunReport:
    if isinstance(error, HedgerowError):
        what = error.message
    else:
        what = f"{type(error).__name__}: {error}"
        _LOG.warning("the run %d of the agent %s failed", run, definition.name, exc_info=error)
    permanent = isinstance(error, ModelPermanent)
    _engine._end_run(store, run, now=now, status="failed", error=what, permanent=permanent)
    return RunReport(definition.name, "failed", run, tuple(keys), error=what)


def _why_idle(found: int, least: int) -> str:
    if found < least:
        return f"its query finds {found} nodes that are free, and it wants {least}"
    return "another process runs it, or has claimed its nodes"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
