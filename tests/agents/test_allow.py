"""Deleting and retyping need `allow`.

A check reports actions that a template asks for without it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import command_line
from agents_doubles import SHORT, agents, block, garden, put_agent
from hedgerow.agents import AgentLibrary, Bounds, ModelRequest, load_definition


def put(folder: Path, more: str = "", template: str = "Look.") -> Path:
    file = folder / "gardener.toml"
    file.write_text(SHORT.replace("Look at {{nodes}}.", template) + more)
    return file


@pytest.mark.parametrize("op", ["delete", "categorize"])
def test_without_allow_they_are_refused_and_named(agents_folder: Path, op: str) -> None:
    put_agent(agents_folder, allow=[])
    store = garden("ab")
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> object:
        seen.append(request)
        return block("DELETE a\nCATEGORIZE b core\nWEIGHT b 1")(request)

    report = agents(store, agents_folder, answer).run("linker")
    assert [action.op for action in report.applied] == ["weight"]
    assert f'this agent may not {op}; "allow" of its definition does not list it' in [
        one.reason for one in report.rejected
    ]
    assert store.query("all").keys
    assert len(store.query("all").keys) == 2
    assert "DELETE" not in seen[0].system, "it is not offered either"
    assert "CATEGORIZE" not in seen[0].system


def test_with_allow_they_are_done(agents_folder: Path) -> None:
    put_agent(agents_folder, allow=["delete"])
    store = garden("ab")
    report = agents(store, agents_folder, block("DELETE a\nCATEGORIZE b core")).run("linker")
    assert [action.op for action in report.applied] == ["delete"]
    assert [one.op for one in report.rejected] == ["categorize"]
    assert store.query("all").keys == ["b"]


def test_what_is_refused_does_not_count_as_an_action(agents_folder: Path) -> None:
    put_agent(agents_folder, allow=[], prompt="")
    path = agents_folder / "linker.toml"
    path.write_text(path.read_text() + "max_actions = 1\n")
    report = agents(garden("ab"), agents_folder, block("DELETE a\nWEIGHT b 1")).run("linker")
    assert [action.op for action in report.applied] == ["weight"]


def test_what_a_definition_says(agents_folder: Path) -> None:
    more = 'actions = ["delete", "weight", "categorize"]\nallow = ["delete", "delete"]\n'
    definition = load_definition(put(agents_folder, more))
    assert definition.allow == ("delete",)
    assert definition.withheld == ("categorize",)
    assert definition.permitted == ("delete", "weight")
    assert [str(one).removeprefix(f"{agents_folder}/") for one in definition.warnings] == [
        'gardener.toml:7:32: the agent may not categorize, which "allow" does not list; add '
        "categorize to allow"
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('allow = ["weight"]\n', '7:10: allow takes categorize and delete, and not "weight"'),
        ('allow = ["delte"]\n', '7:10: allow takes categorize and delete, and not "delte"; did you '
         'mean "delete"?'),
        ('allow = "delete"\n', "7:9: allow must be a list, not 'delete'"),
    ],
)  # fmt: skip
def test_what_allow_may_list(agents_folder: Path, more: str, problem: str) -> None:
    library = AgentLibrary(put(agents_folder, more).parent)
    assert [str(one) for one in library.reload()] == [f"{agents_folder}/gardener.toml:{problem}"]


def test_a_template_that_asks_for_more_is_a_warning(agents_folder: Path) -> None:
    (agents_folder / "gardener.md").write_text("Look.\nUse DELETE, LINK or DELETE; no RENAMEs.\n")
    text = SHORT.replace('inline = "Look at {{nodes}}."', 'template = "gardener.md"')
    (agents_folder / "gardener.toml").write_text(f'{text}actions = ["link-add", "delete"]\n')
    library = AgentLibrary(agents_folder, Bounds())
    assert library.reload() == []
    assert [str(one).removeprefix(f"{agents_folder}/") for one in library.warnings] == [
        'gardener.toml:7:24: the agent may not delete, which "allow" does not list; add delete to '
        "allow",
        "gardener.md:2:5: the template asks for DELETE, and the agent may not delete",
    ]


def test_a_check_shows_warnings_and_succeeds(
    agents_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(agents_folder.parent)
    put(agents_folder, template="WRITE_NODE\\nand REFINE")
    result = command_line.run("agents", "check", "agents")
    assert (result.exit_code, result.stdout) == (
        0,
        "agents/gardener.toml:4:11: the template asks for WRITE_NODE, and the agent may not "
        "write-node (warning)\n"
        "agents/gardener.toml:4:27: the template asks for REFINE, and the agent may not refine "
        "(warning)\n"
        "1 agent in agents: nothing is wrong. 2 warnings.\n",
    )
    found = json.loads(command_line.run("agents", "check", "agents", "--json").stdout)
    assert [one["line"] for one in found["warnings"]] == [4, 4]
    (agents_folder / "bad.toml").write_text("schema = 2")
    result = command_line.run("agents", "check", "agents")
    assert result.exit_code == 1
    assert result.stdout.endswith(" 1 agent can be used. 2 warnings.\n")
    put(agents_folder)
    (agents_folder / "bad.toml").unlink()
    assert "warnings" not in json.loads(
        command_line.run("agents", "check", "agents", "--json").stdout
    )
