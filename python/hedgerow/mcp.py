"""A memory root as tools for agents: the Model Context Protocol (docs/mcp.md).

Needs the extra "mcp"; only `hedgerow mcp` and `hedgerow serve` import it. The tools are made from the
operations of a root: `_TOOLS` lists the operation of each tool, and the fields it shows.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import TextIOWrapper
from typing import Any, TypeVar
from urllib.parse import unquote

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from ._checks import shown
from ._engine import __version__
from ._json.markdown import STATUS, answer
from ._operations.fields import FieldSpec, declared, without_none
from ._operations.operation import Request
from ._operations.schema import Definitions
from ._operations.shapes import checked_arguments, unknown_argument
from .errors import Fix, HedgerowError, InvalidInputError, with_fixes
from .memory import MemoryRoot
from .memory.edit import checked_writer
from .memory.names import separate_tags
from .memory.operations import (
    AuditRequest,
    ContextRequest,
    EditRequest,
    GrepRequest,
    ListRequest,
    RecallRequest,
    RememberRequest,
    RestoreRequest,
    RetractRequest,
    ShowRequest,
    SupersedeRequest,
    WrapupRequest,
)
from .memory.remembering import WRAPUP_SECTIONS
from .memory.roots import MemoryRoots

__all__ = ["build_server", "serve"]
__dir__ = partial(sorted, __all__)


T = TypeVar("T")

Schema = dict[str, Any]
RequestType = type[Request[Any]]
Run = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a blocking function without blocking the event loop."""

_logger = logging.getLogger("hedgerow.mcp")

_INSTRUCTIONS = """\
The long-term memory of this project: Markdown files in {folder}. Recall before a task, before a \
decision, and when the user refers to something earlier; cite files with their lines. Remember \
decisions with their reasons, findings and preferences; never secrets. Supersede an outdated memory; \
retract a wrong one. Their files stay."""

_READ_ONLY_INSTRUCTIONS = """\
The long-term memory of this project: Markdown files in {folder}, read-only. Recall before a task, \
before a decision, and when the user refers to something earlier; cite files with their lines."""

_SECTIONS = ", ".join(f"## {name}" for name in WRAPUP_SECTIONS)


