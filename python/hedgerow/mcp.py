"""A memory root as tools for agents: the Model Context Protocol (docs/mcp.md).

Needs the extra "mcp"; imported by `hedgerow mcp` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from difflib import get_close_matches
from inspect import signature
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import NotRequired, TypedDict, Unpack

from ._answers.root_shapes import (
    Context,
    Marked,
    Memories,
    Memory,
    NotAllowed,
    Period,
    Recalled,
    Remembered,
    Unreadable,
    WrappedUp,
)
from ._checks import shown
from ._engine import __version__
from .errors import HedgerowError
from .memory import Memory as _Memory
from .memory import MemoryRoot
from .memory.tags import separate_tags
from .memory.writer import WRAPUP_SECTIONS
from .typing import OnDuplicate, RecallKeywords

__all__ = ["build_server"]


def __dir__() -> list[str]:
    return sorted(__all__)


_NAME = "hedgerow"
_SIMILAR = 0.5
"""How similar an argument is to the one that an error names, by difflib's ratio."""

_INSTRUCTIONS = """\
This project keeps its memory as Markdown files, which these tools search and add to. Recall before
you start on a task, when the user refers to something earlier, and before a decision that may have
been made already.

- memory_recall: before a task, find what the memory knows about its topic. depth "shallow" returns
  pages and decisions first, "deep" also raw sessions.
- memory_context: get the same as text to read, within a budget of tokens.
- memory_search: search for a question or words. Read the few results and cite their files.
- memory_remember: keep what will matter again: decisions with their reason, findings,
  preferences. Never secrets, tokens, or the noise of a conversation.
- memory_supersede: when a memory is no longer true, keep what is true now in its place. Both files
  stay, and recall shows the new one.
- memory_retract: when a memory was wrong and nothing takes its place.
- memory_read: read the whole file of a memory.
- memory_list: list the memories, the last changed first.
- memory_edit: correct the text of a memory whose old wording need not be kept.
- memory_wrapup: at the end of a session, keep its outcome. The prompt "wrapup" asks for it.
- memory_status: show which folder the memory is in, and whether it is set up.

Nothing enters your context unless you call one of these tools.
"""

Depth = Annotated[
    Literal["shallow", "normal", "deep"],
    Field(description="shallow: pages and decisions first; deep: raw sessions too"),
]
Key = Annotated[str, Field(description="The file of the memory, its name or its title")]
AsOf = Annotated[
    str | None, Field(description="Only what held at this date, as in 2026-04-18, or time")
]
When = Annotated[
    str | None,
    Field(description="Compared with the date of a memory: a date, or an age such as 30d"),
]
Limit = Annotated[int, Field(ge=1, le=100, description="The most results")]
WantedTypes = Annotated[list[str] | str | None, Field(description="Only memories of these types")]
WantedTags = Annotated[list[str] | str | None, Field(description="Only those with all these tags")]
GivenTags = Annotated[list[str] | str | None, Field(description="Words to group by")]


class Found(TypedDict):
    """What was found, the best first; no results mean that nothing is known."""

    root: str
    query: str
    depth: str
    results: list[Recalled]
    mode: str
    unreadable: list[Unreadable]
    notices: NotRequired[list[str]]
    leftOut: NotRequired[dict[str, int]]
    asOf: NotRequired[str]
    period: NotRequired[Period]


class Status(TypedDict):
    """The state of the memory root; `documents` and `stale` count what its index holds."""

    root: str
    initialized: bool
    compatible: bool
    message: str
    configFile: NotRequired[str]
    schemaVersion: NotRequired[int]
    documents: NotRequired[int]
    stale: NotRequired[int]
    scope: NotRequired[dict[str, str]]
    retrieval: NotRequired[str]
    notAllowed: NotRequired[list[NotAllowed]]
    watch: NotRequired[str]


class _Server(MCPServer[Any]):
    """A server that rejects arguments which a tool does not have, instead of ignoring them."""

    def __init__(self) -> None:
        super().__init__(
            _NAME, version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
        )
        self._arguments: dict[str, list[str]] = {}

    def add(self, tool: Callable[..., Any], name: str, annotations: ToolAnnotations) -> None:
        """Add a tool whose result is described by the annotation of its return value."""
        self._arguments[name] = list(signature(tool).parameters)
        self.add_tool(tool, name, annotations=annotations, structured_output=True)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        known = self._arguments.get(name, list(arguments))
        for argument in arguments:
            if argument not in known:
                near = get_close_matches(argument, known, 1, _SIMILAR)
                hint = f"use {near[0]}" if near else f"it has {', '.join(known) or 'none'}"
                raise ToolError(f"{name} has no argument {shown(argument)}: {hint}")
        return await super().call_tool(name, arguments, context)


