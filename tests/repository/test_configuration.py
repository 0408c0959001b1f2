"""docs/configuration.md names exactly the variables and keys that the package reads."""

from __future__ import annotations

import re

import pytest

from hedgerow.memory.config import _FIELDS
from hedgerow.memory.identity import _FILE
from places import ROOT

PAGE = ROOT / "docs" / "configuration.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="a source distribution")

SOURCES = {
    file: file.read_text(encoding="utf-8") for file in (ROOT / "python" / "hedgerow").rglob("*.py")
}
# Variables that libraries read themselves.
OTHERS = {"HF_HOME", "HF_HUB_CACHE", "NO_COLOR", "SSL_CERT_FILE", "SSL_CERT_DIR"}
# click's own variable for shell completion, documented in docs/cli.md.
COMPLETION = {"HEDGEROW_COMPLETE"}


def named_on_the_page() -> set[str]:
    rows = re.findall(r"^\| (`[A-Z_`, ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


def in_the_sources() -> set[str]:
    """Return the variables of hedgerow in the sources, and those read from the environment."""
    found: set[str] = set()
    for text in SOURCES.values():
        found.update(re.findall(r'"_?(HEDGEROW_[A-Z_]+)"', text))
        found.update(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', text))
        found.update(re.findall(r'"((?:HF_HUB|TRANSFORMERS)_OFFLINE|OPENAI_API_KEY)"', text))
    return found - COMPLETION


def test_every_variable_is_on_the_page() -> None:
    assert len(in_the_sources()) > 8
    assert in_the_sources() - named_on_the_page() == set()


def test_the_page_has_no_variable_that_nobody_reads() -> None:
    assert named_on_the_page() - in_the_sources() == OTHERS


def test_the_keys_of_a_root_are_on_the_page() -> None:
    read = {"schemaVersion", *_FIELDS}
    section = PAGE.read_text(encoding="utf-8").split("## Files of a root")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[\w`, ]+) \|", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == read


def test_the_files_of_a_user_are_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in ("trust.json", "tokens/", _FILE):
        assert f"| `{name}` |" in text
