"""The bench of memories runs with hedgerow alone, and stops at a search that finds nothing."""

import runpy
import sys
from importlib.util import find_spec

import pytest

import memories
from places import ROOT
from sessions.mcp_client import Server

GREETS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
    elif asked.get("method") == "tools/call":
        ANSWER
"""


def server(answer: str) -> Server:
    """Return a server that completes the handshake and gives this result to a tool call."""
    return Server([sys.executable, "-c", GREETS.replace("ANSWER", answer)], {})


def test_it_runs_with_hedgerow_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["memories.py", "40"])
    runpy.run_path(str(ROOT / "benches" / "memories.py"), run_name="__main__")
    printed = capsys.readouterr()
    assert "basic-memory is not on the PATH" in printed.err
    assert "qmd is not on the PATH" in printed.err
    lines = printed.out.splitlines()
    assert lines[0] == "40 notes"
    assert all(line.split()[-4:-3] == ["hedgerow"] for line in lines[1:] if "mem0" not in line)
    for step in ("index all notes", "search", "a new note, and a search that finds it"):
        assert any(line.startswith(f"command: {step} ") for line in lines), step
    assert ("MCP server: search" in printed.out) == (find_spec("mcp") is not None)
    assert ("library: search" in printed.out) == (find_spec("mem0") is not None)


def test_a_search_that_does_not_find_its_note_is_refused(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    one = memories.Qmd(notes, tmp_path / "qmd")
    memories.found(one, '[{"file": "notes/n00007.md"}]', "n00007")
    with pytest.raises(SystemExit, match=r"qmd did not find n00007: \[\]"):
        memories.found(one, "[]", "n00007")


def test_commands_that_fail_are_not_measured(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    one = memories.Hedgerow(notes, tmp_path / "hedgerow")
    with pytest.raises(SystemExit, match=r"-c raise SystemExit.* failed: no such root"):
        one.run([sys.executable, "-c", "raise SystemExit('no such root')"])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            'print(json.dumps({"id": asked["id"], "error": {"message": "no tool"}}), flush=True)',
            "tools/call failed: .*no tool",
        ),
        (
            'print(json.dumps({"id": asked["id"], "result": {"isError": True}}), flush=True)',
            "look failed: .*isError",
        ),
        ("break", "the server ended before it answered tools/call"),
    ],
)
def test_a_server_that_fails_is_not_measured(answer, says):
    with_error = server(answer)
    with pytest.raises(RuntimeError, match=says):
        with_error.call("look", {})
    with_error.close()


def test_a_server_answers_what_it_was_asked():
    one = server('print(json.dumps({"id": asked["id"], "result": asked["params"]}), flush=True)')
    assert one.call("look", {"for": "frogs"}) == '{"name": "look", "arguments": {"for": "frogs"}}'
    one.close()
