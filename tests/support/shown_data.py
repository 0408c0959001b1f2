"""Configuration, requests, grammars and patterns in the documentation, with their checks."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import hedgerow as hr
from hedgerow import temporal
from hedgerow._adapters.local import SETTINGS, read_settings
from hedgerow.agents import load_definition, parse_reply
from hedgerow.mcp import build_server
from places import ROOT
from scenes import scene_of
from serving import READER, WRITER
from shown import Block, blocks_of
from shown_commands import check_hedgerow
from temporal_cases import CASES

Checked = Callable[[Block, Path], None]


def tools_of(transport: AbstractAsyncContextManager[Any]) -> list[str]:
    async def listed() -> list[str]:
        async with Client(transport) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    return anyio.run(listed)


def an_agent_that_starts_it(block: Block, folder: Path) -> None:
    """Check that the command for agents serves the root that `hedgerow init` created."""
    hr.MemoryRoot.initialize(folder / "memory")
    server = json.loads(block.text)["mcpServers"]["memory"]
    assert server["command"] == "hedgerow"
    program = shutil.which("hedgerow", path=str(Path(sys.executable).parent))
    assert program is not None
    parameters = StdioServerParameters(command=program, args=server["args"], cwd=folder)
    assert "memory_recall" in tools_of(stdio_client(parameters))


def the_settings_of_a_model(block: Block, folder: Path) -> None:
    (folder / SETTINGS).write_text(block.text, encoding="utf-8")
    settings = read_settings(folder)
    assert settings is not None
    assert {*json.loads(block.text)} <= {field.name for field in fields(settings)}


def an_agent_over_http(block: Block, folder: Path) -> None:
    server = json.loads(block.text)["mcpServers"]["memory"]
    assert server["type"] == "http"
    headers = {name: value.replace("TOKEN", READER) for name, value in server["headers"].items()}
    with scene_of(block.page, folder) as scene:
        url = server["url"].replace(
            "http://127.0.0.1:7411", scene.addresses["http://127.0.0.1:7411"]
        )

        async def listed() -> list[str]:
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                return [tool.name for tool in (await client.list_tools()).tools]

        found = anyio.run(listed)
    assert "memory_recall" in found
    assert "memory_remember" not in found  # as the page says about this token


def an_expansion(block: Block, _: Path) -> None:
    shown = json.loads(block.text)
    [anchor, question] = re.findall(
        r"^Anchor `(.*?)`, question `(.*?)`:$",
        (ROOT / block.page).read_text(encoding="utf-8"),
        re.MULTILINE,
    )[0]
    assert temporal.expand_temporal(question, anchor).to_dict() == shown


def a_definition(block: Block, _: Path) -> None:
    """Check that the definition equals the one in examples/, except for its comment."""
    example = ROOT / "examples" / "agents" / "linker.toml"
    assert block.text == example.read_text(encoding="utf-8").partition("\n")[2]
    assert load_definition(example).name == "linker"


def the_beginning_of_a_template(block: Block, _: Path) -> None:
    template = load_definition(ROOT / "examples" / "agents" / "linker.toml").template
    assert template.startswith(block.text.rstrip("\n"))


def an_answer_of_recall(block: Block, folder: Path) -> None:
    garden = folder / "memory" / "garden"
    shutil.copytree(ROOT / "examples" / "notes" / "garden", garden)
    newer = "---\nsupersedes: garden/hawthorn-hedge.md\ndate: 2026-01-03\n---\n# New\n\nAnother.\n"
    (garden / "hedge-2026.md").write_text(newer, encoding="utf-8")
    asked = {"query": "when to cut hawthorn", "limit": 1, "include_superseded": True}

    async def answer() -> Any:
        async with Client(build_server(root)) as client:
            return await client.call_tool("memory_recall", asked)

    with hr.MemoryRoot.init(folder / "memory") as root:
        text = anyio.run(answer).content[0].text
    assert text.startswith(block.text.rstrip(" …\n"))


def a_reply(block: Block, _: Path) -> None:
    [token] = re.findall("^`+hedgerow ([0-9a-f]+)$", block.text, re.MULTILINE)
    read = parse_reply(block.text, allowed=["link-add"], max_actions=5, token=token)
    assert [action.to_dict()["op"] for action in read.actions] == ["link-add"]
    assert not read.rejected


def a_scope(block: Block, folder: Path) -> None:
    root = hr.MemoryRoot.init(folder / "memory")
    memory = folder / "memory" / "notes" / "tea.md"
    memory.write_text(f"---\n{block.text}---\n\n# Tea\n\nPrefers tea.\n", encoding="utf-8")
    with root:
        assert [one.file for one in root.scoped(user="ana", session="trip").recall("tea")] != []
        assert [*root.scoped(user="ben").recall("tea")] == []


def a_unit(block: Block, _: Path) -> None:
    """Check a systemd unit, which starts a hedgerow command."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(block.text)
    assert unit.sections() == ["Unit", "Service", "Install"]
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert Path(program).name == "hedgerow"
    check_hedgerow(words)


def an_image(block: Block, _: Path) -> None:
    [command] = re.findall(r"^CMD (\[.*\])$", block.text, re.MULTILINE)
    program, *words = json.loads(command)
    assert program == "hedgerow"
    check_hedgerow(words)
    [port] = re.findall(r"^EXPOSE (\d+)$", block.text, re.MULTILINE)
    assert port == "7411"


