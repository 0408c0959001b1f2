"""Agents: definitions in TOML that select memories, ask a model and do what it says.

See spec/agents.md. `Agents` puts the definitions of a folder to work on a store. Definitions,
templates, replies and model clients know nothing of one.
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
    Rejected,
    Rename,
    Weight,
    WriteNode,
)
from .daemon import serve, stopped_by_signals
from .definition import AgentDefinition, Bounds, DefinitionError, Problem, load_definition
from .directives import Reply, ReplyError, parse_reply, write_action
from .due import Verdict
from .library import AgentLibrary
from .models import (
    FailingModel,
    ModelClient,
    ModelError,
    ModelPermanent,
    ModelReply,
    ModelRequest,
    ModelTransient,
    ScriptedModel,
)
from .openai_compatible import OpenAIModel
from .reports import DryRun, RunReport
from .runs import ActionRecord, AgentRun, Standing
from .service import Agents, AgentStatus, Tick
from .template import Health, PromptData, PromptNode, Rendered, Topology, render

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
    "Rejected",
    "Rename",
    "Rendered",
    "Reply",
    "ReplyError",
    "RunReport",
    "ScriptedModel",
    "Standing",
    "Tick",
    "Topology",
    "Verdict",
    "Weight",
    "WriteNode",
    "load_definition",
    "parse_reply",
    "render",
    "serve",
    "stopped_by_signals",
    "write_action",
]
