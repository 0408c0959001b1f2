"""The floor for vectors: reading each byte of them once, with nothing computed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.corpus import Corpus
from suite.shapes import blocks


class Reading:
    """The vectors as a byte for each number, looked through for a byte that is not there."""

    NAME = "reading int8 once"
    PACKAGES = ()
    NOTE = "a floor: the C library looks for a byte that does not occur"

    def __init__(self, corpus: Corpus, folder: Path, shared: Mapping[str, Any]) -> None:
        del folder, shared
        # From -127 to 127, so that -128 is not among them.
        self._bytes = b"".join(
            np.rint(corpus.vectors[block] * 127).astype(np.int8).tobytes()
            for block in blocks(len(corpus))
        )

    def nearest(self, vector: Any) -> int:
        """Find nothing."""
        del vector
        return self._bytes.find(b"\x80")

    def rows(self, answer: int) -> list[int]:
        """There are none."""
        del answer
        return []

    def close(self) -> None:
        """Let go of the memory."""
        self._bytes = b""
