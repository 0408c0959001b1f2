"""Daily notes get their date from their file name, in the vault's configured format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import as_json, failed, ok
from hedgerow import MemoryRoot
from memory_doubles import put

BEES = "Talked about bees.\n"


def days(root: Path) -> dict[str, str | None]:
    """Return the date of each memory about bees."""
    with MemoryRoot.open(root) as opened:
        found = opened.context("bees", limit=50, budget=20_000)
        return {one.file: one.date for one in found.passages}


def ages(root: Path) -> dict[str, float | None]:
    """Return the recency weight of each memory at 2026-05-18, 30 days after 2026-04-18.

    Without a time it is 0.5.
    """
    with MemoryRoot.open(root) as opened:
        found = opened.recall("bees", limit=50, recency="30d", as_of="2026-05-18T00:00Z")
        return {one.file: one.parts.recency_weight for one in found}


@pytest.mark.parametrize("name", ["2026-04-18", "2026_04_18", "2026.04.18", "20260418"])
def test_names_that_begin_with_the_year_are_days_in_any_root(tmp_path: Path, name: str) -> None:
    MemoryRoot.init(tmp_path)
    put(tmp_path, f"notes/{name}.md", BEES)
    put(tmp_path, f"notes/{name}0.md", BEES)
    with MemoryRoot.open(tmp_path) as opened:
        found = opened.recall("bees from before 2026-04-19", before="2026-04-19")
        assert [one.file for one in found] == [f"notes/{name}.md"]


def test_a_name_that_may_mean_two_days_has_no_time_and_doctor_says_so(tmp_path: Path) -> None:
    MemoryRoot.init(tmp_path)
    put(tmp_path, "notes/05-04-2026.md", BEES)
    put(tmp_path, "notes/06-04-2026.md", "---\ndate: 2026-04-06\n---\n" + BEES)
    put(tmp_path, "notes/18-04-2026.md", BEES)
    with MemoryRoot.open(tmp_path) as opened:
        found = opened.recall("bees", after="2020", limit=9)
        assert {one.file for one in found} == {"notes/06-04-2026.md", "notes/18-04-2026.md"}
    problems = as_json("doctor", "--root", str(tmp_path))["files"]["problems"]
    assert [one["path"] for one in problems] == ["notes/05-04-2026.md"]
    assert "its name may mean 2026-04-05 or 2026-05-04" in problems[0]["reason"]
    assert '"dailyNotes": "DD-MM-YYYY"' in problems[0]["reason"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"daily-notes.json": '{"format": "DD-MM-YYYY", "folder": "Daily"}'}, "2026-04-05"),
        ({"daily-notes.json": '{"format": "MM-DD-YYYY"}'}, "2026-05-04"),
        ({"daily-notes.json": '{"format": ""}'}, None),
        ({"daily-notes.json": "{"}, None),
        (
            {
                "daily-notes.json": '{"format": "MM-DD-YYYY"}',
                "plugins/periodic-notes/data.json": '{"daily": {"enabled": true, "format": "DD-MM-YYYY"}}',
            },
            "2026-04-05",
        ),
        ({"plugins/periodic-notes/data.json": '{"daily": {"format": "DD-MM-YYYY"}}'}, None),
    ],
)
def test_the_format_of_obsidian_decides(
    tmp_path: Path, settings: dict[str, str], expected: str | None
) -> None:
    (tmp_path / ".obsidian").mkdir()
    for file, text in settings.items():
        put(tmp_path, f".obsidian/{file}", text)
    put(tmp_path, "Daily/05-04-2026.md", BEES)
    MemoryRoot.initialize(tmp_path)
    assert days(tmp_path) == {"Daily/05-04-2026.md": expected}
    problems = as_json("doctor", "--root", str(tmp_path))["files"]["problems"]
    assert bool(problems) is (expected is None)


def test_the_format_of_logseq_decides_and_names_its_pages(tmp_path: Path) -> None:
    put(tmp_path, "logseq/config.edn", '{:journal/file-name-format "dd-MM-yyyy"}\n')
    put(tmp_path, "journals/05-04-2026.md", "- bees\n")
    put(tmp_path, "pages/Hedge.md", "- see [[Apr 5th, 2026]]\n")
    MemoryRoot.initialize(tmp_path)
    assert days(tmp_path) == {"journals/05-04-2026.md": "2026-04-05"}
    assert as_json("doctor", "--root", str(tmp_path))["links"]["unresolved"] == []
    with MemoryRoot.open(tmp_path) as opened:
        assert opened.show("2026-04-05").file == "journals/05-04-2026.md"


@pytest.mark.parametrize(
    ("setting", "title"),
    [
        (':journal/page-title-format "EEEE, dd.MM.yyyy"', "Saturday, 18.04.2026"),
        (':journal/page-title-format "E, MM/dd/yyyy"', "Sat, 04/18/2026"),
        (':journal/page-title-format "EEE, yyyy/MM/dd"', "Sat, 2026/04/18"),
        (':journal/page-title-format "do MMMM yyyy"', "18th April 2026"),
        (':journal/page-title-format "yyyy-MM-dd EEEE"', "2026-04-18 Saturday"),
        (':journal/page-title-format "yyyy年MM月dd日"', "2026年04月18日"),
        (":journal/page-title-format \"'day' d-M-yyyy\"", "day 18-4-2026"),
        (':date-formatter "MM_dd_yyyy"', "04_18_2026"),
        (':journal/page-title-format "MMMM do, yyyy"\n :date-formatter "yyyy"', "April 18th, 2026"),
        (';; :journal/page-title-format "yyyyMMdd"', "Apr 18th, 2026"),
        (':journal/page-title-format "dd-MM-yyyy"', "Apr 18th, 2026"),
        (':journal/page-title-format "yyyy"', "2026-04-18"),
    ],
)
@pytest.mark.parametrize("names", ['"yyyy_MM_dd"', '"dd.MM.yyyy"', None])
def test_links_name_a_journal_by_its_title(
    tmp_path: Path, setting: str, title: str, names: str | None
) -> None:
    of_file = "" if names is None else f"\n :journal/file-name-format {names}"
    put(tmp_path, "logseq/config.edn", f"{{:meta/version 1\n {setting}{of_file}\n}}\n")
    journal = "journals/18.04.2026.md" if names == '"dd.MM.yyyy"' else "journals/2026_04_18.md"
    put(tmp_path, journal, "- bees\n")
    put(tmp_path, "pages/Hedge.md", f"- see [[{title}]]\n")
    with MemoryRoot.init(tmp_path) as root:
        assert [edge[:2] for edge in root.graph().edges] == [("pages/Hedge.md", journal)]
        assert root.resolve(title.lower()) == journal
    doctor = as_json("doctor", "--root", str(tmp_path))
    assert doctor["links"]["unresolved"] == []
    problems = [one["reason"] for one in doctor["files"]["problems"]]
    assert len(problems) == ('"yyyy"' in setting and "MMMM" not in setting)
    assert all(one.startswith("the format of the titles of daily notes 'YYYY'") for one in problems)


def test_a_changed_format_of_titles_is_read_with_the_next_query(tmp_path: Path) -> None:
    put(tmp_path, "logseq/config.edn", "{}")
    put(tmp_path, "journals/2026_04_18.md", "- bees\n")
    put(tmp_path, "pages/Hedge.md", "- see [[18.04.2026]]\n")
    with MemoryRoot.init(tmp_path) as root:
        assert root.graph().edges == ()
        put(tmp_path, "logseq/config.edn", '{:journal/page-title-format "dd.MM.yyyy"}')
        assert len(root.graph().edges) == 1
        put(tmp_path, "logseq/config.edn", '{:journal/page-title-format "d.M.yyyy"}')
        assert root.graph().edges == ()


@pytest.mark.parametrize(
    ("format_", "file", "links"),
    [
        ("DD-MM-YYYY", "Daily/18-04-2026.md", ["18-04-2026", "Daily/18-04-2026"]),
        ("dddd, MMMM Do YYYY", "Saturday, April 18th 2026.md", ["saturday, april 18th 2026"]),
        ("YYYY/MM/YYYY-MM-DD", "Daily/2026/04/2026-04-18.md", ["2026/04/2026-04-18"]),
        ("YYYY/MM/DD", "2026/04/18.md", ["2026/04/18"]),
    ],
)
def test_links_name_a_daily_note_of_obsidian_by_its_file_or_its_day(
    tmp_path: Path, format_: str, file: str, links: list[str]
) -> None:
    put(tmp_path, ".obsidian/daily-notes.json", json.dumps({"format": format_}))
    put(tmp_path, file, BEES)
    for number, link in enumerate([*links, "2026-04-18"]):
        put(tmp_path, f"n{number}.md", f"[[{link}]]\n")
    with MemoryRoot.init(tmp_path) as root:
        assert {edge[1] for edge in root.graph().edges} == {file}
        assert len(root.graph().edges) == len(links) + 1


def test_folders_may_be_a_part_of_the_format(tmp_path: Path) -> None:
    put(tmp_path, ".obsidian/daily-notes.json", '{"format": "YYYY/MMMM/dddd Do"}')
    put(tmp_path, "Daily/2026/April/Saturday 18th.md", BEES)
    MemoryRoot.initialize(tmp_path)
    assert days(tmp_path) == {"Daily/2026/April/Saturday 18th.md": "2026-04-18"}


def test_a_changed_format_is_read_with_the_next_recall(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    put(tmp_path, "05-04-2026.md", BEES)
    MemoryRoot.initialize(tmp_path)
    assert days(tmp_path) == {"05-04-2026.md": None}
    put(tmp_path, ".obsidian/daily-notes.json", '{"format": "DD-MM-YYYY"}')
    assert days(tmp_path) == {"05-04-2026.md": "2026-04-05"}
    put(tmp_path, ".obsidian/daily-notes.json", '{"format": "MM-DD-YYYY"}')
    assert days(tmp_path) == {"05-04-2026.md": "2026-05-04"}


def test_the_configuration_of_the_root_precedes_that_of_the_tool(tmp_path: Path) -> None:
    put(tmp_path, ".obsidian/daily-notes.json", '{"format": "MM-DD-YYYY"}')
    put(tmp_path, "05-04-2026.md", BEES)
    put(
        tmp_path,
        "hedgerow.json",
        '{"schemaVersion": 1, "vault": "obsidian", "dailyNotes": "DD-MM-YYYY"}',
    )
    assert days(tmp_path) == {"05-04-2026.md": "2026-04-05"}
    assert ages(tmp_path)["05-04-2026.md"] == pytest.approx(2 ** (-43 / 30), abs=1e-4)


def test_a_root_without_a_tool_may_have_a_format(tmp_path: Path) -> None:
    put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "dailyNotes": "MM-DD-YYYY"}')
    put(tmp_path, "notes/05-04-2026.md", BEES)
    put(tmp_path, "notes/2026-04-18-bees.md", BEES)
    assert days(tmp_path) == {
        "notes/05-04-2026.md": "2026-05-04",
        "notes/2026-04-18-bees.md": "2026-04-18",
    }


def test_front_matter_precedes_the_name(tmp_path: Path) -> None:
    put(tmp_path, ".obsidian/daily-notes.json", '{"format": "DD-MM-YYYY"}')
    put(tmp_path, "05-04-2026.md", "---\ncreated: 2025-01-01\n---\n" + BEES)
    MemoryRoot.initialize(tmp_path)
    assert days(tmp_path) == {"05-04-2026.md": "2025-01-01"}


def test_a_format_that_is_not_read_is_named(tmp_path: Path) -> None:
    put(tmp_path, ".obsidian/daily-notes.json", '{"format": "gggg-[W]ww"}')
    put(tmp_path, "2026-W16.md", BEES)
    MemoryRoot.initialize(tmp_path)
    assert days(tmp_path) == {"2026-W16.md": None}
    text = ok("doctor", "--root", str(tmp_path))
    assert "the format of the names of daily notes 'gggg-[W]ww' is not read" in text
    assert '"gggg" is none of YYYY' in text


@pytest.mark.parametrize(
    ("given", "problem"), [('"DD-MM"', "it needs a year"), ("3", "it is no text")]
)
def test_a_wrong_format_in_the_configuration_is_an_error(
    tmp_path: Path, given: str, problem: str
) -> None:
    put(tmp_path, "hedgerow.json", f'{{"schemaVersion": 1, "dailyNotes": {given}}}')
    error = failed(1, "recall", "bees", "--root", str(tmp_path))
    assert (
        f'dailyNotes must be the format of the names of daily notes, as in "DD-MM-YYYY": {problem}'
        in error
    )
