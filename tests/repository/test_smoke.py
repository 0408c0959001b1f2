"""The script that `make wheels` uses to run every command of a wheel."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hedgerow.cli import cli
from places import ROOT

SCRIPT = ROOT / "scripts" / "smoke.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="a source distribution")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("smoke", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "smoke", module)
    spec.loader.exec_module(module)
    return module


def test_every_command_is_used(script: ModuleType) -> None:
    used = {use.arguments[0] for use in script.all_uses()} | {"serve"}
    assert used == set(cli.list_commands(None))


def test_the_commands_are_those_of_the_help(script: ModuleType, tmp_path: Path) -> None:
    smoke = script.Smoke([sys.executable, "-m", "hedgerow"], tmp_path)
    assert set(smoke.commands()) == set(cli.list_commands(None))


def test_an_output_that_is_not_as_expected_is_a_failure(script: ModuleType, tmp_path: Path) -> None:
    smoke = script.Smoke([sys.executable, "-c", "print('winter')"], tmp_path)
    smoke.check("right", script.Use([], "^winter$"))
    assert smoke.failures == []
    smoke.check("other", script.Use([], "^summer$"))
    smoke.check("code", script.Use([], "^winter$", code=1))
    smoke.check("extra", script.Use(["extra"], "^winter$", needs="no_such_package"))
    assert len(smoke.failures) == 3
    assert smoke.without == ["extra"]
