"""The prerequisite check and the Makefile, on simulated machines without some tools."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="make is not used on Windows"),
    pytest.mark.skipif(not (ROOT / "Makefile").exists(), reason="a source distribution"),
]


def python(version: str) -> str:
    return f'case "$2" in *version_info*) echo {version};; esac'


COMPLETE = {
    "make": "",
    "cc": "",
    "python3": python("3.13"),
    "rustc": "echo 'rustc 1.95.0 (59807616e 2026-04-14)'",
    "cargo": "echo 'cargo 1.95.0'",
}


class Machine:
    """A folder of programs that is the whole PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for tool in ("sh", "sed", "mktemp", "rm", "cat", "find"):
            self.link(tool)
        for tool, script in COMPLETE.items():
            self.program(tool, script)

    def link(self, tool: str) -> None:
        (self.folder / tool).unlink(missing_ok=True)
        (self.folder / tool).symlink_to(shutil.which(tool))

    def program(self, tool: str, script: str) -> None:
        (self.folder / tool).write_text(f"#!/bin/sh\n{script}\n")
        (self.folder / tool).chmod(0o755)

    def without(self, *tools: str) -> None:
        for tool in tools:
            (self.folder / tool).unlink()

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [shutil.which(command[0], path=str(self.folder)), *command[1:]],
            env={"PATH": str(self.folder), **variables},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    def missing(self, **variables: str) -> list[str]:
        """Return the tools that the check reports as missing.

        The check must fail exactly if there are any.
        """
        result = self.run("sh", "scripts/prerequisites.sh", **variables)
        found = re.findall(r"^missing: (.*)", result.stderr, re.MULTILINE)
        assert result.returncode == (1 if found else 0), result.stderr
        assert result.stdout == ""
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_complete_machine_hears_nothing(machine: Machine) -> None:
    result = machine.run("sh", "scripts/prerequisites.sh")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("tool", "script", "said"),
    [
        ("python3", python("3.8"), "Python 3.10 or later (python3 is 3.8;"),
        ("python3", python("2.7"), "Python 3.10 or later (python3 is 2.7;"),
        ("python3", "exit 1", "Python 3.10 or later (python3 is not there;"),
        (
            "python3",
            'case "$2" in *version_info*) echo 3.10;; *ensurepip*) exit 1;; esac',
            "the venv module of python3",
        ),
        ("rustc", "echo 'rustc 1.63.0'", "Rust 1.89 or later (rustc is 1.63.0)"),
        ("rustc", "exit 1", "Rust 1.89 or later (rustc is not there)"),
        ("cargo", "exit 1", "cargo,"),
        ("cc", "exit 1", "a C compiler that links programs, as `cc`"),
    ],
)
def test_what_is_there_but_does_not_do(machine: Machine, tool: str, script: str, said: str) -> None:
    machine.program(tool, script)
    [found] = machine.missing()
    assert found.startswith(said)


@pytest.mark.parametrize(
    "version", ["1.89.0", "1.95.0 (59807616e 2026-04-14)", "1.100.0-nightly", "2.0.0"]
)
def test_rust_of_the_minimum_or_later_will_do(machine: Machine, version: str) -> None:
    machine.program("rustc", f"echo 'rustc {version}'")
    assert machine.missing() == []


@pytest.mark.parametrize("version", ["3.10", "3.14", "4.0"])
def test_python_of_the_minimum_or_later_will_do(machine: Machine, version: str) -> None:
    machine.program("python3", python(version))
    assert machine.missing() == []


def test_everything_missing_is_said_at_once(machine: Machine) -> None:
    machine.without(*COMPLETE)
    assert [re.split(r"[ ,]", what)[0] for what in machine.missing()] == [
        "make",
        "a",
        "Python",
        "Rust",
    ]


@pytest.mark.parametrize(
    ("tool", "lines"),
    [
        ("make", ["sudo apt install make", "sudo dnf install make", "xcode-select --install"]),
        (
            "cc",
            ["sudo apt install build-essential", "sudo dnf install gcc", "xcode-select --install"],
        ),
        (
            "python3",
            [
                "sudo apt install python3 python3-venv",
                "sudo dnf install python3",
                "brew install python",
            ],
        ),
        ("rustc", ["install rustup from https://rustup.rs, then: rustup update stable"]),
    ],
)
def test_what_is_missing_comes_with_the_lines_that_install_it(
    machine: Machine, tool: str, lines: list[str]
) -> None:
    machine.without(tool)
    result = machine.run("sh", "scripts/prerequisites.sh")
    _, *printed = result.stderr.splitlines()
    assert [re.sub(r"^    [\w, ]+: +", "", line) for line in printed] == lines


def test_java_and_maven_are_for_a_server_alone(machine: Machine) -> None:
    assert machine.missing() == []
    java, maven = machine.missing(JAVA="1")
    assert (java, maven) == ("Java 17 or later, as `java`", "Maven, as `mvn`")
    machine.program("java", "")
    machine.program("mvn", "")
    assert machine.missing(JAVA="1") == []


def test_a_browser_is_for_the_page_alone(machine: Machine) -> None:
    assert machine.missing(CHROMIUM="chromium") == [
        "a browser, as `chromium` (CHROMIUM=... names another)"
    ]
    machine.program("chromium", "")
    assert machine.missing(CHROMIUM="chromium") == []


def test_node_is_for_the_typescript_client_alone(machine: Machine) -> None:
    assert machine.missing(NPM="npm") == ["Node with npm, as `npm` (NPM=... names another)"]
    machine.program("npm", "")
    assert machine.missing(NPM="npm") == []


def test_another_interpreter_is_used_where_one_is_named(machine: Machine) -> None:
    machine.without("python3")
    machine.program("python3.13", python("3.13"))
    assert machine.missing(PYTHON="python3.13") == []
    assert machine.missing(PYTHON="python3.12") == [
        "Python 3.10 or later (python3.12 is not there; PYTHON=... names another)"
    ]


def test_make_stops_where_something_is_missing(machine: Machine) -> None:
    machine.link("make")
    assert machine.run("make", "prerequisites").returncode == 0
    machine.without("rustc")
    result = machine.run("make", "prerequisites")
    assert result.returncode != 0
    assert "missing: Rust" in result.stderr
    assert "missing: Python" in machine.run("make", "prerequisites", "PYTHON=python3.9").stderr


def test_every_target_is_listed_by_make() -> None:
    makefile = (ROOT / "Makefile").read_text()
    [phony] = re.findall(r"^\.PHONY: (.*)", makefile, re.MULTILINE)
    help_text = subprocess.run(
        ["make", "--no-print-directory"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    listed = re.findall(r"^  make ([\w-]+)\s+\S", help_text, re.MULTILINE)
    assert [*listed, "prerequisites"] == phony.split()


def test_the_readme_names_the_minima_of_the_manifests() -> None:
    readme = (ROOT / "README.md").read_text()
    [rust] = re.findall(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    [python] = re.findall(
        r'^requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert f"Python {python} or later" in readme
    assert f"Rust {rust} or later" in readme
