"""Problems of files that are still read: git conflicts and bad front matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import HedgerowError, MemoryRoot
from hedgerow._engine import _Documents
from hedgerow.memory.doctor import diagnose
from memory_doubles import put

CONFLICT = "The hedge\n<<<<<<< HEAD\nin March\n=======\nin August\n>>>>>>> other\nis cut.\n"
IN_FRONT_MATTER = (
    "---\ntags: [x]\n<<<<<<< HEAD\nsuperseded_by: a\n=======\nsuperseded_by: b\n>>>>>>> other\n---\n"
    "The hedge.\n"
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (CONFLICT, 2),
        (IN_FRONT_MATTER, 3),
        ("<<<<<<<\na\n|||||||\nb\n=======\nc\n>>>>>>>\n", 1),
        (f"# Build\n\n```\n{CONFLICT}```\n", None),
        ("a\n=======\n\n>>>>>>> b\n", None),
        ("<<<<<<< a\n=======\n", 1),
        ("a\n=======\nb\n>>>>>>> c\n", 2),
        ("<<<<<<<< a\n========\n>>>>>>>> b\n", None),
    ],
)
def test_where_a_conflict_begins(text: str, line: int | None) -> None:
    problems = _Documents.of([("a.md", text)]).problems()
    found = [at for _, code, _, at in problems if code == "git_conflict"]
    assert found == ([line] if line else [])


class TestConflicts:
    @pytest.mark.parametrize("text", [CONFLICT, IN_FRONT_MATTER])
    def test_recall_lint_and_doctor_say_so(self, tmp_path: Path, text: str) -> None:
        put(tmp_path, "notes/a.md", text)
        put(tmp_path, "notes/b.md", "The hedge is green.\n")
        root = MemoryRoot.open(tmp_path)
        found = root.recall("hedge")
        assert "notes/b.md" in [one.file for one in found]
        assert any("notes/a.md" in one and "in conflict" in one for one in found.notices)
        assert found.unreadable == ()
        assert any("[git-conflict] `notes/a.md`" in one for one in root.process("lint").summary)
        check = diagnose(tmp_path).files
        assert not check.ok
        assert "git_conflict" in [one["code"] for one in check.facts["problems"]]

    def test_one_in_code_is_a_note_of_lint_alone(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", f"# Build\n\n```\n{CONFLICT}```\n")
        root = MemoryRoot.open(tmp_path)
        assert root.recall("hedge").notices == ()
        [finding] = [one for one in root.process("lint").summary if one.startswith("[")]
        assert finding.startswith("[conflict-in-code] `notes/a.md` line 5: ")
        assert diagnose(tmp_path).files.ok

    def test_it_is_said_until_it_is_mended(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", CONFLICT)
        root = MemoryRoot.open(tmp_path)
        assert root.recall("hedge").notices == root.recall("hedge").notices != ()
        assert root.context("hedge").notices != ()
        put(tmp_path, "notes/a.md", "The hedge is cut.\n")
        assert root.recall("hedge").notices == ()
        assert diagnose(tmp_path).files.ok

    def test_two_branches_that_supersede_one_memory(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/old.md", "old\n")
        put(tmp_path, "notes/a.md", "---\nsupersedes: old\n---\na\n")
        put(tmp_path, "notes/b.md", "---\nsupersedes: old\n---\nb\n")
        root = MemoryRoot.open(tmp_path)
        [finding] = [one for one in root.process("lint").summary if "several-successors" in one]
        assert "`notes/a.md`, `notes/b.md`" in finding
        said = (
            "notes/old.md is superseded by several memories that hold: `notes/a.md`, `notes/b.md`; supersede "
            "all but one of them"
        )
        assert root.recall("a").notices == root.context("b").notices == (said,)
        root.supersede("a", by="b")
        assert root.recall("b").notices == ()
        assert not any("several-successors" in one for one in root.process("lint").summary)

    def test_successors_of_another_scope_are_not_named(self, tmp_path: Path) -> None:
        ana, bob = (
            f"---\nscope: {{user: {one}}}\nsupersedes: old\n---\nhedge\n" for one in ("ana", "bob")
        )
        put(tmp_path, "notes/old.md", "---\nscope: {user: ana}\n---\nold\n")
        put(tmp_path, "notes/a.md", ana)
        put(tmp_path, "notes/b.md", bob)
        assert MemoryRoot.open(tmp_path, scope={"user": "ana"}).recall("hedge").notices == ()


class TestDates:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("date", "March 15, 2026"),
            ("created", "15/03/2026"),
            ("created_at", "2026-02-30"),
            ("updated_at", "yesterday"),
            ("date", "[2026-01-01, 2026-01-02]"),
        ],
    )
    def test_a_date_that_is_none_is_said(self, tmp_path: Path, field: str, value: str) -> None:
        put(tmp_path, "notes/a.md", f"---\ntags: [x]\n{field}: {value}\n---\npomelo\n")
        root = MemoryRoot.open(tmp_path)
        [notice] = root.recall("pomelo").notices
        assert notice.startswith(f"notes/a.md:3: {field} is no date, as in 2026-04-18: ")
        assert any(
            f"[front-matter] `notes/a.md` line 3: {field} is no date" in one
            for one in root.process("lint").summary
        )
        [problem] = diagnose(tmp_path).files.facts["problems"]
        assert (problem["code"], problem["line"]) == ("bad_front_matter", 3)
        [missing] = root.recall("pomelo", after="2026-01-01").notices
        assert "may be missing" in missing

    @pytest.mark.parametrize("value", ["", '""', "2026-04-18", "2026/4/18", "'[[2026-04-18]]'"])
    def test_a_date_or_none_is_no_problem(self, tmp_path: Path, value: str) -> None:
        put(tmp_path, "notes/a.md", f"---\ndate: {value}\n---\npomelo\n")
        assert MemoryRoot.open(tmp_path).recall("pomelo").notices == ()
        assert diagnose(tmp_path).files.ok


class TestFrontMatter:
    def test_a_list_that_is_no_yaml_is_a_list_nevertheless(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "---\ntags: [@home, ok]\n---\npomelo\n")
        root = MemoryRoot.open(tmp_path)
        for tag in ("@home", "ok"):
            assert [one.file for one in root.recall("pomelo", tags=[tag])] == ["notes/a.md"]

    def test_a_problem_without_a_line_names_none(self, tmp_path: Path) -> None:
        levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]" for n in range(8)]
        put(tmp_path, "notes/a.md", "---\n" + "\n".join(levels) + "\n---\npomelo\n")
        summary = MemoryRoot.open(tmp_path).process("lint").summary
        assert any(
            "[front-matter] `notes/a.md`: front matter is not valid" in one for one in summary
        )

    @pytest.fixture
    def bad(self, tmp_path: Path) -> MemoryRoot:
        put(tmp_path, "notes/a.md", "---\ntitle: Sloe gin: it\ntags: [x]\n---\n\npomelo\n")
        put(tmp_path, "notes/b.md", "pomelo\n")
        return MemoryRoot.open(tmp_path)

    def test_recall_lint_and_doctor_say_so(self, bad: MemoryRoot) -> None:
        [notice] = bad.recall("pomelo").notices
        assert notice.startswith("notes/a.md:2: front matter is not valid YAML")
        assert any(
            "[front-matter] `notes/a.md` line 2" in one for one in bad.process("lint").summary
        )
        assert "front matter" in diagnose(bad.path).files.message

    def test_a_block_without_an_end_is_named(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "---\ntags: [x]\n\npomelo\n")
        root = MemoryRoot.open(tmp_path)
        problem = "front matter is not read: no line `---` ends it"
        assert root.recall("pomelo").notices == (f"notes/a.md:1: {problem}",)
        assert f"[front-matter] `notes/a.md` line 1: {problem}" in root.process("lint").summary
        with pytest.raises(HedgerowError, match="no line `---` ends it"):
            root.retract("notes/a.md")

    def test_filters_name_what_may_be_missing(self, bad: MemoryRoot) -> None:
        assert bad.recall("pomelo", types=["finding"]).notices == (
            "1 file with front matter that cannot be read may be missing; a diagnosis of the root names them",
        )

    def test_a_scope_does_not_name_files_of_others(self, bad: MemoryRoot) -> None:
        ana = bad.scoped(user="ana")
        ana.remember("a pomelo of mine", title="P")
        assert ana.recall("pomelo", types=["note"]).notices == ()


class TestUnreadFields:
    """Only the invalid field is lost, and its text stays searchable."""

    def test_the_other_fields_are_read(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "notes/a.md",
            "---\ntitle: GP-7: one\ntags:\n  - garden\n  - beds\naliases:\n- Kubernetes\nbad: [a\n"
            "more: {x: 1\n  y\nsummary: |\n  a quince\n  tree\n---\npomelo\n",
        )
        root = MemoryRoot.open(tmp_path)
        [found] = root.recall("pomelo", tags=["beds"])
        assert found.metadata["title"] == "GP-7: one"
        assert found.metadata["aliases"] == ["Kubernetes"]
        assert len(root.recall("quince")) == 1
        assert root.resolve("GP-7: one") == "notes/a.md"

    def test_the_words_of_a_letterhead_are_found(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "notes/a.md",
            "---\n**HAZEL AND SONS**\nTel: 555-0100\nRowan Thorn, surveyor\n---\n\nmarmalade\n",
        )
        root = MemoryRoot.open(tmp_path)
        for query in ("hazel", "rowan thorn", "marmalade"):
            assert len(root.recall(query)) == 1
        [found] = root.recall("surveyor")
        assert found.line_start <= 4 <= found.line_end

    def test_a_conflict_in_front_matter_hides_no_text(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", IN_FRONT_MATTER.replace("superseded_by", "note"))
        root = MemoryRoot.open(tmp_path)
        assert [one.file for one in root.recall("hedge", tags=["x"])] == ["notes/a.md"]

    def test_nothing_and_lists_are_no_tags(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "notes/a.md",
            "---\ntags:\n - #a\n - [b]\n - c\naliases: [~, d]\n---\npomelo\n",
        )
        root = MemoryRoot.open(tmp_path)
        assert [len(root.recall("pomelo", tags=[one])) for one in ("null", "b", "c")] == [0, 0, 1]
        assert root.recall("pomelo").results[0].metadata["aliases"] == ["d"]


class TestLint:
    def test_all_memories_are_read(self, tmp_path: Path) -> None:
        for at in range(120):
            put(tmp_path, f"notes/{at:03}.md", f"---\nvalid_until: soon\n---\nnote {at}\n")
        root = MemoryRoot.open(tmp_path)
        assert root.process("lint").summary[0] == "120 findings."
        assert root.process("lint", limit=100).summary[:2] == (
            "100 findings.",
            "The newest 100 of 120 memories were read: raise the limit.",
        )


def test_several_successors_are_named_by_doctor(tmp_path: Path) -> None:
    put(tmp_path, "old.md", "The gate is open.\n")
    for name in ("a", "b"):
        put(tmp_path, f"{name}.md", f"---\nsupersedes: old\n---\nThe gate is shut by {name}.\n")
    files = diagnose(tmp_path).files
    assert "old.md: is superseded by several memories that hold: `a.md`, `b.md`" in files.message


def test_headings_between_the_lines_of_front_matter_are_found(root: MemoryRoot) -> None:
    put(root.path, "a.md", "---\n# ACME minutes zebrafish\n---\n")
    assert [one.file for one in root.recall("zebrafish")] == ["a.md"]


def test_a_blank_pattern_is_reported(root: MemoryRoot) -> None:
    put(root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["  "]}')
    put(root.path, "a.md", "text")
    root.sync()
    state = root.index_state()
    assert state is not None
    assert state.unused == ("  ",)


def test_doctor_names_all_files_with_problems(tmp_path: Path) -> None:
    for number in range(5):
        put(tmp_path, f"n{number}.md", "---\ndate: soon\n---\nx\n")
    message = diagnose(tmp_path).files.message
    assert all(f"n{number}.md" in message for number in range(5))
