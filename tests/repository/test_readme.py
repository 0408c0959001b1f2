"""The README is true: what it shows is run, and what it prints is compared."""

import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import hedgerow as hr
from places import ROOT
from shown import run_console, run_python

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

not_in_a_source_distribution = pytest.mark.skipif(
    not (ROOT / "Makefile").exists(), reason="a source distribution has no Makefile"
)


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


def commands(shell: str) -> list[str]:
    return [line.split("#")[0].strip() for line in shell.splitlines()]


def test_every_block_is_of_a_kind_that_is_verified() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "text", "console", "sh"}
    before_text = {before for (before, _), (after, _) in pairwise(BLOCKS) if after == "text"}
    assert before_text == {"python"}


def test_python_prints_what_is_shown() -> None:
    """In the order of the README and in one namespace, as a reader would type it."""
    namespace: dict[str, object] = {}
    shown = printed = ""
    for language, text in BLOCKS:
        if language == "python":
            printed += f"{text}---\n{run_python(text, 'README.md', namespace)}"
            shown += f"{text}---\n"
        elif language == "text":
            shown += text
    assert printed == shown


@pytest.mark.skipif(sys.platform == "win32", reason="the console blocks are for a POSIX shell")
def test_the_console_prints_what_is_shown(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    console = blocks("console")
    printed = "".join(run_console(block, tmp_path) for block in console)
    printed = printed.replace(str(tmp_path.resolve()), "~/garden")
    assert without_times(printed) == without_times("".join(console))


def without_times(text: str) -> str:
    """Take out what a clock says: durations, days and times of day."""
    text = re.sub(r" *\d+\.\d\d ms\b", " 0.00 ms", text)
    text = re.sub(r"\d+\.\d s\b", "0.0 s", text)
    return re.sub(r"20\d\d-\d\d-\d\d(T[\d:.]+Z)?", "day", text)


@not_in_a_source_distribution
def test_the_build_commands_are_those_that_ci_runs() -> None:
    ci = [line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()]
    shown = [command for block in blocks("sh") for command in commands(block)]
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
    [table] = re.findall(
        r"^\| query \| finds \| runs \|\n\|.*\n((?:\|.*\n)+)", README, re.MULTILINE
    )
    rows = [
        [cell.strip().strip("`") for cell in row.strip("|").split("|")]
        for row in table.splitlines()
    ]
    assert {query: hr.compile_match(query) for query, _, _ in rows} == {
        query: runs for query, _, runs in rows
    }


@not_in_a_source_distribution
@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
)
def test_links_into_the_repository_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [target for target in targets if not (ROOT / target).exists()] == []
