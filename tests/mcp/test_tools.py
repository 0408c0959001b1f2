"""The descriptions and arguments of the tools of `hedgerow mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from hedgerow.errors import InvalidInputError
from hedgerow.mcp import _TOOLS, build_server
from hedgerow.memory import MemoryRoots
from mcp_tools import answer, ask, refusal, text_of
from memory_doubles import put

READS = ["memory_recall", "memory_grep", "memory_read", "memory_list", "memory_audit"]
WRITES = [
    "memory_remember", "memory_supersede", "memory_retract", "memory_restore", "memory_edit",
    "memory_wrapup",
]  # fmt: skip


NUMBERS_AND_FLAGS = [
    (tool.name, name)
    for tool in _TOOLS
    for name, schema in tool.schema()["properties"].items()
    if schema["type"] in ("integer", "number", "boolean")
]


def listed(root: Path, **options: Any) -> Any:
    return ask(root, lambda client: client.list_tools(), **options)


class TestDescription:
    def test_the_list_of_tools_is_small(self, slugs_root: Path) -> None:
        sent = listed(slugs_root).model_dump_json(by_alias=True, exclude_none=True)
        assert len(sent) < 8_000, (
            f"the list of tools has {len(sent)} bytes; docs/mcp.md says how many"
        )
        assert "outputSchema" not in sent
        assert "anyOf" not in sent

    def test_tools_and_arguments_are_described_in_a_line_each(self, slugs_root: Path) -> None:
        tools = listed(slugs_root).tools
        assert [tool.name for tool in tools] == READS + WRITES
        for tool in tools:
            assert 0 < len(tool.description) < 160
            for name, schema in tool.input_schema["properties"].items():
                assert 0 < len(schema["description"]) < 80, f"{tool.name}: {name}"
                assert schema["type"] in ("string", "integer", "boolean", "array")

    def test_schemas_are_those_of_the_requests(self, slugs_root: Path) -> None:
        tools = {tool.name: tool.input_schema for tool in listed(slugs_root).tools}
        recall = tools["memory_recall"]["properties"]
        assert tools["memory_recall"]["required"] == ["query"]
        assert recall["depth"]["enum"] == ["shallow", "normal", "deep"]
        assert (recall["limit"]["minimum"], recall["limit"]["default"]) == (1, 5)
        assert (recall["budget"]["minimum"], "default" in recall["budget"]) == (40, False)
        assert tools["memory_list"]["properties"]["limit"]["default"] == 20
        assert tools["memory_edit"]["required"] == ["key", "text", "digest"]
        assert all(one["additionalProperties"] is False for one in tools.values())

    def test_hints_say_what_writes(self, slugs_root: Path) -> None:
        tools = listed(slugs_root).tools
        assert [tool.name for tool in tools if tool.annotations.read_only_hint] == READS
        assert [tool.name for tool in tools if tool.annotations.destructive_hint] == ["memory_edit"]

    def test_read_only_there_is_no_tool_that_writes(self, slugs_root: Path) -> None:
        assert [tool.name for tool in listed(slugs_root, read_only=True).tools] == READS

        async def refused(client: Client) -> str:
            with pytest.raises(MCPError) as raised:
                await client.call_tool("memory_retract", {"key": "a"})
            return str(raised.value)

        message = ask(slugs_root, refused, read_only=True)
        assert message == f"there is no tool 'memory_retract'; use one of {', '.join(READS)}"


class TestArguments:
    @pytest.mark.parametrize(
        ("tool", "arguments", "message"),
        [
            ("memory_recall", {"query": " "}, "the query is blank"),
            ("memory_recall", {}, "query is missing; it is a question, or words"),
            ("memory_recall", {"query": 3}, "query must be a text, not 3"),
            ("memory_recall", {"query": "x", "depth": "Deep"}, "did you mean 'deep'?"),
            (
                "memory_recall",
                {"query": "x", "limit": 0},
                "limit must be an integer of at least 1, not 0",
            ),
            ("memory_recall", {"query": "x", "limit": 2_000}, "limit may have at most 1,000 here"),
            (
                "memory_recall",
                {"query": "x", "budget": 39},
                "budget must be an integer of at least 40, not 39",
            ),
            ("memory_recall", {"query": "x", "after": "soon"}, "after must be a date that exists"),
            (
                "memory_recall",
                {"query": "x", "tags": {"a": 1}},
                "tags must be a list, not {'a': 1}",
            ),
            ("memory_list", {"superseded": "no"}, "superseded must be true or false, not 'no'"),
            ("memory_list", {"type": "x"}, "there are no memories of the type"),
            ("memory_remember", {"title": "T", "text": ""}, "the text is blank"),
            ("memory_supersede", {"old": "a"}, "give what takes its place"),
            (
                "memory_read",
                {"key": "x"},
                "there is no memory 'x' in this root; to list the memories: memory_list",
            ),
            ("memory_read", {"key": "a", "section": "Slug"}, "did you mean 'Slugs'?"),
            ("memory_grep", {"pattern": "(", "regex": True}, "to find it as it is: regex=false"),
        ],
    )
    def test_an_error_names_the_fix(
        self, slugs_root: Path, tool: str, arguments: dict[str, Any], message: str
    ) -> None:
        assert message in refusal(slugs_root, tool, **arguments)

    @pytest.mark.parametrize(
        ("tool", "arguments", "message"),
        [
            (
                "memory_recall",
                {"query": "slugs", "includeSuperseded": True},
                "there is no argument 'includeSuperseded': use include_superseded",
            ),
            ("memory_recall", {"querry": "slugs"}, "there is no argument 'querry': use query"),
            (
                "memory_retract",
                {"zzz": 1},
                "there is no argument 'zzz': it has key, reason",
            ),
            ("memory_recall", {"query": "x", "explain": True}, "there is no argument 'explain'"),
        ],
    )
    def test_an_unknown_argument_is_an_error_that_names_the_nearest(
        self, slugs_root: Path, tool: str, arguments: dict[str, Any], message: str
    ) -> None:
        assert refusal(slugs_root, tool, **arguments).startswith(f"{tool}: {message}")

    @pytest.mark.parametrize(
        "tags", ["garden", "garden, pond", ["garden", "pond"], '["garden"]', "#pond"]
    )
    def test_lists_may_be_one_text(self, slugs_root: Path, tags: object) -> None:
        put(slugs_root, "notes/b.md", "---\ntags: [garden, pond]\n---\nNo pellets.\n")
        found = answer(
            slugs_root, "memory_recall", query="pellets", tags=tags, types="note, decision"
        )
        assert found.startswith("[1] notes/b.md:4\nNo pellets.\n\nLeft out: 1 ")

    def test_tags_of_a_new_memory_may_be_one_text(self, slugs_root: Path) -> None:
        for at, tags in enumerate(["x, y", '["x", "y"]', ["x", "y"], "[x, y"]):
            answer(slugs_root, "memory_remember", title=f"M{at}", text=f"mole {at} " * 9, tags=tags)
            [file] = (slugs_root / "notes").glob(f"*-m{at}.md")
            wanted = '["[x","y"]' if tags == "[x, y" else '["x","y"]'
            assert f"tags: {wanted}" in file.read_text()

    @pytest.mark.parametrize(("tool", "name"), NUMBERS_AND_FLAGS)
    def test_numbers_and_flags_may_be_texts(self, tool: str, name: str) -> None:
        [one] = [one for one in _TOOLS if one.name == tool]
        texts = dict.fromkeys(one.schema().get("required", ()), "x")
        if one.schema()["properties"][name]["type"] == "boolean":
            values = {"true": True, " True ": True, "false": False, "False": False}
        else:
            value = 2 if name == "context" else 40
            values = {f"{value}": value, f" {value}\n": value}
        for text, value in values.items():
            assert one.request(texts | {name: text}, None) == one.request(
                texts | {name: value}, None
            )

    @pytest.mark.parametrize("text", ["text", "", "3.5x", "null", "[1]", '"true"', "NaN", "³"])
    @pytest.mark.parametrize(("tool", "name"), NUMBERS_AND_FLAGS)
    def test_the_error_of_a_wrong_number_or_flag_names_it(
        self, tool: str, name: str, text: str
    ) -> None:
        [one] = [one for one in _TOOLS if one.name == tool]
        kind = one.schema()["properties"][name]["type"]
        takes = {"boolean": "true or false", "integer": "an integer"}[kind]
        for others in ({}, dict.fromkeys(one.schema().get("required", ()), "x")):
            with pytest.raises(InvalidInputError) as raised:
                one.request({**others, name: text}, None)
            assert raised.value.message.startswith(f"{name} must be {takes}")
            assert raised.value.message.endswith(f", not {text!r}")

    def test_null_is_no_argument(self, slugs_root: Path) -> None:
        found = answer(slugs_root, "memory_recall", query="slugs", limit=None, types=None)
        assert found.startswith("[1] decisions/a.md")

    def test_errors_name_no_commands(self, slugs_root: Path) -> None:
        text = "No pellets: beer. Nothing else."
        answer(slugs_root, "memory_remember", title="A", text=text)
        put(slugs_root, "outside/pages/a.md", "# A\n")
        put(slugs_root, "outside/hedgerow.json", '{"schemaVersion": 1, "indexRoot": "pages"}')
        messages = [
            refusal(slugs_root, "memory_remember", title="A", text=text),
            refusal(slugs_root, "memory_remember", title="A", text=" "),
            refusal(slugs_root, "memory_read", key="zzz"),
            refusal(slugs_root, "memory_retract", key="zzz"),
            refusal(slugs_root, "memory_supersede", old="a"),
            refusal(slugs_root, "memory_wrapup", title="A", text="x"),
            refusal(slugs_root / "outside", "memory_supersede", old="A", text="new", title="N"),
        ]
        for message in messages:
            assert "--" not in message
            assert "hedgerow " not in message
            assert "standard input" not in message


class TestSeveralRoots:
    def test_all_are_searched_and_the_first_is_written_to(
        self, slugs_root: Path, tmp_path: Path
    ) -> None:
        other = put(
            tmp_path, "own/notes/hedge.md", "# Hedge\n\nCut the hedge in August.\n"
        ).parents[1]
        roots = MemoryRoots.open([slugs_root, other])

        async def called() -> list[str]:
            async with Client(build_server(roots)) as client:
                assert f"@/ is {slugs_root}, @@/ is {other}" in str(client.instructions)
                calls = (
                    ("memory_recall", {"query": "hedge"}),
                    ("memory_recall", {"query": "pellets", "budget": 100}),
                    ("memory_read", {"key": "@@/notes/hedge.md"}),
                    ("memory_list", {}),
                    ("memory_remember", {"title": "Moles", "text": "Moles dig."}),
                    ("memory_retract", {"key": "@@/notes/hedge.md"}),
                )
                return [text_of(await client.call_tool(name, given)) for name, given in calls]

        recall, context, read, listed, remembered, retracted = anyio.run(called)
        assert recall.startswith("[1] @@/notes/hedge.md:1-3")
        assert context.startswith("[1] @/decisions/a.md:")
        assert read.startswith("@@/notes/hedge.md · digest ")
        assert "@/decisions/a.md" in listed
        assert "@@/notes/hedge.md" in listed
        assert "notes/" in remembered
        assert len(list(slugs_root.glob("notes/*moles*"))) == 1
        assert "only the first root is written to" in retracted
