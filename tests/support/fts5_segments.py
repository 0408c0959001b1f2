"""The number of segments of a full-text index, counted without the engine."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def count_segments(path: Path) -> int:
    """Return the number of segments in FTS5's structure record.

    The file must not be open in this process through the engine: closing the second SQLite
    connection would release the engine's locks.
    """
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        (record,) = connection.execute(
            "SELECT block FROM knowledge_fts_data WHERE id = 10"
        ).fetchone()
    # Four bytes of configuration, then the numbers of levels and of segments, with seven bits per
    # byte.
    numbers, rest = [0], iter(record[4:])
    while len(numbers) <= 2:
        byte = next(rest)
        numbers[-1] = numbers[-1] << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(0)
    return numbers[1]