def a_grammar(block: Block, _: Path) -> None:
    """Check that every rule except the first is used, and every name is defined."""
    text = re.sub(r"\(\*.*?\*\)|\"[^\"]*\"|'[^']*'", "", block.text, flags=re.DOTALL)
    rules = re.findall(r"^([a-z-]+) *=", text, re.MULTILINE)
    names = set(re.findall(r"[a-z][a-z-]*", text))
    used = set(re.findall(r"(?<![a-z-])[a-z][a-z-]*(?![a-z-]* *=)", text))
    assert names - set(rules) <= OUTSIDE
    assert set(rules[1:]) - used <= CLASSES
    assert text.count(";") == len(rules)


# Names defined in the text of the page, and rules that classify the result of another rule.
OUTSIDE = {"bare", "character", "digit", "digits", "end-of-text", "field", "name", "operand", "operator", "space", "value", "year", "month", "day", "hour", "minute", "second"}  # fmt: skip
CLASSES = {"operator", "prefix", "term", "time", "offset"}


def pattern_of(block: Block) -> re.Pattern[str]:
    [[shown, flags]] = re.findall("^/(.*)/([gi]*)$", block.text, re.MULTILINE)
    return re.compile(shown, re.IGNORECASE if "i" in flags else 0)


def a_pattern(block: Block, _: Path) -> None:
    """Check that a JavaScript pattern matches the cases with a date."""
    pattern = pattern_of(block)
    if pattern.pattern.startswith("^"):
        both = [pattern_of(one) for one in blocks_of(block.page) if one.text.startswith("/^")]
        dates = [
            case["questionDate"].strip().strip("\ufeff")
            for case in CASES
            if case["expected"]["parsedEpochMs"]
            and not re.search(
                "[a-z]{3}", case["questionDate"], re.IGNORECASE
            )  # without names of months
        ]
        matched = [{one.pattern for one in both if one.search(date)} for date in dates]
        assert all(matched)
        assert sum(pattern.pattern in patterns for patterns in matched) > 10
        return
    noted = r" \(around 20\d\d/" if "ago" in pattern.pattern else r"day \(\d{4}/"
    found = 0
    for case in CASES:
        if re.search(noted, case["expected"]["expansion"]["expandedQuery"]):
            assert pattern.search(case["question"]) is not None, case["id"]
            found += 1
    assert found > 10


def a_tree_of_pages(block: Block, _: Path) -> None:
    folder = (ROOT / block.page).parent
    for line in block.text.splitlines():
        if line and not line.startswith(":"):
            name = line if "*" in line else f"{line}.md"
            assert [*folder.glob(name)] or (folder / name).resolve().is_file(), line


def a_tree_of_errors(block: Block, _: Path) -> None:
    """Check that the tree shows the actual error classes and their parents."""
    parents: list[str] = []
    shown = {}
    for line in block.text.splitlines():
        found = re.match(r"^([│ ├└─]*)(\w+)", line)
        assert found is not None
        depth = len(found[1]) // 4
        parents[depth:] = [found[2]]
        shown[found[2]] = parents[depth - 1] if depth else "Exception"
    real: dict[str, str] = {}

    def add(kind: type[Exception]) -> None:
        real[kind.__name__] = kind.__bases__[0].__name__
        for one in kind.__subclasses__():
            if one.__module__.startswith("hedgerow"):
                add(one)

    assert hr.agents.ModelError.__module__.startswith("hedgerow")  # imported with the others
    add(hr.HedgerowError)
    assert shown == real, f"{shown} is not {real}"


def as_curl_sends_it(words: list[str]) -> httpx.Response:
    given = iter(words)
    headers, body, url = {}, None, ""
    for word in given:
        if word == "-H":
            name, _, value = next(given).partition(": ")
            headers[name] = re.sub(
                r"\$\(cat .*/tokens/(\w+)\)",
                lambda m: {"read": READER, "write": WRITER}[m[1]],
                value,
            )
        elif word == "--json":
            body = json.loads(next(given))
        else:
            assert not word.startswith("-"), word
            url = word
    return httpx.request("GET" if body is None else "POST", url, headers=headers, json=body)


# The checks of blocks that are neither run nor commands, by page and language.
READ: dict[tuple[str, str], Checked] = {
    ("README.md", "json"): an_agent_that_starts_it,
    ("docs/mcp.md", "json"): an_agent_that_starts_it,
    ("docs/mcp.md", "markdown"): an_answer_of_recall,
    ("docs/tutorials/agent-memory-over-mcp.md", "json"): an_agent_that_starts_it,
    ("docs/how-to/local-meaning.md", "json"): the_settings_of_a_model,
    ("docs/service.md", "json"): an_agent_over_http,
    ("docs/service.md", "ini"): a_unit,
    ("docs/service.md", "dockerfile"): an_image,
    ("docs/agents.md", "toml"): a_definition,
    ("docs/agents.md", "markdown"): the_beginning_of_a_template,
    ("docs/site/index.md", "{toctree}"): a_tree_of_pages,
    ("spec/agents.md", "markdown"): a_reply,
    ("spec/errors.md", "text"): a_tree_of_errors,
    ("spec/dates.md", "ebnf"): a_grammar,
    ("spec/filters.md", "ebnf"): a_grammar,
    ("spec/memory.md", "yaml"): a_scope,
    ("spec/pipeline.md", "ebnf"): a_grammar,
    ("spec/query.md", "ebnf"): a_grammar,
    ("spec/temporal.md", "json"): an_expansion,
    ("spec/temporal.md", "js"): a_pattern,
}