@dataclass(frozen=True)
class _Tool:
    """A tool: the requests it can make, and the fields that it shows.

    A call makes the first request, or with one of the arguments `of_second` the second. `docs` and
    `defaults` replace the descriptions and defaults of fields.
    """

    name: str
    doc: str
    requests: tuple[RequestType, ...]
    arguments: tuple[str, ...]
    docs: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    is_destructive: bool = False
    of_second: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether the tool changes files."""
        return self.requests[0].operation.writes

    def does(self, operation: str) -> bool:
        """Return whether the tool does an operation."""
        return any(one.operation.name == operation for one in self.requests)

    def schema(self) -> Schema:
        """Return the JSON Schema of the arguments, as short as possible."""
        found: Schema = {}
        for request in reversed(self.requests):
            given = Definitions().arguments(request, self.arguments)
            found = {**given, "properties": found.get("properties", {}) | given["properties"]}
        properties = {name: self._property(name, found) for name in self.arguments}
        return {**found, "properties": properties}

    def _property(self, name: str, schema: Schema) -> Schema:
        found = _compact(schema["properties"][name])
        if name in self.docs:
            found["description"] = self.docs[name]
        if name in self.defaults:
            found["default"] = self.defaults[name]
        elif name in self.of_second:
            found.pop("default", None)  # Without this argument the first request is made.
        return found

    def request(self, given: Mapping[str, Any], writer: str | None) -> Request[Any]:
        """Return the request of a call. A new memory states the `writer`, if there is one.

        Raises InvalidInputError for unknown or invalid arguments.
        """
        for name in given:
            if name not in self.arguments:
                raise unknown_argument(name, self.arguments)
        options = {name: value for name, value in given.items() if value is not None}
        is_second = any(name in options for name in self.of_second)
        kind = self.requests[is_second]
        fields = {one.name: one for one in declared(kind)}
        known = {name: value for name, value in self.defaults.items() if name in fields}
        known |= {name: _value_of(value, fields.get(name)) for name, value in options.items()}
        if writer is not None and kind in _SIGNED and "by" not in options:
            known["written_by"] = writer
        return checked_arguments(kind, known, served=True)


def _compact(schema: Schema) -> Schema:
    """Return the schema of an argument without null, formats, empty defaults and upper bounds."""
    found = dict(schema)
    kinds = [one for one in found.pop("anyOf", ()) if one != {"type": "null"}]
    if kinds:
        # A date is sent as a text.
        found = {"type": kinds[0]["type"], **kinds[0], **found}
        found.pop("format", None)
    if not found.get("default"):
        found.pop("default", None)
    if found.get("type") in ("integer", "number"):
        found.pop("maximum", None)
    return found


def _value_of(given: Any, of: FieldSpec | None) -> Any:
    """Return the list, number or flag that a model sent as a text; other values unchanged."""
    if of is None or not isinstance(given, str):
        return given
    if isinstance(of.default, tuple):
        return _listed(given)
    kinds = {int: (int,), float: (int, float), bool: (bool,)}.get(without_none(of.type), ())
    found: Any = None
    with suppress(ValueError, RecursionError):
        found = json.loads(given.lower())
    return found if type(found) in kinds else given


def _listed(given: str) -> Any:
    """Return a list that a model sent as one text, with commas or as JSON."""
    found: Any = None
    if given.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            found = json.loads(given)
    return found if isinstance(found, list) else separate_tags([given])


_TOOLS = (
    _Tool(
        "memory_recall",
        "Search the memory. Returns excerpts with file and lines, best first. "
        'Memories of a period in the query ("last week") rank higher.',
        (RecallRequest, ContextRequest),
        (
            *("query", "limit", "budget", "depth", "types", "tags", "after", "before", "as_of"),
            *("include_superseded", "recency", "diversify"),
        ),
        {
            "budget": "Whole passages instead of excerpts, within this many tokens",
            "recency": "Half-life, such as 30d: newer memories first",
            "diversify": "With budget: no near-duplicates",
        },
        of_second=("budget", "diversify"),
    ),
    _Tool(
        "memory_grep",
        "Find lines of memories by an exact text or a regular expression.",
        (GrepRequest,),
        ("pattern", "regex", "ignore_case", "types", "tags", "context", "limit"),
        defaults={"limit": 30},
    ),
    _Tool(
        "memory_read",
        "Read a memory or a part of it. The first line has the digest for memory_edit.",
        (ShowRequest,),
        ("key", "section", "offset", "limit"),
    ),
    _Tool(
        "memory_list",
        "List memories, most recently changed first.",
        (ListRequest,),
        ("type", "limit", "offset", "superseded", "expired"),
        defaults={"limit": 20},
    ),
    _Tool(
        "memory_audit",
        "Find memories to mend: secrets, duplicates, contradictions, expired, empty.",
        (AuditRequest,),
        (),
    ),
    _Tool(
        "memory_remember",
        "Save a new memory: a decision with its reason, a finding, a preference. "
        "Names similar memories: supersede what it replaces. Secrets are refused.",
        (RememberRequest,),
        (
            "title",
            "text",
            "type",
            "tags",
            "on_duplicate",
            "valid_until",
            "stale_after",
            "allow_secret",
        ),
        {
            "title": "One line on its subject",
            "on_duplicate": "supersede: replace the most similar memory",
            "valid_until": "A date, or an age such as 30d",
            "stale_after": "When to review it",
            "allow_secret": "Only if the user agreed to keep a secret in it",
        },
    ),
    _Tool(
        "memory_supersede",
        "Replace an outdated memory by a new text, or by an existing memory. Both files stay.",
        (SupersedeRequest,),
        ("old", "text", "title", "by"),
    ),
    _Tool(
        "memory_retract",
        "Mark a memory as wrong, to exclude it from recall. Its file stays.",
        (RetractRequest,),
        ("key", "reason"),
    ),
    _Tool(
        "memory_restore",
        "Undo memory_supersede and memory_retract.",
        (RestoreRequest,),
        ("key",),
    ),
    _Tool(
        "memory_edit",
        "Correct the text of a memory, without keeping the old text. Read it first.",
        (EditRequest,),
        ("key", "text", "digest", "section", "append", "prepend", "replace"),
        {
            "digest": "From memory_read",
            "replace": "Replace only this text, which occurs once",
        },
        is_destructive=True,
    ),
    _Tool(
        "memory_wrapup",
        f"Save the outcome of a session under the headings {_SECTIONS}.",
        (WrapupRequest,),
        ("title", "text", "topic", "tags"),
        {
            "topic": "Topic of the session",
            "text": "Markdown with the four headings, each with text",
        },
    ),
)


_SIGNED = (RememberRequest, SupersedeRequest, WrapupRequest)
"""The requests that write a new memory, which states the name of the client."""


def build_server(
    root: MemoryRoot | MemoryRoots,
    *,
    read_only: bool = False,
    structured: bool = False,
    run: Run | None = None,
) -> Server[Any]:
    """Make the server for one root.

    With `read_only` it has no tool that writes. With `structured`, answers are JSON in
    `structuredContent` instead of text. `run` calls blocking functions, by default in a thread.
    """
    tools = [one for one in _TOOLS if not (read_only and one.writes)]
    faces = _Faces(root, tools, run or anyio.to_thread.run_sync, structured=structured)
    server: Server[Any] = Server(
        "hedgerow",
        version=__version__,
        instructions=_instructions(root, read_only=read_only),
        on_list_tools=faces.list_tools,
        on_call_tool=faces.call_tool,
        on_list_resources=faces.list_resources,
        on_list_resource_templates=faces.list_templates,
        on_read_resource=faces.read_resource,
        on_list_prompts=faces.list_prompts,
        on_get_prompt=faces.get_prompt,
    )
    server.middleware.append(_check_envelope)
    return server


def _instructions(root: MemoryRoot | MemoryRoots, *, read_only: bool) -> str:
    """Return the instructions for a session: when to use the memory, and problems of the root."""
    text = _READ_ONLY_INSTRUCTIONS if read_only else _INSTRUCTIONS
    state = _problems(root)
    return "\n\n".join(filter(None, [text.format(folder=_folders(root)), state]))


def _folders(root: MemoryRoot | MemoryRoots) -> str:
    """Return the folder of a root, or the folders of several with their numbers."""
    if isinstance(root, MemoryRoot):
        return str(root.path)
    named = enumerate(root.roots, start=1)
    listed = ", ".join(f"{'@' * number}/ is {one.path}" for number, one in named)
    return f"several folders ({listed}; new memories go to @/)"


def _problems(root: MemoryRoot | MemoryRoots) -> str:
    """Return the scope of a root, and the reasons why it is not used as configured."""
    lines = []
    try:
        status = root.status()
    except HedgerowError as error:
        return error.message
    if not status.initialized:
        lines.append(f"It was not set up with hedgerow init. {status.message}")
    elif not status.compatible:
        lines.append(status.message)
    if root.scope:
        scope = ", ".join(f"{name} {value}" for name, value in root.scope.items())
        lines.append(f"Only the memories of {scope} are read and written.")
    lines += [one.notice for one in status.not_allowed]
    return "\n".join(lines)


def _status(root: MemoryRoot | MemoryRoots) -> str:
    """Return the state of a root as Markdown."""
    status, lines = root.status(), [f"root: {_folders(root)}"]
    if status.compatible:
        lines.append(f"retrieval: {root.retrieval}")
        # A scope must not reveal the number of memories of others.
        state = None if root.scope else root.index_state()
        if state is not None:
            lines.append(f"documents: {state.documents}, of which {state.stale} changed since")
    if status.watch is not None:
        lines.append(f"watch: {status.watch}")
    return "\n".join(filter(None, [*(f"- {line}" for line in lines), _problems(root)]))


async def _check_envelope(ctx: Any, call_next: Any) -> Any:
    """Reject a call without a name, or whose arguments are not an object. The error names the fix."""
    params = ctx.params or {}
    if ctx.method == "tools/call" and isinstance(params, Mapping):
        if not isinstance(params.get("name"), str):
            raise MCPError(
                types.INVALID_PARAMS, "name must be the name of a tool; tools/list has all names"
            )
        given = params.get("arguments")
        if given is not None and not isinstance(given, Mapping):
            raise MCPError(
                types.INVALID_PARAMS,
                f'arguments must be an object, such as {{"query": "..."}}, not {shown(given)[:80]}',
            )
    return await call_next(ctx)


def _writer(context: Any) -> str | None:
    """Return the name that the client gave itself, as a writer; None if it gave none that can be one."""
    client = context.session.client_params
    if client is None:
        return None
    try:
        return checked_writer(client.client_info.name)
    except InvalidInputError:
        return None


class _Faces:
    """The handlers of the server: its tools, resources and prompts."""

    def __init__(
        self, root: MemoryRoot | MemoryRoots, tools: Sequence[_Tool], run: Run, *, structured: bool
    ) -> None:
        self._root = root
        self._tools = {one.name: one for one in tools}
        self._run = run
        self._structured = structured
        self._listed = [_described(one) for one in tools]

    async def list_tools(self, _: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS,
                f"there is no tool {shown(params.name)}; use one of {', '.join(self._tools)}",
            )
        try:
            request = tool.request(params.arguments or {}, _writer(context))
            done: types.CallToolResult = await self._run(partial(self._answer, request))
        except HedgerowError as error:
            problem = self._message(error, tool)
            if error.code == "invalid_option":
                problem = f"{tool.name}: {problem}"
            return _text(problem, is_error=True)
        return done

    def _message(self, error: HedgerowError, tool: _Tool | None = None) -> str:
        """Return the message of an error, and its fixes as arguments of the tool, or as tools."""
        return with_fixes(error.message, error.fixes, partial(self._words, tool))

    def _words(self, tool: _Tool | None, fix: Fix) -> str | None:
        """Return the words of a fix; None if there is no such tool, or it lacks an argument."""
        if fix.operation is not None:
            tool = next((one for one in self._tools.values() if one.does(fix.operation)), None)
        if tool is None or not all(name in tool.arguments for name in fix.arguments):
            return None
        given = ", ".join(f"{name}={_value(value)}" for name, value in fix.arguments.items())
        if fix.operation is None:
            return given
        return f"{tool.name} with {given}" if given else tool.name

    def _answer(self, request: Request[Any]) -> types.CallToolResult:
        """Carry out a request. Blocks."""
        result = self._root._perform(request)  # noqa: SLF001 - of the same package
        if self._structured:
            return _text("The result is in structuredContent.", structured_content=result.to_dict())
        return _text(answer(request, result))

    async def list_resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        status = types.Resource(
            name="status",
            uri=STATUS,
            description="The folder of the memory, its index, and problems with its configuration",
            mime_type="text/markdown",
        )
        return types.ListResourcesResult(resources=[status])

    async def list_templates(self, _: Any, __: Any) -> types.ListResourceTemplatesResult:
        memory = types.ResourceTemplate(
            name="memory",
            uri_template="memory://{+file}",
            description="The Markdown file of a memory, by its path, its name or its title",
            mime_type="text/markdown",
        )
        return types.ListResourceTemplatesResult(resource_templates=[memory])

    async def read_resource(
        self, _: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return an indexed file, or the status. No other file can be read."""
        scheme, _, name = params.uri.partition("://")
        try:
            if params.uri == STATUS:
                text = await self._run(partial(_status, self._root))
            elif scheme == "memory":
                text = (await self._run(partial(self._root.show, unquote(name)))).text
            else:
                raise InvalidInputError(
                    f"there is no resource {params.uri}; use {STATUS} or memory://FILE",
                    code="unknown_node",
                )
        except HedgerowError as error:
            problem = self._message(error)
            raise MCPError(types.INVALID_PARAMS, problem, {"uri": params.uri}) from error
        contents = types.TextResourceContents(
            uri=params.uri, mime_type="text/markdown", text=_sendable(text)
        )
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, _: Any, __: Any) -> types.ListPromptsResult:
        query = types.PromptArgument(
            name="query", description="The subject of the task", required=True
        )
        topic = types.PromptArgument(name="topic", description="The subject of the session")
        prompts = [
            types.Prompt(
                name="recall",
                description="Search the memory before a task",
                arguments=[query],
            ),
            types.Prompt(
                name="wrapup",
                description="Save the outcome of this session",
                arguments=[topic],
            ),
        ]
        known = "memory_wrapup" in self._tools
        return types.ListPromptsResult(prompts=prompts if known else prompts[:1])

    async def get_prompt(
        self, _: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        given = params.arguments or {}
        if params.name == "recall" and given.get("query"):
            text = _recall_prompt(given["query"])
        elif params.name == "wrapup" and "memory_wrapup" in self._tools:
            text = _wrapup_prompt(given.get("topic", ""))
        else:
            prompts = (await self.list_prompts(None, None)).prompts
            names = ", ".join(one.name for one in prompts)
            problem = f"there is no prompt {shown(params.name)}; use another: {names}"
            if params.name == "recall":
                problem = f"give the prompt recall a query, or use another: {names}"
            raise MCPError(types.INVALID_PARAMS, problem)
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


def _described(tool: _Tool) -> types.Tool:
    """Return the description of a tool. Hints with the protocol's default value are omitted."""
    if tool.writes:
        hints = types.ToolAnnotations(destructive_hint=tool.is_destructive, open_world_hint=False)
    else:
        hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.Tool(
        name=tool.name, description=tool.doc, input_schema=tool.schema(), annotations=hints
    )


def _text(text: str, **fields: Any) -> types.CallToolResult:
    content = types.TextContent(type="text", text=_sendable(text))
    return types.CallToolResult(content=[content], **fields)


def _sendable(text: str) -> str:
    """Return a text as valid Unicode; names of files may contain lone surrogates."""
    return text.encode(errors="replace").decode()


def _value(given: Any) -> str:
    """Return the value of an argument as JSON, or a sign for one that the caller chooses."""
    return "..." if given is None else json.dumps(given, ensure_ascii=False)


def _recall_prompt(query: str) -> str:
    return (
        f"Before we begin, call memory_recall with the query {query!r}. Tell me in a few lines what "
        "matters for the task, with the files it is from, and where memories contradict each other. "
        "If nothing is known, say so."
    )


def _wrapup_prompt(topic: str) -> str:
    about = f" about {topic!r}" if topic else ""
    sections = "\n".join(f"## {name}" for name in WRAPUP_SECTIONS)
    return (
        f"Write the wrapup of this session{about}: what the next one needs to know, in Markdown "
        f"with these four headings, each with text ('None.' where there is nothing):\n\n"
        f"{sections}\n\nShow it to me, and when I agree call memory_wrapup with it, a title "
        "of one line and the topic."
    )


# Standard input and output.


async def serve(server: Server[Any]) -> None:
    """Serve on standard input and output until the input ends.

    Invalid lines are answered with an error. The SDK would ignore them, and the client would wait.
    Requests in progress are answered after the input has ended. The SDK would drop their answers.
    """
    lines, requests = _Lines(), _Requests()
    async with stdio_server(stdin=lines) as (incoming, outgoing):  # type: ignore[arg-type]
        sent, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answering, answered = anyio.create_memory_object_stream[SessionMessage](0)

        async def pass_on() -> None:
            async with sent:
                async for message in incoming:
                    line = lines.unanswered.popleft()
                    if (error := _error_of(line, message)) is not None:
                        await outgoing.send(SessionMessage(error))
                    elif not isinstance(message, Exception):
                        requests.receive(message.message)
                        await sent.send(message)
                await requests.wait()

        async def pass_back() -> None:
            async with answered:
                async for message in answered:
                    await outgoing.send(message)
                    requests.answer(message.message)

        async with outgoing, anyio.create_task_group() as group:
            group.start_soon(pass_on)
            group.start_soon(pass_back)
            await server.run(received, answering, server.create_initialization_options())
            group.cancel_scope.cancel()


class _Requests:
    """The requests without an answer."""

    def __init__(self) -> None:
        self._ids: list[Any] = []
        self._changed = anyio.Event()

    def receive(self, message: Any) -> None:
        """Note a request, or its cancellation: a cancelled request gets no answer."""
        if isinstance(message, types.JSONRPCRequest):
            self._ids.append(message.id)
        elif getattr(message, "method", None) == "notifications/cancelled":
            self._end((message.params or {}).get("requestId"))

    def answer(self, message: Any) -> None:
        """Note the answer to a request."""
        self._end(getattr(message, "id", None))

    async def wait(self) -> None:
        """Return when all requests are answered, or after `_LAST_ANSWERS` seconds."""
        with anyio.move_on_after(_LAST_ANSWERS):
            while self._ids:
                self._changed = anyio.Event()
                await self._changed.wait()

    def _end(self, key: Any) -> None:
        if key in self._ids:
            self._ids.remove(key)
            self._changed.set()


_LAST_ANSWERS = 60
"""Seconds for the requests that are in progress when the input ends."""


class _Lines:
    """The lines of standard input. `unanswered` has the lines whose message was not yet passed on."""

    def __init__(self) -> None:
        text = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
        self._lines = anyio.wrap_file(text)
        self.unanswered: deque[str] = deque()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.readline()
        if not line:
            raise StopAsyncIteration
        # Tools on Windows begin their output with a byte order mark, of each call that writes.
        line = line.removeprefix("\ufeff")
        self.unanswered.append(line)
        return line


def _error_of(line: str, message: SessionMessage | Exception) -> types.JSONRPCError | None:
    """Return the answer to an invalid line; None for a valid one, a notification, a response or a blank line."""
    if isinstance(message, Exception):
        _logger.debug("invalid line: %s", message)
    # A request whose id is neither a text nor a whole number is read as a notification.
    elif not isinstance(message.message, types.JSONRPCNotification):
        return None
    return error_of_text(line) if line.strip() else None


def error_of_text(text: str) -> types.JSONRPCError | None:
    """Return the answer to the text of an invalid request; None for a notification or a response."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "the line is not JSON")
    if not isinstance(found, dict):
        return _error(None, types.INVALID_REQUEST, "send one JSON-RPC request per line")
    if "id" not in found or "method" not in found:
        return None
    key = found["id"]
    if isinstance(key, bool) or not isinstance(key, (int, str)) or _has_half_a_pair(key):
        key = None
    if _has_half_a_pair(found):
        problem = (
            "the request has half of a surrogate pair, such as \\ud83e alone; send the whole "
            "character, or leave it out"
        )
    else:
        problem = (
            "a JSON-RPC request has an id, which is a text or a whole number, a method, and params, which "
            "is an object"
        )
    return _error(key, types.INVALID_REQUEST, problem)


def _has_half_a_pair(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _error(key: int | str | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=key, error=types.ErrorData(code=code, message=message)
    )
