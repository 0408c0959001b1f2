"""Conversations in a root: each turn is a passage with its speaker (spec/ingest.md, "Conversations")."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import MemoryRoot

SESSION = """---
type: session
date: 2023-05-08
---
# Session 1

Caroline: Hey Mel! Where were you all this time?
Melanie: I was at the lake with the kids, and we swam.
Caroline: I went to a support group yesterday.

It was so powerful, and I thought of the lake.
Melanie: Wow, what happened there at the lake?
"""

CHAT = """---
type: session
---
## User

Where do I keep my keys?

## Claude

You keep your keys in the drawer.
"""


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    folder = tmp_path / "memory" / "sessions"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(SESSION, encoding="utf-8")
    (folder / "chat.md").write_text(CHAT, encoding="utf-8")
    return MemoryRoot.open(tmp_path / "memory")


def test_a_recall_finds_what_a_named_speaker_said(root: MemoryRoot) -> None:
    (found, *_) = root.recall("what support group did Caroline go to").results
    assert found.file == "sessions/one.md"
    assert (found.line_start, found.line_end) == (9, 11)
    (found, *_) = root.recall("was Melanie with the kids").results
    assert (found.line_start, found.line_end) == (8, 8)


def test_files_are_cut_at_turns(tmp_path: Path) -> None:
    for name, text in (("one.md", SESSION), ("one.txt", SESSION), ("chat.md", CHAT)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    index = hr.Index.in_memory()
    index.sync_files([tmp_path])
    by_path: dict[str, list[hr.Chunk]] = {}
    for chunk in index.chunks():
        by_path.setdefault(Path(chunk.path).name, []).append(chunk)
    speakers = [chunk.metadata.get("speaker") for chunk in by_path["one.md"]]
    assert speakers == ["Caroline", "Melanie", "Caroline", "Melanie"]
    assert by_path["one.md"][0].content.startswith("# Session 1\n\nCaroline: Hey Mel!")
    assert by_path["one.md"][2].content.endswith("I thought of the lake.")
    assert [chunk.metadata.get("role") for chunk in by_path["chat.md"]] == ["user", "assistant"]
    found = hr.Retriever(index, ranking=hr.Ranking("best")).search(
        "my keys", filters={"path_prefix": ""}
    )
    assert found[0].explanation["speaker"]["because"] == "first_person"
