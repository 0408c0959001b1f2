"""What a run came to, or would (spec/agents.md, "A run")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .actions import Action, Rejected

__all__ = ["DryRun", "RunReport"]


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
            "actions": _actions_json(self.actions),
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
            "actions": _actions_json(self.actions),
            "rejected": [one.to_dict() for one in self.rejected],
        }


def _actions_json(actions: Sequence[tuple[Action, str | None]]) -> list[dict[str, Any]]:
    """Give actions and why they were rejected as JSON."""
    return [{**action.to_dict(), "rejected": reason} for action, reason in actions]
