"""The segments of a full-text index, counted without the engine."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def count_segments(path: Path) -> int:
    """The number in FTS5's record of its structure.

    This process must not have the file open through the engine: closing SQLite's connection here would
    release the locks of that one.
    """
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        (record,) = connection.execute(
            "SELECT block FROM knowledge_fts_data WHERE id = 10"
        ).fetchone()
    # Four bytes for the configuration, the number of levels, and that of segments: seven bits a byte.
    numbers, rest = [0], iter(record[4:])
    while len(numbers) <= 2:
        byte = next(rest)
        numbers[-1] = numbers[-1] << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(0)
    return numbers[1]
