"""Rules for every file in the repository."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from places import ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None, reason="not a git checkout"
)

# A folder of one machine, or the host of a package registry, which a mirror would replace.
FORBIDDEN = re.compile(
    r"(?<![\w.~-])/(home|root|work|mnt|Users)/[a-z]|\b(pypi\.org|pythonhosted\.org|crates\.io/)"
)


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def test_nothing_points_into_one_machine_or_at_a_registry() -> None:
    found = []
    for path in tracked():
        if path.name == "Cargo.lock" or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            if FORBIDDEN.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert found == []


def test_nothing_that_is_built_is_tracked() -> None:
    built = {".so", ".pyd", ".whl", ".pyc", ".db", ".sqlite"}
    assert [path for path in tracked() if path.suffix in built] == []
