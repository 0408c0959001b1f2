"""Agents for tests: a folder of definitions, a store, and a clock that goes when told to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow.agents import (
    ACTIONS,
    AgentDefinition,
    Agents,
    ModelClient,
    Reply,
    ScriptedModel,
    parse_reply,
)

DAY = 86_400
NOON = 1_000_000_000

LINKER = """\
schema = 1
name = "{name}"

[query]
pipeline = "{pipeline}"
min_results = {min_results}

[prompt]
inline = '''{template}'''
placeholders = {placeholders}
{prompt}

[execution]
model = "small"
actions = {actions}
schedule = "{schedule}"
max_runs_per_period = {max_runs}
timeout_s = 120
"""

DIRECTIVES = "LINK, WEIGHT, CATEGORIZE, WRITE_NODE, REFINE, DELETE, RENAME, NOTE"


class Clock:
    """Time in Unix seconds, which goes by when it is told to."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def put_agent(folder: Path, name: str = "linker", **changes: Any) -> Path:
    """Write a definition; `changes` are fields of LINKER."""
    fields: dict[str, Any] = {
        "pipeline": f"all | not-visited:{name},1d | sort:key",
        "min_results": 1,
        "template": "{{NODES}}",
        "placeholders": ["NODES"],
        "actions": list(ACTIONS),
        "schedule": "daily",
        "max_runs": 1,
        "prompt": "",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(LINKER.format(name=name, **(fields | changes)))
    return path


def garden(keys: Iterable[str] = "abcd", **fields: Any) -> hr.Store:
    """Make a store of nodes that say what they are called."""
    store = hr.Store.in_memory()
    store.upsert([hr.Node(key, content=f"about {key}", updated_at=100, **fields) for key in keys])
    return store


def agents(
    store: hr.Store, folder: Path, *replies: Any, model: ModelClient | None = None, now: int = NOON
) -> Agents:
    """Put the agents of a folder to work, with a model that has these replies."""
    return Agents(store, folder, model or ScriptedModel(replies), clock=Clock(now))


def definition(**fields: Any) -> AgentDefinition:
    """A definition without a file."""
    usual: dict[str, Any] = {
        "name": "linker",
        "pipeline": hr.parse_pipeline("all"),
        "template": "{{NODES}}",
        "placeholders": ("NODES",),
        "model": "small",
        "file": Path("linker.toml"),
        "sha": "1" * 64,
        "actions": ACTIONS,
        "schedule": "daily",
        "period_s": DAY,
    }
    return AgentDefinition(**(usual | fields))


def states(working: Agents, now: int) -> dict[str, str]:
    """The state of each agent at a time."""
    return {status.definition.name: status.verdict.word for status in working.statuses(now)}


def parsed(text: str, allowed: Iterable[str] = ACTIONS, max_actions: int = 1_000) -> Reply:
    """A reply as it is read where everything is allowed."""
    return parse_reply(text, allowed=set(allowed), max_actions=max_actions)
