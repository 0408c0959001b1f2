"""`hedgerow agents check`: every problem of every file, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

import command_line
from agents_doubles import SHORT
from command_line import failed_as_json
from hedgerow import MemoryRoot, Store

pytestmark = pytest.mark.usefixtures("here", "agents_folder")


def run(*args: str) -> Result:
    return command_line.run("agents", "check", *args)


def test_nothing_is_wrong(agents_folder: Path) -> None:
    (agents_folder / "linker.toml").write_text(SHORT)
    (agents_folder / "weaver.toml").write_text(SHORT)
    result = run()
    assert (result.exit_code, result.stdout) == (0, "2 agents in agents: nothing is wrong.\n")
    result = run("agents", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "folder": "agents",
        "agents": ["linker", "weaver"],
        "problems": [],
    }


def test_every_problem_of_every_file(agents_folder: Path) -> None:
    (agents_folder / "linker.toml").write_text(SHORT)
    (agents_folder / "a.toml").write_text(SHORT.replace('"all"', '"al"') + 'schedule = "dayly"\n')
    (agents_folder / "b.toml").write_text(
        SHORT.replace('inline = "Look at {{nodes}}."', 'template = "b.md"')
    )
    (agents_folder / "b.md").write_text("{{NODS}} \x1b[2J")
    (agents_folder / "c.toml").write_text(f'name = "linker"\n{SHORT}')
    result = run(str(agents_folder))
    assert result.exit_code == 1
    lines = result.stdout.replace(f"{agents_folder}/", "").splitlines()
    assert lines == [
        'a.toml:2:13: there is no stage "al"; did you mean "all"?',
        'a.toml:7:12: "dayly" is not a schedule; write on-demand, hourly, daily, weekly, monthly, or '
        '"every 6h" with any duration; did you mean "daily"?',
        'b.md:1:1: there is no placeholder "NODS"; there are NODES, EPISODES, TARGETS, NEIGHBORS, '
        'TOPOLOGY, PAIRS, HEALTH, COUNT, NOW, AGENT_NAME, NODE:key; did you mean "NODES"?',
        'linker.toml:1:1: the name "linker" is also used by c.toml; change one of them',
        "4 problems; 1 agent can be used.",
    ]
    result = run("agents", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["agents"] == ["linker"]
    assert found["problems"][0] == {
        "file": "agents/a.toml",
        "line": 2,
        "column": 13,
        "message": 'there is no stage "al"',
        "suggestion": "all",
    }


def test_an_empty_folder_is_no_failure() -> None:
    result = run()
    assert (result.exit_code, result.stdout) == (
        0,
        "No agents in agents: an agent is a file NAME.toml there.\n",
    )


def test_what_is_shown_cannot_act_on_the_terminal(agents_folder: Path) -> None:
    (agents_folder / "a.toml").write_text('"\\u001b[2J" = 1\n' + SHORT)
    result = run()
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout


def test_no_folder_is_a_failure() -> None:
    assert failed_as_json(1, "agents", "check", "elsewhere") == {
        "code": "path_not_found",
        "message": "there is no folder elsewhere; name the one that has the agents",
    }


ABOUT_DECISIONS = SHORT.replace('"all"', '"all | type:decision"')


def test_types_are_those_of_a_store(agents_folder: Path) -> None:
    (agents_folder / "linker.toml").write_text(ABOUT_DECISIONS)
    result = run("agents")
    assert result.exit_code == 1
    assert 'agents/linker.toml:2:24: there is no type "decision"' in result.stdout
    Store.open("memory.db", types=["decision"]).close()
    result = run("--db", "memory.db")
    assert (result.exit_code, result.stdout) == (0, "1 agent in agents: nothing is wrong.\n")


def test_types_and_actions_are_those_of_a_root() -> None:
    MemoryRoot.init("memory")
    inside = Path("memory/agents")
    inside.mkdir()
    (inside / "linker.toml").write_text(ABOUT_DECISIONS)
    (inside / "weaver.toml").write_text(f'{SHORT}actions = ["delete"]\n')
    result = run("--root", "memory")
    assert result.exit_code == 1
    assert "weaver.toml:7:12: " in result.stdout
    assert "linker.toml" not in result.stdout
    # Without an argument the nearest root is checked.
    assert run().stdout == result.stdout
    assert run("agents").stdout == "No agents in agents: an agent is a file NAME.toml there.\n"
