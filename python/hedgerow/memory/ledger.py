"""What the index has read of each file (spec/memory.md, "The ledger").

One line a file, appended to: the last line of a path counts. A file about to be written into the
index is first noted as pending, so that a process killed in between leaves a trace: the next one
reads the file again and knows which chunks it may find.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hedgerow.ingest.source import Skip

from . import files

_HEADER = "hedgerow ledger 1"
_PENDING = ""
_UNSETTLED = "?"
_SLACK = 1000
_TICK = 100_000_000
_COARSE_TICK = 2_000_000_000
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its signature and digest when it was read, how many chunks it made, and why not.

    Without a digest it is pending. An unsettled entry was read so soon after its file changed
    that another change may not show in the signature.
    """

    signature: str
    digest: str
    chunks: int
    skips: tuple[Skip, ...] = ()
    settled: bool = True

    @property
    def failed(self) -> bool:
        """Whether the file could not be read; bad front matter alone is no such failure."""
        return any(skip.code != "bad_front_matter" for skip in self.skips)

    def line(self) -> str:
        """Write the entry as it stands after its path."""
        told = [[skip.code, skip.reason, skip.line] for skip in self.skips]
        mark = "" if self.settled else _UNSETTLED
        skips = json.dumps(told) if told else ""
        return f"{mark}{self.signature}\t{self.digest}\t{self.chunks}\t{skips}"


def parse_entry(path: str, rest: str) -> Entry:
    """Read an entry back."""
    signature, digest, chunks, told = rest.split("\t")
    settled = not signature.startswith(_UNSETTLED)
    skips = tuple(
        Skip(path, code, reason, line) for code, reason, line in (json.loads(told) if told else ())
    )
    return Entry(signature.removeprefix(_UNSETTLED), digest, int(chunks), skips, settled)


def digest_of(data: bytes) -> str:
    """Sum up the content of a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def is_settled(signature: str, read_at: int) -> bool:
    """Tell whether a change after this moment must show in the signature.

    Clocks of file systems tick: a change in the tick of the one before leaves no trace.
    """
    _, modified, changed, _ = (int(part) for part in signature.split("."))
    last = modified if os.name == "nt" else changed
    tick = _TICK if last % _SECOND else _COARSE_TICK
    return last + tick <= read_at


def pending(chunks: int) -> Entry:
    """Give the entry of a file whose chunks, at most so many, may or may not be in the index."""
    return Entry(_PENDING, "", chunks)


class Ledger:
    """The ledger of an index of the folder `scope`; only who holds the root's lock may write."""

    def __init__(self, file: Path, scope: str, lines: dict[str, str] | None = None) -> None:
        self._file = file
        self._header = f"{_HEADER}\t{scope}"
        self.lines = {} if lines is None else lines
        self._written = len(self.lines)

    @classmethod
    def load(cls, file: Path, scope: str) -> Ledger | None:
        """Read the ledger; None without one, or with one of another version or folder."""
        try:
            text = file.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            return None
        # What follows the last line end was cut off by a kill.
        header, *lines = text.split("\n")[:-1] or [""]
        ledger = cls(file, scope)
        if header != ledger._header:
            return None
        if any("\t" not in line for line in lines):
            return None
        entries = dict(line.split("\t", 1) for line in lines)
        ledger.lines = {path: rest for path, rest in entries.items() if rest}
        ledger._written = len(lines)
        return ledger

    def entry(self, path: str) -> Entry | None:
        """Give what is known of a path."""
        rest = self.lines.get(path)
        return None if rest is None else parse_entry(path, rest)

    def failures(self) -> list[Entry]:
        """Give the entries of which something was reported, in path order."""
        told = sorted(path for path, rest in self.lines.items() if not rest.endswith("\t"))
        return [parse_entry(path, self.lines[path]) for path in told]

    @property
    def documents(self) -> int:
        """How many files were read."""
        return len(self.lines) - sum(entry.failed for entry in self.failures())

    def append(self, entries: Iterable[tuple[str, Entry | None]]) -> None:
        """Write entries to the disk, None for a file that is gone."""
        new = {path: entry.line() if entry else "" for path, entry in entries}
        append_lines(self._file, new)
        for path, rest in new.items():
            if rest:
                self.lines[path] = rest
            else:
                self.lines.pop(path, None)
        self._written += len(new)

    def compact(self) -> None:
        """Write the ledger anew when many of its lines have been overtaken."""
        if self._written > len(self.lines) + len(self.lines) // 4 + _SLACK:
            self.rewrite()

    def rewrite(self) -> None:
        """Write the whole ledger anew, at once."""
        lines = (f"{path}\t{rest}\n" for path, rest in self.lines.items())
        files.replace(self._file, "".join([self._header, "\n", *lines]))
        self._written = len(self.lines)


def append_lines(file: Path, new: dict[str, str]) -> None:
    """Append lines in one write; a line that a kill cut off is taken away first."""
    text = "".join(f"{path}\t{rest}\n" for path, rest in new.items())
    with files.system_errors("write", file), file.open("r+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        if end:
            stream.seek(end - 1)
            if stream.read(1) != b"\n":
                stream.seek(0)
                end = stream.read().rfind(b"\n") + 1
                stream.truncate(end)
        stream.seek(end)
        stream.write(text.encode())
