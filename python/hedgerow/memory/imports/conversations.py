"""Conversations of other tools: each becomes a session; and the notes that the tools keep next to them.

Exports of ChatGPT and of Claude, and transcripts of Claude Code and Codex in JSON Lines, a file for each session. Of a
transcript only messages of the user and of the model are read, without output of tools, thinking and instructions that
the tool adds; secrets are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow._engine import _without_secrets
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Skip
from hedgerow.memory.note import title_of

from .exports import (
    Item,
    Items,
    Memory,
    digest_of,
    list_in,
    read_lines,
    read_note,
    read_parts,
    time_from,
)

_FILE = "conversations"
_LEFT_OUT = "*(something that is no text was left out)*"
_SHORTEST_TITLE = 10
"""The fewest characters of a first line that says what a conversation is about, unlike "Hello!"."""
_HIDDEN = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
"""Contents of messages of ChatGPT that it does not show: thinking, instructions and its memory."""
_CITATION = re.compile(" ?\ue200(?:file)?cite\ue202[^\ue200\ue201]*\ue201")
"""The mark of a source in a text of ChatGPT, which leads nowhere outside of it."""
_ODD = (TypeError, AttributeError, KeyError, ValueError, RecursionError)
"""What reading a record of another form than an export's raises."""


class Turn(NamedTuple):
    """A turn of a conversation: the speaker and the text, or None for a message without text."""

    who: str
    text: str | None


class _Form(NamedTuple):
    """The form of an export: the tool, and the fields of a conversation.

    `ids` are those with its id, `messages` is the one with its messages, which `turns_of` reads, and `title`
    and `time` are those with its title and its time.
    """

    tool: str
    ids: tuple[str, ...]
    messages: str
    turns_of: Callable[[dict[str, Any]], list[Turn]]
    title: str
    time: str


def chatgpt(source: Path) -> Items:
    """Read the export of ChatGPT: the ZIP archive, its folder, or one of its conversations files."""
    ids = ("conversation_id", "id")
    return _sessions(
        source, _Form("chatgpt", ids, "mapping", _chatgpt_turns, "title", "create_time")
    )


def claude(source: Path) -> Items:
    """Read the export of Claude: the ZIP archive, its folder, or one of its JSON files."""
    form = _Form("claude", ("uuid",), "chat_messages", _claude_turns, "name", "created_at")
    return _sessions(source, form, "memories", "projects")


def _sessions(source: Path, form: _Form, *more: str) -> Items:
    """Yield the sessions of an export. `more` are further files, which have notes."""
    for name, value in read_parts(source, _FILE, *more):
        if isinstance(value, Skip):
            yield value
            continue
        is_one = isinstance(value, dict) and form.messages in value
        chats = [value] if is_one else list_in(value, source, "conversations")
        for at, chat in enumerate(chats):
            where = name if is_one else f"{name}[{at}]"
            if not isinstance(chat, dict):
                yield Skip(where, "refused", "it is no conversation")
            elif more and form.messages not in chat and chat.keys() & _KEPT_BY_CLAUDE:
                yield from _claude_memories(where, chat)
            elif more and form.messages not in chat and chat.keys() & _OF_PROJECT:
                yield from _claude_project(where, chat)
            else:
                yield from _session(where, form, chat)


_KEPT_BY_CLAUDE = {"conversations_memory", "project_memories"}


def _claude_memories(where: str, record: dict[str, Any]) -> Items:
    """Yield a note with the text that Claude keeps about the user, and one for each project."""
    account, projects = record.get("account_uuid"), record.get("project_memories")
    texts = {("memory", str(account or "")): record.get("conversations_memory")}
    for key, text in (projects if isinstance(projects, dict) else {}).items():
        texts["project", key] = text
    for (what, key), text in texts.items():
        if isinstance(text, str) and text.strip():
            title = "Memory of Claude" if what == "memory" else "Memory of Claude about a project"
            yield Memory(f"{what}:{key}", _whole(text), title).item("claude", where)
        elif text and not isinstance(text, str):
            yield Skip(where, "refused", f"the {what} {key} has no text")


_OF_PROJECT = {"docs", "prompt_template"}


def _claude_project(where: str, project: dict[str, Any]) -> Items:
    """Yield a note with the description and the instructions of a project, and one for each of its documents."""
    if project.get("is_starter_project"):
        yield Skip(where, "not_imported", "it is the sample project of Claude")
        return
    name = _text_of(project, "name") or "Project of Claude"
    stated = [_text_of(project, key) for key in ("description", "prompt_template")]
    notes = [(project, name, "\n\n".join(filter(None, stated)))]
    notes += (
        (one, _text_of(one, "filename") or name, _text_of(one, "content"))
        for one in _list(project.get("docs"))
        if isinstance(one, dict)
    )
    for record, title, text in notes:
        if text:
            what = "instructions" if record is project else "document"
            id_ = f"{what}:{_text_of(record, 'uuid') or digest_of(text)}"
            created = time_from(record.get("created_at"))
            note = Memory(id_, text, title, created=created, fields={"project": name})
            yield note.item("claude", where)
        elif record is not project:
            yield Skip(where, "refused", f"the document {title} has no text")


