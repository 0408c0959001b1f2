"""The index follows the files, whatever happens to them."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow import (
    Chunk,
    HedgerowError,
    Index,
    IndexFileError,
    InvalidInputError,
    MemoryRoot,
    Node,
)
from hedgerow.ingest import Source, discovery
from hedgerow.ingest.ledger import Ledger
from hedgerow.ingest.markdown import markdown_chunks
from hedgerow.ingest.sync import Reading
from hedgerow.memory import documents, freshness, lock, sync, targets
from hedgerow.memory.config import read_config
from index_doubles import without_ledger
from memory_doubles import keys, put


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    put(tmp_path, "notes/a.md", "# A\n\nhawthorn\n")
    put(tmp_path, "notes/b.md", "# B\n\nblackthorn\n\n## More\n\nsloes\n")
    opened = MemoryRoot.open(tmp_path)
    opened.sync()
    return opened


def counts(report: sync.SyncReport) -> tuple[int, int, int, int]:
    return report.documents, report.added, report.changed, report.removed


def found(root: MemoryRoot, query: str) -> list[str]:
    return sorted(one.file for one in root.recall(query, limit=50))


class TestProgress:
    def test_it_counts_the_files_to_read(self, root: MemoryRoot) -> None:
        told: list[tuple[int, int]] = []
        for number in range(130):
            put(root.path, f"notes/n{number}.md", f"note {number}")
        root.sync(progress=lambda *progress: told.append(progress))
        # The two of before were read so soon after their writing that they may be read again.
        assert told in ([(64, n), (128, n), (n, n)] for n in range(130, 133))


class TestChanges:
    def test_nothing_changed(self, root: MemoryRoot) -> None:
        assert counts(root.sync()) == (2, 0, 0, 0)

    def test_a_new_file(self, root: MemoryRoot) -> None:
        put(root.path, "deep/er/c.MD", "hawthorn")
        assert found(root, "hawthorn") == ["deep/er/c.MD", "notes/a.md"]

    def test_an_edit_also_one_that_makes_fewer_passages(self, root: MemoryRoot) -> None:
        put(root.path, "notes/b.md", "# B\n\nelder\n")
        assert found(root, "sloes OR blackthorn") == []
        assert found(root, "elder") == ["notes/b.md"]
        assert counts(root.sync()) == (2, 0, 0, 0)

    def test_a_rename(self, root: MemoryRoot) -> None:
        (root.path / "notes/a.md").rename(root.path / "notes/c.md")
        assert counts(root.sync()) == (2, 1, 0, 1)
        assert found(root, "hawthorn") == ["notes/c.md"]

    def test_two_files_that_change_places(self, root: MemoryRoot) -> None:
        notes = root.path / "notes"
        (notes / "a.md").rename(notes / "x.md")
        (notes / "b.md").rename(notes / "a.md")
        (notes / "x.md").rename(notes / "b.md")
        assert found(root, "hawthorn") == ["notes/b.md"]
        assert found(root, "sloes") == ["notes/a.md"]

    def test_a_delete(self, root: MemoryRoot) -> None:
        (root.path / "notes/a.md").unlink()
        assert found(root, "hawthorn") == []
        (root.path / "notes/b.md").unlink()
        assert counts(root.sync()) == (0, 0, 0, 1)

    def test_a_root_that_has_lost_everything_keeps_its_index_until_it_is_told(
        self, root: MemoryRoot
    ) -> None:
        (root.path / "notes").rename(root.path / ".unmounted")
        with pytest.raises(InvalidInputError, match=r"2 files .* --allow-empty") as raised:
            root.recall("hawthorn")
        assert raised.value.code == "nothing_found"
        (root.path / ".unmounted").rename(root.path / "notes")
        assert found(root, "hawthorn") == ["notes/a.md"]
        shutil.rmtree(root.path / "notes")
        assert counts(root.index(allow_empty=True)) == (0, 0, 0, 2)
        assert found(root, "hawthorn") == []

    def test_an_edit_that_hides_its_time(self, root: MemoryRoot) -> None:
        file = root.path / "notes/a.md"
        before = file.stat()
        file.write_text("# A\n\nhornbeam\n"[: before.st_size])
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert found(root, "hornbeam") == ["notes/a.md"]

    def test_edits_in_the_same_second_and_of_the_same_size(self, root: MemoryRoot) -> None:
        for word in ("aspen", "cedar", "larch", "maple", "rowan") * 4:
            put(root.path, "notes/a.md", word)
            assert found(root, word) == ["notes/a.md"]

    def test_an_edit_in_the_tick_of_the_one_before(
        self, root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A clock that stands still: only reading the file again can tell."""
        stopped = time.time_ns()

        def signature(status: os.stat_result) -> str:
            return f"{status.st_size}.{stopped}.{stopped}.1"

        monkeypatch.setattr(discovery, "signature", signature)
        monkeypatch.setattr(sync.time, "time_ns", lambda: stopped)
        put(root.path, "notes/a.md", "aspen")
        assert found(root, "aspen") == ["notes/a.md"]
        put(root.path, "notes/a.md", "cedar")
        assert found(root, "cedar") == ["notes/a.md"]

    def test_an_unchanged_file_is_not_written_again(self, root: MemoryRoot) -> None:
        os.utime(root.path / "notes/a.md", ns=(1, 1))
        time.sleep(0.15)
        assert counts(root.sync()) == (2, 0, 0, 0)
        derived = sync.Derived.of(read_config(root.path))
        with Index.open(derived.index, read_only=True) as index:
            assert freshness.skips_if_fresh(derived, Ledger.load(index, derived.scope)) == []

    def test_each_file_is_parsed_once_for_index_and_store(
        self, root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys(root)
        parsed: list[str] = []

        def parse(path: str, data: bytes) -> Any:
            parsed.append(path)
            return documents.parse_document(path, data)

        monkeypatch.setattr(targets, "parse_document", parse)
        put(root.path, "notes/c.md", "hawthorn [[a]]")
        put(root.path, "notes/a.md", "hawthorn [[b]]")
        assert found(root, "hawthorn") == ["notes/a.md", "notes/c.md"]
        assert keys(root) == ["notes/a.md", "notes/b.md", "notes/c.md"]
        assert len(root.graph().edges) == 2
        root.remember("more hawthorn", title="T")
        assert len(keys(root)) == 4
        assert len(parsed) == 3


class TestDiscovery:
    @pytest.mark.parametrize(
        "folder",
        [".git", ".hedgerow", ".obsidian", "a/.trash", "node_modules", "agents", "agents/deep"],
    )
    def test_folders_without_memories_are_passed_by(self, root: MemoryRoot, folder: str) -> None:
        put(root.path, f"{folder}/x.md", "hawthorn")
        assert found(root, "hawthorn") == ["notes/a.md"]
        assert keys(root) == ["notes/a.md", "notes/b.md"]

    @pytest.mark.parametrize(
        "name",
        ["golden rule.md", "answer_session_ids.md", "dist/x.md", "a/build/x.md", "a/agents/x.md"],
    )
    def test_no_other_name_is_special(self, root: MemoryRoot, name: str) -> None:
        put(root.path, name, "hawthorn")
        assert name in found(root, "hawthorn")

    def test_links_are_not_followed(self, root: MemoryRoot, tmp_path: Path) -> None:
        (root.path / "notes/link.md").symlink_to(tmp_path / "notes/a.md")
        (root.path / "linked").symlink_to(tmp_path / "notes")
        assert found(root, "hawthorn") == ["notes/a.md"]

    def test_what_is_passed_by_is_counted_and_named(self, root: MemoryRoot) -> None:
        (root.path / "notes/link.md").symlink_to(root.path / "notes/a.md")
        for name in (".obsidian/x.md", "agents/x.md", "a.png", "node_modules/x.md"):
            put(root.path, name, "x")
        report = root.index()
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

    def test_a_root_may_exclude_and_include(self, root: MemoryRoot) -> None:
        for name in (".inbox/x.md", "drafts/x.md", "log/old/x.md", "log/new/x.md", "agents/x.md"):
            put(root.path, name, "hawthorn")
        rules = {"exclude": ["drafts", "log/old"], "include": [".inbox", "/agents"]}
        put(root.path, "hedgerow.json", json.dumps({"schemaVersion": 1, **rules}))
        assert found(root, "hawthorn") == [
            ".inbox/x.md", "agents/x.md", "log/new/x.md", "notes/a.md",
        ]  # fmt: skip
        put(root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": "drafts"}')
        with pytest.raises(HedgerowError, match="exclude must be a list of patterns"):
            root.recall("x")

    def test_a_memory_that_the_root_excludes_is_not_said_to_be_indexed(
        self, root: MemoryRoot
    ) -> None:
        put(root.path, "hedgerow.json", '{"schemaVersion": 1, "exclude": ["notes"]}')
        done = root.remember("x", title="T")
        assert not done.indexed
        assert done.notice is not None
        assert "No recall finds it" in done.notice

    def test_a_document_with_nothing_in_it_counts(self, root: MemoryRoot) -> None:
        put(root.path, "empty.md", "")
        put(root.path, "front.md", "---\ntype: note\n---\n")
        assert counts(root.index()) == (4, 2, 0, 0)
        documents = json.loads((root.path / ".hedgerow/index.json").read_text())["documents"]
        assert [one["relativePath"] for one in documents] == [
            "empty.md", "front.md", "notes/a.md", "notes/b.md",
        ]  # fmt: skip
        assert documents[1]["frontmatter"] == {"type": "note"}


class TestBadFiles:
    def test_a_memory_that_is_too_large_is_not_said_to_be_indexed(self, root: MemoryRoot) -> None:
        for _ in range(2):
            done = root.remember("word " * 3_500_000, title="Large")
            assert done.to_dict() == {
                "file": done.file,
                "indexed": False,
                "problem": "Not indexed: the file is larger than 16 MiB; split it. "
                "No recall finds it.",
            }
            shutil.rmtree(root.path / ".hedgerow")

    def test_are_named_each_time_and_the_rest_goes_on(self, root: MemoryRoot) -> None:
        (root.path / "bad.md").write_bytes(b"\xff\xffx")
        (root.path / "nul.md").write_bytes(b"a\0b")
        put(root.path, "zebra.md", "hawthorn")
        for _ in range(2):
            report = root.sync()
            assert report.documents == 3
            assert [(skip.path, skip.code) for skip in report.skips] == [
                ("bad.md", "not_utf8"), ("nul.md", "binary"),
            ]  # fmt: skip
        assert found(root, "hawthorn") == ["notes/a.md", "zebra.md"]

    def test_a_file_that_turns_bad_is_no_longer_found(self, root: MemoryRoot) -> None:
        (root.path / "notes/a.md").write_bytes(b"\xff")
        assert found(root, "hawthorn") == []

    def test_bad_front_matter_loses_nothing(self, root: MemoryRoot) -> None:
        put(root.path, "c.md", "---\ntitle: a: b\nsession_id: s-1\n---\nhornbeam\n")
        report = root.sync()
        assert (report.documents, [skip.code for skip in report.skips]) == (3, ["bad_front_matter"])
        [one] = root.recall("hornbeam")
        assert (one.session_id, one.metadata["title"]) == ("s-1", "a: b")

    def test_half_a_character_in_front_matter_loses_nothing(self, root: MemoryRoot) -> None:
        put(root.path, "c.md", '---\ntitle: "a \\ud800"\ntags: [x]\n---\nhornbeam\n')
        put(root.path, "d.md", '---\ntitle: "\\ud83e\\udd94 hedgehog"\n---\nhornbeam\n')
        report = root.sync()
        assert [(skip.path, skip.code) for skip in report.skips] == [("c.md", "bad_front_matter")]
        titles = {one.file: one.metadata["title"] for one in root.recall("hornbeam")}
        assert titles == {"c.md": '"a \\ud800"', "d.md": "\U0001f994 hedgehog"}

    def test_a_name_that_is_no_text_is_named(self, root: MemoryRoot) -> None:
        try:
            (root.path / "a\nb.md").write_text("x")
        except OSError:
            pytest.skip("this file system takes no such name")
        assert [skip.code for skip in root.sync().skips] == ["bad_name"]


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(
            lambda text: f"---\n{text}\n---\n# A\n\nbody\n".encode()
        ),
    )
)
@example(b'---\na: "\\ud800"\n---\nx')
@example(b"---\na: &a [*a]\n---\nx")
@example(b"---\n? {a: b}\n: c\n---\nx")
@example(b"---\na: !!binary aGk=\nb: !!set {x}\nc: !!omap [a: 1]\n---\nx")
@example(b"---\n1: 2026-01-01\n2: 12345678901234567890\n---\nx")
def test_no_file_stops_a_sync(data: bytes) -> None:
    reading = Reading(Source("a.md", "a.md", data=data), settled=True)
    chunks, skips, _ = targets._chunks_of(reading)
    json.dumps([chunk.metadata for chunk in chunks], allow_nan=False)
    assert [skip.code for skip in skips if skip.code == "refused"] == []


