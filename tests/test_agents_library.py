"""A folder of agents: what is read again, what stays in use, and what is said once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hedgerow.agents import AgentLibrary

TICK = 1_000_000_000


class Folder:
    """A folder of agents in which every write is later than the last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._time = TICK

    def write(self, file: str, text: str) -> None:
        (self.path / file).write_text(text, encoding="utf-8")
        self.touch(file)

    def touch(self, file: str) -> None:
        self._time += TICK
        os.utime(self.path / file, ns=(self._time, self._time))

    def agent(self, file: str, name: str | None = None, **changes: str) -> None:
        values = {"pipeline": "all", "inline": "Look.", "model": "sonnet", **changes}
        self.write(
            file,
            (f'name = "{name}"\n' if name else "")
            + f'[query]\npipeline = "{values["pipeline"]}"\n'
            + (f'[prompt]\ntemplate = "{changes["template"]}"\n' if "template" in changes else "")
            + ("" if "template" in changes else f'[prompt]\ninline = "{values["inline"]}"\n')
            + f'[execution]\nmodel = "{values["model"]}"\n',
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "agents").mkdir()
    return Folder(tmp_path / "agents")


@pytest.fixture
def library(folder: Folder) -> AgentLibrary:
    return AgentLibrary(folder.path)


def reloaded(library: AgentLibrary) -> list[str]:
    """What a reload says, without the folder."""
    return [str(problem).removeprefix(f"{library.folder}/") for problem in library.reload()]


