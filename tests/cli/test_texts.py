"""`list`, `show` and `edit` of a memory root."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest

from command_line import as_json, failed, ok, run
from hedgerow import MemoryRoot
from memory_doubles import put

pytestmark = pytest.mark.usefixtures("here")

PLAN = "---\ntype: decision\ndate: 2026-01-05\n---\n# Plan\n\nCut in August.\n"


@pytest.fixture
def plan(here: Path) -> Path:
    ok("init", "--root", ".")
    put(here, "notes/old.md", "---\ndate: 2025-01-05\nsuperseded_by: '[[plan]]'\n---\nIn March.\n")
    put(here, "decisions/plan.md", PLAN)
    return here / "decisions/plan.md"


@pytest.mark.usefixtures("plan")
def test_list() -> None:
    assert ok("list") == (
        "2026-01-05  decision    decisions/plan.md  Plan\n"
        "2025-01-05  note        notes/old.md  [superseded by decisions/plan.md since 2026-01-05]\n"
    )
    assert "notes/old.md" in ok("list", "--type", "note", "--superseded")
    found = as_json("list", "--type", "decision")
    assert [one["file"] for one in found["memories"]] == ["decisions/plan.md"]
    assert "there are no memories of the type 'x'; there are" in failed(1, "list", "--type", "x")


@pytest.mark.usefixtures("plan")
def test_list_of_retracted_memories(here: Path) -> None:
    assert ok("list", "--retracted") == "No memories.\n"
    ok("retract", "plan", "--reason", "Too late.")
    put(here, "notes/later.md", "---\nretracted: 2999-01-01\n---\nIn June.\n")
    [one] = as_json("list", "--retracted")["memories"]
    assert (one["file"], one["validity"]["reason"]) == ("decisions/plan.md", "Too late.")
    with MemoryRoot.open(here) as root:
        assert [one.file for one in root.list(retracted=True).memories] == [one["file"]]
        assert root.list(retracted=True, type="note").count == 0


def test_list_of_none(here: Path) -> None:
    ok("init", "--root", ".")
    assert ok("list") == "No memories.\n"
    for number in range(22):
        put(here, f"notes/{number}.md", "x\n")
    assert as_json("list")["count"] == 22


def test_show(plan: Path) -> None:
    found = as_json("show", "Plan")
    assert found["file"] == "decisions/plan.md"
    assert found["text"] == PLAN
    assert "there is no memory 'gone' in this root; to list the memories: hedgerow list" in failed(
        1, "show", "gone"
    )
    message = failed(2, "show", "plan", "--db", "x.db", "--root", str(plan.parent))
    assert "--db and --root exclude each other" in message


def test_a_text_replaces_the_one_that_was_read(plan: Path) -> None:
    digest = as_json("show", "plan")["digest"]
    assert ok("edit", "plan", "In May.\n", "--expect", digest) == "Changed: decisions/plan.md\n"
    assert plan.read_text() == "In May.\n"
    message = failed(1, "edit", "plan", "In June.\n", "--expect", digest)
    assert "decisions/plan.md changed since you read it; read it again" in message
    assert plan.read_text() == "In May.\n"
    digest = as_json("show", "plan")["digest"]
    done = as_json("edit", "plan", "--expect", digest, stdin=b"In July.\n")
    assert done == as_json("show", "plan")
    assert "a memory has a text" in failed(1, "edit", "plan", " ", "--expect", done["digest"])


def test_a_part_is_shown_and_edited(plan: Path) -> None:
    ok("edit", "plan", "--append", "--", "- 剪刀")
    ok("edit", "plan", "--append", "--", "- مقص")
    ok("edit", "plan", "First of all:", "--prepend")
    ok("edit", "plan", "--replace", "August", "May")
    text = plan.read_text()
    assert text.endswith("# Plan\n\nFirst of all:\n\nCut in May.\n\n- 剪刀\n- مقص\n")
    assert "occurs more than once" in failed(1, "edit", "plan", "x", "--replace", "- ")
    ok("edit", "plan#Plan", "Cut in June.")
    assert plan.read_text().endswith("# Plan\n\nCut in June.\n")
    assert as_json("show", "plan#plan")["text"] == "# Plan\n\nCut in June.\n"
    assert run("show", "plan", "--offset", "4", "--limit", "1").stderr == (
        "decisions/plan.md:5-5\n2 more lines; --offset 5 shows them.\n"
    )
    assert as_json("show", "plan", "--limit", "1")["remaining"] == 6
    assert as_json("show", "plan", "--budget", "40")["text"] == plan.read_text()


@pytest.mark.usefixtures("plan")
def test_wrong_usage() -> None:
    assert "TEXT would replace the whole file: pass --append," in failed(2, "edit", "plan", "text")
    assert "are about a memory" in failed(2, "show", "plan", "--db", "x.db", "--offset", "1")
    assert "give one of append, prepend" in failed(
        1, "edit", "plan", "x", "--append", "--replace", "Plan"
    )
    assert "replace is empty" in failed(1, "edit", "plan", "x", "--replace", "")
    assert "There is no terminal to edit decisions/plan.md in" in failed(2, "edit", "plan")


class TestInAnEditor:
    @pytest.fixture(autouse=True)
    def terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("hedgerow.cli.memories.has_terminal", lambda: True)

    @staticmethod
    def edits(folder: Path, monkeypatch: pytest.MonkeyPatch, work: str) -> None:
        """Install an editor that runs Python code on the file `path`."""
        editor = folder / "editor"
        head = f"#!{sys.executable}\nimport os, pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
        editor.write_text(f"{head}{work}\nos.utime(path, (1, 1))\n")
        editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("VISUAL", os.fspath(editor))

    def test_what_is_written_there(
        self, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.edits(tmp_path, monkeypatch, "path.write_text(path.read_text() + 'Or May.\\n')")
        assert ok("edit", "plan") == "Changed: decisions/plan.md\n"
        assert plan.read_text() == PLAN + "Or May.\n"

    def test_nothing_is_written(
        self, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.edits(tmp_path, monkeypatch, "")
        assert ok("edit", "plan") == "Nothing was changed.\n"
        assert plan.read_text() == PLAN

    def test_what_cannot_be_written_is_kept(
        self, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = f"pathlib.Path({str(plan)!r}).write_text('Theirs.\\n')"
        self.edits(tmp_path, monkeypatch, f"path.write_text('Mine.\\n')\n{other}")
        message = failed(1, "edit", "plan")
        assert "changed since you read it" in message
        kept = Path(message.partition("Your text is in ")[2].strip().rstrip("."))
        assert kept.read_text() == "Mine.\n"
        assert plan.read_text() == "Theirs.\n"
        kept.unlink()

    def test_a_text_that_is_not_utf8_is_kept(
        self, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.edits(tmp_path, monkeypatch, "path.write_bytes('H\u00e4cke\\n'.encode('latin-1'))")
        message = failed(1, "edit", "plan")
        assert "the editor did not save the text as UTF-8. It is in " in message
        kept = Path(message.partition(" It is in ")[2].strip())
        assert kept.read_bytes() == "H\u00e4cke\n".encode("latin-1")
        assert plan.read_text() == PLAN
        kept.unlink()


class TestHistory:
    def test_events_and_states(self, plan: Path) -> None:
        assert ok("history", "plan") == (
            "2026-01-05 00:00  superseded  notes/old.md  by decisions/plan.md\n"
            "2026-01-05 00:00  created     decisions/plan.md\n"
            "2025-01-05 00:00  created     notes/old.md\n"
        )
        ok("retract", "plan", "--reason", "Too late.")
        result = run("history", "plan", "--limit", "1")
        assert result.stdout.endswith("  retracted   decisions/plan.md  Too late.\n")
        assert result.stderr == "3 earlier events; --limit shows them.\n"
        assert as_json("history", "plan")["count"] == 4
        assert ok("diff", "plan").startswith("--- notes/old.md\n+++ decisions/plan.md\n@@ -1,")
        assert as_json("diff", "plan", "--old", "plan")["text"] == ""
        assert ok("diff", "plan", "--old", "plan") == "No difference.\n"
        assert plan.exists()

    @pytest.mark.usefixtures("plan")
    def test_no_text_drives_the_terminal(self, here: Path) -> None:
        put(here, "notes/odd.md", '---\nwritten_by: "a\\e[2J"\ndate: no\n---\nB\x1b[31m\n')
        assert ok("history", "odd") == "unknown           created     notes/odd.md  (a [2J)\n"
        assert "+B\\x1b[31m" in ok("diff", "odd", "--old", "plan")

    @pytest.mark.usefixtures("plan")
    def test_unknown_names(self) -> None:
        assert "there is no memory 'gone'" in failed(1, "history", "gone")
        assert "there is no state 'gone' of decisions/plan.md" in failed(
            1, "diff", "plan", "--old", "gone"
        )


@pytest.mark.usefixtures("plan")
def test_list_of_expired_memories_and_of_a_writer(here: Path) -> None:
    assert ok("list", "--expired") == "No memories.\n"
    command = ("remember", "The code is 1234.", "--valid-until", "2020-01-31")
    done = run(*command, "--written-by", "codex/s1")
    assert (done.exit_code, done.stderr) == (
        0,
        "It has expired: valid_until is 2020-01-31. Recall leaves it out.\n",
    )
    assert "[no longer valid since 2020-01-31]" in ok("list", "--expired")
    assert as_json("list", "--written-by", "codex,ana")["count"] == 1
    assert "written_by must be a name" in failed(1, "remember", "x", "--written-by", " ")
    ok("edit", "plan", "Really.", "--append", "--written-by", "ana")
    assert as_json("list", "--written-by", "ana")["count"] == 1
    assert 'written_by: ["ana"]' in (here / "decisions/plan.md").read_text()


@pytest.mark.usefixtures("plan")
def test_recency_and_diversity() -> None:
    said = ok("recall", "cut", "--recency", "30d", "--explain")
    assert re.search(r", age -\d\.\d\d \(weight 0\.\d+\); found by", said)
    assert "recency must be an age of one day or more" in failed(
        2, "recall", "cut", "--recency", "x"
    )
    assert "--diversify goes with --budget" in failed(2, "recall", "cut", "--diversify")
    assert "Cut in August." in ok("recall", "cut", "--budget", "200", "--diversify")
    assert as_json("recall", "cut", "--written-by", "ana")["results"] == []
