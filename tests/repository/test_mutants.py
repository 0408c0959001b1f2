"""Mutation testing: the sample of scripts/mutants.py, and the exclusions in .cargo/mutants.toml."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIGURATION = ROOT / ".cargo" / "mutants.toml"

pytestmark = pytest.mark.skipif(not CONFIGURATION.exists(), reason="a source distribution")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changes(line: int, functions: range) -> list[dict[str, object]]:
    """Return five changes of each function, in the format of `cargo mutants --list --json`."""
    return [
        {
            "name": f"a.rs:{line + number}:{5 + change}: replace {change} in f{number}",
            "file": "a.rs",
            "function": {"function_name": f"f{number}"},
        }
        for number in functions
        for change in range(5)
    ]


def without_lines(names: list[str]) -> list[str]:
    return [re.sub(r":\d+:\d+:", "", name) for name in names]


def test_a_sample_has_few_changes_of_each_function(script: ModuleType) -> None:
    names = script.sample(changes(1, range(20)), 30, 7)
    assert len(set(names)) == 30
    functions = [name.rsplit(" ", 1)[1] for name in names]
    assert max(map(functions.count, functions)) == script.IN_A_FUNCTION
    assert script.sample(changes(1, range(20)), 30, 7) == names
    assert script.sample(changes(1, range(20)), 30, 8) != names
    assert script.sample(changes(1, range(20)), 12, 7) == names[:12]


def test_other_lines_and_other_functions_leave_a_sample_as_it_is(script: ModuleType) -> None:
    before = script.sample(changes(1, range(20)), 60, 7)
    after = script.sample(changes(100, range(21)), 63, 7)
    kept = [name for name in without_lines(after) if not name.endswith(" f20")]
    assert kept == without_lines(before)


def test_what_is_left_out_is_there() -> None:
    configuration = tomllib.loads(CONFIGURATION.read_text("utf-8"))
    for pattern in configuration["exclude_globs"]:
        assert list(ROOT.glob(pattern)), pattern
    for pattern in configuration.get("exclude_re", []):
        found = re.fullmatch(r"\^(rust/\S+\.rs):.* in (?:.*::)?(\w+)\$", pattern)
        assert found, f"name a file and a function, as ^rust/.../file.rs:.* in function$: {pattern}"
        source = (ROOT / found[1].replace("\\", "")).read_text("utf-8")
        assert re.search(rf"\bfn {found[2]}\b", source), pattern
