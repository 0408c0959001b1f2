"""The choice of a wheel for each interpreter in `make test-matrix`."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from places import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "scripts").exists(), reason="a source distribution")

WHEEL = Path("hedgerow-1.2.3-cp310-abi3-linux_x86_64.whl")
OWN = "hedgerow-1.2.3-cp314-cp314t-linux_x86_64.whl"


class Ran:
    """Replaces `subprocess.run`. A build creates a wheel, or fails."""

    def __init__(self, *, builds: bool = True) -> None:
        self.commands: list[list[str]] = []
        self.gil: list[str | None] = []
        self._builds = builds

    def __call__(
        self, command: list[str], *, env: dict[str, str] | None = None, **_: object
    ) -> SimpleNamespace:
        self.commands.append(command)
        self.gil.append(None if env is None else env.get("PYTHON_GIL"))
        if "--out" not in command:
            return SimpleNamespace(returncode=0)
        if self._builds:
            folder = Path(command[-1])
            folder.mkdir(parents=True)
            (folder / OWN).touch()
        return SimpleNamespace(returncode=int(not self._builds))

    def installed(self) -> str:
        """Return the name of the installed wheel."""
        [install] = [command for command in self.commands if "--group" in command]
        return Path(install[-1]).name


@pytest.fixture
def matrix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("matrix", ROOT / "scripts/test_matrix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.delenv("PYTHON_GIL", raising=False)
    return module


def run_by(monkeypatch: pytest.MonkeyPatch, ran: Ran) -> Ran:
    monkeypatch.setattr(subprocess, "run", ran)
    return ran


def test_an_interpreter_with_a_gil_takes_the_wheel_of_all(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run_by(monkeypatch, Ran())
    assert matrix.tested("3.14", "python3.14", WHEEL, ["tests"]) == "passed"
    assert ran.installed() == WHEEL.name
    assert set(ran.gil) == {None}


def test_a_free_threaded_one_gets_its_own(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_by(monkeypatch, Ran())
    assert matrix.tested("3.14t", "python3.14t", WHEEL, ["tests"]) == "passed"
    build, *rest = ran.commands
    assert build[1:6] == ["build", "--release", "--locked", "--interpreter", "python3.14t"]
    assert rest[-1][1:3] == ["-m", "pytest"]
    assert ran.installed() == OWN
    assert ran.gil == [None, *["0"] * 4]
    assert capsys.readouterr().out == (
        f"3.14t cannot install {WHEEL}: a wheel of its own is built\n"
    )


def test_a_build_that_fails_is_a_failure(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run_by(monkeypatch, Ran(builds=False))
    assert matrix.tested("3.14t", "python3.14t", WHEEL, ["tests"]) == "failed (wheel)"
    assert len(ran.commands) == 1


def test_the_ends_have_a_gil(matrix: ModuleType) -> None:
    found = [(name, f"python{name}") for name in ("3.10", "3.13", "3.14", "3.14t")]
    assert [name for name, _ in matrix.ends(found)] == ["3.10", "3.14"]
    assert [name for name, _ in matrix.ends(found[:1])] == ["3.10"]


def test_of_a_kind_the_newest_wheel_is_taken(matrix: ModuleType, tmp_path: Path) -> None:
    assert matrix.newest(tmp_path, "abi3") is None
    for name in (WHEEL.name, OWN):
        (tmp_path / name).touch()
    assert matrix.newest(tmp_path, "abi3").name == WHEEL.name
