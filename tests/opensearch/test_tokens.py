"""The tokens sent to the server, without a server: equal to those that FTS5 stores."""

from __future__ import annotations

import sqlite3

import pytest

from collection_contract import SCRIPTS
from hedgerow import _engine


@pytest.mark.parametrize("tokenizer", ["porter unicode61", "unicode61", "trigram"])
@pytest.mark.parametrize("text", [*SCRIPTS, " ".join(SCRIPTS)])
def test_they_are_those_of_fts5_in_every_script(text: str, tokenizer: str) -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='{tokenizer}')")
        connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, instance)")
    except sqlite3.OperationalError as error:
        pytest.skip(f"this Python's SQLite cannot say: {error}")
    connection.execute("INSERT INTO texts VALUES (?)", (text,))
    stored = connection.execute("SELECT term FROM tokens ORDER BY offset").fetchall()
    assert _engine._tokenize([text], tokenizer) == [[term for (term,) in stored]]