def _text_of(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return _whole(value).strip() if isinstance(value, str) else ""


def _session(where: str, form: _Form, chat: dict[str, Any]) -> Items:
    """Yield the session that a conversation becomes, and each message that has no text.

    Without an id the text of the conversation is its id. Without a title the first line that is long
    enough for one is its title.
    """
    named, created = chat.get(form.title), time_from(chat.get(form.time))
    given_id = next(filter(None, map(chat.get, form.ids)), None)
    try:
        turns = form.turns_of(chat)
    except _ODD:
        yield Skip(where, "refused", "its messages have another form than an export's")
        return
    whole = [(one.who, _whole(one.text).strip()) for one in turns if one.text]
    spoken = _joined((who, text) for who, text in whole if text)
    lost = sum(one.text is None for one in turns)
    if lost:
        count = "1 message was" if lost == 1 else f"{lost} messages were"
        yield Skip(where, "refused", f"{count} left out: without an author or a text")
    if not spoken:
        yield Skip(where, "empty", "nobody says anything in it")
        return
    text = "\n\n".join(f"## {who}\n\n{said}" for who, said in spoken)
    title = _whole(named) if isinstance(named, str) else ""
    id_ = given_id if isinstance(given_id, str) and given_id.strip() else digest_of(text)
    yield Memory(
        id_,
        text,
        title if title.strip() else _first_line(said for _, said in spoken),
        "session",
        created=created,
        fields={"session_id": id_},
    ).item(form.tool, where)


def _joined(messages: Iterable[tuple[str, str]]) -> list[Message]:
    """Return the turns of a conversation: each has the messages in a row of one speaker."""
    return [
        Message(who, "\n\n".join(text for _, text in said))
        for who, said in groupby(messages, key=itemgetter(0))
    ]


def _first_line(texts: Iterable[str]) -> str:
    """Return the beginning of the first text that is no mere greeting, for a title."""
    titles = (title_of(text.replace(_LEFT_OUT, "")) for text in texts)
    long = (title for title in titles if len(title) >= _SHORTEST_TITLE)
    return next(long, "Untitled conversation")


def _whole(text: str) -> str:
    """Return a text without NUL characters, and with a question mark for half of a surrogate pair."""
    return text.encode(errors="replace").decode().replace("\0", "")


def _chatgpt_turns(chat: dict[str, Any]) -> list[Turn]:
    """Return the turns of the branch that was shown last.

    If the export does not say which branch that is, it is the one with the latest message.
    """
    nodes = {key: one for key, one in chat["mapping"].items() if isinstance(one, dict)}
    at = chat.get("current_node")
    branch = _branch(nodes, at if _is_key(at, nodes) else _latest(nodes))
    return [turn for one in branch if (turn := _chatgpt_turn(one.get("message"))) is not None]


def _branch(nodes: dict[str, dict[str, Any]], at: Any) -> list[dict[str, Any]]:
    """Return the nodes from the first to one, by their parents, or else by whose child they are."""
    parents = {
        child: key
        for key, one in nodes.items()
        for child in _list(one.get("children"))
        if isinstance(child, str)
    }
    branch: dict[str, dict[str, Any]] = {}
    while _is_key(at, nodes) and at not in branch:
        branch[at] = nodes[at]
        parent = nodes[at].get("parent")
        at = parent if _is_key(parent, nodes) else parents.get(at)
    return list(reversed(branch.values()))


def _is_key(at: Any, nodes: dict[str, dict[str, Any]]) -> bool:
    return isinstance(at, str) and at in nodes


def _latest(nodes: dict[str, dict[str, Any]]) -> str | None:
    """Return the node without children whose message is the latest; the last of them without times."""
    parents = {parent for one in nodes.values() if isinstance(parent := one.get("parent"), str)}
    best: tuple[float, str] | None = None
    for key, one in nodes.items():
        message = one.get("message")
        time = message.get("create_time") if isinstance(message, dict) else None
        number = float(time) if isinstance(time, int | float) else 0.0
        is_leaf = key not in parents and not any(
            child in nodes for child in _list(one.get("children"))
        )
        if is_leaf and (best is None or number >= best[0]):
            best = number, key
    return None if best is None else best[1]


def _chatgpt_turn(message: Any) -> Turn | None:
    """Return the turn of a message.

    None for a message of the system or a tool, and for no message.
    """
    if message is None:
        return None
    if not isinstance(message, dict) or not isinstance(message.get("author"), dict):
        return Turn("", None)
    who, content = message["author"].get("role"), message.get("content")
    if isinstance(content, dict) and content.get("content_type") in _HIDDEN:
        return None
    if who in {"user", "assistant"}:
        speaker = "User" if who == "user" else "ChatGPT"
        return Turn(speaker, _chatgpt_text(content))
    return None if isinstance(who, str) else Turn("", None)


def _chatgpt_text(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, dict):
        return None
    text = content.get("text")
    if content.get("content_type") == "code":
        return f"```\n{text}\n```" if isinstance(text, str) else None
    parts = content["parts"] if isinstance(content.get("parts"), list) else [text]
    said = (part.get("text", _LEFT_OUT) if isinstance(part, dict) else part for part in parts)
    texts = [part for part in said if isinstance(part, str)]
    if parts and not texts:
        return None
    return _CITATION.sub("", "\n\n".join(part for part in texts if part.strip()))


def _claude_turns(chat: dict[str, Any]) -> list[Turn]:
    return [_claude_turn(message) for message in chat["chat_messages"]]


def _claude_turn(message: Any) -> Turn:
    if not isinstance(message, dict):
        return Turn("", None)
    blocks = [one for one in _list(message.get("content")) if isinstance(one, dict)]
    said = [one.get("text") for one in blocks if one.get("type") == "text"]
    text = "\n\n".join(one for one in said if isinstance(one, str)) or message.get("text") or ""
    files = [
        one.get("extracted_content") or _LEFT_OUT
        for one in _list(message.get("attachments"))
        if isinstance(one, dict)
    ]
    parts = [one for one in (text, *files) if isinstance(one, str)]
    who = "User" if message.get("sender") == "human" else "Claude"
    return Turn(who, "\n\n".join(parts))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_LONGEST_TITLE = 80

_ADDED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|permissions instructions"
    r"|local-command-stdout|local-command-stderr|local-command-caveat|command-name|command-message"
    r"|command-args|ide_opened_file|ide_selection|user-prompt-submit-hook|bash-input|bash-stdout"
    r"|bash-stderr|task-notification|turn_aborted|skill)>"
)
"""The tags around texts that tools add to messages of the user."""
_ADDED_WHOLE = (
    "# AGENTS.md instructions",
    "Caveat: The messages below were generated",
    "[Request ",
)
"""Beginnings of messages of the user that a tool wrote."""


