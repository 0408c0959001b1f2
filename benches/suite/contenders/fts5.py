"""Bare FTS5 in its fastest form: the ranking that hedgerow reproduces, and the floor for words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hedgerow as hr
from suite.corpus import Corpus, Text

from . import TOP, WEIGHTS

# Without apsw, Python's own SQLite is measured.
apsw: Any = None
if find_spec("apsw"):
    import apsw

SETTINGS = ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"]
CREATE = [
    "CREATE TABLE texts (row INTEGER PRIMARY KEY, path, title, summary, tags, content)",
    """CREATE VIRTUAL TABLE fts USING fts5(
           path, title, summary, tags, content,
           content = 'texts', content_rowid = 'row',
           detail = full, columnsize = 1, tokenize = 'porter unicode61')""",
    "INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216)",
]
SEARCH = f"""
    SELECT rowid, bm25(fts, {", ".join(map(str, WEIGHTS.values()))}) AS score
      FROM fts WHERE fts MATCH ? ORDER BY score LIMIT ?
"""  # noqa: S608 - numbers of ours
STORE = "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?)"
ENTER = "INSERT INTO fts (rowid, path, title, summary, tags, content) VALUES (?, ?, ?, ?, ?, ?)"


def connect(path: Path) -> Any:
    """Return a connection in autocommit mode."""
    if apsw is None:
        connection = sqlite3.connect(path, isolation_level=None)
    else:
        connection = apsw.Connection(str(path))
    for pragma in SETTINGS:
        connection.execute(pragma)
    return connection


def load(connection: Any, texts: Sequence[Text]) -> None:
    """Write all texts in one transaction."""
    for statement in [*CREATE, "BEGIN IMMEDIATE"]:
        connection.execute(statement)
    connection.executemany(STORE, texts)
    connection.executemany(ENTER, texts)
    connection.execute("COMMIT")


class Fts5:
    """Ranking only: expressions are precompiled, and texts are not read."""

    NAME = "FTS5"
    PACKAGES = () if apsw is None else ("apsw",)
    NOTE = (
        f"rows and scores alone, of expressions made before; {'sqlite3' if apsw is None else 'apsw'}"
        f" with SQLite {sqlite3.sqlite_version if apsw is None else apsw.sqlite_lib_version()}"
    )

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del shared
        self.path = folder / "fts5.db"
        self.connection = connect(self.path)
        load(self.connection, corpus.texts)
        self._rows = len(corpus)
        asked = [text for texts in corpus.asked.values() for text in texts]
        self.matches = {text: hr.compile_match(text) for text in [*corpus.questions, *asked]}

    def words(self, text: str) -> list[tuple[int, float]]:
        """Rank by BM25. A text without words finds nothing."""
        match = self.matches[text]
        return self.connection.execute(SEARCH, (match, TOP)).fetchall() if match else []

    prefixes = operators = words

    def add(self, content: str) -> list[tuple[int, float]]:
        """Write a chunk in one transaction, and search for it."""
        self._rows += 1
        text = (self._rows, "new.md", "", "", "", content)
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(STORE, text)
        self.connection.execute(ENTER, text)
        self.connection.execute("COMMIT")
        word = content.split(" ", 1)[0]
        return self.connection.execute(SEARCH, (f'"{word}"', 1)).fetchall()

    def rows(self, answer: Iterable[tuple[int, float]]) -> list[int]:
        """Return the rows without their scores."""
        return [row for row, _ in answer]

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
