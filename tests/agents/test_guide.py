"""docs/agents.md works: its files are written and its code and commands run, in order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from places import ROOT
from shown import run_console, run_python

GUIDE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"(?:^`(?P<file>\S+)`:\n\n)?^(?P<fence>```+)(?P<kind>\w+)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


def without_times(text: str) -> str:
    text = re.sub(r"hedgerow [0-9a-f]{16}$", "hedgerow 5d1c8e0f9ab34276", text, flags=re.MULTILINE)
    return re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d", "2026-04-18 09:30", text)


@pytest.mark.skipif(sys.platform == "win32", reason="the console blocks are for a POSIX shell")
def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEDGEROW_MODEL_URL", raising=False)
    namespace: dict[str, object] = {}
    printed = ""
    kinds = set()
    for block in BLOCK.finditer(GUIDE):
        kind, text = block["kind"], block["text"]
        kinds.add(kind)
        if block["file"]:
            file = tmp_path / block["file"]
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif kind == "python":
            printed = run_python(text, "docs/agents.md", namespace)
        elif kind == "text":
            assert printed == text
        elif kind == "console":
            assert without_times(run_console(text, tmp_path)) == without_times(text)
    namespace["store"].close()  # type: ignore[attr-defined]
    assert kinds == {"python", "text", "console", "sh", "toml", "markdown"}
