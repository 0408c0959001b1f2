"""`--report`: the content of the file, the files it may replace, and errors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import as_json, failed, ok
from hedgerow._page import page

SEARCH = ("search", "hedge", "--db")


def data_of(file: Path) -> Any:
    found = re.search(r'id="data">(.*?)</script>', file.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_it_has_what_json_and_explain_have(hedges: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.html"
    said = ok(*SEARCH, str(hedges), "--report", str(file))
    assert said.endswith(f"Report: {file}\n")
    data = data_of(file)
    told = as_json(*SEARCH, str(hedges), "--explain")
    del data["answer"]["trace"]["timings"], told["trace"]["timings"]
    assert data["answer"] == told
    assert data["about"]["kind"] == "index"
    assert data["about"]["name"] == "hedges.db"


def test_highlights_are_spans_of_code_points(hedges: Path) -> None:
    query = ("search", '"изгородь" OR hawthorn', "--mode", "bm25", "--db", str(hedges), "--explain")
    for hit in as_json(*query)["results"]:
        for field in ("title", "snippet", "content"):
            for start, end in hit["highlights"][field]:
                assert hit[field][start:end].lower() in {"изгородь", "hawthorn"}


def test_it_is_named_in_json(hedges: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "found.html")
    assert as_json(*SEARCH, str(hedges), "--report", file)["report"] == file


@pytest.mark.parametrize("command", [("recall", "--topic"), ("search",)])
def test_that_of_a_root_has_its_links(
    garden: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "found.html"
    args = (*command, "slugs", "--root", str(garden), "--report", str(file))
    assert ok(*args).endswith(f"\nReport: {file}\n")
    data = data_of(file)
    assert data["about"]["kind"] == "root"
    assert data["answer"]["trace"]["matchQuery"] == '"slugs"'
    links = data["links"]["garden/slugs.md"]
    assert links["nodes"] | {"garden/hedgehogs.md": 1, "garden/compost.md": 1} == links["nodes"]
    assert as_json(*args)["report"] == str(file)


def test_a_report_replaces_another(hedges: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.html"
    file.write_text(page(None), encoding="utf-8")
    ok(*SEARCH, str(hedges), "--report", str(file))
    assert data_of(file)["answer"]["query"] == "hedge"
    assert list(tmp_path.iterdir()) == [file]


def test_anything_else_is_left_alone(hedges: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.html"
    file.write_text("<!doctype html>mine")
    said = failed(2, *SEARCH, str(hedges), "--report", str(file))
    assert "is no report of hedgerow's; give another file, or remove that one" in said
    assert file.read_text() == "<!doctype html>mine"


def test_a_folder_is_no_report(hedges: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    said = failed(2, *SEARCH, str(hedges), "--report", str(tmp_path / "folder.html"))
    assert "is no report of hedgerow's" in said


@pytest.mark.skipif(sys.platform == "win32", reason="links are for administrators there")
def test_a_link_is_not_written_through(hedges: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page(None), encoding="utf-8")
    (tmp_path / "link.html").symlink_to(file)
    said = failed(2, *SEARCH, str(hedges), "--report", str(tmp_path / "link.html"))
    assert "is no report of hedgerow's" in said
    assert data_of(file) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("found.pdf", "give a file that ends in .html, not"),
        ("nowhere/found.html", "nowhere; make it first"),
    ],
)
def test_a_place_where_no_report_can_be_is_named(
    hedges: Path, tmp_path: Path, name: str, said: str
) -> None:
    assert said in failed(2, *SEARCH, str(hedges), "--report", str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_told(
    hedges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hedgerow.memory.files.os.open", refuse)
    said = failed(1, *SEARCH, str(hedges), "--report", str(tmp_path / "found.html"))
    assert "No space left on device; check permissions and free space" in said
