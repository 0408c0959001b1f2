"""The README and the pages it leads to are true: what they show is run, and what it prints compared."""

import json
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import hedgerow as hr
from places import ROOT
from shown import run_console, run_python

DOCUMENTS = {
    file.relative_to(ROOT).as_posix()
    for place in ("docs", "spec")
    for file in (ROOT / place).rglob("*.md")
    if file.parts[-2] not in ("site", "fixtures")
}
PAGES = [
    "README.md",
    "docs/library.md",
    "docs/memory.md",
    *sorted(
        page
        for page in DOCUMENTS
        if page.startswith(("docs/tutorials/", "docs/how-to/", "docs/explanation/"))
    ),
]

MODEL = "sentence-transformers:"
"""In blocks that need a model, which tests/extras/test_readme_with_a_model.py runs."""


def blocks_of(page: str) -> list[tuple[str, str]]:
    """The blocks of a page, each with its language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


not_in_a_source_distribution = pytest.mark.skipif(
    not (ROOT / "Makefile").exists(), reason="a source distribution has no Makefile"
)


def blocks(page: str, language: str) -> list[str]:
    return [text for found, text in blocks_of(page) if found == language]


def commands(shell: str) -> list[str]:
    return [line.split("#")[0].strip() for line in shell.splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_verified(page: str) -> None:
    found = blocks_of(page)
    assert {language for language, _ in found} <= {"python", "text", "console", "sh", "json"}
    before_text = {before for (before, _), (after, _) in pairwise(found) if after == "text"}
    assert before_text <= {"python"}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_snippet_for_agents_is_that_of_its_page() -> None:
    [shown] = blocks("README.md", "json")
    assert json.loads(shown) == json.loads(blocks("docs/mcp.md", "json")[0])


@pytest.mark.parametrize("page", PAGES)
def test_python_prints_what_is_shown(page: str) -> None:
    """In the order of the page and in one namespace, as a reader would type it."""
    namespace: dict[str, object] = {}
    shown = printed = ""
    for language, text in blocks_of(page):
        if language == "python":
            printed += f"{text}---\n{run_python(text, page, namespace)}"
            shown += f"{text}---\n"
        elif language == "text":
            shown += text
    assert printed == shown


@pytest.mark.skipif(sys.platform == "win32", reason="the console blocks are for a POSIX shell")
@pytest.mark.parametrize("page", PAGES)
def test_the_console_prints_what_is_shown(page: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    console = [block for block in blocks(page, "console") if MODEL not in block]
    printed = "".join(run_console(block, tmp_path) for block in console)
    printed = printed.replace(str(tmp_path.resolve()), "~/garden")
    assert without_times(printed) == without_times("".join(console))


def without_times(text: str) -> str:
    """Take out what a clock says, and sizes, which depend on the names of folders."""
    text = re.sub(r" *\d+\.\d\d ms\b", " 0.00 ms", text)
    text = re.sub(r"\d+\.\d (s|KB)\b", r"0.0 \1", text)
    text = re.sub(r"(\d\.\d{4} +)\d+\.\d\d$", r"\g<1>0.00", text, flags=re.MULTILINE)
    return re.sub(r"20\d\d-\d\d-\d\d(T[\d:.]+Z)?", "day", text)


@not_in_a_source_distribution
def test_the_build_commands_are_those_that_ci_runs() -> None:
    ci = [line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()]
    shown = [command for block in blocks("README.md", "sh") for command in commands(block)]
    assert shown == ["make try", "make test", "pip install ."]
    assert set(shown) <= set(ci)


@not_in_a_source_distribution
def test_the_targets_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [targets] = re.findall(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = set(re.findall(r"\bmake ([a-z-]+)(?=[` ])", text))
    assert named >= {"test", "lint", "wheels", "fuzz", "clean"}
    assert named <= set(targets.split())


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


@not_in_a_source_distribution
@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", *sorted(DOCUMENTS)],
)
def test_links_into_the_repository_lead_somewhere(document: str) -> None:
    file = ROOT / document
    found = re.findall(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)", without_code(file))
    wrong = []
    for target, anchor in found:
        leads_to = file.parent / target if target else file
        if not leads_to.exists() or (anchor and anchor[1:] not in anchors(leads_to)):
            wrong.append(target + anchor)
    assert wrong == []


def without_code(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(file: Path) -> set[str]:
    """The anchors of the headings of a page, as hosts of Markdown make them."""
    text = re.sub(
        r"^ *```.*?^ *```$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).strip().replace(" ", "-") for one in headings}
