"""Agents: definitions in TOML that select memories, ask a model and do what it says.

See spec/agents.md. Definitions, templates, replies and model clients know nothing of a store.
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
from .definition import AgentDefinition, DefinitionError, Problem, load_definition
from .directives import Reply, ReplyError, parse_reply, write_action
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
from .template import Health, PromptData, PromptNode, Rendered, Topology, render

__all__ = [
    "ACTIONS",
    "Action",
    "AgentDefinition",
    "AgentLibrary",
    "Categorize",
    "DefinitionError",
    "Delete",
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
    "ScriptedModel",
    "Topology",
    "Weight",
    "WriteNode",
    "load_definition",
    "parse_reply",
    "render",
    "write_action",
]
