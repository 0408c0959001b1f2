"""Embedders and rerankers for Ray's actors, which record their calls in files."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import hedgerow as hr
from retrieval_doubles import FakeReranker, fnv64


class ToldEmbedder:
    """Records the texts of each call as a line in a file for each process.

    Each call waits `seconds`. A call for the text `kills_at` kills its process, once for the whole
    `folder`. A call for `fails_at` raises.
    """

    name = "fnv64"

    def __init__(
        self,
        folder: Path,
        *,
        seconds: float = 0,
        kills_at: str | None = None,
        fails_at: str | None = None,
    ) -> None:
        self.folder = folder
        self.seconds = seconds
        self.kills_at = kills_at
        self.fails_at = fails_at

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        time.sleep(self.seconds)
        if self.kills_at in texts and self._is_first():
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fails_at in texts:
            raise ConnectionError("no model today")
        with (self.folder / f"{os.getpid()}.told").open("a", encoding="utf-8") as file:
            file.write(json.dumps(list(texts)) + "\n")
        return [fnv64(text) for text in texts]

    def _is_first(self) -> bool:
        try:
            (self.folder / "killed").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def told(folder: Path) -> list[list[str]]:
    """Return the recorded texts of each call."""
    lines = [line for file in folder.glob("*.told") for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]


class LockedEmbedder(ToldEmbedder):
    """An embedder that cannot be pickled, like one that wraps a library's model."""

    def __reduce__(self) -> str:
        raise TypeError("cannot pickle a model")


def reversing() -> hr.Reranker:
    return FakeReranker("reverse")
