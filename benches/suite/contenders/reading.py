"""The floor for vectors: reading each byte of them once, without arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.corpus import Corpus
from suite.shapes import blocks


class Reading:
    """The vectors with one byte per number, scanned for a byte that does not occur."""

    NAME = "reading int8 once"
    PACKAGES = ()
    NOTE = "a floor: the C library looks for a byte that does not occur"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del folder, shared
        # The numbers range from -127 to 127, so -128 does not occur.
        self._bytes = b"".join(
            np.rint(corpus.vectors[block] * 127).astype(np.int8).tobytes()
            for block in blocks(len(corpus))
        )

    def nearest(self, vector: Any) -> int:
        """Scan all bytes without a match."""
        del vector
        return self._bytes.find(b"\x80")

    def rows(self, answer: int) -> list[int]:
        """Return an empty list."""
        del answer
        return []

    def close(self) -> None:
        """Free the memory."""
        self._bytes = b""
