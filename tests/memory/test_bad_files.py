"""Files that are fully or partly unreadable are reported, and the rest is processed."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow import MemoryRoot
from memory_doubles import found, put


class TestBadFiles:
    @pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed")
    def test_a_memory_that_is_too_large_is_not_said_to_be_indexed(
        self, synced_root: MemoryRoot
    ) -> None:
        for _ in range(2):
            done = synced_root.remember("word " * 3_500_000, title="Large")
            assert done.to_dict() == {
                "root": str(synced_root.path),
                "file": done.file,
                "indexed": False,
                "problem": "Not indexed: the file is larger than 16 MiB; split it. "
                "No recall finds it.",
            }
            shutil.rmtree(synced_root.path / ".hedgerow")

    def test_are_named_each_time_and_the_rest_goes_on(self, synced_root: MemoryRoot) -> None:
        (synced_root.path / "bad.md").write_bytes(b"\xff\xffx")
        (synced_root.path / "null.md").write_bytes(b"a\0b")
        put(synced_root.path, "zebra.md", "hawthorn")
        for _ in range(2):
            report = synced_root.sync()
            assert report.documents == 3
            assert [(skip.path, skip.code) for skip in report.skips] == [
                ("bad.md", "not_utf8"), ("null.md", "binary"),
            ]  # fmt: skip
        assert found(synced_root, "hawthorn") == ["notes/a.md", "zebra.md"]

    def test_a_file_that_turns_bad_is_no_longer_found(self, synced_root: MemoryRoot) -> None:
        (synced_root.path / "notes/a.md").write_bytes(b"\xff")
        assert found(synced_root, "hawthorn") == []

    def test_bad_front_matter_loses_nothing(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "c.md", "---\ntitle: a: b\nsession_id: s-1\n---\nhornbeam\n")
        report = synced_root.sync()
        assert (report.documents, [skip.code for skip in report.skips]) == (3, ["bad_front_matter"])
        [one] = synced_root.recall("hornbeam")
        assert (one.session_id, one.metadata["title"]) == ("s-1", "a: b")

    def test_half_a_character_in_front_matter_loses_nothing(self, synced_root: MemoryRoot) -> None:
        put(synced_root.path, "c.md", '---\ntitle: "a \\ud800"\ntags: [x]\n---\nhornbeam\n')
        report = synced_root.sync()
        assert [(skip.path, skip.code) for skip in report.skips] == [("c.md", "bad_front_matter")]
        [found] = synced_root.recall("hornbeam", tags=["x"])
        assert found.metadata["title"] == '"a \\ud800"'

    def test_a_name_that_is_no_text_is_named(self, synced_root: MemoryRoot) -> None:
        try:
            (synced_root.path / "a\nb.md").write_text("x")
        except OSError:
            pytest.skip("this file system takes no such name")
        assert [skip.code for skip in synced_root.sync().skips] == ["bad_name"]


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
@settings(max_examples=40)
def test_no_file_stops_a_sync(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryRoot.open(folder) as root:
        (root.path / "a.md").write_bytes(data)
        put(root.path, "b.md", "hawthorn")
        report = root.sync()
        assert report.added >= 1
        assert {skip.path for skip in report.skips} <= {"a.md"}
        assert "b.md" in found(root, "hawthorn")
        json.dumps([one.to_dict() for one in root.recall("body x")], allow_nan=False)
