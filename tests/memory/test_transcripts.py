"""Transcripts of Claude Code and Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow.memory import ImportResult
from memory_doubles import put


def lines(*records: Any) -> str:
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records)


def said(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": role,
        "sessionId": "s-1",
        "message": {"role": role, "content": content},
        **fields,
    }


def item(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"timestamp": "2026-04-18T10:00:01Z", "type": "response_item", "payload": message}


CLAUDE = lines(
    {"type": "summary", "summary": "Hedge session", "leafUuid": "x"},
    said(
        "user",
        "When do we cut it? <system-reminder>noise</system-reminder>",
        timestamp="2026-04-18T10:00:00Z",
    ),
    said(
        "assistant",
        [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "In August.\n# Not a turn\n```\n# code\n```"},
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        ],
    ),
    said("user", [{"type": "tool_result", "content": "output of a tool"}]),
    said("assistant", [{"type": "text", "text": "Done."}]),
    "{broken",
    {"type": "user", "message": 7},
    [1],
    said("user", "the password is s3cretpass99"),
    said("user", "of an agent below", isSidechain=True),
    said("assistant", "ok"),
    said("user", "谢谢 شكرا"),
)

CODEX = lines(
    {"timestamp": "2026-04-18T10:00:00Z", "type": "session_meta", "payload": {"id": "c-1"}},
    item("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
    item("user", "# AGENTS.md instructions for /x"),
    item("developer", "rules"),
    item("user", "Fix the slug trap"),
    {"type": "event_msg", "payload": {"type": "user_message", "message": "Fix the slug trap"}},
    {"type": "response_item", "payload": {"type": "function_call_output", "output": "output"}},
    {"type": "response_item", "payload": []},
    item("assistant", "Fixed with beer."),
)


def imported(root: MemoryRoot, name: str, source: Path) -> ImportResult:
    return root.import_from(source, name, apply=True)


def test_claude_code_becomes_a_session_of_turns(root: MemoryRoot, tmp_path: Path) -> None:
    done = imported(root, "claude-code", put(tmp_path, "in/t.jsonl", CLAUDE))
    assert [(one.path, one.line) for one in done.unreadable] == [
        ("t.jsonl", 6),
        ("t.jsonl", 7),
        ("t.jsonl", 8),
    ]
    [one] = done.memories
    assert one.file.startswith("sessions/2026-04-18-hedge-session-")
    text = (root.path / one.file).read_text()
    assert text.endswith(
        "## User\n\nWhen do we cut it?\n\n## Claude\n\nIn August.\n**Not a turn**\n```\n# code\n```\n\n"
        "Done.\n\n## User\n\nthe password is [secret]\n\n## Claude\n\nok\n\n## User\n\n谢谢 شكرا\n"
    )
    assert 'session_id: "s-1"' in text
    [first, *_] = root.recall("when do we cut it", explain=True)
    assert first.session_id == "s-1"


def test_a_resumed_session_is_one_of_its_own(root: MemoryRoot, tmp_path: Path) -> None:
    put(tmp_path, "s-1.jsonl", lines(said("user", "When is the hedge cut?")))
    resumed = lines(
        said("user", "When is the hedge cut?"),
        said("user", "A summary of the above", sessionId="s-2", isCompactSummary=True),
        said("user", "<ide_selection>x</ide_selection>And the moss?", sessionId="s-2"),
    )
    put(tmp_path, "s-2.jsonl", resumed)
    done = root.import_from(tmp_path, "claude-code", apply=True)
    assert [one.id for one in done.memories] == ["s-1", "s-2"]
    assert done.unreadable == ()
    text = (root.path / done.memories[1].file).read_text(encoding="utf-8")
    assert text.endswith("## User\n\nWhen is the hedge cut?\n\nAnd the moss?\n")


def test_codex_becomes_a_session(root: MemoryRoot, tmp_path: Path) -> None:
    done = imported(root, "codex", put(tmp_path, "in/rollout.jsonl", CODEX))
    [one] = done.memories
    text = (root.path / one.file).read_text()
    assert text.endswith("## User\n\nFix the slug trap\n\n## Assistant\n\nFixed with beer.\n")
    assert [skip.line for skip in done.unreadable] == [8]


def test_codex_without_payloads_is_read(root: MemoryRoot, tmp_path: Path) -> None:
    old = lines(
        {"id": "c-0", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
    )
    [one] = imported(root, "codex", put(tmp_path, "in/old.jsonl", old)).memories
    assert (one.id, one.file[:20]) == ("c-0", "sessions/2025-06-01-")


def test_half_of_a_surrogate_pair_costs_no_session(root: MemoryRoot, tmp_path: Path) -> None:
    put(tmp_path, "s.jsonl", CLAUDE.replace("When do", "When \\ud83d do"))
    [one] = imported(root, "claude-code", tmp_path / "s.jsonl").memories
    assert "When ? do" in (root.path / one.file).read_text()


def test_a_folder_has_many_sessions(root: MemoryRoot, tmp_path: Path) -> None:
    put(tmp_path, "in/p/a.jsonl", CLAUDE)
    put(tmp_path, "in/p/b.jsonl", CLAUDE.replace("s-1", "s-2").replace("When do", "Where do"))
    put(tmp_path, "in/p/empty.jsonl", lines({"type": "mode"}))
    done = imported(root, "claude-code", tmp_path / "in")
    assert [one.action for one in done.memories] == ["new", "new"]
    assert ("p/empty.jsonl", "empty") in [(one.path, one.code) for one in done.unreadable]
    # A file is a session, so the others do not count as gone.
    again = imported(root, "claude-code", tmp_path / "in/p/a.jsonl")
    assert ([one.action for one in again.memories], again.gone) == (["unchanged"], ())


NOTE = "---\nname: medlar\ndescription: where it grows\n---\n\nThe medlar is by the gate; password is s3cretpass99\n"


def test_notes_of_claude_code_are_imported(
    root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = tmp_path_factory.mktemp("source")
    put(source, "-home-ann-garden/s-1.jsonl", CLAUDE)
    put(source, "-home-ann-garden/memory/MEMORY.md", "- [Medlar](trees/medlar.md)\n")
    put(source, "-home-ann-garden/memory/trees/medlar.md", NOTE)
    put(source, "-home-ann-garden/memory/empty.md", "\n")
    put(source, "-home-ann-garden/memory.md", "no note")
    put(source, "-home-ann-house/tools/x.md", "no note")
    put(source, ".claude/agent-memory/pruner/MEMORY.md", "Prune in winter.\n")
    done = imported(root, "claude-code", source)
    assert [(one.id, one.file) for one in done.memories if one.id != "s-1"] == [
        (
            "memory:-home-ann-garden/MEMORY.md",
            "notes/home-ann-garden/memory/MEMORY.md",
        ),
        (
            "memory:-home-ann-garden/trees/medlar.md",
            "notes/home-ann-garden/memory/trees/medlar.md",
        ),
        ("agent-memory:.claude/pruner/MEMORY.md", "notes/claude/agent-memory/pruner/MEMORY.md"),
    ]
    assert ("-home-ann-garden/memory/empty.md", "it is empty") in [
        (one.path, one.reason) for one in done.unreadable
    ]
    medlar = "notes/home-ann-garden/memory/trees/medlar.md"
    text = (root.path / medlar).read_text()
    assert "by the gate; password is [secret]" in text
    assert text.startswith("---\nname: medlar\n")
    assert [edge[:2] for edge in root.graph().edges] == [
        ("notes/home-ann-garden/memory/MEMORY.md", medlar)
    ]
    # A project alone has the same ids, and needs no transcript.
    (source / "-home-ann-garden/s-1.jsonl").unlink()
    for part in (source / "-home-ann-garden", source / "-home-ann-garden/memory"):
        again = imported(root, "claude-code", part)
        assert again.counts == {"unchanged": 2}


@pytest.mark.parametrize("name", ["none", "folder"])
def test_a_source_without_transcripts_is_an_error(
    root: MemoryRoot, tmp_path: Path, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInputError) as raised:
        imported(root, "codex", tmp_path / name)
    assert raised.value.code == "invalid_export"
