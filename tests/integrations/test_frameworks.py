"""The integrations without their frameworks. `make test-extras` runs the tests with them."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import hedgerow as hr

FRAMEWORKS = [
    ("langchain", "langchain", "langchain_core", "langchain-core"),
    ("llama_index", "llama-index", "llama_index", "llama-index-core"),
    ("llama_index", "llama-index", "llama_index.core", "llama-index-core"),
]


@pytest.mark.parametrize(("module", "extra", "missing", "package"), FRAMEWORKS)
def test_a_missing_framework_is_named_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, module: str, extra: str, missing: str, package: str
) -> None:
    """Also if only the framework's core is missing and its other packages are installed."""

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name.startswith(missing.partition(".")[0]):
                raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    name = f"hedgerow.integrations.{module}"
    for imported in [*sys.modules]:
        if imported == name or imported.startswith(missing.partition(".")[0]):
            monkeypatch.delitem(sys.modules, imported)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(hr.MissingExtraError) as raised:
        importlib.import_module(name)
    assert str(raised.value) == (
        f"{name} needs the package {package}, which is not installed and comes with the extra "
        f'"{extra}"; run: pip install "hedgerow[{extra}]"'
    )


def test_hedgerow_imports_no_framework() -> None:
    code = "import hedgerow, hedgerow.integrations, sys; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in done.stdout.split()}
    assert not roots & {"langchain_core", "llama_index", "pydantic"}
    assert "hedgerow.integrations.langchain" not in done.stdout
