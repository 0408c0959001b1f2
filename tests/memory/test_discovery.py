"""Discovery of memories in a root, and skipped files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hedgerow import HedgerowError, MemoryRoot
from hedgerow.memory.doctor import diagnose
from memory_doubles import counts, found, keys, put


class TestDiscovery:
    @pytest.mark.parametrize(
        "folder",
        [".git", ".hedgerow", ".obsidian", "a/.trash", "node_modules", "agents", "agents/deep"],
    )
    def test_folders_without_memories_are_passed_by(
        self, synced_root: MemoryRoot, folder: str
    ) -> None:
        put(synced_root.path, f"{folder}/x.md", "hawthorn")
        assert found(synced_root, "hawthorn") == ["notes/a.md"]
        assert keys(synced_root) == ["notes/a.md", "notes/b.md"]

    @pytest.mark.parametrize(
        "name",
        ["golden rule.md", "answer_session_ids.md", "dist/x.md", "a/build/x.md", "a/agents/x.md"],
    )
    def test_no_other_name_is_special(self, synced_root: MemoryRoot, name: str) -> None:
        put(synced_root.path, name, "hawthorn")
        assert name in found(synced_root, "hawthorn")

    def test_links_are_not_followed(self, synced_root: MemoryRoot, tmp_path: Path) -> None:
        (synced_root.path / "notes/link.md").symlink_to(tmp_path / "notes/a.md")
        (synced_root.path / "linked").symlink_to(tmp_path / "notes")
        assert found(synced_root, "hawthorn") == ["notes/a.md"]

    def test_what_is_passed_by_is_counted_and_named(self, synced_root: MemoryRoot) -> None:
        (synced_root.path / "notes/link.md").symlink_to(synced_root.path / "notes/a.md")
        for name in (".obsidian/x.md", "agents/x.md", "a.png", "node_modules/x.md"):
            put(synced_root.path, name, "x")
        report = synced_root.index()
        assert report.passed_by == {
            "hidden": 2, "excluded": 1, "link": 1, "other": 1, "tools": 1,
        }  # fmt: skip
        assert {(one.path, one.code) for one in report.named} == {
            (".hedgerow/", "hidden"),
            (".obsidian/", "hidden"),
            ("a.png", "other"),
            ("agents/", "excluded"),
            ("node_modules/", "tools"),
            ("notes/link.md", "link"),
        }

    def test_a_root_may_exclude_and_include(self, synced_root: MemoryRoot) -> None:
        for name in (".inbox/x.md", "drafts/x.md", "log/old/x.md", "log/new/x.md", "agents/x.md"):
            put(synced_root.path, name, "hawthorn")
        rules = {"exclude": ["drafts", "log/old"], "include": [".inbox", "/agents"]}
        put(synced_root.path, "hedgerow.json", json.dumps({"schemaVersion": 1, **rules}))
        assert found(synced_root, "hawthorn") == [
            ".inbox/x.md", "agents/x.md", "log/new/x.md", "notes/a.md",
        ]  # fmt: skip
        put(synced_root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": "drafts"}')
        with pytest.raises(HedgerowError, match="exclude must be a list of patterns"):
            synced_root.recall("x")

    def test_patterns_that_match_nothing_are_reported(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["gone", "notes"]}')
        report = synced_root.sync(allow_empty=True)
        assert report.unused == ["gone"]
        assert report.to_dict()["unusedPatterns"] == ["gone"]
        state = synced_root.index_state()
        assert state is not None
        assert state.unused == ("gone",)

    @pytest.mark.parametrize(
        ("exclude", "expected", "unused"),
        [
            (["*.md", "!a.md"], ["notes/a.md"], ()),
            (["notes/*", "!notes/a.md"], ["notes/a.md"], ()),
            (["!a.md"], ["notes/a.md", "notes/b.md"], ("!a.md",)),
            (["b.md", "!a.md"], ["notes/a.md"], ("!a.md",)),
            (["!b.md", "b.md"], ["notes/a.md"], ("!b.md",)),
        ],
    )
    def test_an_exclamation_mark_takes_back(
        self, root: MemoryRoot, exclude: list[str], expected: list[str], unused: tuple[str, ...]
    ) -> None:
        put(root.path, "notes/a.md", "hawthorn")
        put(root.path, "notes/b.md", "hawthorn")
        put(root.path, "hedgerow.json", json.dumps({"schemaVersion": 1, "exclude": exclude}))
        assert found(root, "hawthorn") == expected
        state = root.index_state()
        assert state is not None
        assert state.unused == unused
        message = diagnose(root.path).index.message
        assert ("takes nothing back" in message) is bool(unused)

    def test_a_change_of_the_configuration_counts_at_once(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "drafts/x.md", "hawthorn")
        put(synced_root.path, "hedgerow.json", '{"schemaVersion": 1}')
        for _ in range(2):
            time.sleep(0.15)  # old enough for a later change to have another time
            assert found(synced_root, "hawthorn") == ["drafts/x.md", "notes/a.md"]
        put(synced_root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["drafts"]}')
        assert found(synced_root, "hawthorn") == ["notes/a.md"]
        (synced_root.path / "hedgerow.json").unlink()
        assert found(synced_root, "hawthorn") == ["drafts/x.md", "notes/a.md"]

    def test_a_memory_that_the_root_excludes_is_not_said_to_be_indexed(
        self, synced_root: MemoryRoot
    ) -> None:
        put(synced_root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["notes"]}')
        done = synced_root.remember("x", title="T")
        assert not done.indexed
        assert done.problem is not None
        assert "No recall finds it" in done.problem

    def test_a_document_with_nothing_in_it_counts(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "empty.md", "")
        put(synced_root.path, "front.md", "---\ntype: note\n---\n")
        assert counts(synced_root.index()) == (4, 2, 0, 0)
        documents = json.loads((synced_root.path / ".hedgerow/index.json").read_text())["documents"]
        assert [one["relativePath"] for one in documents] == [
            "empty.md", "front.md", "notes/a.md", "notes/b.md",
        ]  # fmt: skip
        assert documents[1]["frontmatter"] == {"type": "note"}
