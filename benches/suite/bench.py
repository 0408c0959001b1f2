"""One corpus with all contenders that are measured on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .contenders import Contender, contenders, versions
from .contenders.ours import FILE, Hedgerow
from .corpus import Corpus
from .machine import give_back
from .results import Row
from .timing import seconds

LARGE = 100_000
MILLION = 1_000_000
PROCESSES = 3_000


def _silent(what: str) -> None:
    """Ignore the message."""
    del what


@dataclass
class Bench:
    """The contenders of one corpus, and why some of them are missing.

    `budget` is the number of seconds for one line of the table, and `data` is a folder of real
    texts. `tell` receives progress messages. `processes` is the number of processes in the line of
    processes with one write each.
    """

    corpus: Corpus
    folder: Path
    budget: float
    data: Path | None = None
    tell: Callable[[str], None] = _silent
    processes: int = PROCESSES
    present: dict[str, Any] = field(default_factory=dict)
    absent: dict[type[Contender], str] = field(default_factory=dict)
    made_in: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def make(self, kinds: Sequence[type[Contender]] | None = None) -> None:
        """Build the indexes of all contenders, or of `kinds`.

        A contender that is not installed or fails is reported in `absent`.
        """
        for kind in contenders() if kinds is None else kinds:
            largest = getattr(kind, "LARGEST", len(self.corpus))
            if len(self.corpus) > largest:
                self.absent[kind] = (
                    f"not made of more than {largest:,} chunks, for it takes too long"
                )
                continue
            self.tell(f"making {kind.NAME}")
            try:
                versions(kind)
                folder = self.folder / kind.__name__
                folder.mkdir()
                self.made_in[kind.NAME] = seconds(lambda k=kind, f=folder: self._make(k, f))
            except ImportError as error:
                self.absent[kind] = f"not installed ({error.name or error})"
            except Exception as error:  # noqa: BLE001 - one broken peer must not end the run
                self.absent[kind] = f"failed: {error}"
                self.failures.append(f"{self.corpus.name}: {kind.NAME} failed: {error!r}")
            give_back()

    def _make(self, kind: type[Contender], folder: Path) -> None:
        self.present[kind.NAME] = kind(self.corpus, folder, self.present)

    def read_files(self) -> None:
        """Read all index files, because the system may have evicted them from its cache."""
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    while file.read(1 << 20):
                        pass

    @property
    def path(self) -> Path:
        """The path of hedgerow's index, which remains after the contenders are closed."""
        return self.folder / Hedgerow.__name__ / FILE

    @property
    def large(self) -> bool:
        """Whether the corpus is large enough for the targets of 100,000 chunks."""
        return len(self.corpus) >= LARGE

    @property
    def million(self) -> bool:
        """Whether the corpus has a million chunks.

        Targets for that size replace those that grow with the number of chunks.
        """
        return len(self.corpus) >= MILLION

    def calls(self, method: str) -> dict[str, Callable[[Any], Any]]:
        """Return this method of every contender that has it, hedgerow first."""
        return {
            name: getattr(contender, method)
            for name, contender in self.present.items()
            if hasattr(contender, method)
        }

    def missing(self, method: str) -> dict[str, str]:
        """Return the missing contenders that have this method, with the reasons."""
        return {kind.NAME: why for kind, why in self.absent.items() if hasattr(kind, method)}

    def row(self, key: str, what: str, unit: str, figures: Any, **more: Any) -> Row:
        """Return a line of the table for this corpus."""
        corpus = self.corpus
        return Row(key, what, corpus.name, len(corpus), unit, figures, **more)

    def release(self) -> None:
        """Close all contenders and free their memory. Their files stay."""
        for contender in self.present.values():
            contender.close()
        self.present.clear()
        give_back()

    def close(self) -> None:
        """Close all contenders and delete their files."""
        self.release()
        shutil.rmtree(self.folder, ignore_errors=True)
