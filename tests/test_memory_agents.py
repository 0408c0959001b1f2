"""Agents at work on a memory root: what they do is done to the files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agents_doubles import put_agent
from command_line import ok
from hedgerow import MemoryRoot
from hedgerow.agents import Agents, ScriptedModel
from local_server import LocalServer, Reply
from memory_doubles import put

NOTE = "---\ntitle: Slugs # they eat\n---\n\nSlugs eat lettuce.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path, "decisions/slugs.md", NOTE)
    put(tmp_path, "notes/beer.md", "# Beer\n\nBeer against slugs.\n")
    return tmp_path


def agents(root: MemoryRoot, *replies: Any) -> Agents:
    return root.agents(ScriptedModel(replies))


def put_linker(folder: Path, **fields: Any) -> None:
    usual = {"pipeline": "all | sort:key", "actions": ["link-add", "weight", "categorize", "note"]}
    put_agent(folder / "agents", **(usual | fields))


def test_actions_are_edits_of_front_matter(folder):
    put_linker(folder)
    reply = (
        "WEIGHT decisions/slugs.md 0.9\nCATEGORIZE decisions/slugs.md technical\n"
        "LINK decisions/slugs.md notes/beer.md 0.5\nWEIGHT notes/none.md 1\nNOTE done"
    )
    with MemoryRoot.open(folder) as root:
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
    text = (folder / "decisions/slugs.md").read_text()
    assert text.startswith("---\ntitle: Slugs # they eat\n"), "all else stays"
    assert text.endswith("---\n\nSlugs eat lettuce.\n")
    assert "weight: 0.9\n" in text
    assert (folder / "notes/beer.md").read_text() == "# Beer\n\nBeer against slugs.\n"


def test_a_file_that_has_to_be_edited_by_hand_is_a_rejection(folder):
    put(folder, "notes/odd.md", "---\ntitle: [a\n---\n\nodd\n")
    put_linker(folder, pipeline="key:notes/* | sort:key")
    with MemoryRoot.open(folder) as root:
        report = agents(root, "WEIGHT notes/odd.md 1\nWEIGHT notes/beer.md 1").run("linker")
    [(_, reason), (_, none)] = report.actions
    assert reason is not None
    assert "was not changed" in reason
    assert none is None
    assert (folder / "notes/odd.md").read_text() == "---\ntitle: [a\n---\n\nodd\n"


def test_what_would_lose_text_is_refused_where_the_agent_is_read(folder):
    put_linker(folder, actions=["weight", "delete"])
    with MemoryRoot.open(folder) as root:
        working = agents(root)
        assert working.definitions == {}
        [problem] = working.problems
    assert problem.message == (
        "no agent of a memory root can delete; it can link-add, weight, categorize, note"
    )
    assert problem.line > 1


def test_pipelines_know_the_types_and_the_search_of_the_root(folder):
    put_linker(folder, pipeline="search:beer | limit:1")
    put_agent(folder / "agents", "typed", pipeline="all | type:decision", actions=["note"])
    with MemoryRoot.open(folder) as root:
        working = agents(root, "NOTE one", "NOTE two")
        assert working.problems == []
        assert working.run("linker").nodes == ("notes/beer.md",)
        assert working.run("typed").nodes == ("decisions/slugs.md",)


def test_the_commands_work_on_a_root(folder, server: LocalServer, monkeypatch):
    put_linker(folder)
    reply = {"choices": [{"message": {"content": "WEIGHT notes/beer.md 0.5"}}]}
    server.answer = lambda _: Reply(reply)
    monkeypatch.setenv("HEDGEROW_MODEL_URL", server.url)
    root = ("--root", str(folder))
    told = ok("agents", "run", "linker", *root)
    assert told.startswith("linker ok: run 1, 2 nodes, 1 applied, 0 rejected\n")
    assert "weight: 0.5" in (folder / "notes/beer.md").read_text()
    assert " budget " in ok("agents", "list", *root)
    assert ok("agents", "resume", "linker", *root) == "linker runs again when it is due.\n"


def test_a_run_that_is_over_edits_nothing(folder):
    put_linker(folder)
    with MemoryRoot.open(folder) as root:
        working = agents(root, "WEIGHT notes/beer.md 1")
        late = [0.0]
        working._clock = lambda: time.time() + late[0]
        working._model = ScriptedModel([lambda _: _later(late)])
        report = working.run("linker")
    assert report.status == "failed"
    assert (folder / "notes/beer.md").read_text() == "# Beer\n\nBeer against slugs.\n"


def _later(late: list[float]) -> str:
    late[0] = 10_000.0
    return "WEIGHT notes/beer.md 1"
