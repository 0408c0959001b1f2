"""docs/commands.md matches the current commands and options."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from places import ROOT

CLICK = tuple(map(int, importlib.metadata.version("click").split(".")[:2]))


@pytest.mark.skipif(CLICK < (8, 2), reason="earlier versions of click write choices in another way")
def test_the_page_is_fresh() -> None:
    script = ROOT / "scripts" / "write_command_reference.py"
    program = f"import runpy; print(runpy.run_path({str(script)!r})['page'](), end='')"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    page = (ROOT / "docs" / "commands.md").read_bytes()
    assert page == made.stdout, "run: python scripts/write_command_reference.py"
