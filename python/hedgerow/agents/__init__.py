"""Agents: TOML definitions that select nodes, ask a model about them and apply its reply.

See spec/agents.md. `Agents` runs the definitions of a folder on a store.
"""

from __future__ import annotations

from .actions import (
    ACTIONS,
    Action,
    Categorize,
    Delete,
    LinkAdd,
    Note,
    Refine,
    RejectedPart,
    Rename,
    Weight,
    WriteNode,
)
from .definition import AgentDefinition, Bounds
from .definition_file import load_definition
from .directives import write_action
from .history import ActionRecord, AgentRun, RunHistory, Verdict
from .library import AgentLibrary
from .models import (
    FailingModel,
    ModelClient,
    ModelError,
    ModelPermanent,
    ModelReply,
    ModelRequest,
    ModelTransient,
    Scripted,
    ScriptedModel,
)
from .openai_compatible import OpenAIModel
from .problems import DefinitionError, Problem
from .reply import Reply, ReplyError, fenced, new_token, parse_reply
from .run import DryRun, RunReport
from .service import Agents, AgentStatus, Tick, serve, stopped_by_signals
from .template import Health, PromptData, PromptNode, RenderedPrompt, Topology, render
from .workspace import RunResult, Workspace

__all__ = [
    "ACTIONS",
    "Action",
    "ActionRecord",
    "AgentDefinition",
    "AgentLibrary",
    "AgentRun",
    "AgentStatus",
    "Agents",
    "Bounds",
    "Categorize",
    "DefinitionError",
    "Delete",
    "DryRun",
    "FailingModel",
    "Health",
    "LinkAdd",
    "ModelClient",
    "ModelError",
    "ModelPermanent",
    "ModelReply",
    "ModelRequest",
    "ModelTransient",
    "Note",
    "OpenAIModel",
    "Problem",
    "PromptData",
    "PromptNode",
    "Refine",
    "RejectedPart",
    "Rename",
    "RenderedPrompt",
    "Reply",
    "ReplyError",
    "RunHistory",
    "RunReport",
    "RunResult",
    "Scripted",
    "ScriptedModel",
    "Tick",
    "Topology",
    "Verdict",
    "Weight",
    "Workspace",
    "WriteNode",
    "fenced",
    "load_definition",
    "new_token",
    "parse_reply",
    "render",
    "serve",
    "stopped_by_signals",
    "write_action",
]


def __dir__() -> list[str]:
    return sorted(__all__)
