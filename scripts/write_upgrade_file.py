"""Keep a file of the current schema, for later versions to open: see `make upgrade-file`.

python scripts/write_upgrade_file.py FOLDER

Writes FOLDER/NAME.db.gz, where NAME consists of the file format and the version of each subject. An
existing file is left alone: an earlier build wrote it, and later versions must still read it.
"""

from __future__ import annotations

import gzip
import sqlite3
import sys
import tempfile
from pathlib import Path

import hedgerow as hr

CHUNKS = [
    hr.Chunk(
        "hedgehog-1", "garden/hedgehogs.md", "Hedgehogs sleep under the beech hedge all winter.",
        title="Hedgehogs", summary="How they live", tags=["garden", "animals"],
        metadata={"year": 2024, "seen": True, "weight": 0.6}, embedding=[1.0, 0.0, 0.5],
    ),
    hr.Chunk(
        "hedgehog-2", "garden/hedgehogs.md", "They eat slugs, beetles and fallen fruit.",
        ordinal=1, embedding=[0.5, 0.5, 0.0],
    ),
    hr.Chunk("igel", "garten/igel.md", "Der Igel überwintert unter der Hecke.", embedding=[0.9, 0.1, 0.4]),
    hr.Chunk("harinezumi", "niwa/針鼠.md", "ハリネズミは 冬眠する。", tags=["庭"]),
    hr.Chunk("empty", "drafts/empty.md", "", metadata={"status": None, "of": ["a", {"b": 1}]}),
]  # fmt: skip
NODES = [
    hr.Node(
        "hedge", weight=0.9, content="What stands around the garden", embedding=[1.0, 0.0, 0.0]
    ),
    hr.Node("beech", type="episodic", weight=0.5),
    hr.Node("nuts"),
]
EDGES = [("hedge", "beech", 0.8, "link"), ("beech", "nuts", 0.5, "derived_from")]
VISITS = [("gardener", "beech", 1_700_000_000)]


def main() -> None:
    """Write the file of the current schema, unless it exists."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "present.db"
        write(file)
        target = folder / f"{name_of(file)}.db.gz"
        if target.exists():
            print(f"{target} is there already; nothing was written")
            return
        folder.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        print(f"wrote {target}; commit it")


def write(file: Path) -> None:
    """Write an index and a store into a new file, with rows in every table of every subject."""
    with hr.Index.open(file) as index:
        index.upsert(CHUNKS)
    with hr.Store.open(file) as store:
        store.upsert(NODES)
        for edge in EDGES:
            store.link(*edge)
        for visit in VISITS:
            store.visit(*visit)


def name_of(file: Path) -> str:
    """Return a name such as `format-5-agents-1-chunks-3-...`.

    No other connection may have the file open.
    """
    connection = sqlite3.connect(file)
    try:
        [number] = connection.execute("PRAGMA user_version").fetchone()
        subjects = connection.execute("SELECT name, version FROM subjects ORDER BY name").fetchall()
    finally:
        connection.close()
    return "-".join([f"format-{number}", *(f"{name}-{version}" for name, version in subjects)])


if __name__ == "__main__":
    main()
