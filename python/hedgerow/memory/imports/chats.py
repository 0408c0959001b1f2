"""Conversations with ChatGPT and with Claude, from their exports: each becomes a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hedgerow.errors import HedgerowError
from hedgerow.ingest.source import Skip

from .exports import list_in, read_json
from .item import Items, Memory, time_from

_FILE = "conversations.json"
_LEFT_OUT = "*(something that is no text was left out)*"

Turn = tuple[str, str]
"""Who speaks, and the text."""


def chatgpt(source: Path) -> Items:
    """Read the export of ChatGPT: the ZIP archive, its folder, or its conversations.json."""
    return _sessions(source, "chatgpt", _chatgpt_id, _chatgpt_turns, ("title", "create_time"))


def claude(source: Path) -> Items:
    """Read the export of Claude: the ZIP archive, its folder, or its conversations.json."""
    return _sessions(source, "claude", _claude_id, _claude_turns, ("name", "created_at"))


def _sessions(
    source: Path,
    tool: str,
    id_of: Callable[[dict[str, Any]], object],
    turns_of: Callable[[dict[str, Any]], Iterator[Turn]],
    names: tuple[str, str],
) -> Items:
    for at, chat in enumerate(list_in(read_json(source, _FILE), source, "conversations")):
        where = f"{_FILE}[{at}]"
        if not isinstance(chat, dict) or not isinstance(id_of(chat), str):
            yield Skip(where, "refused", "it is no conversation with an id")
            continue
        title, created = chat.get(names[0]), time_from(chat.get(names[1]))
        try:
            turns = [f"## {who}\n\n{text.strip()}" for who, text in turns_of(chat) if text.strip()]
        except (TypeError, AttributeError, KeyError):
            yield Skip(where, "refused", "its messages have another form than an export's")
            continue
        if not turns:
            yield Skip(where, "empty", "nobody says anything in it")
            continue
        memory = Memory(
            str(id_of(chat)),
            "\n\n".join(turns),
            title if isinstance(title, str) else "",
            "session",
            created=created,
            fields={"session_id": str(id_of(chat))},
        )
        try:
            yield memory.item(tool)
        except HedgerowError as error:
            yield Skip(where, "refused", error.message)


def _chatgpt_id(chat: dict[str, Any]) -> object:
    return chat.get("conversation_id") or chat.get("id")


def _chatgpt_turns(chat: dict[str, Any]) -> Iterator[Turn]:
    """Yield the turns of the branch that was shown last."""
    nodes = chat["mapping"]
    branch: list[Any] = []
    at = chat.get("current_node") or next(reversed(nodes), None)
    seen: set[object] = set()
    while at in nodes and at not in seen:
        seen.add(at)
        branch.append(nodes[at].get("message"))
        at = nodes[at].get("parent")
    for message in reversed(branch):
        who = (message or {}).get("author", {}).get("role")
        if who in {"user", "assistant"}:
            yield ("User" if who == "user" else "ChatGPT"), _chatgpt_text(message["content"])


def _chatgpt_text(content: dict[str, Any]) -> str:
    if content.get("content_type") == "code":
        return f"```\n{content.get('text', '')}\n```"
    parts = content.get("parts", [content.get("text", "")])
    said = (part if isinstance(part, str) else part.get("text", _LEFT_OUT) for part in parts)
    return "\n\n".join(part for part in said if isinstance(part, str) and part.strip())


def _claude_id(chat: dict[str, Any]) -> object:
    return chat.get("uuid")


def _claude_turns(chat: dict[str, Any]) -> Iterator[Turn]:
    for message in chat["chat_messages"]:
        blocks = message.get("content") or []
        said = [block["text"] for block in blocks if block.get("type") == "text"]
        text = "\n\n".join(said) or message.get("text") or ""
        files = [
            one.get("extracted_content") or _LEFT_OUT for one in message.get("attachments", [])
        ]
        yield (
            "User" if message.get("sender") == "human" else "Claude",
            "\n\n".join([text, *files]),
        )
