"""The README is short, its commands are those of CI, and links on all pages are valid."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import hedgerow as hr
from places import ROOT
from shown import BLOCK, blocks_of, pages, prose_of

pytestmark = pytest.mark.skipif(
    not (ROOT / "Makefile").exists(), reason="a source distribution has no Makefile"
)


def blocks(page: str, language: str) -> list[str]:
    return [block.text for block in blocks_of(page) if block.language == language]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_snippet_for_agents_is_that_of_its_page() -> None:
    [shown] = blocks("README.md", "json")
    assert json.loads(shown) == json.loads(blocks("docs/mcp.md", "json")[0])


def test_the_build_commands_are_those_that_ci_runs() -> None:
    ci = [line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()]
    shown = [
        line.split("#")[0].strip()
        for block in blocks("README.md", "sh")
        for line in block.splitlines()
    ]
    assert shown == ["make try", "make test", "pip install ."]
    assert set(shown) <= set(ci)


def test_the_table_of_queries() -> None:
    text = (ROOT / "docs/library.md").read_text(encoding="utf-8")
    [table] = re.findall(r"^\| query \| finds \| runs \|\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [
        [cell.strip().strip("`") for cell in row.strip("|").split("|")]
        for row in table.splitlines()
    ]
    assert {query: hr.compile_match(query) for query, _, _ in rows} == {
        query: runs for query, _, runs in rows
    }


@pytest.mark.parametrize("page", pages())
def test_links_into_the_repository_lead_somewhere(page: str) -> None:
    file = ROOT / page
    found = re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)", without_code(page))
    wrong = []
    for target, anchor in found:
        leads_to = file.parent / target if target else file
        if not leads_to.exists() or (anchor and anchor[1:] not in anchors(leads_to)):
            wrong.append(target + anchor)
    assert wrong == []


@pytest.mark.parametrize("page", pages())
def test_links_to_elsewhere_are_well_formed(page: str) -> None:
    """Check for https and a host name. Whether they respond needs a network, and is not tested."""
    text = without_code(page)
    found = re.findall(r"\]\((\w+:[^)\s]*)\)", text) + re.findall(r"<(\w+://[^>]*)>", text)
    for url in found:
        parts = urlsplit(url)
        assert (parts.scheme, parts.username, parts.port) == ("https", None, None), url
        assert re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc), url
        assert re.fullmatch(r"[\w./%~+-]*", parts.path), url


def without_code(page: str) -> str:
    return re.sub(r"`[^`\n]*`", "", prose_of(page))


def anchors(file: Path) -> set[str]:
    """Return the anchors of a page's headings, as Markdown hosts generate them."""
    text = BLOCK.sub("", file.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).strip().replace(" ", "-") for one in headings}
