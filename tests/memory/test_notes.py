"""Writing memories: names, titles and text."""

from __future__ import annotations

import os
import re
import time
import time as time_module
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow._engine import _first_heading, _level_two_sections, read_front_matter
from hedgerow.memory import files, note, remembering
from memory_doubles import WRAPUP

TODAY = datetime.now().astimezone().strftime("%Y-%m-%d")


class TestSlug:
    @pytest.mark.parametrize(
        ("title", "slug"),
        [
            ("  Café & Tea: v1.2_beta! ", "cafe-tea-v1.2_beta"),
            ("Cut 2026/04", "cut-2026-04"),
            ("z" * 79 + " b", "z" * 79),
            ("庭の生垣", "庭の生垣"),
            ("Ёж зимой", "ёж-зимой"),
            ("C++ 庭", "c-庭"),
            ("Übergröße Straße", "ubergrosse-strasse"),
            ("Été à Noël", "ete-a-noel"),
            ("I\u0307stanbul Łódź Ærø", "istanbul-lodz-aero"),
            ("tiếng Việt", "tieng-viet"),
            ("MySQL.", "mysql"),
            ("Привет, йод", "привет-йод"),
            ("हिन्दी नोट", "हिन्दी-नोट"),
            ("!!!", "untitled"),
            ("...", "untitled"),
            ("", "untitled"),
            ("../../etc/passwd", "etc-passwd"),
            (".gitignore and v. 2.1", "gitignore-and-v-2.1"),
        ],
    )
    def test_of_a_title(self, title: str, slug: str) -> None:
        assert note.slug(title, "untitled") == slug

    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
    def test_is_always_a_name_for_a_file(self, title: str) -> None:
        slug = note.slug(title, "page")
        assert 0 < len(slug) <= 80
        assert len(slug.encode()) <= 180
        assert not set(slug) & set("/\\\0\n :")
        assert slug == slug.strip("-")

    @pytest.mark.parametrize(
        ("topic", "name"),
        [
            ("Slug control", "slug-control"),
            (".NET", "net"),
            ("...", "page"),
            ("Con", "page-con"),
            ("aux.c", "page-aux.c"),
            ("COM1", "page-com1"),
            ("Console", "console"),
        ],
    )
    def test_without_a_day_is_neither_hidden_nor_a_device(self, topic: str, name: str) -> None:
        assert note.undated_name(topic, "page", "page") == name


