"""Another output of the readers has another version, so that indexes read their files again."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import hedgerow as hr
from memory_doubles import put
from places import ROOT

FILES = {
    "notes/plan.md": "---\ntitle: Plan\ntags: [hedge, a/b]\ntype: decision\nsupersedes: '[[old]]'\n"
    "valid_until: 2030-01-02\nday: 2026-05-06\n---\n# Plan\n\nSee [[old#Part|the old one]] and [text](b.md).\n\n"
    "## Part\n\n- [ ] a task #tag\n\n> [!note] callout\n> [[Moles]]\n\n```python\nx = '[[no link]]'\n```\n",
    "notes/old.md": "+++\ntitle = 'Old'\n+++\n\nSetext\n======\n\nText with ^block and ==mark==.\n",
    "daily/2026-03-04.md": "On this day, Ümläute and ﬁ.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "talks/one.md": "Ana: Where are the moles?\n\nBen: In the meadow, I think.\n\nAna: Thank you.\n\nBen: Gladly so.\n",
    "talks/two.jsonl": '{"role": "user", "content": "hedges?"}\n{"role": "assistant", "content": "In May."}\n',
    "notes/words.txt": "A plain text.\n\nOf two paragraphs.\n",
    "notes/conflict.md": "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n",
    "notes/bad.md": "---\ntitle: [\n---\nStill read.\n",
}
OUTPUT = 12, "a34b3f65a4f4ba09"
"""The version of the readers, and the digest of their output for the files."""


def test_another_output_has_another_version(tmp_path: Path) -> None:
    for name, text in FILES.items():
        put(tmp_path, name, text)
    for file in sorted((ROOT / "examples" / "notes").rglob("*.md")):
        put(
            tmp_path,
            f"examples/{file.relative_to(ROOT / 'examples').as_posix()}",
            file.read_text("utf-8"),
        )
    with hr.MemoryRoot(tmp_path) as root:
        root.sync()
        edges = root.graph().edges
    with closing(sqlite3.connect(tmp_path / ".hedgerow" / "index.db")) as index:
        [(note,)] = index.execute("SELECT value FROM settings WHERE name = 'sync_scope'")
        read = [
            *index.execute(
                "SELECT id, path, title, tags, content, metadata FROM knowledge_chunks ORDER BY id"
            ),
            *index.execute("SELECT path, digest, skips, facts FROM sources ORDER BY path"),
            *edges,
        ]
    made = re.sub(r'"(?:mtime|modified)[^,}]*', "", repr(read)).replace(str(tmp_path), "")
    output = int(note.split()[0]), hashlib.sha256(made.encode()).hexdigest()[:16]
    assert output == OUTPUT, (
        "the readers make something else of the same files: raise READERS in rust/memory/src/sync/ledger.rs, and write "
        "the version and the digest here"
    )
