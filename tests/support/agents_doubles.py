"""Test doubles for agents: definitions, stores, a clock that is set by hand, and model replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hedgerow as hr
import local_server
from hedgerow.agents import (
    ACTIONS,
    AgentDefinition,
    Agents,
    ModelClient,
    ModelReply,
    ModelRequest,
    Reply,
    ScriptedModel,
    fenced,
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
allow = {allow}
schedule = "{schedule}"
max_runs_per_period = {max_runs}
timeout_s = 120
"""

SHORT = """\
[query]
pipeline = "all"
[prompt]
inline = "Look at {{nodes}}."
[execution]
model = "sonnet"
"""
"""The shortest valid definition."""

DIRECTIVES = "LINK, WEIGHT, CATEGORIZE, WRITE_NODE, REFINE, DELETE, RENAME, NOTE"


class Clock:
    """Unix seconds that change only when `now` is set."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def put_agent(folder: Path, name: str = "linker", **changes: Any) -> Path:
    """Write a definition. `changes` replace fields of LINKER."""
    fields: dict[str, Any] = {
        "pipeline": f"all | not-visited:{name},1d | sort:key",
        "min_results": 1,
        "template": "{{NODES}}",
        "placeholders": ["NODES"],
        "actions": list(ACTIONS),
        "allow": ["delete", "categorize"],
        "schedule": "daily",
        "max_runs": 1,
        "prompt": "",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(LINKER.format(name=name, **(fields | changes)))
    return path


def garden(keys: Iterable[str] = "abcd", **fields: Any) -> hr.Store:
    """Return a store of nodes with the content "about KEY"."""
    store = hr.Store.in_memory()
    store.upsert([hr.Node(key, content=f"about {key}", updated_at=100, **fields) for key in keys])
    return store


def agents(
    store: hr.Store, folder: Path, *replies: Any, model: ModelClient | None = None, now: int = NOON
) -> Agents:
    """Return the agents of a folder, with a model that returns these replies."""
    return Agents(store, folder, model or ScriptedModel(replies), clock=Clock(now))


def definition(**fields: Any) -> AgentDefinition:
    """Return a definition without a file."""
    usual: dict[str, Any] = {
        "name": "linker",
        "pipeline": hr.parse_pipeline("all"),
        "template": "{{NODES}}",
        "placeholders": ("NODES",),
        "model": "small",
        "file": Path("linker.toml"),
        "sha": "1" * 64,
        "actions": ACTIONS,
        "allow": ("delete", "categorize"),
        "schedule": "daily",
        "period_s": DAY,
    }
    return AgentDefinition(**(usual | fields))


def block(text: str, **fields: Any) -> Callable[[ModelRequest], ModelReply]:
    """Reply with a text in the block that the prompt asks for. `fields` are those of ModelReply."""
    return lambda request: ModelReply(fenced(text, request.metadata["token"]), **fields)


def chat_block(text: str, *, held: bool = False) -> local_server.Answer:
    """Answer `POST /chat/completions` with a text in the block that the prompt asks for."""

    def answer(request: local_server.Request) -> local_server.Reply:
        system = request.body["messages"][0]["content"]
        found = re.search("^````hedgerow ([0-9a-f]{16})$", system, re.MULTILINE)
        assert found is not None, system
        return chat_completion(fenced(text, found[1]), held=held)

    return answer


def chat_completion(
    text: Any = "LINK a b", *, held: bool = False, **changes: Any
) -> local_server.Reply:
    """Return a server's response to `POST /chat/completions`. `changes` replace its fields."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    body = {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}
    return local_server.Reply(body | changes, held=held)


def states(working: Agents, now: int) -> dict[str, str]:
    """Return the state of each agent at a time."""
    return {status.definition.name: status.verdict.word for status in working.statuses(now)}


def parsed(text: str, allowed: Iterable[str] = ACTIONS, max_actions: int = 1_000) -> Reply:
    """Parse a reply, by default with all actions allowed."""
    return parse_reply(text, allowed=set(allowed), max_actions=max_actions)