class TestRemember:
    def test_writes_front_matter_heading_and_text(self, root: MemoryRoot) -> None:
        done = root.remember("  No pellets.\r\nEver.\n\n", title='The "slug"\nrule', tags=["a b"])
        text = (root.path / done.file).read_bytes().decode()
        time = re.findall(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"', text)
        assert len(set(time)) == 1
        assert text.replace(time[0], "T") == (
            '---\ntype: "note"\ntitle: "The \\"slug\\" rule"\nsource: "hedgerow-remember"\n'
            'created_at: "T"\nupdated_at: "T"\nconfidence: "user-reviewed"\ntags: ["a b"]\n---\n'
            '\n# The "slug" rule\n\nNo pellets.\nEver.\n'
        )
        assert read_front_matter(text.split("\n")).fields["title"] == 'The "slug" rule'

    def test_a_heading_that_is_there_is_not_repeated(self, root: MemoryRoot) -> None:
        done = root.remember("# Slugs\n\nNo pellets.", title="Slugs")
        assert (root.path / done.file).read_text().count("# Slugs") == 1

    def test_the_same_title_gets_a_file_of_its_own(self, root: MemoryRoot) -> None:
        names = [root.remember(text, title="Same").file for text in "xyz"]
        assert names[0] == f"notes/{TODAY}-same.md"
        assert all(re.fullmatch(r"notes/.*-same-\d{13}-\d\.md", name) for name in names[1:])
        assert len(set(names)) == 3

    @pytest.mark.skipif(not hasattr(time_module, "tzset"), reason="time zones of POSIX")
    def test_a_name_has_the_day_of_the_writer(
        self, root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        days = set()
        for text, zone in (("x", "Etc/GMT+12"), ("y", "Etc/GMT-14")):
            with monkeypatch.context() as there:
                there.setenv("TZ", zone)
                time_module.tzset()
                days.add(root.remember(text, title="Same").file[:16])
            time_module.tzset()
        assert len(days) == 2

    @pytest.mark.parametrize("text", ["", " \n\t\n", "nul \0 here"])
    def test_what_is_no_text_is_refused_and_nothing_written(
        self, root: MemoryRoot, text: str
    ) -> None:
        with pytest.raises(InvalidInputError) as raised:
            root.remember(text, title="T")
        assert raised.value.code == "invalid_note"
        assert list(root.path.iterdir()) == []

    def test_half_a_surrogate_pair_is_refused(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="surrogate"):
            root.remember("x \ud800", title="T")
        assert list(root.path.iterdir()) == []

    def test_an_unknown_type_is_refused(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="note, session, finding") as raised:
            root.remember("x", title="T", type="Decision")
        assert raised.value.code == "invalid_option"

    def test_a_memory_outlives_an_index_that_fails(self, root: MemoryRoot) -> None:
        (root.path / ".hedgerow").write_text("a file where a folder should be")
        done = root.remember("x", title="T")
        assert (done.indexed, (root.path / done.file).exists()) == (False, True)
        assert done.problem

    def test_a_file_where_a_folder_should_be_is_named(self, root: MemoryRoot) -> None:
        (root.path / "notes").write_text("")
        with pytest.raises(HedgerowError, match="notes") as raised:
            root.remember("x", title="T")
        assert raised.value.code == "root_io"


class TestWrapup:
    def test_lists_all_that_is_missing_and_empty(self, root: MemoryRoot) -> None:
        body = "## Findings\n\n## decisions\nyes\n### Open Questions\nno level 2\n"
        with pytest.raises(InvalidInputError) as raised:
            root.wrapup(body, title="T")
        assert raised.value.code == "invalid_note"
        assert "Missing required sections: ## Conflicts / Corrections, ## Open Questions." in str(
            raised.value
        )
        assert "Sections without text: ## Findings." in str(raised.value)
        assert list(root.path.iterdir()) == []

    def test_headings_in_a_fence_are_text(self) -> None:
        fenced = WRAPUP.replace("## Findings", "```\n## Findings\n```")
        assert remembering.validate_wrapup(fenced).missing_sections == ("Findings",)
        assert remembering.validate_wrapup(WRAPUP).valid

    @pytest.mark.parametrize(
        "write",
        [
            lambda name: f"## {name.replace(' / ', '/')}",
            lambda name: f"## {name.replace(' / ', ' /  ')} ##",
            lambda name: f"##   {name.replace(' ', '').upper()}",
            lambda name: f"{name}\n---",
            lambda name: f"  {name.replace(' / ', '/')}\n  -",
            lambda name: f"text\n\n{name}\n{'-' * len(name)}  ",
        ],
    )
    def test_headings_have_several_forms(
        self, root: MemoryRoot, write: Callable[[str], str]
    ) -> None:
        parts = [f"{write(name)}\n\nText of {name}." for name in remembering.WRAPUP_SECTIONS]
        assert remembering.validate_wrapup("\n\n".join(parts)).valid
        done = root.wrapup("\n\n".join(parts), title="T")
        for name in remembering.WRAPUP_SECTIONS:
            assert f"Text of {name}." in root.show(done.file, section=name).text

    @pytest.mark.parametrize(
        "text",
        [
            "```yaml\nFindings\n---\n```",
            "~~~\nFindings\n---\n```\nFindings\n---\n~~~",
            "- Findings\n---",
            "> Findings\n---",
            "    Findings\n---",
            "1. Findings\n---",
            "\n---",
            "One\nFindings\n---",
            "Findings\n===",
            "| Findings |\n|---|",
            "### Findings",
            "##Findings",
        ],
    )
    def test_other_lines_are_no_sections(self, text: str) -> None:
        assert "Findings" in remembering.validate_wrapup(f"{text}\n\nx").missing_sections

    def test_underlines_in_a_fence_stay(self, root: MemoryRoot) -> None:
        body = f"{WRAPUP}\n```yaml\na: 1\n---\nb: 2\n```\n\n- item\n---\n\nTwo\nlines\n---\n"
        assert root.wrapup(body, title="T").body.endswith(body.strip()[-60:])

    def test_other_headings_stay_as_they_are(self, root: MemoryRoot) -> None:
        body = f"{WRAPUP}\nNext steps\n----------\n\n- prune\n\n##  Later ##\n\nx"
        assert root.wrapup(body, title="T").body == f"# T\n\n{body}"

    def test_result_has_the_text_as_it_stands_in_the_file(self, root: MemoryRoot) -> None:
        done = root.wrapup(WRAPUP, title="A day")
        assert (root.path / done.file).read_text().endswith(f"---\n\n{done.body}\n")
        assert done.to_dict()["relatedMemory"] == {"skipped": True, "reason": "no topic was given"}

    def test_recalls_its_topic_first_and_notes_it(self, root: MemoryRoot) -> None:
        root.remember("Slugs drown in beer.", title="Slugs")
        done = root.wrapup(WRAPUP, title="A day", topic="slugs")
        assert done.related is not None
        assert [one.file for one in done.related] == [f"notes/{TODAY}-slugs.md"]
        assert 'recall_topic: "slugs"\n---' in (root.path / done.file).read_text()


class TestFiles:
    def test_a_new_file_never_replaces_one(self, tmp_path: Path) -> None:
        assert files.write_new(tmp_path / "a.md", "one")
        assert not files.write_new(tmp_path / "a.md", "two")
        assert (tmp_path / "a.md").read_text() == "one"
        assert [file.name for file in tmp_path.iterdir()] == ["a.md"]

    def test_so_it_is_without_hard_links(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(os, "link", refuse)
        assert files.write_new(tmp_path / "a.md", "one")
        assert not files.write_new(tmp_path / "a.md", "two")
        assert (tmp_path / "a.md").read_text() == "one"
        assert [file.name for file in tmp_path.iterdir()] == ["a.md"]

    def test_replacing_keeps_permissions(self, tmp_path: Path) -> None:
        file = tmp_path / "a.md"
        file.write_text("one")
        file.chmod(0o640)
        files.replace(file, "two")
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("two", 0o640)


def test_sections_end_at_the_next_heading_of_their_level() -> None:
    text = "## A\none\n### deep\ntwo\n# Top\nthree\n## b  C\n~~~\n## no\n~~~\n"
    assert _level_two_sections(text) == [
        ("a", "one\n### deep\ntwo"),
        ("b c", "~~~\n## no\n~~~\n"),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("# Title", "Title"),
        ("  #  Title \t", "Title"),
        ("# Title ##  ", "Title"),
        ("# Title\t#", "Title"),
        ("# C#", "C#"),
        ("# a # b", "a # b"),
        ("# ##", ""),
        ("#", ""),
        ("#Title", ""),
        ("    # Title", ""),
    ],
)
def test_the_name_of_a_heading(line: str, name: str) -> None:
    assert _first_heading(f"{line}\ntext") == name


def test_a_heading_with_a_long_gap_is_read_in_one_pass() -> None:
    # Trying every space of the gap as the end of the line took minutes.
    gap = " " * 300_000
    started = time.process_time()
    assert _first_heading(f"# a{gap}b{gap}##{gap}") == f"a{gap}b"
    assert time.process_time() - started < 60
