"""Folders of agents: reloaded files, files that stay in use, and problems reported once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hedgerow.agents import AgentLibrary

TICK = 1_000_000_000


class Files:
    """The files of a folder. Each write has a later time than the last."""

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
def files(agents_folder: Path) -> Files:
    return Files(agents_folder)


@pytest.fixture
def library(files: Files) -> AgentLibrary:
    return AgentLibrary(files.path)


def reloaded(library: AgentLibrary) -> list[str]:
    """Return the new problems of a reload, with paths relative to the folder."""
    return [str(problem).removeprefix(f"{library.folder}/") for problem in library.reload()]


def test_nothing_is_read_before_it_is_asked_for(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml")
    assert library.definitions == {}
    assert library.problems == ()
    assert reloaded(library) == []
    assert list(library.definitions) == ["linker"]


def test_definitions_are_those_of_the_folder_alone(files: Files, library: AgentLibrary) -> None:
    files.agent("b.toml")
    files.agent("a.toml", "weaver")
    files.agent(".#b.toml")
    files.write("notes.md", "no agent")
    (files.path / "old").mkdir()
    files.agent("old/c.toml")
    library.reload()
    assert {name: found.file.name for name, found in library.definitions.items()} == {
        "weaver": "a.toml",
        "b": "b.toml",
    }


def test_what_did_not_change_is_not_read_again(
    files: Files, library: AgentLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write("p.md", "Look.")
    files.agent("linker.toml", template="p.md")
    library.reload()
    before = library.definitions["linker"]
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
        assert reloaded(library) == []
    files.touch("p.md")
    files.touch("linker.toml")
    assert reloaded(library) == []
    assert library.definitions["linker"] is before


def test_a_change_takes_the_place_of_what_was_there(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml", model="a")
    library.reload()
    before = library.definitions["linker"]
    files.agent("linker.toml", model="b")
    library.reload()
    assert library.definitions["linker"].model == "b"
    assert library.definitions["linker"].sha != before.sha
    assert before.model == "a"


def test_a_change_of_one_size_is_seen_by_its_time(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml", model="a")
    library.reload()
    files.agent("linker.toml", model="b")
    assert reloaded(library) == []
    assert library.definitions["linker"].model == "b"


def test_a_template_belongs_to_it(files: Files, library: AgentLibrary) -> None:
    files.write("p.md", "one")
    files.agent("linker.toml", template="p.md")
    library.reload()
    before = library.definitions["linker"]
    files.write("p.md", "two")
    library.reload()
    assert library.definitions["linker"].template == "two"
    assert library.definitions["linker"].sha != before.sha


def test_a_spoilt_file_leaves_the_last_good_definition(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml", model="a")
    library.reload()
    files.agent("linker.toml", pipeline="al")
    problem = 'linker.toml:2:13: there is no stage "al"; did you mean "all"?'
    assert reloaded(library) == [problem]
    assert library.definitions["linker"].model == "a"
    # The problem is reported once, and listed until it is fixed.
    files.touch("linker.toml")
    assert reloaded(library) == []
    assert [str(found) for found in library.problems] == [f"{files.path}/{problem}"]
    files.agent("linker.toml", model="b")
    assert reloaded(library) == []
    assert library.problems == ()
    assert library.definitions["linker"].model == "b"
    files.agent("linker.toml", pipeline="al")
    assert reloaded(library) == [problem]


def test_a_template_that_is_gone_spoils_its_agent_until_it_is_back(
    files: Files, library: AgentLibrary
) -> None:
    files.write("p.md", "one")
    files.agent("linker.toml", template="p.md")
    library.reload()
    (files.path / "p.md").unlink()
    [problem] = reloaded(library)
    assert problem.startswith('linker.toml:4:12: there is no file "p.md" next to this one')
    assert library.definitions["linker"].template == "one"
    files.write("p.md", "two")
    assert reloaded(library) == []
    assert library.definitions["linker"].template == "two"


def test_a_file_that_could_not_be_read_is_read_when_it_can_be(
    files: Files, library: AgentLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.agent("linker.toml")

    def refuse(path: Path, _: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    problem = (
        "linker.toml:1:1: cannot be read (Permission denied); check the file and its permissions"
    )
    with monkeypatch.context() as patched:
        patched.setattr("hedgerow.agents.definition_file.read_inside", refuse)
        assert reloaded(library) == [problem]
        assert reloaded(library) == []
    assert library.definitions == {}
    assert reloaded(library) == []
    assert list(library.definitions) == ["linker"]
    assert library.problems == ()


def test_a_file_that_is_gone_takes_its_agent_with_it(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml")
    files.agent("weaver.toml", pipeline="al")
    library.reload()
    (files.path / "linker.toml").unlink()
    (files.path / "weaver.toml").unlink()
    assert reloaded(library) == []
    assert library.definitions == {}
    assert library.problems == ()


def test_a_file_that_was_never_right_is_no_agent(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml", pipeline="al")
    assert len(reloaded(library)) == 1
    assert library.definitions == {}
    files.agent("linker.toml")
    assert reloaded(library) == []
    assert list(library.definitions) == ["linker"]


class TestNames:
    def test_the_first_file_has_it(self, files: Files, library: AgentLibrary) -> None:
        files.agent("a.toml", "linker")
        files.agent("b.toml", "linker")
        assert reloaded(library) == [
            'b.toml:1:8: the name "linker" is also used by a.toml; change one of them'
        ]
        assert [found.file.name for found in library.definitions.values()] == ["a.toml"]

    def test_but_not_the_first_if_another_had_it_before(
        self, files: Files, library: AgentLibrary
    ) -> None:
        files.agent("linker.toml")
        library.reload()
        files.agent("a.toml", "linker")
        assert reloaded(library) == [
            'a.toml:1:8: the name "linker" is also used by linker.toml; change one of them'
        ]
        assert [found.file.name for found in library.definitions.values()] == ["linker.toml"]
        (files.path / "linker.toml").unlink()
        assert reloaded(library) == []
        assert [found.file.name for found in library.definitions.values()] == ["a.toml"]

    def test_who_wants_that_of_another_keeps_its_own(
        self, files: Files, library: AgentLibrary
    ) -> None:
        files.agent("a.toml", model="old")
        files.agent("b.toml")
        library.reload()
        files.agent("a.toml", "b", model="new")
        assert len(reloaded(library)) == 1
        assert {name: found.model for name, found in library.definitions.items()} == {
            "a": "old",
            "b": "sonnet",
        }

    def test_it_passes_on(self, files: Files, library: AgentLibrary) -> None:
        files.agent("a.toml")
        library.reload()
        files.agent("a.toml", "weaver")
        files.agent("b.toml", "a")
        assert reloaded(library) == []
        assert {name: found.file.name for name, found in library.definitions.items()} == {
            "weaver": "a.toml",
            "a": "b.toml",
        }


def test_a_folder_that_is_gone_is_a_problem_and_no_agent_is_lost(
    files: Files, library: AgentLibrary
) -> None:
    files.agent("linker.toml")
    library.reload()
    away = files.path.with_name("away")
    files.path.rename(away)
    problem = (
        f"{files.path}:1:1: the folder cannot be read (No such file or directory); create it, or "
        "name another"
    )
    assert [str(found) for found in library.reload()] == [problem]
    assert library.reload() == []
    assert list(library.definitions) == ["linker"]
    away.rename(files.path)
    assert library.reload() == []
    assert library.problems == ()
    shutil.rmtree(files.path)
    assert [str(found) for found in library.reload()] == [problem]


def test_definitions_given_out_do_not_change(files: Files, library: AgentLibrary) -> None:
    files.agent("linker.toml")
    library.reload()
    before = library.definitions
    (files.path / "linker.toml").unlink()
    library.reload()
    assert list(before) == ["linker"]
    with pytest.raises(TypeError):
        before["weaver"] = before["linker"]  # type: ignore[index]