def test_nothing_is_read_before_it_is_asked_for(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("linker.toml")
    assert library.definitions == {}
    assert library.problems == ()
    assert reloaded(library) == []
    assert list(library.definitions) == ["linker"]


def test_definitions_are_those_of_the_folder_alone(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("b.toml")
    folder.agent("a.toml", "weaver")
    folder.agent(".#b.toml")
    folder.write("notes.md", "no agent")
    (folder.path / "old").mkdir()
    folder.agent("old/c.toml")
    library.reload()
    assert {name: found.file.name for name, found in library.definitions.items()} == {
        "weaver": "a.toml",
        "b": "b.toml",
    }


def test_what_did_not_change_is_not_read_again(
    folder: Folder, library: AgentLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("p.md", "Look.")
    folder.agent("linker.toml", template="p.md")
    library.reload()
    before = library.definitions["linker"]
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
        assert reloaded(library) == []
    folder.touch("p.md")
    folder.touch("linker.toml")
    assert reloaded(library) == []
    assert library.definitions["linker"] is before


def test_a_change_takes_the_place_of_what_was_there(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("linker.toml", model="a")
    library.reload()
    before = library.definitions["linker"]
    folder.agent("linker.toml", model="b")
    library.reload()
    assert library.definitions["linker"].model == "b"
    assert library.definitions["linker"].sha != before.sha
    assert before.model == "a"


def test_a_change_of_one_size_is_seen_by_its_time(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("linker.toml", model="a")
    library.reload()
    folder.agent("linker.toml", model="b")
    assert reloaded(library) == []
    assert library.definitions["linker"].model == "b"


def test_a_template_belongs_to_it(folder: Folder, library: AgentLibrary) -> None:
    folder.write("p.md", "one")
    folder.agent("linker.toml", template="p.md")
    library.reload()
    before = library.definitions["linker"]
    folder.write("p.md", "two")
    library.reload()
    assert library.definitions["linker"].template == "two"
    assert library.definitions["linker"].sha != before.sha


def test_a_spoilt_file_leaves_the_last_good_definition(
    folder: Folder, library: AgentLibrary
) -> None:
    folder.agent("linker.toml", model="a")
    library.reload()
    folder.agent("linker.toml", pipeline="al")
    problem = 'linker.toml:2:13: there is no stage "al"; did you mean "all"?'
    assert reloaded(library) == [problem]
    assert library.definitions["linker"].model == "a"
    # It is said once, and is there as long as it holds.
    folder.touch("linker.toml")
    assert reloaded(library) == []
    assert [str(found) for found in library.problems] == [f"{folder.path}/{problem}"]
    folder.agent("linker.toml", model="b")
    assert reloaded(library) == []
    assert library.problems == ()
    assert library.definitions["linker"].model == "b"
    folder.agent("linker.toml", pipeline="al")
    assert reloaded(library) == [problem]


def test_a_template_that_is_gone_spoils_its_agent_until_it_is_back(
    folder: Folder, library: AgentLibrary
) -> None:
    folder.write("p.md", "one")
    folder.agent("linker.toml", template="p.md")
    library.reload()
    (folder.path / "p.md").unlink()
    [problem] = reloaded(library)
    assert problem.startswith('linker.toml:4:12: there is no file "p.md" next to this one')
    assert library.definitions["linker"].template == "one"
    folder.write("p.md", "two")
    assert reloaded(library) == []
    assert library.definitions["linker"].template == "two"


def test_a_file_that_could_not_be_read_is_read_when_it_can_be(
    folder: Folder, library: AgentLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.agent("linker.toml")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    problem = (
        "linker.toml:1:1: cannot be read (Permission denied); check the file and its permissions"
    )
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refuse)
        assert reloaded(library) == [problem]
        assert reloaded(library) == []
    assert library.definitions == {}
    assert reloaded(library) == []
    assert list(library.definitions) == ["linker"]
    assert library.problems == ()


def test_a_file_that_is_gone_takes_its_agent_with_it(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("linker.toml")
    folder.agent("weaver.toml", pipeline="al")
    library.reload()
    (folder.path / "linker.toml").unlink()
    (folder.path / "weaver.toml").unlink()
    assert reloaded(library) == []
    assert library.definitions == {}
    assert library.problems == ()


def test_a_file_that_was_never_right_is_no_agent(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("linker.toml", pipeline="al")
    assert len(reloaded(library)) == 1
    assert library.definitions == {}
    folder.agent("linker.toml")
    assert reloaded(library) == []
    assert list(library.definitions) == ["linker"]


class TestNames:
    def test_the_first_file_has_it(self, folder: Folder, library: AgentLibrary) -> None:
        folder.agent("a.toml", "linker")
        folder.agent("b.toml", "linker")
        assert reloaded(library) == [
            'b.toml:1:8: the name "linker" is also used by a.toml; change one of them'
        ]
        assert [found.file.name for found in library.definitions.values()] == ["a.toml"]

    def test_but_not_the_first_if_another_had_it_before(
        self, folder: Folder, library: AgentLibrary
    ) -> None:
        folder.agent("linker.toml")
        library.reload()
        folder.agent("a.toml", "linker")
        assert reloaded(library) == [
            'a.toml:1:8: the name "linker" is also used by linker.toml; change one of them'
        ]
        assert [found.file.name for found in library.definitions.values()] == ["linker.toml"]
        (folder.path / "linker.toml").unlink()
        assert reloaded(library) == []
        assert [found.file.name for found in library.definitions.values()] == ["a.toml"]

    def test_who_wants_that_of_another_keeps_its_own(
        self, folder: Folder, library: AgentLibrary
    ) -> None:
        folder.agent("a.toml", model="old")
        folder.agent("b.toml")
        library.reload()
        folder.agent("a.toml", "b", model="new")
        assert len(reloaded(library)) == 1
        assert {name: found.model for name, found in library.definitions.items()} == {
            "a": "old",
            "b": "sonnet",
        }

    def test_it_passes_on(self, folder: Folder, library: AgentLibrary) -> None:
        folder.agent("a.toml")
        library.reload()
        folder.agent("a.toml", "weaver")
        folder.agent("b.toml", "a")
        assert reloaded(library) == []
        assert {name: found.file.name for name, found in library.definitions.items()} == {
            "weaver": "a.toml",
            "a": "b.toml",
        }


def test_a_folder_that_is_gone_is_a_problem_and_no_agent_is_lost(
    folder: Folder, library: AgentLibrary
) -> None:
    folder.agent("linker.toml")
    library.reload()
    away = folder.path.with_name("away")
    folder.path.rename(away)
    problem = (
        f"{folder.path}:1:1: the folder cannot be read (No such file or directory); create it, or "
        "name another"
    )
    assert [str(found) for found in library.reload()] == [problem]
    assert library.reload() == []
    assert list(library.definitions) == ["linker"]
    away.rename(folder.path)
    assert library.reload() == []
    assert library.problems == ()
    shutil.rmtree(folder.path)
    assert [str(found) for found in library.reload()] == [problem]


def test_definitions_given_out_do_not_change(folder: Folder, library: AgentLibrary) -> None:
    folder.agent("linker.toml")
    library.reload()
    before = library.definitions
    (folder.path / "linker.toml").unlink()
    library.reload()
    assert list(before) == ["linker"]
    with pytest.raises(TypeError):
        before["weaver"] = before["linker"]  # type: ignore[index]
