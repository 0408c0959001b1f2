"""Untrusted folders of agents: only regular files are read, and a bad file affects no other."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import command_line
from agents_doubles import SHORT, agents, block, garden, put_agent
from hedgerow.agents import AgentLibrary, DefinitionError, load_definition
from hedgerow.agents.definition_file import LARGEST, read_definition

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and files of POSIX")

TEMPLATED = SHORT.replace('inline = "Look at {{nodes}}."', 'template = "prompt.md"')


@pytest.fixture
def library(agents_folder: Path) -> AgentLibrary:
    """A library with one valid agent."""
    (agents_folder / "good.toml").write_text(SHORT)
    return AgentLibrary(agents_folder)


def reloaded(library: AgentLibrary) -> list[str]:
    """Return the new problems of a reload, and check that the valid agent stays."""
    found = [str(problem).removeprefix(f"{library.folder}/") for problem in library.reload()]
    assert "good" in library.definitions
    return found


@pytest.fixture
def in_time() -> Iterator[None]:
    """Fail if the test hangs."""

    def fail(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        # The full path may be too long for a socket address.
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(before)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_large(path: Path) -> None:
    path.write_bytes(b"#" * 10_000_000)


SPECIAL = [
    (make_fifo, "is a FIFO; put a regular file there"),
    (make_socket, "is a socket; put a regular file there"),
    (make_folder, "cannot be read (Is a directory); check the file and its permissions"),
    (make_endless, "is a link to /dev/zero, outside the folder of the agents; put the file itself there"),
    (make_loop, "cannot be read (Too many levels of symbolic links); check the file and its permissions"),
    (make_large, f"has more than {LARGEST:,} bytes; shorten it"),
]  # fmt: skip


@posix
@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize(("make", "reason"), SPECIAL)
class TestOnlyRegularFiles:
    def test_are_definitions(
        self,
        agents_folder: Path,
        library: AgentLibrary,
        make: Callable[[Path], None],
        reason: str,
    ) -> None:
        make(agents_folder / "bad.toml")
        assert reloaded(library) == [f"bad.toml:1:1: {reason}"]
        assert reloaded(library) == []
        with pytest.raises(DefinitionError, match=r"bad\.toml:1:1: "):
            load_definition(agents_folder / "bad.toml")

    def test_are_templates(
        self,
        agents_folder: Path,
        library: AgentLibrary,
        make: Callable[[Path], None],
        reason: str,
    ) -> None:
        make(agents_folder / "prompt.md")
        (agents_folder / "bad.toml").write_text(TEMPLATED)
        assert reloaded(library) == [f"bad.toml:4:12: the template {reason}"]


@posix
class TestLinks:
    @pytest.fixture
    def secret(self, tmp_path: Path) -> Path:
        """A file outside the folder of the agents."""
        file = tmp_path / "secret.toml"
        file.write_text(f"# sesame\n{SHORT}")
        return file

    @pytest.mark.parametrize("target", ["../secret.toml", "{absolute}", "through.toml"])
    def test_a_definition_that_leads_out_is_not_read(
        self, agents_folder: Path, library: AgentLibrary, secret: Path, target: str
    ) -> None:
        (agents_folder / "through.toml").symlink_to("../secret.toml")
        (agents_folder / "bad.toml").symlink_to(target.format(absolute=secret))
        found = reloaded(library)
        why = f"is a link to {secret}, outside the folder of the agents; put the file itself there"
        assert found == [f"bad.toml:1:1: {why}", f"through.toml:1:1: {why}"]
        assert set(library.definitions) == {"good"}

    def test_nor_is_a_template(
        self, agents_folder: Path, library: AgentLibrary, secret: Path
    ) -> None:
        (agents_folder / "prompt.md").symlink_to(secret)
        (agents_folder / "bad.toml").write_text(TEMPLATED)
        assert reloaded(library) == [
            f"bad.toml:4:12: the template is a link to {secret}, outside the folder of the agents; "
            "put the file itself there"
        ]

    def test_nor_what_lies_behind_a_folder_that_leads_out(
        self, agents_folder: Path, library: AgentLibrary, secret: Path
    ) -> None:
        (agents_folder / "prompts").symlink_to("..")
        (agents_folder / "bad.toml").write_text(
            TEMPLATED.replace("prompt.md", "prompts/secret.toml")
        )
        [problem] = reloaded(library)
        assert f"the template is a link to {secret}, outside" in problem

    def test_nor_one_that_leads_nowhere(self, agents_folder: Path, library: AgentLibrary) -> None:
        (agents_folder / "bad.toml").symlink_to("none.toml")
        (agents_folder / "out.toml").symlink_to("../none.toml")
        assert [line.split(" (")[0] for line in reloaded(library)] == [
            "bad.toml:1:1: cannot be read",
            f"out.toml:1:1: is a link to {agents_folder.parent}/none.toml, outside the folder of "
            "the agents; put the file itself there",
        ]

    def test_within_the_folder_they_are_followed(
        self, agents_folder: Path, library: AgentLibrary
    ) -> None:
        (agents_folder / "kept").mkdir()
        (agents_folder / "kept" / "one.toml").write_text(TEMPLATED)
        (agents_folder / "kept" / "one.md").write_text("Look.")
        (agents_folder / "linked.toml").symlink_to("kept/one.toml")
        (agents_folder / "prompt.md").symlink_to("kept/one.md")
        assert reloaded(library) == []
        assert library.definitions["linked"].template == "Look."

    def test_the_folder_itself_may_be_one(self, tmp_path: Path, agents_folder: Path) -> None:
        (agents_folder / "good.toml").write_text(TEMPLATED)
        (agents_folder / "prompt.md").write_text("Look.")
        (tmp_path / "link").symlink_to(agents_folder)
        library = AgentLibrary(tmp_path / "link")
        assert library.reload() == []
        assert "good" in library.definitions

    def test_a_definition_that_becomes_one_stays_as_it_was(
        self, agents_folder: Path, library: AgentLibrary, secret: Path
    ) -> None:
        assert reloaded(library) == []
        (agents_folder / "good.toml").unlink()
        (agents_folder / "good.toml").symlink_to(secret)
        [problem] = reloaded(library)
        assert "is a link to" in problem
        assert library.definitions["good"].template == "Look at {{nodes}}."


NINES = "9" * 400
NUMBERS = {
    "400 digits": NINES,
    "minus 400 digits": f"-{NINES}",
    "hexadecimal beyond what Python writes": "0x" + "f" * 20_000,
    "a float beyond all": "1e999",
    "one below": "-1e999",
    "infinity": "-inf",
    "not a number": "nan",
    "a date": "1979-05-27",
    "a time with zone": "1979-05-27T07:32:00-08:00",
    "an array": f"[{NINES}]",
    "a table": f"{{a = {NINES}}}",
    "nested arrays": "[" * 300 + "]" * 300,
    "a text of 200,000 characters": f'"{"x" * 200_000}"',
}
KEYS = [
    ("", "schema"), ("", "name"), ("", "enabled"), ("query", "pipeline"), ("query", "min_results"),
    ("prompt", "template"), ("prompt", "inline"), ("prompt", "placeholders"),
    ("prompt", "max_chars"), ("prompt", "node_chars"), ("execution", "model"),
    ("execution", "actions"), ("execution", "allow"), ("execution", "schedule"),
    ("execution", "max_runs_per_period"), ("execution", "timeout_s"), ("execution", "max_actions"),
    ("", "query"), ("", "prompt"), ("", "execution"), ("", "unknown"), ("query", "unknown"),
]  # fmt: skip


def with_value(table: str, key: str, value: str) -> str:
    """Return a definition with a value under a key, on line 1 of its table."""
    header = f"[{table}]\n" if table else ""
    if not table:
        return f"{key} = {value}\n" + ("" if key in {"query", "prompt", "execution"} else SHORT)
    return SHORT.replace(header, f"{header}{key} = {value}\n")


@pytest.mark.parametrize("value", NUMBERS.values(), ids=NUMBERS.keys())
@pytest.mark.parametrize(("table", "key"), KEYS)
def test_any_value_is_a_problem_at_its_place(
    agents_folder: Path, table: str, key: str, value: str
) -> None:
    (agents_folder / "good.toml").write_text(SHORT)
    file = agents_folder / "bad.toml"
    text = with_value(table, key, value)
    # A duplicate key is invalid TOML, and then the reported problem is that.
    file.write_text(text)
    library = AgentLibrary(agents_folder)
    problems = library.reload()
    assert "good" in library.definitions
    if "bad" in library.definitions:
        return
    assert problems
    assert all(str(problem).startswith(f"{file}:") for problem in problems)
    assert all(problem.line <= text.count("\n") + 1 for problem in problems)
    assert all(len(problem.message) < 400 for problem in problems)
    with pytest.raises(DefinitionError):
        load_definition(file)


def test_400_digits_for_a_timeout_do_not_stop_the_others(agents_folder: Path) -> None:
    put_agent(agents_folder)
    bad = put_agent(agents_folder, "bad")
    bad.write_text(bad.read_text().replace("timeout_s = 120", f"timeout_s = {NINES}"))
    working = agents(garden("ab"), agents_folder, block("WEIGHT a 1"))
    [problem] = working.problems
    assert str(problem) == (f"{bad}:19:13: this is not TOML: integer number overflowed")
    assert working.tick().report is not None
    assert working.history("linker")[0].status == "ok"


def test_more_digits_than_python_reads_have_their_place(agents_folder: Path) -> None:
    file = agents_folder / "bad.toml"
    file.write_text(SHORT + "timeout_s = " + "9" * 5_000)
    with pytest.raises(
        DefinitionError, match=r"bad\.toml:7:13: this is not TOML: integer number overflowed"
    ):
        load_definition(file)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SHORT + "a" + ".a" * 200_000 + " = 1", "1:1: this is not TOML: recursion limit"),
        ("[" + ".".join(["'a'"] * 200_000) + "]", "1:1: this is not TOML: recursion limit"),
        ("a = " + "[" * 200_000, "1:85: this is not TOML: cannot recurse further; max recursion depth met"),
        ("a = " + "{a = " * 100_000, "1:405: this is not TOML: cannot recurse further; max recursion depth met"),
    ],
)  # fmt: skip
@posix
@pytest.mark.usefixtures("in_time")
def test_deep_nesting(agents_folder: Path, library: AgentLibrary, text: str, problem: str) -> None:
    (agents_folder / "bad.toml").write_text(text)
    assert reloaded(library) == [f"bad.toml:{problem}"]


scalars = (
    st.integers()
    | st.integers(min_value=10**300)
    | st.floats()
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from([date(1979, 5, 27), time(7, 32), datetime(1979, 5, 27, 7)])  # noqa: DTZ001
)


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(f"\\U{ord(character):08x}" for character in value)
        return f'"{escaped}"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value)


@given(st.sampled_from(KEYS), scalars | st.lists(scalars, max_size=3))
def test_any_toml_is_a_definition_or_a_problem(where: tuple[str, str], value: object) -> None:
    text = with_value(*where, toml(value))
    reading = read_definition(Path("linker.toml"), lambda _: text.encode())
    assert (reading.definition is None) == bool(reading.problems)


def test_a_fault_of_ours_stops_one_agent_alone(
    agents_folder: Path, library: AgentLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = read_definition

    def fails(path: Path, *rest: object) -> object:
        if path.name == "bad.toml":
            raise OverflowError("too large")
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("hedgerow.agents.definition_file.read_definition", fails)
    (agents_folder / "bad.toml").write_text(SHORT)
    assert reloaded(library) == [
        "bad.toml:1:1: cannot be read (OverflowError: too large); please report it"
    ]


@posix
@pytest.mark.usefixtures("in_time")
def test_a_check_of_a_folder_with_a_fifo_ends(agents_folder: Path) -> None:
    make_fifo(agents_folder / "bad.toml")
    result = command_line.run("agents", "check", str(agents_folder))
    assert result.exit_code == 1
    assert "bad.toml:1:1: is a FIFO; put a regular file there" in result.stdout
