"""`hedgerow mcp`, asked by the client of the official SDK."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from command_line import failed
from hedgerow import MemoryRoot
from hedgerow.mcp import build_server
from local_server import LocalServer
from memory_doubles import put
from waiting import LONGEST

HEDGEROW = str(Path(sysconfig.get_path("scripts")) / "hedgerow")

Asking = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def slugs_root(tmp_path: Path) -> Path:
    root = MemoryRoot.init(tmp_path / "memory").path
    put(root, "decisions/a.md", "---\nsession_id: s-1\n---\n# Slugs\n\nNo pellets: beer.\n")
    return root


def ask(root: Path, asking: Asking) -> Any:
    """Let a client ask the server in this process."""

    async def connected() -> Any:
        with MemoryRoot.open(root) as opened:
            async with Client(build_server(opened)) as client:
                return await asking(client)

    return anyio.run(connected)


def call(root: Path, tool: str, **arguments: Any) -> Any:
    return ask(root, lambda client: client.call_tool(tool, arguments))


def answer(root: Path, tool: str, **arguments: Any) -> dict[str, Any]:
    result = call(root, tool, **arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content
    return found


def test_the_tools_say_what_they_take_and_give(slugs_root: Path) -> None:
    listed = ask(slugs_root, lambda client: client.list_tools()).tools
    tools = {tool.name: tool for tool in listed}
    assert list(tools) == [
        "memory_search", "memory_recall", "memory_context", "memory_read", "memory_list", "memory_remember",
        "memory_supersede", "memory_retract", "memory_wrapup", "memory_edit", "memory_status",
    ]  # fmt: skip
    assert all(tool.description and tool.output_schema for tool in listed)
    recall = tools["memory_recall"].input_schema
    assert recall["required"] == ["topic"]
    assert recall["properties"]["depth"]["enum"] == ["shallow", "normal", "deep"]
    assert recall["properties"]["limit"]["minimum"] == 1
    assert tools["memory_remember"].annotations.destructive_hint is False
    assert [tool.name for tool in listed if tool.annotations.destructive_hint] == ["memory_edit"]
    assert [tool.name for tool in listed if tool.annotations.read_only_hint] == [
        "memory_search", "memory_recall", "memory_context", "memory_read", "memory_list", "memory_status",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "argument", "mode"),
    [("memory_search", "query", "search"), ("memory_recall", "topic", "recall")],
)
def test_results_are_structured_and_say_where_they_are_from(
    slugs_root: Path, tool: str, argument: str, mode: str
) -> None:
    found = answer(slugs_root, tool, **{argument: "slugs"}, depth="deep")
    with MemoryRoot.open(slugs_root) as root:
        assert found == root.recall("slugs", depth="deep").to_dict(mode)
    assert found["results"][0]["provenance"]["file"] == "decisions/a.md"
    assert found["results"][0]["session_id"] == "s-1"
    assert answer(slugs_root, tool, **{argument: "zebra"})["results"] == []


def test_a_context_is_that_of_the_root(slugs_root: Path) -> None:
    packed = answer(slugs_root, "memory_context", topic="slugs", budget=100)
    with MemoryRoot.open(slugs_root) as root:
        assert packed == root.context("slugs", budget=100).to_dict()
    assert packed["text"].startswith("[1] decisions/a.md:")


def test_what_is_remembered_is_found(slugs_root: Path) -> None:
    written = answer(
        slugs_root,
        "memory_remember",
        title="Moles",
        text="Leave them.",
        type="preference",
        tags=["x"],
    )
    assert written["indexed"] is True
    assert 'tags: ["x"]' in (slugs_root / written["file"]).read_text()
    found = answer(slugs_root, "memory_recall", topic="moles", limit=1)
    assert found["results"][0]["provenance"]["file"] == written["file"]


def test_read_only_it_has_no_tool_that_writes(slugs_root: Path) -> None:
    server = StdioServerParameters(
        command=HEDGEROW, args=["mcp", "--read-only"], cwd=slugs_root.parent
    )

    async def names() -> list[str]:
        async with Client(stdio_client(server)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(names) == [
        "memory_search", "memory_recall", "memory_context", "memory_read", "memory_list", "memory_status",
    ]  # fmt: skip


def test_what_is_no_longer_so_is_left_out(slugs_root: Path) -> None:
    first = answer(slugs_root, "memory_remember", title="Moles", text="Leave the moles.")["file"]
    done = answer(slugs_root, "memory_supersede", old=first, text="Net the moles.", title="Nets")
    assert done["changed"] == [first]
    assert done["validity"]["by"] == [done["written"]]
    found = answer(slugs_root, "memory_recall", topic="moles")
    assert found["leftOut"] == {"superseded": 1}
    found = answer(slugs_root, "memory_recall", topic="moles", include_superseded=True)
    assert found["results"][0]["validity"]["holds"] is False
    assert answer(slugs_root, "memory_recall", topic="moles", as_of="2020-01-01")["results"] == []
    done = answer(slugs_root, "memory_retract", key="Nets", reason="cruel")
    assert done["validity"]["reason"] == "cruel"
    assert "there is no memory" in call(slugs_root, "memory_retract", key="x").content[0].text


def test_a_memory_is_listed_read_and_edited(slugs_root: Path) -> None:
    [first] = answer(slugs_root, "memory_list", type="decision")["memories"]
    read = answer(slugs_root, "memory_read", key=first["file"])
    assert "beer" in read["text"].lower()
    new = {"key": first["file"], "text": "No more beer.\n"}
    edited = answer(slugs_root, "memory_edit", **new, digest=read["digest"])
    assert (slugs_root / first["file"]).read_text() == "No more beer.\n"
    assert answer(slugs_root, "memory_read", key=first["file"]) == edited
    again = call(slugs_root, "memory_edit", **new, digest=read["digest"])
    assert "has another text by now" in again.content[0].text
    assert answer(slugs_root, "memory_list", superseded=True)["count"] == 0
    assert (
        "there are no memories of the type"
        in call(slugs_root, "memory_list", type="x").content[0].text
    )


def test_a_memory_that_no_recall_finds_is_reported(slugs_root: Path) -> None:
    put(slugs_root, "hedgerow.json", '{"schemaVersion": 1, "indexRoot": "decisions"}')
    written = answer(slugs_root, "memory_remember", title="Moles", text="Leave them.")
    assert written["indexed"] is False
    assert written["problem"].startswith("Not indexed: it lies outside indexRoot")


def test_what_the_root_may_not_do_is_named_and_left_out(
    slugs_root: Path, server: LocalServer
) -> None:
    config = {"schemaVersion": 1, "indexRoot": "..", "embedder": f"openai:m@{server.url}/v1"}
    put(slugs_root, "hedgerow.json", json.dumps(config))
    for tool, argument in (("memory_recall", "topic"), ("memory_search", "query")):
        found = answer(slugs_root, tool, **{argument: "slugs"})
        assert (found["root"], len(found["results"])) == (str(slugs_root), 1)
        assert [notice[:12] for notice in found["notices"]] == ["Not allowed:"] * 2
        assert all("hedgerow trust --root" in notice for notice in found["notices"])
    status = answer(slugs_root, "memory_status")
    assert [one["setting"] for one in status["notAllowed"]] == ["embedder", "indexRoot"]
    assert answer(slugs_root, "memory_remember", title="T", text="x")["root"] == str(slugs_root)
    assert server.requests == []


def test_status(slugs_root: Path) -> None:
    before = answer(slugs_root, "memory_status")
    assert (before["root"], before["initialized"], "documents" in before) == (
        str(slugs_root), True, False,
    )  # fmt: skip
    answer(slugs_root, "memory_recall", topic="x")
    after = answer(slugs_root, "memory_status")
    assert (after["documents"], after["stale"], after["retrieval"]) == (1, 0, "keywords")
    put(slugs_root, "hedgerow.json", '{"schemaVersion": 9}')
    assert answer(slugs_root, "memory_status")["compatible"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("memory_recall", {"topic": " "}, "the query is blank"),
        ("memory_recall", {}, "topic"),
        ("memory_recall", {"topic": "x", "depth": "Deep"}, "shallow"),
        ("memory_search", {"query": "x", "limit": 0}, "limit"),
        ("memory_remember", {"title": "T", "text": ""}, "the text is blank"),
    ],
)
def test_an_error_names_the_fix(
    slugs_root: Path, tool: str, arguments: dict[str, Any], message: str
) -> None:
    result = call(slugs_root, tool, **arguments)
    assert result.is_error
    assert message in result.content[0].text


def test_over_standard_input_and_output(slugs_root: Path) -> None:
    """The command as an agent starts it: in a folder, without a word about the root."""
    server = StdioServerParameters(command=HEDGEROW, args=["mcp"], cwd=slugs_root.parent)

    async def asking() -> Any:
        async with Client(stdio_client(server)) as client:
            assert client.server_info.name == "hedgerow"
            await client.call_tool("memory_remember", {"title": "Moles", "text": "Leave them."})
            return await client.call_tool("memory_recall", {"topic": "moles"})

    found = anyio.run(asking).structured_content
    assert found["root"] == str(slugs_root)
    assert found["results"][0]["provenance"]["file"].endswith("-moles.md")


def test_the_instructions_name_the_tools_and_no_shell(slugs_root: Path) -> None:
    async def asking(client: Client) -> Any:
        return client.instructions, (await client.list_tools()).tools

    instructions, tools = ask(slugs_root, asking)
    assert all(f"- {tool.name}: " in instructions for tool in tools)
    assert "`" not in instructions
    assert "hedgerow run" not in instructions


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_it_while_standard_input_is_open(slugs_root: Path) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }  # fmt: skip
    with subprocess.Popen(
        [HEDGEROW, "mcp", "--root", str(slugs_root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(hello) + "\n")
        process.stdin.flush()
        assert '"serverInfo"' in process.stdout.readline()
        try:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=LONGEST) == 130
            assert process.stderr.read() == "Error: interrupted\n"
        finally:
            process.kill()


@pytest.mark.parametrize("version", [None, ModuleType("mcp")])
def test_without_its_package_or_with_an_old_one_the_fix_is_named(
    slugs_root: Path, monkeypatch: pytest.MonkeyPatch, version: ModuleType | None
) -> None:
    for name in [*sys.modules]:
        if name == "hedgerow.mcp" or name.partition(".")[0] == "mcp":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", version)
    assert 'pip install "hedgerow[mcp]"' in failed(1, "mcp", "--root", str(slugs_root))


class TestResources:
    def test_files_are_resources(self, slugs_root: Path) -> None:
        templates = ask(slugs_root, lambda client: client.list_resource_templates())
        assert [one.uri_template for one in templates.resource_templates] == ["memory://{+file}"]
        for name in ("decisions/a.md", "Slugs"):
            found = ask(
                slugs_root, lambda client, name=name: client.read_resource(f"memory://{name}")
            )
            [content] = found.contents
            assert content.mime_type == "text/markdown"
            assert content.text == (slugs_root / "decisions/a.md").read_text()

    @pytest.mark.parametrize(
        "name",
        ["nothing.md", "hedgerow.json", "../memory/decisions/a.md", "/etc/passwd", "%2e%2e/x"],
    )
    def test_nothing_else_is(self, slugs_root: Path, name: str) -> None:
        async def refused(client: Client) -> bool:
            try:
                await client.read_resource(f"memory://{name}")
            except (MCPError, ValueError):
                return True
            return False

        assert ask(slugs_root, refused)


class TestPrompts:
    def test_they_say_what_to_do(self, slugs_root: Path) -> None:
        listed = ask(slugs_root, lambda client: client.list_prompts()).prompts
        assert [one.name for one in listed] == ["recall", "wrapup"]
        asked = ask(slugs_root, lambda client: client.get_prompt("wrapup", {"topic": "slugs"}))
        text = asked.messages[0].content.text
        assert "## Conflicts / Corrections" in text
        assert "'slugs'" in text
        asked = ask(slugs_root, lambda client: client.get_prompt("recall", {"topic": "slugs"}))
        assert "memory_recall" in asked.messages[0].content.text

    def test_a_wrapup_is_kept(self, slugs_root: Path) -> None:
        sections = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")
        text = "\n\n".join(f"## {name}\n\nNone." for name in sections)
        done = answer(slugs_root, "memory_wrapup", title="Slugs", text=text, topic="slugs")
        assert (slugs_root / done["file"]).is_file()
        assert done["relatedMemory"]["results"][0]["provenance"]["file"] == "decisions/a.md"
        failed = call(slugs_root, "memory_wrapup", title="Slugs", text="## Findings")
        assert "Missing required sections" in failed.content[0].text


class TestScope:
    @pytest.fixture
    def shared(self, tmp_path: Path) -> Path:
        """A root with a memory of Ana's and one of Ben's."""
        put(tmp_path, "notes/ana.md", "---\nscope: {user: ana}\n---\nThe otter swims.\n")
        put(tmp_path, "notes/hidden.md", "---\nscope: {user: ben}\n---\nThe otter sleeps.\n")
        return tmp_path

    def test_no_tool_shows_what_is_of_others(self, shared: Path) -> None:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("memory_search", {"query": "otter sleeps"}),
            (
                "memory_recall",
                {"topic": "otter sleeps", "depth": "deep", "include_superseded": True},
            ),
            ("memory_context", {"topic": "otter sleeps"}),
            ("memory_list", {}),
            ("memory_status", {}),
            ("memory_remember", {"title": "T", "text": "The otter sleeps."}),
            ("memory_read", {"key": "hidden"}),
            ("memory_edit", {"key": "hidden", "text": "x", "digest": "0"}),
            ("memory_supersede", {"old": "hidden", "text": "x"}),
            ("memory_retract", {"key": "hidden"}),
        ]

        async def ask_all(client: Client) -> list[str]:
            return [str(await client.call_tool(name, given)) for name, given in calls]

        async def connected() -> list[str]:
            with MemoryRoot.open(shared, scope={"user": "ana"}) as opened:
                async with Client(build_server(opened)) as client:
                    return await ask_all(client)

        for (name, given), told in zip(calls, anyio.run(connected), strict=True):
            without_question = told.replace("otter sleeps", "")
            assert "notes/hidden" not in told, name
            assert given.get("key", given.get("old")) is None or "there is no memory" in told
            assert name == "memory_remember" or "sleeps" not in without_question, name
        assert (shared / "notes/hidden.md").read_text().endswith("The otter sleeps.\n")

    def test_the_command_takes_a_scope(self, shared: Path) -> None:
        server = StdioServerParameters(
            command=HEDGEROW, args=["mcp", "--root", str(shared), "--scope", "user=ana"]
        )

        async def status() -> dict[str, Any]:
            async with Client(stdio_client(server)) as client:
                found: dict[str, Any] = (
                    await client.call_tool("memory_status", {})
                ).structured_content
                return found

        found = anyio.run(status)
        assert found["scope"] == {"user": "ana"}
        assert "documents" not in found


def test_an_unknown_argument_is_an_error_that_names_the_nearest(slugs_root: Path) -> None:
    result = call(slugs_root, "memory_recall", topic="slugs", includeSuperseded=True)
    assert result.is_error
    assert result.content[0].text == (
        "memory_recall has no argument 'includeSuperseded': use include_superseded"
    )
    result = call(slugs_root, "memory_status", verbose=True)
    assert result.is_error
    assert result.content[0].text == "memory_status has no argument 'verbose': it has none"


@pytest.mark.parametrize("tags", ["garden", "garden, pond", ["garden", "pond"], '["garden"]'])
def test_tags_and_types_may_be_one_text(slugs_root: Path, tags: object) -> None:
    put(slugs_root, "notes/b.md", "---\ntags: [garden, pond]\n---\nNo pellets.\n")
    found = answer(slugs_root, "memory_recall", topic="pellets", tags=tags, types="note, decision")
    assert [hit["provenance"]["file"] for hit in found["results"]] == ["notes/b.md"]


@pytest.mark.parametrize(
    ("tool", "name"),
    [("memory_search", "query"), ("memory_recall", "topic"), ("memory_context", "topic")],
)
def test_every_tool_narrows_by_a_period(slugs_root: Path, tool: str, name: str) -> None:
    put(slugs_root, "notes/old.md", "---\ndate: 2020-01-01\n---\nSlugs and beer, long ago.\n")
    found = answer(slugs_root, tool, **{name: "slugs yesterday"})
    assert found["period"]["phrase"] == "yesterday"
    assert found["notices"][0].startswith("Nothing that was found is from yesterday")
    assert "period" not in answer(slugs_root, tool, **{name: 'slugs "yesterday"'})


def test_another_spelling_is_told(slugs_root: Path) -> None:
    found = answer(slugs_root, "memory_recall", topic="pelets")
    assert [one["provenance"]["file"] for one in found["results"]] == ["decisions/a.md"]
    assert found["notices"] == ["For pelets, also searched: pellets."]