def build_server(root: MemoryRoot, *, read_only: bool = False) -> MCPServer[Any]:
    """Make the server for one root; `run()` serves it on standard input and output.

    With `read_only` it has no tool that writes.
    """
    server = _Server()
    tools = _Tools(root)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
    )
    rewrites = writes.model_copy(update={"destructive_hint": True})
    server.add(tools.search, "memory_search", reads)
    server.add(tools.recall, "memory_recall", reads)
    server.add(tools.context, "memory_context", reads)
    server.add(tools.read, "memory_read", reads)
    server.add(tools.list, "memory_list", reads)
    if not read_only:
        server.add(tools.remember, "memory_remember", writes)
        server.add(tools.supersede, "memory_supersede", writes)
        server.add(tools.retract, "memory_retract", writes)
        server.add(tools.wrapup, "memory_wrapup", writes)
        server.add(tools.edit, "memory_edit", rewrites)
    _add_resources(server, root)
    _add_prompts(server, read_only=read_only)
    server.add(tools.status, "memory_status", reads)
    return server


def _add_resources(server: MCPServer[Any], root: MemoryRoot) -> None:
    """Offer the files of the root; only memories in its index can be read."""

    @server.resource(
        "memory://{+file}",
        name="memory",
        description="The Markdown file of a memory, by its path, its name or its title",
        mime_type="text/markdown",
    )
    def memory(file: str) -> str:
        try:
            return root.read(file).text
        except HedgerowError as error:
            raise ResourceNotFoundError(error.message) from error


def _add_prompts(server: MCPServer[Any], *, read_only: bool) -> None:
    """Offer what a user may ask for by name."""

    @server.prompt(name="recall", description="Look up what the memory knows, before a task")
    def recall(topic: Annotated[str, Field(description="What the task is about")]) -> str:
        return (
            f"Before we begin, call memory_recall with the topic {topic!r}. Tell me in a few lines "
            "what matters for the task, with the files it is from, and where memories contradict "
            "each other. If nothing is known, say so."
        )

    if read_only:
        return

    @server.prompt(name="wrapup", description="Keep the outcome of this session")
    def wrapup(
        topic: Annotated[str, Field(description="What the session was about")] = "",
    ) -> str:
        about = f" about {topic!r}" if topic else ""
        sections = "\n".join(f"## {name}" for name in WRAPUP_SECTIONS)
        return (
            f"Write the wrapup of this session{about}: what the next one needs to know, in Markdown "
            f"with these four headings, each with text ('None.' where there is nothing):\n\n"
            f"{sections}\n\nShow it to me, and when I agree call memory_wrapup with it, a title "
            "of one line and the topic."
        )


def _now() -> datetime:
    """The time of a question, in the time zone of this machine."""
    return datetime.now().astimezone()


def _listed(given: list[str] | str | None) -> list[str]:
    """The items of an argument, which models also send as one text with commas between."""
    return separate_tags([given] if isinstance(given, str) else given or ())


