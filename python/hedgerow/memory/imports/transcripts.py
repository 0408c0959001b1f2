"""Transcripts of Claude Code and Codex, in JSON Lines: each file becomes a session.

Only messages of the user and of the model are read, without output of tools, thinking and instructions
that the tool adds. Secrets are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow._engine import _without_secrets
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Skip

from .exports import Items, Memory, read_lines, time_from

_LONGEST_TITLE = 80

_ADDED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|permissions instructions"
    r"|local-command-stdout|local-command-stderr|local-command-caveat|command-name|command-message"
    r"|command-args|bash-input|bash-stdout|bash-stderr|task-notification|turn_aborted|skill)>"
)
"""The tags around texts that tools add to messages of the user."""
_ADDED_WHOLE = (
    "# AGENTS.md instructions",
    "Caveat: The messages below were generated",
    "[Request ",
)
"""Beginnings of messages of the user that a tool wrote."""


class Message(NamedTuple):
    """A message of a transcript: the role, user or assistant, and the text."""

    role: str
    text: str


class Transcript(NamedTuple):
    """A transcript: its id, its title, its time, its messages, and the unreadable records."""

    id: str
    title: str
    created: datetime | None
    turns: list[Message]
    skips: list[Skip]


Read = Callable[[dict[str, Any]], "Message | None"]


def claude_code(source: Path) -> Items:
    """Read transcripts of Claude Code: a file, or a folder such as `~/.claude/projects`."""
    return _sessions(source, "claude-code", "Claude")


def codex(source: Path) -> Items:
    """Read transcripts of Codex: a file, or a folder such as `~/.codex/sessions`."""
    return _sessions(source, "codex", "Assistant")


def read_transcript(file: Path, name: str, tool: str) -> Transcript:
    """Read a transcript. Each record that is odd is a Skip, and the others are read."""
    says = _said_in_claude_code if tool == "claude-code" else _said_in_codex
    id_, title, created = "", "", None
    turns: list[Message] = []
    skips: list[Skip] = []
    for number, record in read_lines(file):
        if isinstance(record, Skip):
            skips.append(replace(record, path=name))
            continue
        try:
            id_ = id_ or _id(record, tool)
            stamp = record.get("timestamp")
            created = created or (time_from(stamp) if isinstance(stamp, str) else None)
            if record.get("type") == "summary" and isinstance(record.get("summary"), str):
                title = record["summary"]
            said = says(record)
        except (TypeError, AttributeError, KeyError, ValueError, RecursionError):
            skips.append(
                Skip(name, "refused", "the record has another form than a transcript's", number)
            )
            continue
        if said is not None and (text := _spoken(said)):
            if turns and turns[-1].role == said.role:
                text = f"{turns.pop().text}\n\n{text}"
            turns.append(Message(said.role, text))
    return Transcript(id_ or Path(name).stem, title, created, turns, skips)


def _sessions(source: Path, tool: str, model: str) -> Items:
    for name, file in _files(source):
        try:
            found = read_transcript(file, name, tool)
        except HedgerowError as error:
            if not source.is_dir():
                raise
            yield Skip(name, error.code, error.message)
            continue
        yield from found.skips
        if not any(one.role == "user" for one in found.turns):
            yield Skip(name, "empty", "the user says nothing in it")
            continue
        names = {"user": "User", "assistant": model}
        parts = [f"## {names[one.role]}\n\n{_without_headings(one.text)}" for one in found.turns]
        first = next(one.text for one in found.turns if one.role == "user")
        yield Memory(
            found.id,
            "\n\n".join(parts),
            _kept(found.title) or first.partition("\n")[0][:_LONGEST_TITLE],
            "session",
            created=found.created,
            fields={"session_id": found.id},
        ).item(tool, name)


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the transcripts of a folder, by path, or the one that is named; links are not followed."""
    if not source.is_dir():
        yield source.name, source
        return
    found = [one for one in source.rglob("*.jsonl") if one.is_file() and not one.is_symlink()]
    if not found:
        raise InvalidInputError(
            f"{source} cannot be imported: it holds no .jsonl file", code="invalid_export"
        )
    for one in sorted(found):
        yield one.relative_to(source).as_posix(), one


def _id(record: dict[str, Any], tool: str) -> str:
    """Return the id of the session that a record names; empty if it names none."""
    if tool == "claude-code":
        found = record.get("sessionId")
    elif isinstance(record.get("payload"), dict):
        found = record["payload"].get("id") if record.get("type") == "session_meta" else None
    else:  # Codex before records had a payload
        found = record.get("id") if "type" not in record else None
    return found if isinstance(found, str) else ""


def _said_in_claude_code(record: dict[str, Any]) -> Message | None:
    role = record.get("type")
    if role not in {"user", "assistant"} or record.get("isSidechain") or record.get("isMeta"):
        return None
    return Message(role, _text(record["message"]["content"], {"text"}))


def _said_in_codex(record: dict[str, Any]) -> Message | None:
    if record.get("type") == "response_item":
        record = record["payload"]
    if record.get("type") != "message" or record.get("role") not in {"user", "assistant"}:
        return None
    return Message(record["role"], _text(record["content"], {"text", "input_text", "output_text"}))


def _text(content: Any, kinds: set[str]) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidInputError("a message has a text or a list of parts", code="invalid_option")
    parts = (
        one.get("text") for one in content if isinstance(one, dict) and one.get("type") in kinds
    )
    return "\n\n".join(one for one in parts if isinstance(one, str))


def _spoken(said: Message) -> str:
    """Return the text of a message without secrets and without additions of the tool."""
    text = said.text
    if said.role == "user":
        if text.lstrip().startswith(_ADDED_WHOLE):
            return ""
        text = _without_added(text)
    return _kept(text).replace("\0", "").strip()


def _kept(text: str) -> str:
    """Return a text without secrets, and with a question mark for half of a surrogate pair."""
    return _without_secrets(text.encode(errors="replace").decode())


def _without_added(text: str) -> str:
    """Return a text without the parts between tags of a tool. A tag without an end reaches to the end."""
    kept, at = [], 0
    while found := _ADDED.search(text, at):
        kept.append(text[at : found.start()])
        end = text.find(f"</{found[1].split(' ')[0]}", found.end())
        close = text.find(">", end) if end >= 0 else -1
        at = len(text) if close < 0 else close + 1
    return "".join([*kept, text[at:]])


def _without_headings(text: str) -> str:
    """Return a text whose headings are below those of turns, outside fenced code."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in {"```", "~~~"}:
            fence = "" if mark == fence else fence or mark
        is_heading = not fence and re.match(r"#{1,6}\s", line)
        lines.append(f"**{line.lstrip('# ').rstrip()}**" if is_heading else line)
    return "\n".join(lines)
