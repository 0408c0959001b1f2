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
from .definition import AgentDefinition, DefinitionError, Problem
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

__all__ = [
    "ACTIONS",
    "Action",
    "AgentDefinition",
    "Categorize",
    "DefinitionError",
    "Delete",
    "FailingModel",
    "LinkAdd",
    "ModelClient",
    "ModelError",
    "ModelPermanent",
    "ModelReply",
    "ModelRequest",
    "ModelTransient",
    "Note",
    "Problem",
    "Refine",
    "Rejected",
    "Rename",
    "ScriptedModel",
    "Weight",
    "WriteNode",
]
