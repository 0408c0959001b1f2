"""The table of names is fresh: scripts/write_calendar_names.py writes it from the CLDR."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "rust/engine/src/calendar/names.txt"
EXCERPT = ROOT / "tests/data/calendar_names.json"
"""English and Chinese of the CLDR (Unicode-3.0), without fields that the script does not read."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    file = ROOT / "scripts/write_calendar_names.py"
    spec = importlib.util.spec_from_file_location("write_calendar_names", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(body: str) -> dict[str, list[str]]:
    """Return the phrases of each meaning."""
    lines = (line.split("\t") for line in body.splitlines() if not line.startswith("#"))
    return {meaning: phrases for meaning, *phrases in lines}


def test_nobody_edited_the_table() -> None:
    head, digest, body = TABLE.read_text(encoding="utf-8").split("\n", 2)
    assert head.startswith("# CLDR ")
    assert digest == f"# sha256 {hashlib.sha256(body.encode()).hexdigest()}"


def test_an_excerpt_gives_the_rows_of_its_languages(script: ModuleType) -> None:
    excerpt = json.loads(EXCERPT.read_text(encoding="utf-8"))
    written = rows(script.names_of(excerpt["dates"], excerpt["numbers"]))
    table = rows(TABLE.read_text(encoding="utf-8"))
    assert written["relative week -1"] == ["en:last week", "en:week ago", "zh:上周"]
    assert written["sign day"] == ["zh:日"]
    for meaning, phrases in written.items():
        assert set(phrases) <= set(table[meaning]), meaning
    assert len(written) > 80


def test_a_phrase_has_one_meaning(script: ModuleType) -> None:
    excerpt = json.loads(EXCERPT.read_text(encoding="utf-8"))
    excerpt["dates"]["en"]["fields"]["day"]["relative-type--1"] = "Last Week"
    with pytest.raises(SystemExit, match=r"several meanings: .*last week"):
        script.names_of(excerpt["dates"], excerpt["numbers"])
