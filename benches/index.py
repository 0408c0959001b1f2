"""Writing and searching an index, beside bare FTS5 in the same run.

python benches/index.py [CHUNKS]
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import hedgerow as hr

WORDS_A_CHUNK = 80
VOCABULARY = 30_000
QUESTIONS = 200
TOP = 60

CREATE = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE texts (row INTEGER PRIMARY KEY, path, title, summary, tags, content);
    CREATE VIRTUAL TABLE fts USING fts5(
        path, title, summary, tags, content,
        content = 'texts', content_rowid = 'row', tokenize = 'porter unicode61');
    INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216);
"""
SEARCH = """
    SELECT rowid, bm25(fts, 3.0, 10.0, 5.0, 4.0, 1.0) AS score
      FROM fts WHERE fts MATCH ? ORDER BY score LIMIT ?
"""


def zipf(dice: random.Random, count: int) -> list[str]:
    """So many words, the nth of the vocabulary 1/n as often as the first."""
    ranks = (int(VOCABULARY ** dice.random()) for _ in range(count))
    return [f"word{rank}" for rank in ranks]


def make_chunks(count: int) -> list[hr.Chunk]:
    """Chunks of made-up text, always the same."""
    dice = random.Random(7)
    return [
        hr.Chunk(
            id=f"c{number}",
            path=f"notes/{number // 10}.md",
            title=" ".join(zipf(dice, 5)),
            summary=" ".join(zipf(dice, 12)),
            content=" ".join(zipf(dice, WORDS_A_CHUNK)),
            ordinal=number % 10,
        )
        for number in range(count)
    ]


def write_bare(path: Path, chunks: list[hr.Chunk]) -> sqlite3.Connection:
    """Write the same texts into bare FTS5, in one transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(CREATE)
    rows = [
        (row, chunk.path, chunk.title, chunk.summary, "", chunk.content)
        for row, chunk in enumerate(chunks, 1)
    ]
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.executemany(
        "INSERT INTO fts (rowid, path, title, summary, tags, content) VALUES (?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.execute("COMMIT")
    return connection


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = perf_counter()
    call()
    return perf_counter() - start


def main() -> None:
    """Print a table: hedgerow, bare FTS5, and the ratio of the two."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    chunks = make_chunks(count)
    dice = random.Random(11)
    questions = [" ".join(zipf(dice, 4)) for _ in range(QUESTIONS)]
    with tempfile.TemporaryDirectory() as folder:
        index = hr.Index.open(Path(folder) / "hedgerow.db", ranking="memory")
        writing = seconds(lambda: index.upsert(chunks))
        bare: list[sqlite3.Connection] = []
        writing_bare = seconds(lambda: bare.append(write_bare(Path(folder) / "bare.db", chunks)))
        reading = seconds(lambda: index.search_bm25(questions[0], TOP))
        changing, searching, searching_bare = [], [], []
        for number in range(QUESTIONS):
            changed = hr.Chunk(f"new{number}", "new.md", " ".join(zipf(dice, WORDS_A_CHUNK)))
            changing.append(
                seconds(lambda c=changed: (index.upsert([c]), index.search_bm25("word77", TOP)))
            )
        index.delete(f"new{number}" for number in range(QUESTIONS))
        for question in questions:
            expression = hr.compile_match(question)
            searching.append(seconds(lambda q=question: index.search_bm25(q, TOP)))
            searching_bare.append(
                seconds(lambda e=expression: bare[0].execute(SEARCH, (e, TOP)).fetchall())
            )
        versions = f"hedgerow's SQLite {index.stats().sqlite_version}"
        index.close()
        bare[0].close()
    print(f"first search, which reads the index: {reading * 1e3:.0f} ms", end="; ")
    print(f"one upsert and a search that sees it: p50 {median(changing) * 1e3:.2f} ms")
    print(f"{count} chunks; {versions}, Python's {sqlite3.sqlite_version}")
    print(f"{'':24}{'hedgerow':>12}{'bare FTS5':>12}{'ratio':>8}")
    for name, ours, theirs in [
        ("writing all, s", writing, writing_bare),
        (f"search, top {TOP}, p50 ms", median(searching) * 1e3, median(searching_bare) * 1e3),
    ]:
        print(f"{name:24}{ours:12.3f}{theirs:12.3f}{ours / theirs:8.2f}")


if __name__ == "__main__":
    main()
