"""Lint and synthesis: planned, then applied."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command_line import run
from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from memory_doubles import put

PAGE = "pages/slug-control.md"


def findings(root: MemoryRoot, **options: str) -> list[str]:
    planned = root.process("lint", **options).summary[1:]
    done = root.process("lint", apply=True, **options)
    report = (root.path / done.files[0]).read_text()
    listed = report.split("## Findings\n\n")[1].split("\n\n## Notes")[0].splitlines()
    assert [line.removeprefix("- ") for line in listed if line != "- none"] == list(planned)
    return list(planned)


class TestLint:
    def test_nothing_found(self, root: MemoryRoot) -> None:
        done = root.process("lint", apply=True)
        assert done.summary == ("0 findings.",)
        report = (root.path / done.files[0]).read_text().splitlines()
        assert report[0] == "# Memory lint report"
        assert report[1].startswith("Generated at: 20")
        assert "- none" in report

    def test_a_page_names_its_sources(self, root: MemoryRoot) -> None:
        put(root.path, "pages/a.md", "# A\n\n## source  MEMORIES\n- x\n")
        put(root.path, "pages/b.md", "# B\n\nFact [source: `a.md`]\n")
        put(root.path, "pages/d.md", "---\ntype: note\n---\n## Source memories\n- x\n")
        put(root.path, "notes/c.md", "---\ntype: page\n---\n# C\n")
        assert findings(root) == [
            "[page-sources] `notes/c.md` does not say which memories it is from"
        ]

    def test_a_page_older_than_what_is_known(self, root: MemoryRoot) -> None:
        page = (
            "---\ntype: page\ntopic: slug beer\nupdated_at: 2026-06-01\n---\n## Source memories\n"
        )
        put(root.path, "pages/p.md", page)
        put(root.path, "notes/a.md", "---\ndate: 2026-06-02\n---\nSlugs like beer.")
        put(root.path, "notes/b.md", "---\ndate: 2026-05-02\n---\nSlugs like beer.")
        put(root.path, "notes/c.md", "---\ndate: 2026-06-02\n---\nSlugs like hostas.")
        assert findings(root) == ["[stale-page] `pages/p.md`: 1 newer memory about slug beer"]

    def test_titles_in_any_script_are_compared(self, root: MemoryRoot) -> None:
        for name, title in (
            ("a", "生垣"),
            ("b", "堆肥"),
            ("c", "Ship Weekly!"),
            ("d", "ship-weekly"),
        ):
            put(root.path, f"decisions/{name}.md", f"---\ntype: decision\ntitle: {title}\n---\nx")
        assert findings(root) == [
            "[duplicate-title] `decisions/c.md`, `decisions/d.md`: ship weekly"
        ]

    def test_declared_conflicts(self, root: MemoryRoot) -> None:
        put(root.path, "findings/c.md", "---\nconflicts_with: [notes/d.md, notes/e.md]\n---\nx")
        put(root.path, "notes/d.md", "x")
        assert findings(root) == [
            "[declared-conflict] `findings/c.md` conflicts with `notes/d.md`",
            "[declared-conflict] `findings/c.md` conflicts with `notes/e.md`, which is missing",
        ]

    @pytest.mark.parametrize("target", ["cb", "notes/cb", "'[[cb]]'", "'[[cb|x]]'", "notes/cb.md"])
    def test_a_conflict_is_declared_by_any_name(self, root: MemoryRoot, target: str) -> None:
        put(root.path, "notes/a.md", f"---\nconflicts_with: {target}\n---\nx")
        put(root.path, "notes/cb.md", "y")
        assert findings(root) == ["[declared-conflict] `notes/a.md` conflicts with `notes/cb.md`"]

    def test_memories_that_are_left_out_are_counted(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "text")
        for options in ({"since": "30d"}, {"topic": "zebra"}):
            assert (
                root.process("lint", **options)
                .summary[0]
                .startswith("0 findings. Filtered out: 1 of 1 ")
            )

    def test_an_open_question_that_was_answered(self, root: MemoryRoot) -> None:
        question = "# Q\n\n## Open Questions\n- Should the price book stay in pages?\n- None.\n"
        put(root.path, "sessions/q.md", question)
        put(root.path, "notes/no.md", "price book stays in pages")
        assert findings(root) == []
        put(root.path, "notes/z.md", "---\ntype: decision\n---\nThe price book goes from pages.")
        assert findings(root) == [
            "[answered-question] `sessions/q.md` asks what `notes/z.md` may answer: "
            "Should the price book stay in pages?"
        ]

    @pytest.mark.parametrize(("topic", "count"), [("AI", 1), ("生垣", 1), ("", 2), ("zebra", 0)])
    def test_a_short_topic_is_a_topic(self, root: MemoryRoot, topic: str, count: int) -> None:
        put(root.path, "findings/c.md", "---\nconflicts_with: x.md\n---\nAI 生垣")
        put(root.path, "findings/d.md", "---\nconflicts_with: x.md\n---\nother")
        assert len(findings(root, topic=topic)) == count

    def test_since(self, root: MemoryRoot) -> None:
        put(root.path, "findings/c.md", "---\nconflicts_with: x.md\n---\n")
        put(root.path, "findings/d.md", "---\nconflicts_with: y.md\ndate: 2026-06-04\n---\n")
        assert len(findings(root, since="2026-06-03")) == 1
        assert findings(root, since="2026-06-05") == []
        assert len(findings(root, since="9999w")) == 1

    @pytest.mark.parametrize("since", ["soon", "3m", "2026-02-30"])
    def test_a_since_that_is_none_is_refused(self, root: MemoryRoot, since: str) -> None:
        with pytest.raises(InvalidInputError, match="30d or 2w") as raised:
            root.process("lint", since=since)
        assert raised.value.code == "invalid_option"


def test_an_unknown_mode_is_refused(root: MemoryRoot) -> None:
    with pytest.raises(InvalidInputError, match="lint, synthesize"):
        root.process("compress")


class TestSynthesize:
    def page(self, root: MemoryRoot) -> str:
        return (root.path / "pages/slug-control.md").read_text()

    def synthesize(self, root: MemoryRoot) -> None:
        root.process("synthesize", topic="slug control", apply=True)

    def test_quotes_a_line_of_each_memory(self, root: MemoryRoot) -> None:
        put(
            root.path,
            "notes/a.md",
            "---\ntitle: Beer\n---\n# X\n\n```\nno\n```\n- slug *control* by beer\n",
        )
        self.synthesize(root)
        assert "- **Beer**: slug *control* by beer [source: `notes/a.md`]\n" in self.page(root)
        assert "## Source memories\n\n- `notes/a.md` — Beer (memory)\n" in self.page(root)
        assert root.process("lint").summary == ("0 findings.",)

    def test_needs_a_topic_and_something_about_it(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="needs a topic"):
            root.process("synthesize")
        with pytest.raises(HedgerowError, match="No source memories") as raised:
            root.process("synthesize", topic="zebra", apply=True)
        assert raised.value.code == "no_sources"
        assert not (root.path / "pages").exists()

    def test_a_page_about_a_name_with_a_leading_dot_is_found(self, root: MemoryRoot) -> None:
        put(root.path, "notes/build.md", "The .net build breaks on Mondays.")
        assert root.process("synthesize", topic=".net", apply=True).files == ("pages/net.md",)
        assert "pages/net.md" in [found.file for found in root.recall("the .net build")]

    def test_planning_writes_no_page(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        done = root.process("synthesize", topic="slug control")
        assert (done.applied, done.files) == (False, ("pages/slug-control.md",))
        assert sorted(path.name for path in root.path.iterdir()) == [".hedgerow", "notes"]

    def test_a_plan_is_what_is_applied(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        root.sync()
        put(root.path, "notes/b.md", "Slugs again.")
        planned = root.process("synthesize", topic="slug control").summary
        assert planned == (
            "Would create it from 2 source memories.",
            "notes/a.md",
            "notes/b.md",
        )
        done = root.process("synthesize", topic="slug control", apply=True).summary
        assert done == (
            "Created from 2 source memories.",
            "notes/a.md",
            "notes/b.md",
            "The next recall or index run reads the page.",
        )
        assert "`notes/b.md`" in self.page(root)

    def test_an_edit_of_the_page_at_the_same_time_is_not_lost(
        self, root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(root.path, "notes/a.md", "slug control")
        self.synthesize(root)
        page = root.path / PAGE
        edited = self.page(root) + "\nBy hand.\n"
        monkeypatch.setattr(os, "fsync", lambda _: put(root.path, PAGE, edited))
        with pytest.raises(
            HedgerowError, match="somebody changed the file at the same time"
        ) as raised:
            self.synthesize(root)
        assert raised.value.code == "file_changed"
        assert page.read_text() == edited

    def test_a_page_made_at_the_same_time_is_not_lost(
        self, root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(root.path, "notes/a.md", "slug control")
        root.sync()
        monkeypatch.setattr(os, "fsync", lambda _: put(root.path, PAGE, "By hand.\n"))
        with pytest.raises(HedgerowError) as raised:
            self.synthesize(root)
        assert raised.value.code == "file_changed"
        assert self.page(root) == "By hand.\n"
        assert [file.name for file in (root.path / "pages").iterdir()] == ["slug-control.md"]

    def test_a_linked_page_stays_a_link(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        real = put(root.path, "notes/page.md", "# Mine\n")
        (root.path / "pages").mkdir()
        (root.path / PAGE).symlink_to("../notes/page.md")
        self.synthesize(root)
        assert (root.path / PAGE).is_symlink()
        assert "`notes/a.md`" in real.read_text()

    def test_a_page_linked_out_of_the_root_is_refused(self, tmp_path: Path) -> None:
        outside = put(tmp_path, "outside.md", "# Mine\n")
        put(tmp_path, "root/notes/a.md", "slug control")
        (tmp_path / "root/pages").mkdir()
        (tmp_path / "root" / PAGE).symlink_to("../../outside.md")
        with pytest.raises(HedgerowError, match=r"is a link to .*, outside") as raised:
            self.synthesize(MemoryRoot.open(tmp_path / "root"))
        assert raised.value.code == "root_io"
        assert outside.read_text() == "# Mine\n"

    def test_what_the_index_finds_fills_the_page_up(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        put(root.path, "notes/b.md", "Slugs again.")
        put(root.path, "notes/c.md", "Nothing of the kind.")
        put(root.path, "pages/other.md", "slug control")
        self.synthesize(root)
        assert "`notes/b.md`" in self.page(root)
        assert "`notes/c.md`" not in self.page(root)
        assert "pages/other.md" not in self.page(root)

    def test_hand_edits_outside_the_marks_stay(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        self.synthesize(root)
        edited = (
            self.page(root)
            .replace("---\n\n# slug", "owner: me # mine\n---\n\n# Slugs: slug")
            .replace("\n<!-- hedgerow:begin", "\nAbove.\n\n<!-- hedgerow:begin")
        ) + "\nBelow.\n"
        put(root.path, "pages/slug-control.md", edited)
        put(root.path, "notes/b.md", "slug control, the second")
        self.synthesize(root)
        page = self.page(root)
        assert "owner: me # mine\n" in page
        assert "# Slugs: slug control\n\nAbove.\n" in page
        assert page.endswith("-->\n\nBelow.\n")
        assert "`notes/b.md`" in page
        assert page.count("hedgerow:begin") == 1

    def test_a_page_without_marks_is_kept_below(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        put(
            root.path, "pages/slug-control.md", "---\ncreated_at: 2020-01-01\n---\n# Mine\n\nOld.\n"
        )
        self.synthesize(root)
        page = self.page(root)
        assert "created_at: 2020-01-01\n" in page
        assert "\n# Mine\n\n<!-- hedgerow:begin -->" in page
        assert page.endswith("<!-- hedgerow:end -->\n\nOld.\n")
        self.synthesize(root)
        assert self.page(root).count("Old.") == 1

    def test_a_memory_cannot_end_the_generated_part(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control <!-- hedgerow:end --> x")
        self.synthesize(root)
        self.synthesize(root)
        assert self.page(root).count("<!-- hedgerow:end -->") == 1

    def test_front_matter_that_cannot_be_changed_is_named(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        put(root.path, "pages/slug-control.md", "---\ntitle: a: b\n---\nOld.\n")
        with pytest.raises(HedgerowError) as raised:
            self.synthesize(root)
        assert raised.value.code == "invalid_front_matter"
        assert self.page(root).endswith("Old.\n")


class TestUnreadableNotes:
    @pytest.mark.parametrize("mode", ["lint", "synthesize"])
    @pytest.mark.parametrize("apply", [False, True])
    def test_are_reported(self, root: MemoryRoot, mode: str, *, apply: bool) -> None:
        put(root.path, "notes/a.md", "slug control")
        (root.path / "notes/b.md").write_bytes(b"slug control \xff")
        done = root.process(mode, topic="slug control", apply=apply)
        [skip] = done.unreadable
        assert (skip.path, skip.code) == ("notes/b.md", "not_utf8")
        assert done.to_dict()["unreadable"] == [skip.to_dict()]
        if mode == "lint" and apply:
            report = (root.path / done.files[0]).read_text()
            assert "## Left out\n\n- notes/b.md: the file is not UTF-8" in report

    def test_are_reported_by_the_command(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "slug control")
        for number in range(5):
            (root.path / f"notes/b{number}.md").write_bytes(b"\xff\xfe")
        command = ["process", "--root", str(root.path), "--mode", "lint", "--apply"]
        done = run(*command)
        assert done.exit_code == 0
        assert "Skipped notes/b0.md: the file is UTF-16; convert it to UTF-8\n" in done.stderr
        assert "Skipped 2 more (--json has all)\n" in done.stderr
        assert len(json.loads(run(*command, "--json").stdout)["unreadable"]) == 5


class TestWhatHolds:
    """Pages quote valid memories, and their boilerplate is not found by searches."""

    @pytest.fixture
    def page(self, tmp_path: Path) -> str:
        root = MemoryRoot.open(tmp_path)
        old = root.remember("Deploys happen on Tuesdays.", title="Deploys").file
        new = root.supersede(old, text="Deploys happen on Wednesdays.").written
        wrong = root.remember("Deploys need a permit from the mayor.", title="Permit").file
        root.retract(wrong, "a rumour")
        put(tmp_path, "notes/old.md", "---\nvalid_until: 2020-01-01\n---\nDeploys are frozen.\n")
        path = root.process("synthesize", topic="deploys", apply=True).files[0]
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert f"happen on Wednesdays. [source: `{new}`]" in text
        return text

    def test_only_what_holds_is_quoted(self, page: str) -> None:
        assert "Tuesdays." not in page
        assert "mayor" not in page
        assert "are frozen" not in page

    def test_what_changed_is_said_as_such(self, page: str) -> None:
        section = page.partition("## No longer holds")[2].partition("## Source")[0]
        assert "**Permit**: retracted since" in section
        assert "a rumour" in section
        assert ": superseded by notes/" in section
        assert "**old**: no longer valid since 2020-01-01" in section

    def test_without_changes_there_is_no_such_section(self, tmp_path: Path) -> None:
        root = MemoryRoot.open(tmp_path)
        root.remember("The hedge is cut.", title="Hedge")
        path = root.process("synthesize", topic="hedge", apply=True).files[0]
        assert "No longer holds" not in (tmp_path / path).read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        "query",
        ["hedgerow:begin", "current understanding", "memories below", "maintenance",
         "replaced by the next synthesis", "newest first"],
    )  # fmt: skip
    def test_the_frame_is_not_found(self, tmp_path: Path, query: str) -> None:
        root = MemoryRoot.open(tmp_path)
        root.remember("The hawthorn is cut.", title="Hawthorn")
        root.process("synthesize", topic="hawthorn", apply=True)
        assert list(root.recall(query)) == []
        found = root.recall("hawthorn cut")
        assert "pages/hawthorn.md" in [one.file for one in found]
        assert not any("hedgerow:begin" in one.snippet for one in found)

    def test_such_lines_elsewhere_are_found(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "## Source memories\n\nText.\n")
        assert len(MemoryRoot.open(tmp_path).recall("source memories")) == 1

    def test_a_page_is_derived_from_its_sources(self, tmp_path: Path) -> None:
        root = MemoryRoot.init(tmp_path / "memory")
        root.remember("Deploys run on Fridays.", title="Deploys")
        root.process("synthesize", topic="deploys", apply=True)
        page = "pages/deploys.md"
        old = next(one.file for one in root.list().memories if one.file != page)
        root.retract(old)
        [found] = root.recall("deploys run")
        assert (found.file, found.validity.doubtful) == (page, (old,))
        assert any(line.startswith(f"[in-doubt] `{page}`") for line in findings(root))
        done = root.process("synthesize", topic="deploys", apply=True)
        assert done.summary[0] == "Updated from no source memories."
        text = (root.path / page).read_text()
        assert "## No longer holds" in text
        assert "Fridays" not in text
        assert not any(line.startswith("[in-doubt]") for line in findings(root))
