from .actions import (
    ACTIONS as ACTIONS,
    Action as Action,
    Categorize as Categorize,
    Delete as Delete,
    LinkAdd as LinkAdd,
    Note as Note,
    Refine as Refine,
    RejectedPart as RejectedPart,
    Rename as Rename,
    Weight as Weight,
    WriteNode as WriteNode,
)
from .definition import AgentDefinition as AgentDefinition, Bounds as Bounds
from .definition_file import load_definition as load_definition
from .directives import write_action as write_action
from .history import (
    ActionRecord as ActionRecord,
    AgentRun as AgentRun,
    RunHistory as RunHistory,
    Verdict as Verdict,
)
from .library import AgentLibrary as AgentLibrary
from .models import (
    FailingModel as FailingModel,
    ModelClient as ModelClient,
    ModelError as ModelError,
    ModelPermanent as ModelPermanent,
    ModelReply as ModelReply,
    ModelRequest as ModelRequest,
    ModelTransient as ModelTransient,
    Scripted as Scripted,
    ScriptedModel as ScriptedModel,
)
from .openai_compatible import OpenAIModel as OpenAIModel
from .problems import (
    DefinitionError as DefinitionError,
    Problem as Problem,
    ReplyError as ReplyError,
)
from .reply import (
    Reply as Reply,
    fenced as fenced,
    new_token as new_token,
    parse_reply as parse_reply,
)
from .run import DryRun as DryRun, RunReport as RunReport
from .service import (
    Agents as Agents,
    AgentStatus as AgentStatus,
    Tick as Tick,
    serve as serve,
    stopped_by_signals as stopped_by_signals,
)
from .template import (
    Health as Health,
    PromptData as PromptData,
    PromptNode as PromptNode,
    RenderedPrompt as RenderedPrompt,
    Topology as Topology,
    render as render,
)
from .workspace import RunResult as RunResult, Workspace as Workspace
