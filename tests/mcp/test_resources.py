"""Instructions, resources, prompts and scopes of `hedgerow mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from hedgerow import MemoryRoot
from mcp_tools import answer, ask
from memory_doubles import put


async def instructions_of(client: Client) -> str | None:
    return client.instructions


def resource(root: Path, uri: str, **options: Any) -> str:
    found = ask(root, lambda client: client.read_resource(uri), **options)
    [content] = found.contents
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    text: str = content.text
    return text


class TestInstructions:
    def test_they_are_short_and_name_the_folder(self, slugs_root: Path) -> None:
        for options in ({}, {"read_only": True}):
            text: str = ask(slugs_root, instructions_of, **options)
            assert len(text) < 600
            assert str(slugs_root) in text
            assert "`" not in text
            assert ("Supersede " in text) is not bool(options)

    def test_they_say_what_a_session_should_know(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "a")
        text: str = ask(tmp_path, instructions_of, scope={"user": "ana"})
        assert "It was not set up with hedgerow init. " in text
        assert "Only the memories of user ana are read and written." in text
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 9}')
        assert "schema" in ask(tmp_path, instructions_of)
        put(tmp_path, "hedgerow.json", "{")
        assert "Failed to read " in ask(tmp_path, instructions_of)


class TestResources:
    def test_files_are_resources(self, slugs_root: Path) -> None:
        templates = ask(slugs_root, lambda client: client.list_resource_templates())
        assert [one.uri_template for one in templates.resource_templates] == ["memory://{+file}"]
        put(slugs_root, "notes/two words.md", "x")
        for name in ("decisions/a.md", "Slugs"):
            text = (slugs_root / "decisions/a.md").read_text()
            assert resource(slugs_root, f"memory://{name}") == text
        assert resource(slugs_root, "memory://notes/two%20words.md") == "x"

    @pytest.mark.parametrize(
        "uri",
        [
            "memory://nothing.md", "memory://hedgerow.json", "memory://../memory/decisions/a.md",
            "memory:///etc/passwd", "memory://%2e%2e/x", "memory://%00", "memory://%ed%a0%80",
            "file:///etc/passwd", "hedgerow://other", "memory:", "x",
        ],
    )  # fmt: skip
    def test_nothing_else_is(self, slugs_root: Path, uri: str) -> None:
        async def refused(client: Client) -> bool:
            try:
                await client.read_resource(uri)
            except (MCPError, ValueError):
                return True
            return False

        assert ask(slugs_root, refused)

    def test_an_error_names_the_tool_and_not_the_command(self, slugs_root: Path) -> None:
        async def refused(client: Client) -> str:
            with pytest.raises(MCPError) as raised:
                await client.read_resource("memory://nothing.md")
            return str(raised.value)

        assert ask(slugs_root, refused).endswith("; to list the memories: memory_list")

    def test_the_state_of_the_root_is_one(self, slugs_root: Path) -> None:
        [listed] = ask(slugs_root, lambda client: client.list_resources()).resources
        assert resource(slugs_root, listed.uri) == f"- root: {slugs_root}\n- retrieval: keywords"
        answer(slugs_root, "memory_recall", query="slugs")
        put(slugs_root, "notes/b.md", "b")
        assert resource(slugs_root, listed.uri).endswith(
            "\n- documents: 1, of which 1 changed since"
        )
        assert "documents" not in resource(slugs_root, listed.uri, scope={"user": "ana"})
        put(slugs_root, "hedgerow.json", '{"schemaVersion": 9}')
        assert "schema" in resource(slugs_root, listed.uri)


class TestPrompts:
    def test_they_say_what_to_do(self, slugs_root: Path) -> None:
        listed = ask(slugs_root, lambda client: client.list_prompts()).prompts
        assert [one.name for one in listed] == ["recall", "wrapup"]
        asked = ask(slugs_root, lambda client: client.get_prompt("wrapup", {"topic": "slugs"}))
        text = asked.messages[0].content.text
        assert "## Conflicts / Corrections" in text
        assert "'slugs'" in text
        asked = ask(slugs_root, lambda client: client.get_prompt("recall", {"query": "slugs"}))
        assert "memory_recall with the query 'slugs'" in asked.messages[0].content.text

    @pytest.mark.parametrize("given", [("recall", {}), ("wrapup", {}), ("x", {"query": "q"})])
    def test_others_are_refused(self, slugs_root: Path, given: Any) -> None:
        async def refused(client: Client) -> str:
            with pytest.raises(MCPError) as raised:
                await client.get_prompt(*given)
            return str(raised.value)

        message = ask(slugs_root, refused, read_only=True)
        assert message.endswith(": recall")
        assert ("there is no prompt" in message) == (given[0] != "recall")


class TestScope:
    def test_no_tool_shows_what_is_of_others(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/ana.md", "---\nscope: {user: ana}\n---\nThe otter swims.\n")
        put(tmp_path, "notes/hidden.md", "---\nscope: {user: ben}\n---\nThe otter sleeps.\n")
        calls: list[tuple[str, dict[str, Any]]] = [
            (
                "memory_recall",
                {"query": "otter sleeps", "depth": "deep", "include_superseded": True},
            ),
            ("memory_recall", {"query": "otter sleeps", "budget": 100}),
            ("memory_list", {}),
            ("memory_remember", {"title": "T", "text": "The otter sleeps."}),
            ("memory_read", {"key": "hidden"}),
            ("memory_edit", {"key": "hidden", "text": "x", "digest": "0"}),
            ("memory_supersede", {"old": "hidden", "text": "x"}),
            ("memory_retract", {"key": "hidden"}),
            ("memory_restore", {"key": "hidden"}),
        ]

        async def ask_all(client: Client) -> list[str]:
            return [str(await client.call_tool(name, given)) for name, given in calls]

        for (name, given), told in zip(
            calls, ask(tmp_path, ask_all, scope={"user": "ana"}), strict=True
        ):
            without_question = told.replace("otter sleeps", "")
            assert "notes/hidden" not in told, name
            assert given.get("key", given.get("old")) is None or "there is no memory" in told
            assert name == "memory_remember" or "sleeps" not in without_question, name
        assert (tmp_path / "notes/hidden.md").read_text().endswith("The otter sleeps.\n")
        with MemoryRoot.open(tmp_path, scope={"user": "ana"}) as root:
            assert root.list().count == 2
