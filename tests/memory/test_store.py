"""A memory root as a store: files are nodes, and links are edges."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

import hedgerow as hr
from memory_doubles import NOW, edges, keys, put


def facts(root: hr.MemoryRoot, columns: str) -> list[object]:
    [row] = root.query(f"all | select:{columns}", now=NOW).rows or []
    return row


class TestNodes:
    def test_what_front_matter_says(self, root: hr.MemoryRoot) -> None:
        put(
            root.path,
            "notes/a.md",
            "---\ntype: Meeting Notes\nweight: 0.9\ncategory: core\nemotion: 4\n"
            "provenance: agent:linker\nupdated_at: 2026-04-18T09:30:00Z\ncreated_at: 2026-04-01\n"
            "last_replayed: 2026-04-02\nreplay_interval: 7\n---\n\n# A\n\nabc\n",
        )
        columns = "key,type,weight,category,emotion,provenance,timestamp,created,content-len"
        assert facts(root, columns) == [
            "notes/a.md",
            "meeting-notes",
            0.9,
            "core",
            4.0,
            "agent:linker",
            1_776_504_600,
            1_775_001_600,
            len("# A\n\nabc"),
        ]

    def test_without_front_matter_the_defaults_and_the_times_of_the_file(
        self, root: hr.MemoryRoot
    ) -> None:
        file = put(root.path, "a.md", "text")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        columns = "type,weight,category,emotion,provenance,timestamp,created"
        assert facts(root, columns) == [
            "note", 0.7, "general", 0.0, "manual", 1_700_000_000, 1_700_000_000,
        ]  # fmt: skip

    def test_a_later_time_of_an_unchanged_file_is_that_of_its_node(
        self, root: hr.MemoryRoot
    ) -> None:
        file = put(root.path, "a.md", "text")
        for time in (1_700_000_000, 1_500_000_000):
            os.utime(file, (time, time))
            assert facts(root, "timestamp,created") == [time, time]
        put(root.path, "a.md", "---\ndate: 2026-04-18\n---\ntext")
        for time in (1_700_000_000, 1_500_000_000):
            os.utime(file, (time, time))
            assert facts(root, "timestamp,created") == [1_776_470_400, 1_776_470_400]

    @pytest.mark.parametrize(
        ("path", "stated", "kind"),
        [
            ("sessions/a.md", "", "episodic"),
            ("decisions/a.md", "", "decision"),
            ("findings/deep/a.md", "", "finding"),
            ("preferences/a.md", "", "preference"),
            ("pages/a.md", "", "page"),
            ("notes/a.md", "", "note"),
            ("journal/a.md", "", "note"),
            ("notes/a.md", "session", "episodic"),
            ("notes/a.md", "daily", "daily"),
            ("decisions/a.md", "Recipe", "recipe"),
        ],
    )
    def test_types_are_stated_or_those_of_folders(
        self, root: hr.MemoryRoot, path: str, stated: str, kind: str
    ) -> None:
        put(root.path, path, f"---\ntype: {stated}\n---\nx\n" if stated else "x")
        assert facts(root, "type") == [kind]
        assert keys(root, f"type:{kind}") == [path]

    def test_an_unknown_type_is_an_error_that_suggests_one(self, root: hr.MemoryRoot) -> None:
        put(root.path, "decisions/a.md", "x")
        with pytest.raises(hr.PipelineError, match='did you mean "decision"') as caught:
            root.query("type:decison")
        assert caught.value.kind == "UnknownValue"

    @pytest.mark.parametrize(
        ("field", "problem"),
        [
            ("weight: high", 'weight must be a number from 0 to 1, not "high"; 0.7 is used'),
            ("weight: 2", "weight must be a number from 0 to 1, not 2; 0.7 is used"),
            ("emotion: true", "emotion must be a number from 0 to 10, not true; 0.0 is used"),
            ("category: mine", "category must be one of core, general, technical, observation, "
             'task, not "mine"; "general" is used'),
            ("last_replayed: soon", 'last_replayed must be a date, or Unix seconds, not "soon"'),
            ("replay_interval: 0", "replay_interval must be a whole number of days from 1, not 0"),
            ("type: a.b", 'type must be a word of up to 64 letters, digits, - and _, not "a.b"; '
             '"note" is used'),
            ("related: [{to: b, strength: 3}]", "related: strength must be above 0 and at most 1"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_used_is_told_once_and_the_default_counts(
        self,
        root: hr.MemoryRoot,
        caplog: pytest.LogCaptureFixture,
        field: str,
        problem: str,
    ) -> None:
        put(root.path, "notes/a.md", f"---\n{field}\n---\nx\n")
        with caplog.at_level(logging.WARNING, "hedgerow"):
            assert facts(root, "type,weight,category,emotion") == ["note", 0.7, "general", 0.0]
            keys(root)
        assert [record.message for record in caplog.records if problem in record.message] != []
        assert len(caplog.records) == 1
        [skip] = root.graph().skips
        assert (skip.path, skip.code) == ("notes/a.md", "bad_front_matter")
        assert problem in skip.reason

    def test_a_file_that_is_no_text_is_no_node_until_it_is(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "x")
        assert keys(root) == ["a.md"]
        (root.path / "a.md").write_bytes(b"\xff\xfe\0")
        assert keys(root) == []
        assert [skip.code for skip in root.graph().skips] == ["not_utf8"]
        put(root.path, "a.md", "x again")
        assert keys(root) == ["a.md"]
        assert root.graph().skips == ()

    def test_a_path_that_is_too_long_for_a_key_is_told(self, root: hr.MemoryRoot) -> None:
        put(root.path, "/".join(["x" * 200] * 3) + "/a.md", "x")
        assert keys(root) == []
        [skip] = root.graph().skips
        assert "its path has 607 characters; a node has at most 512" in skip.reason

    def test_keys_are_those_of_a_recall_also_with_an_index_root(self, tmp_path: Path) -> None:
        put(tmp_path, "docs/a.md", "hawthorn")
        root = hr.MemoryRoot.init(tmp_path / "memory")
        config = json.loads((root.path / "hedgerow.json").read_text())
        (root.path / "hedgerow.json").write_text(json.dumps(config | {"indexRoot": ".."}))
        root = hr.MemoryRoot.open(root.path, trust=True)
        assert keys(root) == [one.file for one in root.recall("hawthorn")] == ["docs/a.md"]


class TestEdges:
    def test_links_of_all_kinds(self, root: hr.MemoryRoot) -> None:
        put(
            root.path,
            "a.md",
            "---\nsupersedes: b\nrelated:\n  - {to: c, strength: 0.5}\n---\n"
            "[[b]] and [c](./c.md#x) and [[nowhere]]\n",
        )
        put(root.path, "b.md", "[[a]]")
        put(root.path, "c.md", "")
        assert edges(root) == [
            ("a.md", "b.md", "link", 0.7),
            ("a.md", "b.md", "supersedes", 1.0),
            ("a.md", "c.md", "link", 0.7),
            ("a.md", "c.md", "related", 0.5),
            ("b.md", "a.md", "link", 0.7),
        ]
        assert root.graph().unresolved == (("a.md", "nowhere"),)
        assert keys(root, "neighbors:c.md") == ["a.md"]

    def test_a_link_waits_for_its_file_and_goes_with_it(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "[[b]]")
        assert edges(root) == []
        put(root.path, "deep/b.md", "x")
        assert edges(root) == [("a.md", "deep/b.md", "link", 0.7)]
        put(root.path, "b.md", "x")
        assert edges(root) == [("a.md", "b.md", "link", 0.7)]
        (root.path / "b.md").unlink()
        (root.path / "deep/b.md").unlink()
        assert (edges(root), root.graph().unresolved) == ([], (("a.md", "b"),))

    def test_a_new_title_moves_links(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "[[The Pond]]")
        put(root.path, "b.md", "# Water\n")
        assert edges(root) == []
        put(root.path, "b.md", "# The pond\n")
        assert edges(root) == [("a.md", "b.md", "link", 0.7)]
        put(root.path, "a.md", "no link any more")
        assert edges(root) == []


class TestSearch:
    def test_search_and_rank_find_what_a_recall_does(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "# Locks\n\nintro\n\n## Order\n\nlock ordering matters\n")
        put(root.path, "b.md", "an ordering of books")
        put(root.path, "c.md", "[[a]]")
        result = root.query('search:"lock ordering"')
        assert (result.keys, result.warnings) == (["a.md", "b.md"], [])
        assert sorted(keys(root, "all | rank:ordering")) == ["a.md", "b.md"]
        spread = keys(root, 'search:"lock ordering" | spread,max_hops=2,mix=0.3')
        assert spread == ["a.md", "b.md", "c.md"]

    def test_without_an_embedder_who_asks_for_meaning_is_told(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "hawthorn")
        result = root.query("search:hawthorn,mode=hybrid")
        assert result.keys == ["a.md"]
        assert result.warnings == [
            "search: mode=hybrid has no ranking by meaning and searches by words alone"
        ]
        result = root.query("search:hawthorn,mode=semantic")
        assert result.keys == []
        assert result.warnings == [
            "search: mode=semantic has no ranking by meaning and finds nothing"
        ]


def test_a_root_tells_the_key_that_a_name_means(root: hr.MemoryRoot) -> None:
    put(root.path, "notes/a.md", "# The A\n")
    assert root.resolve("a") == root.resolve("the a") == root.resolve("notes/a") == "notes/a.md"
    assert root.store().types[5:] == ["decision", "finding", "note", "page", "preference"]


def test_a_root_knows_its_types_before_it_has_any_of_them(tmp_path: Path) -> None:
    with hr.MemoryRoot.init(tmp_path) as root:
        for kind in ["note", "session", "finding", "decision", "preference", "page"]:
            assert root.query(f"all | type:{kind}").keys == []
        with pytest.raises(hr.PipelineError, match='did you mean "decision"'):
            root.query("all | type:decison")