class TestDerivedFiles:
    @pytest.mark.parametrize(
        "names", [["index.db"], ["store.db"], ["index.db", "store.db"], ["lock"], None]
    )
    def test_any_of_them_may_be_deleted(self, root: MemoryRoot, names: list[str] | None) -> None:
        keys(root)
        root.close()
        derived = root.path / ".hedgerow"
        if names is None:
            shutil.rmtree(derived)
        for name in names or ():
            (derived / name).unlink()
        put(root.path, "notes/a.md", "aspen")
        (root.path / "notes/b.md").unlink()
        assert found(root, "aspen") == ["notes/a.md"]
        assert found(root, "hawthorn OR sloes OR blackthorn") == []
        assert keys(root) == ["notes/a.md"]

    @pytest.mark.parametrize(
        "damage", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 999]
    )
    def test_an_index_that_is_none_is_made_again(self, root: MemoryRoot, damage: bytes) -> None:
        root.close()
        for file in (root.path / ".hedgerow").glob("index.db*"):
            file.unlink()
        (root.path / ".hedgerow/index.db").write_bytes(damage)
        assert found(root, "hawthorn") == ["notes/a.md"]
        assert counts(root.sync()) == (2, 0, 0, 0)

    def test_a_root_of_an_earlier_version_is_read_again(self, root: MemoryRoot) -> None:
        keys(root)
        root.close()
        derived = root.path / ".hedgerow"
        with Index.open(derived / "index.db") as index:
            before = [(chunk.id, chunk.content) for chunk in index.chunks()]
        for name in ("index.db", "store.db"):
            without_ledger(derived / name)
        for name in ("ledger", "nodes.json"):
            (derived / name).write_text("of an earlier version")
        (root.path / "notes/b.md").unlink()
        assert root.index_state() is None
        assert found(root, "hawthorn") == ["notes/a.md"]
        assert found(root, "sloes") == []
        assert keys(root) == ["notes/a.md"]
        with Index.open(derived / "index.db", read_only=True) as index:
            assert [(chunk.id, chunk.content) for chunk in index.chunks()] == before[:1]
            assert index.check() == []
        assert not (derived / "ledger").exists()
        assert not (derived / "nodes.json").exists()

    def test_chunks_and_nodes_that_no_file_stands_behind_go(self, root: MemoryRoot) -> None:
        keys(root)
        with Index.open(root.path / ".hedgerow/index.db") as index:
            index.upsert([Chunk("x", "x.md", "hawthorn")])
        root.store().upsert([Node("y.md", content="by hand"), Node("notes/a.md", content="other")])
        put(root.path, "notes/c.md", "elder")
        assert keys(root) == ["notes/a.md", "notes/b.md", "notes/c.md"]
        assert found(root, "hawthorn") == ["notes/a.md"]
        node = root.store().get("notes/a.md")
        assert node is not None
        assert node.content == "# A\n\nhawthorn"

    def test_without_sync_the_index_is_read_as_it_stands(self, root: MemoryRoot) -> None:
        put(root.path, "notes/c.md", "hawthorn")
        assert [one.file for one in root.recall("hawthorn", sync=False)] == ["notes/a.md"]
        shutil.rmtree(root.path / ".hedgerow")
        with pytest.raises(IndexFileError, match="hedgerow index --root") as raised:
            root.recall("hawthorn", sync=False)
        assert raised.value.code == "index_not_found"

    def test_an_index_that_lost_what_the_ledger_tells_is_made_whole(self, root: MemoryRoot) -> None:
        with Index.open(root.path / ".hedgerow/index.db") as index:
            index.delete_path("notes/a.md")
        root.sync()
        assert found(root, "hawthorn") == ["notes/a.md"]

    def test_the_manifest_is_written_by_index_only(self, root: MemoryRoot) -> None:
        manifest = root.path / ".hedgerow/index.json"
        root.remember("x", title="T")
        root.recall("x")
        assert not manifest.exists()
        root.index()
        assert len(json.loads(manifest.read_text())["documents"]) == 3

    def test_another_index_root_is_read_anew(self, root: MemoryRoot) -> None:
        put(root.path, "hedgerow.json", '{"schemaVersion": 1, "indexRoot": "notes"}')
        assert found(root, "hawthorn") == ["a.md"]
        done = root.remember("x", title="T", type="page")
        assert done.indexed is False
        assert done.notice == (
            f"Not indexed: it lies outside indexRoot ({root.path}/notes), which alone is searched. "
            "No recall finds it."
        )
        assert done.to_dict() == {"file": done.file, "indexed": False, "problem": done.notice}

    def test_what_a_killed_writer_left_is_removed_when_old(self, root: MemoryRoot) -> None:
        old = put(root.path, "notes/.hedgerow-1-ab.tmp", "half")
        young = put(root.path, "notes/.hedgerow-2-ab.tmp", "half")
        os.utime(old, (1, 1))
        root.sync()
        assert (old.exists(), young.exists()) == (False, True)

    def test_a_lock_that_is_held_for_too_long_is_an_error(
        self, root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lock, "PATIENCE", 0.05)
        with lock.locked(root.path / ".hedgerow/lock"):
            with pytest.raises(IndexFileError, match="--no-sync") as raised:
                root.sync()
            assert raised.value.code == "index_busy"


def test_a_file_the_index_refuses_is_named(
    root: MemoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunks(source: Source, lines: list[str], *rest: Any) -> Any:
        if source.path == "notes/c.md":
            raise InvalidInputError("not this one", code="invalid_chunk")
        return markdown_chunks(source, lines, *rest)

    monkeypatch.setattr(targets, "markdown_chunks", chunks)
    put(root.path, "notes/c.md", "larch")
    put(root.path, "notes/d.md", "cedar")
    report = root.sync()
    assert [(skip.path, skip.code) for skip in report.skips] == [("notes/c.md", "refused")]
    assert found(root, "cedar larch") == ["notes/d.md"]
