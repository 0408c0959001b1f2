from .actions import (
    Action as Action,
    ACTIONS as ACTIONS,
    Categorize as Categorize,
    Delete as Delete,
    LinkAdd as LinkAdd,
    Note as Note,
    Refine as Refine,
    RejectedPart as RejectedPart,
    Rename as Rename,
    Weight as Weight,
    write_action as write_action,
    WriteNode as WriteNode,
)
from .definition import (
    AgentDefinition as AgentDefinition,
    Bounds as Bounds,
    DefinitionError as DefinitionError,
    Problem as Problem,
)
from .definition_file import (
    AgentLibrary as AgentLibrary,
    load_definition as load_definition,
)
from .service import (
    Agents as Agents,
    AgentStatus as AgentStatus,
    serve as serve,
    stopped_by_signals as stopped_by_signals,
    Tick as Tick,
)
from .models import (
    FailingModel as FailingModel,
    ModelClient as ModelClient,
    ModelError as ModelError,
    ModelPermanent as ModelPermanent,
    ModelReply as ModelReply,
    ModelRequest as ModelRequest,
    ModelTransient as ModelTransient,
    OpenAIModel as OpenAIModel,
    Scripted as Scripted,
    ScriptedModel as ScriptedModel,
)
from .reply import (
    fenced as fenced,
    new_token as new_token,
    parse_reply as parse_reply,
    Reply as Reply,
    ReplyError as ReplyError,
)
from .run import (
    ActionRecord as ActionRecord,
    AgentRun as AgentRun,
    DryRun as DryRun,
    RunHistory as RunHistory,
    RunReport as RunReport,
    RunResult as RunResult,
    Verdict as Verdict,
    Workspace as Workspace,
)
from .prompt import (
    Health as Health,
    PromptData as PromptData,
    PromptNode as PromptNode,
    render as render,
    RenderedPrompt as RenderedPrompt,
    Topology as Topology,
)
