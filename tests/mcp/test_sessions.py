"""Whole sessions of `hedgerow mcp`, over standard input and output and over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from command_line import failed
from hedgerow import MemoryRoot
from hedgerow._serve.app import Limits
from hedgerow._serve.root_routes import RootService
from mcp_tools import HEDGEROW, text_of
from memory_doubles import WRAPUP, put
from serving import ANA, READ, WRITE, listening
from waiting import LONGEST

READS = ["memory_recall", "memory_grep", "memory_read", "memory_list", "memory_audit"]
HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}  # fmt: skip


async def a_session(client: Client) -> None:
    """Recall, remember, supersede by title, retract, restore, edit a section, and read in pages."""

    async def call(tool: str, **arguments: Any) -> str:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return text_of(result)

    assert await call("memory_recall", query="moles") == "Nothing found."
    text = "# Plan\n\nLeave the moles.\n\n## Tools\n\n- net\n"
    wrote = await call("memory_remember", title="Moles", text=text, type="decision")
    file = wrote.removeprefix("Wrote ").removesuffix(".")
    assert f"[1] {file}:" in await call("memory_recall", query="moles")

    done = await call("memory_supersede", old="Moles", text="Net the moles.", title="Nets")
    assert f"{file}: superseded by " in done
    found = await call("memory_recall", query="moles", budget=200)
    assert "Net the moles." in found
    assert found.endswith("Left out: 1 superseded.")
    assert "retracted" in await call("memory_retract", key="Nets", reason="cruel")
    assert (await call("memory_recall", query="moles")).startswith("Nothing found.")
    assert ": holds. " in await call("memory_restore", key="Moles")

    read = await call("memory_read", key="Moles", section="Tools")
    digest = read.split("digest ")[1][:12]
    edit = {"key": "Moles", "section": "Tools", "append": True, "text": "- spade"}
    await call("memory_edit", digest=digest, **edit)
    pages, offset = "", 0
    while True:
        head, _, page = (
            await call("memory_read", key="Moles", section="Plan", offset=offset, limit=3)
        ).partition("\n\n")
        pages += page
        more = re.search(r"offset (\d+)$", head)
        if more is None:
            break
        offset = int(more[1])
    assert pages.endswith("# Plan\n\nLeave the moles.\n\n## Tools\n\n- net\n- spade\n")

    await call("memory_wrapup", title="Moles", text=WRAPUP)
    assert "sessions/" in await call("memory_list", type="session")
    assert (await client.read_resource(f"memory://{file}")).contents
    assert len((await client.list_tools()).tools) == 11


def over(transport: AbstractAsyncContextManager[Any], asking: Any = a_session) -> Any:
    async def connected() -> Any:
        async with Client(transport) as client:
            return await asking(client)

    return anyio.run(connected)


def started(*options: str, cwd: Path | None = None) -> AbstractAsyncContextManager[Any]:
    arguments = ["mcp", *options]
    environment = dict(os.environ)
    return stdio_client(
        StdioServerParameters(command=HEDGEROW, args=arguments, cwd=cwd, env=environment)
    )


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def served(url: str, token: Mapping[str, str], asking: Any) -> Any:
    """Run a client function against a server, authenticated with a token."""

    async def connected() -> Any:
        async with (
            httpx2.AsyncClient(headers=token) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            return await asking(client)

    return anyio.run(connected)


class TestHttp:
    def test_a_session(self, slugs_root: Path) -> None:
        with MemoryRoot.open(slugs_root) as root, listening(RootService(root)) as url:
            served(url, WRITE, a_session)

    def test_a_token_that_only_reads_has_no_tool_that_writes(self, slugs_root: Path) -> None:
        with MemoryRoot.open(slugs_root) as root:
            with listening(RootService(root)) as url:
                assert served(url, READ, names_of) == READS
            with listening(RootService(root), read_only=True) as url:
                assert served(url, WRITE, names_of) == READS

    def test_a_token_with_a_scope_sees_no_more(self, slugs_root: Path) -> None:
        put(slugs_root, "notes/ana.md", "---\nscope: {user: ana}\n---\nSlugs swim.\n")

        async def told(client: Client) -> tuple[str | None, str]:
            found = await client.call_tool("memory_recall", {"query": "slugs"})
            return client.instructions, text_of(found)

        token = {"Authorization": f"Bearer {ANA}"}
        with MemoryRoot.open(slugs_root) as root, listening(RootService(root)) as url:
            instructions, found = served(url, token, told)
        assert found == "[1] notes/ana.md:4\nSlugs swim."
        assert "Only the memories of user ana are read and written." in str(instructions)

    def test_a_request_with_half_a_pair_is_answered(self, slugs_root: Path) -> None:
        params = '{"name":"memory_recall","arguments":{"query":"\\ud83e"}}'
        body = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'
        headers = {"Accept": "application/json, text/event-stream", **WRITE}
        headers["Content-Type"] = "application/json"
        with MemoryRoot.open(slugs_root) as root, listening(RootService(root)) as url:
            found = httpx2.post(f"{url}/mcp", content=body.encode(), headers=headers)
        assert found.status_code == 400
        assert "Parse error" in found.json()["error"]["message"]

    def test_a_byte_order_mark_is_no_part_of_a_body(self, slugs_root: Path) -> None:
        body = '\ufeff{"jsonrpc":"2.0","id":7,"method":"ping"}'
        headers = {"Accept": "application/json, text/event-stream", **WRITE}
        headers["Content-Type"] = "application/json"
        with MemoryRoot.open(slugs_root) as root, listening(RootService(root)) as url:
            found = httpx2.post(f"{url}/mcp", content=body.encode(), headers=headers)
            recall = '\ufeff{"query": "slugs"}'.encode()
            recalled = httpx2.post(f"{url}/v1/recall", content=recall, headers=headers)
        assert (found.status_code, found.json()["id"], found.json()["result"]) == (200, 7, {})
        assert recalled.json()["results"]

    @pytest.mark.parametrize("key", ["1.5", "null", "true", "[1]"])
    def test_a_request_with_another_id_is_answered(self, slugs_root: Path, key: str) -> None:
        body = f'{{"jsonrpc":"2.0","id":{key},"method":"ping"}}'
        headers = {"Accept": "application/json, text/event-stream", **WRITE}
        headers["Content-Type"] = "application/json"
        with MemoryRoot.open(slugs_root) as root, listening(RootService(root)) as url:
            found = httpx2.post(f"{url}/mcp", content=body.encode(), headers=headers)
            note = body.replace(f'"id":{key},', "").replace("ping", "notifications/initialized")
            noted = httpx2.post(f"{url}/mcp", content=note.encode(), headers=headers)
        assert found.status_code == 400
        assert found.json()["id"] is None
        assert "an id, which is a text or a whole number" in found.json()["error"]["message"]
        assert noted.status_code == 202

    def test_calls_have_the_limits_of_requests(self, slugs_root: Path) -> None:
        async def refused(client: Client) -> tuple[bool, str]:
            result = await client.call_tool("memory_recall", {"query": "slugs"})
            return result.is_error, text_of(result)

        limits = Limits(running=1, seconds=1e-9)
        with (
            MemoryRoot.open(slugs_root) as root,
            listening(RootService(root), limits=limits) as url,
        ):
            is_error, text = served(url, WRITE, refused)
        assert is_error
        assert text.startswith("this took longer than 1e-09 s; ask for less")


class TestStandardStreams:
    def test_a_session(self, slugs_root: Path) -> None:
        """Start the command like an agent: in a folder, without naming the root."""
        over(started(cwd=slugs_root.parent))

    def test_read_only_it_has_no_tool_that_writes(self, slugs_root: Path) -> None:
        names = over(started("--read-only", cwd=slugs_root.parent), names_of)
        assert names == READS

    def test_structured_on_request(self, slugs_root: Path) -> None:
        async def recalled(client: Client) -> Any:
            return await client.call_tool("memory_recall", {"query": "slugs"})

        found = over(started("--structured", "--root", str(slugs_root)), recalled)
        assert found.structured_content["results"][0]["provenance"]["file"] == "decisions/a.md"

    def test_a_scope(self, slugs_root: Path) -> None:
        async def told(client: Client) -> tuple[str | None, str]:
            listed = await client.call_tool("memory_list", {})
            return client.instructions, text_of(listed)

        options = ("--root", str(slugs_root), "--scope", "user=ana")
        instructions, listed = over(started(*options), told)
        assert "Only the memories of user ana " in str(instructions)
        assert listed == "0 memories"


class TestLines:
    """Messages that no SDK client sends."""

    def answers(
        self, root: Path, lines: list[str], wanted: set[Any], mark: str = ""
    ) -> dict[Any, Any]:
        """Send lines after the handshake, which begins with a mark.

        Return the responses by id, once the wanted ones have arrived.
        """
        found: dict[Any, Any] = {}
        with subprocess.Popen(
            [HEDGEROW, "mcp", "--root", str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            hello = [json.dumps(HELLO), '{"jsonrpc":"2.0","method":"notifications/initialized"}']
            sent = "".join(f"{line}\n" for line in [*hello, *lines])
            process.stdin.write((mark + sent).encode())
            process.stdin.flush()
            try:
                while not wanted <= found.keys():
                    told = json.loads(process.stdout.readline())
                    found[told["id"]] = told
            finally:
                process.kill()
        return found

    def test_a_byte_order_mark_is_no_part_of_a_line(self, slugs_root: Path) -> None:
        ping = '{{"jsonrpc":"2.0","id":{},"method":"ping"}}'
        lines = [f"\ufeff{ping.format(1)}", ping.format(2), f"\ufeff{ping.format(3)}\r"]
        found = self.answers(slugs_root, lines, {HELLO["id"], 1, 2, 3}, "\ufeff")
        assert all("result" in one for one in found.values())

    def test_every_request_is_answered(self, slugs_root: Path) -> None:
        def call(key: Any, arguments: str) -> str:
            params = f'{{"name":"memory_recall","arguments":{arguments}}}'
            return f'{{"jsonrpc":"2.0","id":{key},"method":"tools/call","params":{params}}}'

        lines = [
            call(1, '{"query":"cut \\ud83e"}'),
            call(2, '"slugs"'),
            call(3, '["slugs"]'),
            call('"a"', '{"query":{"\\udc00":1}}'),
            '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":"x"}',
            '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}',
            '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"memory_status"}}',
            '{"jsonrpc":"2.0","id":7,"method":"\\udc00/x"}',
            call(8, "null"),
            call(9, '{"query":"slugs"}'),
        ]
        found = self.answers(slugs_root, lines, {*range(1, 10), "a"})
        messages = {key: one["error"]["message"] for key, one in found.items() if "error" in one}
        assert set(messages) == {*range(1, 8), "a"}
        for key in (1, "a", 7):
            assert "half of a surrogate pair" in messages[key]
        assert messages[2] == (
            'arguments must be an object, such as {"query": "..."}, not \'slugs\''
        )
        assert messages[4].startswith(
            "a JSON-RPC request has an id, which is a text or a whole number, a"
        )
        assert messages[5] == "name must be the name of a tool; tools/list has all names"
        assert messages[6].startswith("there is no tool 'memory_status'; use one of memory_recall,")
        assert found[8]["result"]["isError"] is True
        assert found[9]["result"]["content"][0]["text"].startswith("[1] decisions/a.md")

    @pytest.mark.parametrize(
        "line",
        [
            "no JSON",
            "[1]",
            "[" * 100_000,
            '{"id":"\\ud83e","method":"x","jsonrpc":"2.0"}',
            "\xff",
            '{"id":1.5,"method":"ping","jsonrpc":"2.0"}',
            '{"id":null,"method":"ping","jsonrpc":"2.0"}',
            '{"id":true,"method":"ping","jsonrpc":"2.0"}',
        ],
    )
    def test_a_line_without_an_id_is_answered_without_one(
        self, slugs_root: Path, line: str
    ) -> None:
        ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
        found = self.answers(slugs_root, [line, ping], {None, 1})
        assert found[None]["error"]["code"] in (-32600, -32700)

    def test_notifications_answers_and_blank_lines_are_not_answered(self, slugs_root: Path) -> None:
        lines = [
            "",
            '{"jsonrpc":"2.0","method":"\\ud83e"}',
            '{"jsonrpc":"2.0","id":9,"result":"\\ud83e"}',
            '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        ]
        assert set(self.answers(slugs_root, lines, {1})) == {0, 1}


def test_requests_before_the_end_of_the_input_are_answered(slugs_root: Path) -> None:
    arguments = {"title": "Last words", "text": "The last words of a session."}
    params = {"name": "memory_remember", "arguments": arguments}
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list"},
        cancelled,
        *({"jsonrpc": "2.0", "id": key, "method": "ping"} for key in (2, 2, "3")),
    ]
    done = subprocess.run(
        [HEDGEROW, "mcp", "--root", str(slugs_root)],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    keys = [one["id"] for one in answers]
    assert sorted(map(str, set(keys) - {7})) == ["0", "1", "2", "3"]
    assert keys.count(2) == 2
    [written] = [one for one in answers if one["id"] == 1]
    assert written["result"]["content"][0]["text"].startswith("Wrote notes/")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_it_while_standard_input_is_open(slugs_root: Path) -> None:
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
        process.stdin.write(json.dumps(HELLO) + "\n")
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
