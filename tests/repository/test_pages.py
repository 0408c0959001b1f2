"""The documentation is correct: its examples are run, parsed or sent, and the results are compared.

Blocks of Python and of the console are run, here or by a suite that has their dependencies. Blocks
of `sh` are parsed in test_page_commands.py. A block below a file name is a file for the other
blocks. `READ` parses all the rest.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from places import ROOT
from scenes import scene_of
from shown import Block, blocks_of, is_output, pages, prose_of, run_page
from shown_commands import commands_of
from shown_data import READ, as_curl_sends_it

in_the_repository = pytest.mark.skipif(
    not (ROOT / "Makefile").exists(), reason="a source distribution lacks pages"
)

# Blocks that match a pattern are run by another suite, which has their dependencies.
ELSEWHERE = {
    "README.md": ("tests/extras/test_readme_with_a_model.py", "--embedder local"),
    "docs/frameworks.md": ("tests/extras/test_pages.py", r"hedgerow\.integrations"),
    "docs/ray.md": ("tests/ray/test_pages.py", r"search_many\("),
    "spec/opensearch.md": ("tests/cluster/test_pages.py", "Collection"),
}
# Languages that another program checks.
BY_OTHERS = {
    ("clients/typescript/README.md", "ts"): "tests/typescript/test_client.py",
    ("docs/site/api.md", "{eval-rst}"): "Makefile",
    ("docs/commands.md", "bash"): "tests/repository/test_command_reference.py",
}
ALL = [block for page in pages() for block in blocks_of(page)]


def is_run_here(block: Block) -> bool:
    _, without = ELSEWHERE.get(block.page, (None, None))
    is_code = block.language in {"console", "python"}
    return is_code and (without is None or not re.search(without, block.text))


def needs_a_shell() -> None:
    if sys.platform == "win32":
        pytest.skip("the console blocks are for a POSIX shell")


RUN = sorted({block.page for block in ALL if is_run_here(block)})


@pytest.mark.parametrize("page", RUN)
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    if any(block.language == "console" for block in blocks_of(page)):
        needs_a_shell()
    _, without = ELSEWHERE.get(page, (None, None))
    with scene_of(page, tmp_path) as scene, run_page(page, tmp_path, scene.names, without) as run:
        assert run.printed == run.shown


@pytest.mark.parametrize(
    "block",
    [block for block in ALL if (block.page, block.language) in READ and not block.file],
    ids=str,
)
def test_data_is_what_its_reader_takes(block: Block, tmp_path: Path) -> None:
    READ[block.page, block.language](block, tmp_path)


@in_the_repository
def test_requests_of_curl_are_answered(tmp_path: Path) -> None:
    """Each request gets a response from the server that its page describes."""
    calls = [
        (block.page, words)
        for block in ALL
        if block.language == "sh"
        for program, *words in commands_of(block.text)
        if program == "curl"
    ]
    assert [page for page, _ in calls] == ["docs/service.md"]
    for page, words in calls:
        with scene_of(page, tmp_path):
            answer = as_curl_sends_it(words)
            assert answer.status_code == httpx.codes.OK, answer.text
            assert answer.json()["results"] != []


@in_the_repository
def test_no_block_escapes() -> None:
    """Every block has a language that is run or parsed. A new language needs an entry in `READ`."""
    loose = [
        f"{block}: {block.language or 'no language'}"
        for block in ALL
        if block.language not in ("python", "console", "sh", "text")
        and not block.file
        and (block.page, block.language) not in {*READ, *BY_OTHERS}
    ]
    assert loose == []
    fences = [page for page in pages() if re.search("^ *(```|~~~)", prose_of(page), re.MULTILINE)]
    assert fences == [], "an indented block, which nothing reads"
    there = {(block.page, block.language) for block in ALL}
    assert {*READ, *BY_OTHERS} <= there, "an entry of a block that is gone"
    assert {*ELSEWHERE} <= {block.page for block in ALL if not is_run_here(block)}


def test_a_wrong_page_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong page must fail the tests above."""
    needs_a_shell()
    text = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```console\n$ echo 4\n5\n```\n"
    (tmp_path / "page.md").write_text(text)
    monkeypatch.setattr("shown.ROOT", tmp_path)
    with run_page("page.md", tmp_path, {}) as run:
        assert run.shown.replace("3", "2").replace("5\n", "4\n") == run.printed
        assert run.shown != run.printed


@in_the_repository
def test_the_service_of_its_page_answers(tmp_path: Path) -> None:
    needs_a_shell()
    page = "docs/service.md"
    with (
        scene_of(page, tmp_path) as scene,
        run_page(page, tmp_path, scene.names) as run,
        TestClient(run.names["app"]) as client,
    ):
        answer = client.get("/search", params={"query": "winter feeding"})
    assert answer.json()["results"][0]["path"] == "notes/garden/hedgehogs.md"


def test_text_is_what_python_prints_or_a_diagram() -> None:
    found = [
        str(block)
        for page in pages()
        for before, block in pairwise([None, *blocks_of(page)])
        if block is not None and block.language == "text" and not block.file
        if not is_output(before) and not re.search("[─├]", block.text)
    ]
    assert found == []


def test_files_that_a_page_shows_are_used_by_it() -> None:
    for page in pages():
        blocks = blocks_of(page)
        for place, block in enumerate(blocks):
            if block.file:
                later = "".join(other.text for other in blocks[place + 1 :])
                named = Path(block.file).name, str(Path(block.file).parent)
                assert any(name in later for name in named if name != "."), f"{block}: {block.file}"


@in_the_repository
@pytest.mark.parametrize(("page", "file"), [(page, file) for page, (file, _) in ELSEWHERE.items()])
def test_what_is_run_elsewhere_is_run_there(page: str, file: str) -> None:
    assert f'"{page}"' in (ROOT / file).read_text(encoding="utf-8")


@in_the_repository
def test_every_page_is_on_the_site() -> None:
    """Every page is in the table of contents, except one that only readers of those tests need."""
    folder = ROOT / "docs" / "site"
    listed = {"docs/site/index.md"}
    for block in blocks_of("docs/site/index.md"):
        for line in block.text.splitlines():
            if line and not line.startswith(":"):
                found = folder.glob(f"{line}.md") if "*" in line else [folder / f"{line}.md"]
                listed.update(os.path.relpath(os.path.normpath(file), ROOT) for file in found)
    assert set(pages()) - {name.replace(os.sep, "/") for name in listed} == {
        "tests/faults/README.md"
    }
