"""One corpus with everybody who is measured on it."""

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
    """Tell nobody."""
    del what


@dataclass
class Bench:
    """The contenders that could be made, and why the others could not.

    `budget` is how many seconds one line of the table may take, `data` a folder of real texts,
    and `tell` is told what is done before there is a line to show. `processes` is the number of
    processes in the line of processes with one write each.
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
        """Let everybody, or those of some kinds, write an index.

        Who is not installed or fails is told of, not left out.
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
        """Have the system hold everybody's files in memory, which it may have put out."""
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    while file.read(1 << 20):
                        pass

    @property
    def path(self) -> Path:
        """The file of hedgerow's index, which stays when the contenders are closed."""
        return self.folder / Hedgerow.__name__ / FILE

    @property
    def large(self) -> bool:
        """Whether the targets hold that are set for 100,000 chunks and more."""
        return len(self.corpus) >= LARGE

    @property
    def million(self) -> bool:
        """Whether those hold that are set for a million, and those that grow with chunks do not."""
        return len(self.corpus) >= MILLION

    def calls(self, method: str) -> dict[str, Callable[[Any], Any]]:
        """What everybody who can does under this name, hedgerow first."""
        return {
            name: getattr(contender, method)
            for name, contender in self.present.items()
            if hasattr(contender, method)
        }

    def missing(self, method: str) -> dict[str, str]:
        """Who would take part, and why not."""
        return {kind.NAME: why for kind, why in self.absent.items() if hasattr(kind, method)}

    def row(self, key: str, what: str, unit: str, figures: Any, **more: Any) -> Row:
        """A line of the table for this corpus."""
        corpus = self.corpus
        return Row(key, what, corpus.name, len(corpus), unit, figures, **more)

    def release(self) -> None:
        """Let go of everybody, and of the memory they take; their files stay."""
        for contender in self.present.values():
            contender.close()
        self.present.clear()
        give_back()

    def close(self) -> None:
        """Let go of everybody, and of their files."""
        self.release()
        shutil.rmtree(self.folder, ignore_errors=True)
