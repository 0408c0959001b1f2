"""The audit of roots and of exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import as_json, failed, ok
from hedgerow import MemoryRoot
from hedgerow.errors import Fix
from hedgerow.memory.process import audit_export
from memory_doubles import put

LONG = "Hedges were cut in August because the fieldfares had eaten all of the berries by then. " * 3

OTHER = " ".join(f"word{number}" for number in range(60))

AUDIT_RULES = ("secret", "empty", "duplicate", "contradiction", "expired", "repeated-recall")
"""The rules in the order of findings."""


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    """A root with a finding for each rule."""
    put(
        tmp_path, "notes/key.md", "# Key\n\nIt is AKIAIOSFODNN7ABCDEFG, and AKIAIOSFODNN7ABCDEFH.\n"
    )
    put(tmp_path, "notes/empty.md", "---\ntitle: Empty\n---\n# Empty\n\n## Again\n")
    put(tmp_path, "notes/2026-01-01-beer.md", "Beer drowns slugs in the garden at night.\n")
    put(tmp_path, "notes/2026-02-01-beer.md", "Beer drowns slugs in the garden at night!\n")
    put(
        tmp_path,
        "notes/marks.md",
        "---\nvalid_from: 2022-01-01\nvalid_until: 2021-01-01\n---\nx y\n",
    )
    put(tmp_path, "notes/old.md", "---\nvalid_until: 2020-01-01\n---\nold\n")
    put(tmp_path, "notes/printed.md", "As found:\n\n1. notes/a.md:3-9 score=0.61\n   Beer\n")
    put(tmp_path, "notes/2026-03-01-first.md", f"Mulch keeps the beds moist.\n\n{LONG}\n")
    put(tmp_path, "notes/2026-03-02-second.md", f"{OTHER}\n\n> {LONG}\n")
    return tmp_path


def test_each_rule_names_file_line_and_command(troubled: Path) -> None:
    found = MemoryRoot.open(troubled).audit()
    by_rule = {rule: [one for one in found.findings if one.rule == rule] for rule in AUDIT_RULES}
    assert found.documents == 9
    assert list(found.counts) == list(AUDIT_RULES)
    [secret] = by_rule["secret"]
    assert (secret.file, secret.line) == ("notes/key.md", 3)
    assert (
        secret.text
        == "looks like it has a secret: AWS access key (AKIA…), and 1 more; revoke it, and edit the memory"
    )
    [empty] = by_rule["empty"]
    assert empty.file == "notes/empty.md"
    assert empty.fix == Fix(
        "delete it for good", "forget", {"key": "notes/empty.md", "purge": True}
    )
    [copy] = by_rule["duplicate"]
    assert str(copy.fix) == (
        'root.supersede(old="notes/2026-02-01-beer.md", by="notes/2026-01-01-beer.md")'
    )
    [marks] = by_rule["contradiction"]
    assert (marks.file, marks.text) == (
        "notes/marks.md",
        "is valid until a time before it begins to be",
    )
    [old] = by_rule["expired"]
    assert (old.file, old.text) == ("notes/old.md", "is no longer valid since 2020-01-01")
    second, printed = by_rule["repeated-recall"]
    assert (second.file, second.line) == ("notes/2026-03-02-second.md", 3)
    assert second.text == "repeats a paragraph of notes/2026-03-01-first.md"
    assert (printed.file, printed.line) == ("notes/printed.md", 3)


def test_nothing_is_written(troubled: Path) -> None:
    before = sorted(troubled.rglob("*"))
    ok("audit", "--root", str(troubled))
    assert sorted(troubled.rglob("*")) == before


def test_the_command_prints_what_to_do(troubled: Path) -> None:
    said = ok("audit", "--root", str(troubled))
    assert "[expired] notes/old.md is no longer valid since 2020-01-01\n" in said
    assert f"    hedgerow forget notes/old.md --purge --root {troubled}\n" in said
    assert said.endswith(
        "9 memories read; 1 secret, 1 empty, 1 duplicate, 1 contradiction, 1 expired, "
        "2 repeated-recall.\n"
    )
    answer = as_json("audit", "--root", str(troubled))
    assert answer["counts"]["repeated-recall"] == 2
    assert answer["findings"][0]["rule"] == "secret"
    assert answer["findings"][0]["fix"] == {
        "does": "edit it",
        "operation": "edit",
        "arguments": {"key": "notes/key.md"},
    }


def test_an_empty_root_has_nothing(tmp_path: Path) -> None:
    assert ok("audit", "--root", str(tmp_path)) == "0 memories read; nothing found.\n"


def test_a_scope_sees_its_own_alone(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nscope: {user: ana}\nvalid_until: 2020-01-01\n---\nx\n")
    put(tmp_path, "b.md", "---\nvalid_until: 2020-01-01\n---\ny\n")
    root = MemoryRoot.open(tmp_path, scope={"user": "ana"})
    assert [one.file for one in root.audit().findings] == ["a.md"]


class TestExports:
    def test_mem0_is_audited_before_it_is_imported(self, tmp_path: Path) -> None:
        records = [
            {"id": "1", "memory": "User likes green tea a lot"},
            {"id": "2", "memory": "User likes green tea a lot!"},
            {"id": "3", "memory": "The card is 4111 1111 1111 1111"},
            {"id": "4", "memory": ""},
        ]
        file = put(tmp_path, "mem0.json", json.dumps({"results": records}))
        found = audit_export(file)
        assert [(one.rule, one.file, one.line) for one in found.findings] == [
            ("secret", "3", None),
            ("duplicate", "2", None),
        ]
        assert len(found.unreadable) == 1

    def test_a_folder_of_markdown_is_audited(self, troubled: Path) -> None:
        said = ok("audit", str(troubled))
        assert "[expired] notes/old.md" in said
        assert "--purge" not in said

    def test_another_source_is_an_error(self, tmp_path: Path) -> None:
        assert "no such file or folder" in failed(1, "audit", str(tmp_path / "none"))
        assert "no JSON" in failed(1, "audit", str(put(tmp_path, "x.json", "nope")))
        said = failed(2, "audit", str(tmp_path), "--root", str(tmp_path))
        assert "Name what to audit once" in said
