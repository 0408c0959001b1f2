"""A memory root as a store: its files as nodes, its links as edges."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.memory import node_sync
from memory_doubles import put

NOW = 1_800_000_000


@pytest.fixture
def root(tmp_path: Path) -> hr.MemoryRoot:
    return hr.MemoryRoot.init(tmp_path / "memory")


def keys(root: hr.MemoryRoot, pipeline: str = "all") -> list[str]:
    return root.query(pipeline, now=NOW).keys


def edges(root: hr.MemoryRoot) -> list[tuple[str, str, str, float]]:
    return list(root.graph().edges)


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
            ("weight: high", "weight must be a number from 0 to 1, not 'high'; 0.7 is used"),
            ("weight: 2", "weight must be a number from 0 to 1, not 2; 0.7 is used"),
            ("emotion: true", "emotion must be a number from 0 to 10, not True; 0.0 is used"),
            ("category: mine", "category must be one of core, general, technical, observation, "
             "task, not 'mine'; 'general' is used"),
            ("last_replayed: soon", "last_replayed must be a date, or Unix seconds, not 'soon'"),
            ("replay_interval: 0", "replay_interval must be a whole number of days from 1, not 0"),
            ("type: a.b", "type must be a word of up to 64 letters, digits, - and _, not 'a.b'; "
             "'note' is used"),
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


class TestSync:
    def test_only_what_changed_is_read(
        self, root: hr.MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in "abc":
            put(root.path, f"{name}.md", name)
        keys(root)
        time.sleep(0.15)
        keys(root)
        read: list[str] = []
        real = node_sync.read_bytes
        monkeypatch.setattr(
            node_sync, "read_bytes", lambda source: read.append(source.path) or real(source)
        )
        assert len(keys(root)) == 3
        assert read == []
        put(root.path, "b.md", "changed")
        put(root.path, "d.md", "new")
        (root.path / "c.md").unlink()
        assert keys(root) == ["a.md", "b.md", "d.md"]
        assert read == ["b.md", "d.md"]

    def test_a_store_that_is_deleted_or_damaged_is_made_again(
        self, root: hr.MemoryRoot, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(root.path, "a.md", "[[b]]")
        put(root.path, "b.md", "x")
        assert len(edges(root)) == 1
        shutil.rmtree(root.path / ".hedgerow")
        assert len(edges(root)) == 1
        root.close()
        for file in (root.path / ".hedgerow").glob("store.db*"):
            file.unlink()
        (root.path / ".hedgerow" / "store.db").write_bytes(b"no database at all" * 99)
        put(root.path, "c.md", "x")
        with caplog.at_level(logging.WARNING, "hedgerow"):
            assert keys(root) == ["a.md", "b.md", "c.md"]
        assert "made anew from the files without the visits it knew of, and kept as" in caplog.text
        kept = root.path / ".hedgerow" / "store.db.damaged"
        assert kept.read_bytes().startswith(b"no database at all")
        (root.path / ".hedgerow" / "nodes.json").write_text('{"version": 1, "files": {"a.md": 3}}')
        assert len(edges(root)) == 1

    def test_a_sync_that_stops_on_the_way_is_finished_by_the_next(
        self, root: hr.MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(root.path, "a.md", "[[b]]")
        put(root.path, "gone.md", "x")
        keys(root)
        put(root.path, "b.md", "x")
        put(root.path, "stray.md", "x")
        (root.path / "gone.md").unlink()
        monkeypatch.setattr(node_sync._Run, "_relink", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            keys(root)
        monkeypatch.undo()
        # What was written meanwhile and has no file any more goes too.
        (root.path / "stray.md").unlink()
        assert keys(root) == ["a.md", "b.md"]
        assert edges(root) == [("a.md", "b.md", "link", 0.7)]

    def test_without_sync_the_store_is_read_as_it_stands(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "x")
        with pytest.raises(hr.IndexFileError, match="has no store yet"):
            root.query("all", sync=False)
        keys(root)
        put(root.path, "b.md", "x")
        assert root.query("all", sync=False).keys == ["a.md"]

    def test_visits_stay_while_files_change(self, root: hr.MemoryRoot) -> None:
        file = put(root.path, "a.md", "x")
        root.visit("linker", "a", NOW)
        put(root.path, "a.md", "y")
        assert keys(root, "visited:linker") == ["a.md"]
        text = file.read_text()
        file.unlink()
        assert keys(root) == []
        put(root.path, "a.md", text)
        assert keys(root, "visited:linker") == ["a.md"]

    @settings(max_examples=20, deadline=None)
    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(["a.md", "b.md", "d/a.md", "d/c.md"]),
                st.sampled_from(
                    ["[[a]]", "[[c]] [[d/a]]", "---\ntitle: b\n---\n", "# c\n[[b]]", "x"]
                ),
            ),
            max_size=4,
        )
    )
    def test_any_history_ends_where_a_fresh_store_begins(
        self, tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]]
    ) -> None:
        base = tmp_path_factory.mktemp("history")
        with hr.MemoryRoot.open(base) as root:
            for files in [*history, {"a.md": "[[c]]"}]:
                for path in ("a.md", "b.md", "d/a.md", "d/c.md"):
                    if path in files:
                        put(base, path, files[path])
                    elif (base / path).exists():
                        (base / path).unlink()
                lived = (keys(root), root.graph())
        shutil.rmtree(base / ".hedgerow")
        with hr.MemoryRoot.open(base) as root:
            assert (keys(root), root.graph()) == lived


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


class TestLink:
    def test_a_link_is_a_line_in_the_front_matter(self, root: hr.MemoryRoot) -> None:
        file = put(root.path, "notes/a.md", "---\ntitle: A # mine\n---\n\nbody\n")
        put(root.path, "notes/b.md", "# The B\n")
        assert root.link("a", "The B") == "notes/a.md"
        linked = '---\ntitle: A # mine\nrelated: ["[[notes/b]]"]\n---\n\nbody\n'
        assert file.read_text() == linked
        assert edges(root) == [("notes/a.md", "notes/b.md", "related", 1.0)]
        root.link("a", "b")
        assert file.read_text() == linked
        root.link("a", "b", 0.5, "part-of")
        root.link("a", "b", strength=0.25)
        assert [edge[2:] for edge in edges(root)] == [("part-of", 0.5), ("related", 0.25)]
        assert root.unlink("a", "b")
        assert not root.unlink("a", "b")
        assert [edge[2:] for edge in edges(root)] == [("part-of", 0.5)]

    @pytest.mark.parametrize("name", ["a|b.md", "a[1].md", "q#1.md", "x.MD", "wörld & co.md"])
    def test_names_of_all_kinds_can_be_linked(self, root: hr.MemoryRoot, name: str) -> None:
        put(root.path, "a.md", "x")
        put(root.path, name, "x")
        root.link("a.md", name, 0.5)
        assert edges(root) == [("a.md", name, "related", 0.5)]
        assert root.unlink("a.md", name)

    @pytest.mark.parametrize(
        ("ends", "options", "code", "message"),
        [
            (("a", "a"), {}, "invalid_edge", "cannot be linked to itself"),
            (("a", "x"), {}, "unknown_node", "there is no memory 'x' in this root"),
            (("a", "b.m"), {}, "unknown_node", "did you mean 'b.md'?"),
            (("a", "b"), {"strength": 0}, "invalid_edge", "above 0 and at most 1, not 0"),
            (("a", "b"), {"strength": "1"}, "invalid_edge", "above 0 and at most 1, not '1'"),
            (("a", "b"), {"rel": "title"}, "invalid_edge", "a key of front matter that has no"),
            (("a", "b"), {"rel": "a b"}, "invalid_edge", "not 'a b'"),
            (("a", "b#.md"), {"rel": "x"}, "invalid_edge", "cannot stand in [[ ]]"),
        ],
    )
    def test_what_cannot_be_linked(
        self,
        root: hr.MemoryRoot,
        ends: tuple[str, str],
        options: dict[str, object],
        code: str,
        message: str,
    ) -> None:
        for name in ("a.md", "b.md", "b#.md"):
            put(root.path, name, "x")
        with pytest.raises(hr.InvalidInputError) as caught:
            root.link(*ends, **options)  # type: ignore[arg-type]
        assert caught.value.code == code
        assert message in caught.value.message
        assert (root.path / "a.md").read_text() == "x"

    def test_a_relation_is_text(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "x")
        put(root.path, "b.md", "x")
        with pytest.raises(TypeError, match="rel must be a str, not int"):
            root.link("a", "b", rel=5)  # type: ignore[arg-type]

    def test_a_link_in_the_text_is_removed_by_hand(self, root: hr.MemoryRoot) -> None:
        put(root.path, "a.md", "[[b]]")
        put(root.path, "b.md", "x")
        with pytest.raises(hr.HedgerowError, match=r"stands in the text of a\.md; remove it there"):
            root.unlink("a", "b")


def test_a_root_tells_the_key_that_a_name_means(root: hr.MemoryRoot) -> None:
    put(root.path, "notes/a.md", "# The A\n")
    assert root.resolve("a") == root.resolve("the a") == root.resolve("notes/a") == "notes/a.md"
    assert root.store().types[5:] == ["decision", "finding", "note", "page", "preference"]


WORKER = """
import sys
from hedgerow import MemoryRoot
root = MemoryRoot.open(sys.argv[1])
print("ready", flush=True)
while True:
    root.query("all")
    root.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_two_processes_one_of_them_killed_again_and_again(root: hr.MemoryRoot) -> None:
    for number in range(60):
        put(root.path, f"n{number}.md", f"[[n{number - 1}]] " + "filler " * 200)
    for turn in range(6):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(root.path)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        for number in range(turn, 60, 7):
            put(root.path, f"n{number}.md", f"[[n{number - 1}]] turn {turn}")
            keys(root)
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        assert len(keys(root)) == 60
        assert len(edges(root)) == 59
        assert root.store().index.check() == []


def test_a_root_knows_its_types_before_it_has_any_of_them(tmp_path: Path) -> None:
    with hr.MemoryRoot.init(tmp_path) as root:
        for kind in ["note", "session", "finding", "decision", "preference", "page"]:
            assert root.query(f"all | type:{kind}").keys == []
        with pytest.raises(hr.PipelineError, match='did you mean "decision"'):
            root.query("all | type:decison")