class Message(NamedTuple):
    """A message or a turn of a conversation: the role, such as user, and the text."""

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
    """Read transcripts of Claude Code and its notes: a file, or a folder such as `~/.claude/projects`."""
    notes = list(_notes_of_claude_code(source))
    yield from notes
    yield from _transcripts(source, "claude-code", "Claude", may_be_empty=bool(notes))


_FOLDERS_OF_NOTES = ("memory", "agent-memory", "agent-memory-local")
"""The folders in which Claude Code and its agents keep notes for later sessions."""


def _notes_of_claude_code(source: Path) -> Items:
    """Yield the notes in the folders for them, without secrets.

    They keep their names and folders, so that they link to each other, below a folder for each project.
    """
    base = source.resolve()
    for file in sorted(base.rglob("*.md") if base.is_dir() else ()):
        folder = next((one for one in file.parents if one.name in _FOLDERS_OF_NOTES), None)
        is_below = folder is not None and (folder == base or base in folder.parents)
        if folder is None or not is_below or file.is_symlink() or not file.is_file():
            continue
        name = file.relative_to(base).as_posix()
        note = read_note(file, name)
        if isinstance(note, Skip):
            yield note
            continue
        project, inside = folder.parent.name, file.relative_to(folder).as_posix()
        # The name of a project is its path, with dashes.
        path = f"notes/{project.lstrip('-.') or 'claude-code'}/{folder.name}/{inside}"
        id_ = f"{folder.name}:{project}/{inside}"
        yield Item(id_, path, _kept(note.text), name, modified=note.modified)


def codex(source: Path) -> Items:
    """Read transcripts of Codex: a file, or a folder such as `~/.codex/sessions`."""
    return _transcripts(source, "codex", "Assistant")


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
            # A resumed session of Claude Code begins with records of the earlier one, and one of Codex
            # has them after its own.
            found = _id(record, tool)
            id_ = found or id_ if tool == "claude-code" else id_ or found
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
            turns.append(Message(said.role, text))
    return Transcript(id_ or Path(name).stem, title, created, _joined(turns), skips)


def _transcripts(source: Path, tool: str, model: str, *, may_be_empty: bool = False) -> Items:
    for name, file in _files(source, may_be_empty=may_be_empty):
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


def _files(source: Path, *, may_be_empty: bool) -> Iterator[tuple[str, Path]]:
    """Yield the transcripts of a folder, by path, or the one that is named; links are not followed."""
    if not source.is_dir():
        yield source.name, source
        return
    found = [one for one in source.rglob("*.jsonl") if one.is_file() and not one.is_symlink()]
    if not found and not may_be_empty:
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
    is_added = any(map(record.get, ("isSidechain", "isMeta", "isCompactSummary")))
    if role not in {"user", "assistant"} or is_added:
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
