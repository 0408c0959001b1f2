"""Commands whose caller closed standard input, output or error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow as hr
from waiting import LONGEST

PROGRAM = "from hedgerow.cli import main; main()"


def shell(command: str, redirected: str) -> subprocess.CompletedProcess[str]:
    """Run a command of hedgerow with streams redirected by a shell."""
    line = f'exec "{sys.executable}" -c "{PROGRAM}" {command} {redirected}'
    return subprocess.run(
        ["sh", "-c", line], timeout=LONGEST, capture_output=True, text=True, check=False
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    hr.MemoryRoot.initialize(tmp_path / "memory")
    return tmp_path / "memory"


@pytest.mark.skipif(sys.platform == "win32", reason="sh closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_commands_do_their_work(root: Path, closed: str) -> None:
    for command in (f"list --root {root}", f"recall slugs --root {root} --json", "help all"):
        done = shell(command, closed)
        assert (done.returncode, done.stderr) == (0, "")
    done = shell(f"remember 'Moles dig.' --title Moles --root {root}", closed)
    assert (done.returncode, done.stderr) == (0, "")
    with hr.MemoryRoot.open(root) as memory:
        assert memory.list().count == 1


@pytest.mark.skipif(sys.platform == "win32", reason="sh closes the streams")
@pytest.mark.parametrize("closed", ["<&-", ">&- </dev/null"])
def test_mcp_ends_without_a_client(root: Path, closed: str) -> None:
    done = shell(f"mcp --root {root}", closed)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
