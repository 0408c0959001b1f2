"""Runs of an agent: the workspace, the runs recorded in a store, and one run, from its query to the transaction
that ends it (spec/agents.md, "A run").
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol, cast, runtime_checkable

from hedgerow._engine import (
    Pipeline,
    Store,
    _agent_runs,
    _apply_run,
    _begin_run,
    _end_run,
    _rehearse,
    _run_records,
    _standing,
    _unclaimed,
)
from hedgerow.errors import HedgerowError
from hedgerow.results import QueryResult

from .actions import Action, DirectiveReader, Refine, RejectedPart, write_action
from .definition import AgentDefinition, Bounds
from .models import (
    ModelClient,
    ModelPermanent,
    ModelReply,
    ModelRequest,
    ModelTransient,
    RunStopped,
    ask,
)
from .prompt import PromptSource, iso_time, render, system_prompt
from .reply import Reply, parse_reply, readable, token_for


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run to apply.

    `shown` has the content of the nodes shown to the model, by key.
    """

    run: int
    agent: str
    now: int
    actions: tuple[Action, ...]
    rejected: tuple[RejectedPart, ...]
    visited: tuple[str, ...]
    shown: dict[str, str]
    tokens_in: int
    tokens_out: int


@runtime_checkable
class Workspace(Protocol):
    """The workspace of agents."""

    def bounds(self) -> Bounds:
        """Return the names and actions that definitions may use."""

    def store(self) -> Store:
        """Return the open store."""

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Bring the store up to date, and run a pipeline without the claimed nodes."""

    def apply(self, result: RunResult) -> list[str | None] | None:
        """Apply a run; returns for each action why it was rejected, or None.

        Returns None, with nothing applied, if the run is over.
        """


class StoreWorkspace:
    """A store: every action is supported, and applied in one transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def bounds(self) -> Bounds:
        """Return the names and actions that definitions may use."""
        return Bounds(types=tuple(self._store.types))

    def store(self) -> Store:
        """Return the store."""
        return self._store

    def select(self, pipeline: Pipeline, now: int) -> QueryResult:
        """Run a pipeline without the claimed nodes."""
        return _unclaimed(self._store, pipeline, now)

    def apply(self, result: RunResult) -> list[str | None] | None:
        """Apply a run."""
        return apply_to_store(self._store, result)