class _Tools:
    """The tools of one root; their docstrings are what agents read."""

    def __init__(self, root: MemoryRoot) -> None:
        self._root = root

    def search(
        self,
        query: Annotated[
            str, Field(description='Words, "a phrase", hedg* or AND, OR, NOT in capitals')
        ],
        limit: Limit = 10,
        depth: Depth = "normal",
    ) -> Found:
        """Search the project's memory for a question or words. Cite the files you use."""
        return self._find(query, "search", limit=limit, depth=depth, question_date=_now())

    def recall(  # noqa: PLR0913, PLR0917 - the arguments of a tool
        self,
        topic: Annotated[str, Field(description="What the task at hand is about")],
        limit: Limit = 5,
        depth: Depth = "normal",
        as_of: AsOf = None,
        include_superseded: Annotated[
            bool, Field(description="Also what no longer holds, each with the reason")
        ] = False,
        types: WantedTypes = None,
        tags: WantedTags = None,
        after: When = None,
        before: When = None,
    ) -> Found:
        """Recall what the project's memory knows about a topic, before working on it.

        A period in the topic, such as "last week", narrows the time, unless it is in quotes. What no longer holds is left out and counted in leftOut.
        """
        return self._find(
            topic,
            "recall",
            limit=limit,
            depth=depth,
            as_of=as_of,
            include_superseded=include_superseded,
            types=_listed(types),
            tags=_listed(tags),
            after=after,
            before=before,
            question_date=_now(),
        )

    def context(
        self,
        topic: Annotated[str, Field(description="What the task at hand is about")],
        budget: Annotated[int, Field(ge=40, le=100_000, description="The most tokens")] = 2000,
        depth: Depth = "normal",
        as_of: AsOf = None,
    ) -> Context:
        """Pack what the project's memory knows about a topic into a budget of tokens.

        The text has passages, each with [n] file:lines to cite; what was left out is listed at its end.
        """
        try:
            found: Any = self._root.context(
                topic, budget=budget, depth=depth, as_of=as_of, question_date=_now()
            ).to_dict()
        except HedgerowError as error:
            raise ToolError(error.message) from error
        answer: Context = found
        return answer

    def remember(
        self,
        title: Annotated[str, Field(description="One line on its subject")],
        text: Annotated[str, Field(description="Markdown, without front matter")],
        type: Literal["note", "session", "finding", "decision", "preference", "page"] = "note",  # noqa: A002 - as in the file
        tags: GivenTags = None,
        on_duplicate: Annotated[
            OnDuplicate,
            Field(description="If a memory already says this: keep both, or supersede the old"),
        ] = "error",
    ) -> Remembered:
        """Keep a text as a new memory: a decision, a finding, a preference. Never secrets.

        What is already in the memory is refused, with the name of the memory that says it.
        """
        try:
            done = self._root.remember(
                text, title=title, type=type, tags=_listed(tags), on_duplicate=on_duplicate
            )
        except HedgerowError as error:
            raise ToolError(error.message) from error
        written: Any = done.to_dict()
        answer: Remembered = written
        return answer

    def wrapup(
        self,
        title: Annotated[str, Field(description="One line on the session")],
        text: Annotated[
            str, Field(description=f"Markdown with the headings {', '.join(WRAPUP_SECTIONS)}")
        ],
        topic: Annotated[str | None, Field(description="What it was about")] = None,
        tags: GivenTags = None,
    ) -> WrappedUp:
        """Keep the outcome of a session, in four sections that each have text."""
        try:
            done: Any = self._root.wrapup(
                text, title=title, topic=topic, tags=_listed(tags)
            ).to_dict()
        except HedgerowError as error:
            raise ToolError(error.message) from error
        answer: WrappedUp = done
        return answer

    def supersede(
        self,
        old: Key,
        text: Annotated[str, Field(description="What is true now: Markdown without front matter")],
        title: Annotated[
            str | None,
            Field(description="One line on its subject; by default the beginning of the text"),
        ] = None,
    ) -> Marked:
        """Keep a text in place of a memory that is no longer true. Both files stay."""
        return self._mark(lambda: self._root.supersede(old, text=text, title=title))

    def retract(
        self,
        key: Key,
        reason: Annotated[str | None, Field(description="Why, in one line")] = None,
    ) -> Marked:
        """Mark a memory as wrong, so that recall leaves it out. Its file stays."""
        return self._mark(lambda: self._root.retract(key, reason))

    def read(self, key: Key) -> Memory:
        """Read the whole file of a memory."""
        return self._texted(lambda: self._root.read(key))

    def list(
        self,
        type: Annotated[str | None, Field(description="Only memories of this type")] = None,  # noqa: A002 - as in the file
        limit: Limit = 20,
        superseded: Annotated[
            bool, Field(description="Only those that another one supersedes")
        ] = False,
    ) -> Memories:
        """List the memories, the last changed first."""
        try:
            found: Any = self._root.memories(
                type=type, limit=limit, superseded=superseded
            ).to_dict()
        except HedgerowError as error:
            raise ToolError(error.message) from error
        answer: Memories = found
        return answer

    def edit(
        self,
        key: Key,
        text: Annotated[str, Field(description="The whole new file, with its front matter")],
        digest: Annotated[str, Field(description="The digest that memory_read returned")],
    ) -> Memory:
        """Replace the text of a memory, unless it has changed since it was read."""
        return self._texted(lambda: self._root.edit(_Memory(key, "", digest), text))

    def status(self) -> Status:
        """Report the folder of the memory, whether it is set up, and how much it holds."""
        try:
            found = self._root.status()
            status: Any = found.to_dict()
            if self._root.scope:
                status["scope"] = self._root.scope
            if found.compatible:
                # A scope must not reveal how much the memory of others holds.
                state = None if self._root.scope else self._root.index_state()
                status["retrieval"] = self._root.retrieval
                if state is not None:
                    status |= {"documents": state.documents, "stale": state.stale}
        except HedgerowError as error:
            raise ToolError(error.message) from error
        answer: Status = status
        return answer

    def _texted(self, work: Callable[[], _Memory]) -> Memory:
        try:
            found: Any = work().to_dict()
        except HedgerowError as error:
            raise ToolError(error.message) from error
        answer: Memory = found
        return answer

    def _mark(self, mark: Callable[[], Any]) -> Marked:
        try:
            answer: Marked = mark().to_dict()
        except HedgerowError as error:
            raise ToolError(error.message) from error
        return answer

    def _find(self, query: str, mode: str, **options: Unpack[RecallKeywords]) -> Found:
        try:
            found: Any = self._root.recall(query, **options).to_dict(mode)
        except HedgerowError as error:
            raise ToolError(error.message) from error
        answer: Found = found
        return answer
