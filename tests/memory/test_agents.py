"""Agents on a memory root: their actions change the files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agents_doubles import block, chat_block, put_agent
from command_line import ok
from hedgerow import MemoryRoot
from hedgerow.agents import Agents, ModelReply, ModelRequest, ScriptedModel
from local_server import LocalServer
from memory_doubles import put

NOTE = "---\ntitle: Slugs # they eat\n---\n\nSlugs eat lettuce.\n"


@pytest.fixture
def notes_root(tmp_path: Path) -> Path:
    put(tmp_path, "decisions/slugs.md", NOTE)
    put(tmp_path, "notes/beer.md", "# Beer\n\nBeer against slugs.\n")
    return tmp_path


def agents(root: MemoryRoot, *replies: Any) -> Agents:
    return root.agents(ScriptedModel(replies))


def put_linker(root_folder: Path, **fields: Any) -> None:
    usual = {"pipeline": "all | sort:key", "actions": ["link-add", "weight", "categorize", "note"]}
    put_agent(root_folder / "agents", **(usual | fields))


def test_actions_are_edits_of_front_matter(notes_root):
    put_linker(notes_root)
    reply = block(
        "WEIGHT decisions/slugs.md 0.9\nCATEGORIZE decisions/slugs.md technical\n"
        "LINK decisions/slugs.md notes/beer.md 0.5\nWEIGHT notes/none.md 1\nNOTE done"
    )
    with MemoryRoot.open(notes_root) as root:
        working = agents(root, reply)
        report = working.run("linker")
        assert report.status == "ok"
        assert [reason for _, reason in report.actions] == [
            None, None, None, 'there is no node "notes/none.md"', None,
        ]  # fmt: skip
        [run] = working.history("linker")
        assert (run.applied, run.rejected) == (4, 1)
        records = working.records(report.run or 0)
        assert records[0].action == {"op": "weight", "key": "decisions/slugs.md", "value": 0.9}
        assert [record.reason is None for record in records] == [True, True, True, False, True]
        node = root.store().get("decisions/slugs.md")
        assert node is not None
        assert (node.weight, node.category) == (0.9, "technical")
        assert root.store().neighbors([node.key]) == {node.key: [("notes/beer.md", 0.5)]}
        seen = root.query("all | visited:linker | sort:key").keys
        assert seen == ["decisions/slugs.md", "notes/beer.md"]
    text = (notes_root / "decisions/slugs.md").read_text()
    assert text.startswith("---\ntitle: Slugs # they eat\n"), "all else stays"
    assert text.endswith("---\n\nSlugs eat lettuce.\n")
    assert "weight: 0.9\n" in text
    assert (notes_root / "notes/beer.md").read_text() == "# Beer\n\nBeer against slugs.\n"


def test_a_file_that_has_to_be_edited_by_hand_is_a_rejection(notes_root):
    put(notes_root, "notes/odd.md", "---\ntitle: [a\n---\n\nodd\n")
    put_linker(notes_root, pipeline="key:notes/* | sort:key")
    with MemoryRoot.open(notes_root) as root:
        report = agents(root, block("WEIGHT notes/odd.md 1\nWEIGHT notes/beer.md 1")).run("linker")
    [(_, reason), (_, none)] = report.actions
    assert reason is not None
    assert "was not changed" in reason
    assert none is None
    assert (notes_root / "notes/odd.md").read_text() == "---\ntitle: [a\n---\n\nodd\n"


def test_what_would_lose_text_is_refused_where_the_agent_is_read(notes_root):
    put_linker(notes_root, actions=["weight", "delete"])
    with MemoryRoot.open(notes_root) as root:
        working = agents(root)
        assert working.definitions == {}
        [problem] = working.problems
    assert problem.message == (
        "no agent of a memory root can delete; it can link-add, weight, categorize, note"
    )
    assert problem.line > 1


def test_pipelines_know_the_types_and_the_search_of_the_root(notes_root):
    put_linker(notes_root, pipeline="search:beer | limit:1")
    put_agent(notes_root / "agents", "typed", pipeline="all | type:decision", actions=["note"])
    with MemoryRoot.open(notes_root) as root:
        working = agents(root, block("NOTE one"), block("NOTE two"))
        assert working.problems == []
        assert working.run("linker").nodes == ("notes/beer.md",)
        assert working.run("typed").nodes == ("decisions/slugs.md",)


def test_the_commands_work_on_a_root(notes_root, server: LocalServer, monkeypatch):
    put_linker(notes_root)
    server.answer = chat_block("WEIGHT notes/beer.md 0.5")
    monkeypatch.setenv("HEDGEROW_MODEL_URL", server.url)
    root = ("--root", str(notes_root))
    told = ok("agents", "run", "linker", *root)
    assert told.startswith("linker ok: run 1, 2 nodes, 1 applied, 0 rejected\n")
    assert "weight: 0.5" in (notes_root / "notes/beer.md").read_text()
    assert " budget " in ok("agents", "list", *root)
    assert ok("agents", "resume", "linker", *root) == "linker runs again when it is due.\n"


def test_a_run_that_is_over_edits_nothing(notes_root):
    put_linker(notes_root)
    with MemoryRoot.open(notes_root) as root:
        working = agents(root)
        late = [0.0]
        working._clock = lambda: time.time() + late[0]
        working._model = ScriptedModel([lambda request: _later(late, request)])
        report = working.run("linker")
    assert report.status == "failed"
    assert (notes_root / "notes/beer.md").read_text() == "# Beer\n\nBeer against slugs.\n"


def _later(late: list[float], request: ModelRequest) -> ModelReply:
    late[0] = 10_000.0
    return block("WEIGHT notes/beer.md 1")(request)