def apply_to_store(
    store: Store, result: RunResult, applied: Sequence[Action] | None = None
) -> list[str | None] | None:
    """End a run in one transaction.

    `applied` replaces the actions one by one if they were applied elsewhere; the log keeps the
    original ones.
    """
    actions = result.actions if applied is None else applied
    records = [_json(action.to_dict()) for action in result.actions]
    return _apply_run(
        store,
        result.run,
        now=result.now,
        actions=[
            (action, action.line, record) for action, record in zip(actions, records, strict=True)
        ],
        rejected=[(one.line, _json(one.text), one.reason) for one in result.rejected],
        visited=result.visited,
        shown=list(result.shown.items()),
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class AgentRun:
    """A run of an agent. Times are in Unix seconds.

    `definition` is the hash of the definition used. `status` is "started" while the run is in
    progress, then "ok", "failed" or "stopped"; a run that has not ended by `expires` counts as
    failed. `permanent` means that its failure will not pass by itself. `nodes`, `applied` and
    `rejected` are counts, `tokens_in` and `tokens_out` those of the model; `error` says why it
    failed, else it is None.
    """

    id: int
    agent: str
    definition: str
    started: int
    expires: int
    ended: int | None
    status: str
    permanent: bool
    nodes: int
    applied: int
    rejected: int
    error: str | None
    tokens_in: int
    tokens_out: int

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """The outcome of an action. `action` is its JSON form, or the text of one that is invalid.

    `line` counts from 1 in the reply; `reason` says why it was rejected, None if it was applied.
    """

    line: int
    action: dict[str, Any] | str
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The state of an agent: its last run, ok runs in the last period, and consecutive failures.

    `failures` counts those with the current definition since the agent was last resumed;
    `failure` is the last of them.
    """

    last: AgentRun | None = None
    ok_runs: int = 0
    failures: int = 0
    failure: AgentRun | None = None


def standing_of(store: Store, definition: AgentDefinition, now: int) -> RunHistory:
    """Read the state of an agent at a time, in Unix seconds."""
    period = definition.period_s or 0
    found = _standing(store, definition.name, definition.sha, now, now - period)
    return RunHistory(
        last=_run(found["last"]),
        ok_runs=found["ok_runs"],
        failures=found["failures"],
        failure=_run(found["failure"]),
    )


def runs_of(store: Store, agent: str, now: int, limit: int) -> list[AgentRun]:
    """Read the last runs of an agent, latest first."""
    return [AgentRun(**fields) for fields in _agent_runs(store, agent, now, limit)]


def records_of(store: Store, run: int) -> list[ActionRecord]:
    """Read the outcomes of the actions of a run, in the order of the reply."""
    records = _run_records(store, run)
    # An invalid action is stored as a JSON string.
    return [ActionRecord(line, json.loads(text), reason) for line, text, reason in records]


def _run(fields: dict[str, Any] | None) -> AgentRun | None:
    return None if fields is None else AgentRun(**fields)


PAUSED_AFTER = 5
"""The number of consecutive failures after which an agent is paused."""

FIRST_BACKOFF = 60
LONGEST_BACKOFF = 3600
_MOST_DOUBLINGS = 6  # more than an hour


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an agent is due, and why: one word, and a sentence for people.

    The word is due, disabled, on-demand, paused, running, backoff, budget, few, visited or refused.
    """

    word: str
    sentence: str

    @property
    def due(self) -> bool:
        """Whether it is due."""
        return self.word == "due"


def due(
    definition: AgentDefinition,
    standing: RunHistory,
    now: int,
    visits: Callable[[], Sequence[int | None]],
) -> Verdict:
    """Return whether an agent is due at a time, in Unix seconds.

    `visits` is called only if the answer depends on it; it returns when the agent last visited
    each node of its query.
    """
    return _held(definition, standing, now) or _wanted(definition, now, visits())


def backoff_until(standing: RunHistory) -> int | None:
    """Return when the backoff of an agent ends, in Unix seconds; None if it did not fail."""
    if standing.failure is None or standing.failure.ended is None:
        return None
    doublings = min(standing.failures - 1, _MOST_DOUBLINGS)
    return standing.failure.ended + min(FIRST_BACKOFF << doublings, LONGEST_BACKOFF)


def pause_reason(standing: RunHistory) -> str | None:
    """Return why an agent is paused until its file changes or it is resumed; None if it is not."""
    failure = standing.failure
    if failure is None:
        return None
    if failure.permanent:
        return f"its last run failed permanently: {failure.error}"
    if standing.failures >= PAUSED_AFTER:
        return f"it failed {standing.failures} times in a row: {failure.error}"
    return None


def _held(definition: AgentDefinition, standing: RunHistory, now: int) -> Verdict | None:
    """The verdict that holds an agent back whatever its nodes are, if any."""
    if not definition.enabled:
        return Verdict("disabled", "its definition has enabled = false")
    if definition.period_s is None:
        return Verdict("on-demand", "it only runs on demand")
    failing = _held_by_failures(standing, now)
    if failing:
        return failing
    if standing.last is not None and standing.last.status == "started":
        return Verdict("running", f"run {standing.last.id} is in progress")
    if standing.ok_runs >= definition.max_runs_per_period:
        return Verdict("budget", "it has had all the runs of its period")
    return None


def _held_by_failures(standing: RunHistory, now: int) -> Verdict | None:
    paused = pause_reason(standing)
    if paused:
        return Verdict("paused", paused)
    until = backoff_until(standing)
    if until is not None and now < until:
        return Verdict("backoff", f"it failed and waits until {iso_time(until)}")
    return None


def _wanted(definition: AgentDefinition, now: int, visits: Sequence[int | None]) -> Verdict:
    """The verdict by what its query finds."""
    period = definition.period_s or 0
    least = definition.least_nodes
    if len(visits) < least:
        return Verdict("few", f"its query finds {len(visits)} nodes, and it needs {least}")
    if all(at is not None and now - at < period for at in visits):
        return Verdict("visited", "it has visited all nodes of its query within its period")
    return Verdict("due", "it is due")


_LOG = logging.getLogger("hedgerow.agents")

CLAIM_MARGIN_S = 60
"""How long past its timeout a run keeps its claims."""

_OVER = (
    f"the run took {CLAIM_MARGIN_S} s longer than its timeout, so its claims have expired; nothing "
    "was applied"
)


class _Told:
    """A result with `actions` and `rejected` parts, which converts to JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON."""
        told = {one.name: getattr(self, one.name) for one in fields(cast("Any", self))}
        told |= {name: list(told[name]) for name in ("nodes", "cut")}
        told["actions"] = [
            {**action.to_dict(), "rejected": reason} for action, reason in told["actions"]
        ]
        told["rejected"] = [one.to_dict() for one in told["rejected"]]
        return told


@dataclass(frozen=True, slots=True)
class RunReport(_Told):
    """The result of a run.

    `status` is "ok"; "failed", with `error`; "stopped", on request; or "idle" if it did not begin,
    with the reason in `error`. `run` is its number, None if it did not begin. `nodes` are the keys
    of its nodes, `cut` those that did not fit into the prompt. `actions` are those the model
    requested, each with the reason why it was rejected or None; `rejected` is what could not be
    read as an allowed action. Nothing is applied unless the status is "ok".
    """

    agent: str
    status: str
    run: int | None = None
    nodes: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    actions: tuple[tuple[Action, str | None], ...] = ()
    rejected: tuple[RejectedPart, ...] = ()
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def applied(self) -> list[Action]:
        """The actions that were applied."""
        return [action for action, reason in self.actions if reason is None]


@dataclass(frozen=True, slots=True)
class DryRun(_Told):
    """The prompt and the actions of a run without storing anything.

    `system` and `prompt` are sent to the model, None if the agent has too few nodes. `reply` is the
    answer, None without a model; `actions` and `rejected` are as in a RunReport, for the state of
    the store then.
    """

    agent: str
    nodes: tuple[str, ...]
    cut: tuple[str, ...] = ()
    system: str | None = None
    prompt: str | None = None
    reply: str | None = None
    actions: tuple[tuple[Action, str | None], ...] = ()
    rejected: tuple[RejectedPart, ...] = ()


def run_once(  # noqa: PLR0913 - what a run depends on
    workspace: Workspace,
    definition: AgentDefinition,
    model: ModelClient,
    standing: RunHistory,
    *,
    clock: Callable[[], int],
    stop: threading.Event,
    token: Callable[[], str],
) -> RunReport:
    """Run an agent once, due or not; `standing` is the basis of the decision to run.

    `token` makes the token that its reply must have. Failures of the model, its reply and timeouts
    are in the report. Raises IndexFileError if the store cannot be written; the run then counts as
    failed once it expires.
    """
    started = clock()
    found = workspace.select(definition.pipeline, started)
    run = _begin(workspace, definition, found, standing, started)
    if run is None:
        why = _why_idle(len(found.keys), definition.least_nodes)
        return RunReport(definition.name, "idle", error=why)
    try:
        store = workspace.store()
        question = _Question.about(store, definition, run.keys, found.pairs, started, token=token)
        answer = ask(model, question.request, stop)
        return run.end(question, answer, question.read(answer), clock())
    except RunStopped:
        return run.stop(clock())
    except Exception as error:  # noqa: BLE001 - clients may raise anything; the run has failed
        return run.fail(error, clock())
    except BaseException:
        # Ctrl-C or SystemExit: not a failure of the agent.
        run.stop(clock())
        raise


def dry_run(
    workspace: Workspace,
    definition: AgentDefinition,
    model: ModelClient | None,
    *,
    now: int,
    token: Callable[[], str],
) -> DryRun:
    """Return the prompt of a run and, with a model, its actions; nothing is stored.

    Raises the errors of the model, and ReplyError for an unreadable reply.
    """
    found = workspace.select(definition.pipeline, now)
    store = workspace.store()
    name, keys = definition.name, tuple(found.keys)
    if len(keys) < definition.least_nodes:
        return DryRun(name, keys)
    question = _Question.about(store, definition, keys, found.pairs, now, token=token)
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
    """A request, the content of the nodes it shows, and the keys of nodes that did not fit.

    `token` must be in the block of the reply.
    """

    definition: AgentDefinition
    request: ModelRequest
    shown: dict[str, str]
    cut: tuple[str, ...]
    token: str

    @classmethod
    def about(  # noqa: PLR0913 - what a prompt depends on
        cls,
        store: Store,
        definition: AgentDefinition,
        keys: Sequence[str],
        pairs: Sequence[tuple[str, str, float]],
        now: int,
        *,
        token: Callable[[], str],
    ) -> _Question:
        """Make the request about these nodes."""
        source = PromptSource(store, definition, now)
        rendered = render(definition, source.data(keys, pairs))
        # Made last, so that nothing that was read can contain it.
        made = token_for(rendered.prompt, token)
        request = ModelRequest(
            model=definition.model,
            system=system_prompt(definition, made),
            prompt=rendered.prompt,
            timeout_s=definition.timeout_s,
            metadata={"agent": definition.name, "definition": definition.sha, "token": made},
        )
        return cls(definition, request, source.shown, rendered.cut, made)

    def read(self, answer: ModelReply) -> Reply:
        """Parse the answer.

        Rejects refinements of text that the model saw only in part, and directives copied from a node.
        """
        definition = self.definition
        reply = parse_reply(
            answer.text,
            allowed=definition.actions,
            max_actions=definition.max_actions,
            withheld=definition.withheld,
            token=self.token,
        )
        copied = self._copied(reply.actions, readable(answer.text).split("\n"))
        judged = [
            _quoted(one, copied) if copied else self._unseen(one) or one for one in reply.actions
        ]
        refused = [one for one in judged if isinstance(one, RejectedPart)]
        rejected = sorted([*reply.rejected, *refused], key=lambda one: one.line)
        actions = tuple(one for one in judged if not isinstance(one, RejectedPart))
        return Reply(actions, tuple(rejected))

    def _copied(self, actions: Sequence[Action], lines: Sequence[str]) -> dict[int, str]:
        """The lines that request an action and also occur in a node, counted from 1, with its key.

        A model that rewrites a text may copy the line that ends it, and directives after that.
        """
        owners = {
            line.strip(): key for key, content in self.shown.items() for line in content.split("\n")
        }
        reader = DirectiveReader(lines)
        begun = {one.line: lines[one.line - 1] for one in actions}
        return {
            number: owners[line.strip()]
            for number, line in begun.items()
            if line.strip() in owners and (reader.has_directive(number - 1) or '"op"' in line)
        }

    def _unseen(self, action: Action) -> RejectedPart | None:
        if not isinstance(action, Refine):
            return None
        seen, whole = self.definition.node_chars, len(self.shown.get(action.key, ""))
        if whole <= seen:
            return None
        reason = (
            f"the agent was shown {seen} of the {whole} characters of "
            f'"{action.key}"; raise node_chars to allow this'
        )
        return RejectedPart(action.line, write_action(action), reason, action.op)


def _quoted(action: Action, copied: Mapping[int, str]) -> RejectedPart:
    """Reject an action of a block in which lines are copied from nodes."""
    owner = copied.get(action.line)
    if owner is None:
        reason = f"line {min(copied)} is copied from a node, so nothing in the block counts"
    else:
        reason = f'this line is in the text of the node "{owner}", so it counts as quoted'
    return RejectedPart(action.line, write_action(action), reason, action.op)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run in progress, with the keys of the nodes it has claimed."""

    workspace: Workspace
    definition: AgentDefinition
    number: int
    keys: tuple[str, ...]

    def end(self, question: _Question, answer: ModelReply, reply: Reply, now: int) -> RunReport:
        """Apply the reply and end the run."""
        cut = set(question.cut)
        result = RunResult(
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
        reasons = self.workspace.apply(result)
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
        if isinstance(error, HedgerowError):
            what = error.message
        else:
            what = f"{type(error).__name__}: {error}"
            name = self.definition.name
            _LOG.warning(
                "run %d of the agent %s failed: %s", self.number, name, error, exc_info=error
            )
        permanent = isinstance(error, ModelPermanent)
        _end_run(
            self.workspace.store(),
            self.number,
            now=now,
            status="failed",
            error=what,
            permanent=permanent,
        )
        return RunReport(self.definition.name, "failed", self.number, self.keys, error=what)

    def stop(self, now: int) -> RunReport:
        """Record that the run was stopped."""
        _end_run(self.workspace.store(), self.number, now=now, status="stopped")
        return RunReport(self.definition.name, "stopped", self.number, self.keys)


def _begin(
    workspace: Workspace,
    definition: AgentDefinition,
    found: QueryResult,
    standing: RunHistory,
    now: int,
) -> _Run | None:
    least = definition.least_nodes
    if len(found.keys) < least:
        return None
    begun = _begin_run(
        workspace.store(),
        definition.name,
        definition.sha,
        found.keys,
        least=least,
        last=None if standing.last is None else standing.last.id,
        now=now,
        expires=now + int(definition.timeout_s) + CLAIM_MARGIN_S,
    )
    return None if begun is None else _Run(workspace, definition, begun[0], tuple(begun[1]))


def _why_idle(found: int, least: int) -> str:
    if found < least:
        return f"its query finds {found} unclaimed nodes, and it needs {least}"
    return "another process is running it or has claimed its nodes"
