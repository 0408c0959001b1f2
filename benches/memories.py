"""Compare memory roots with basic-memory, qmd and mem0: python benches/memories.py [NOTES].

basic-memory and qmd are measured if their programs are on the PATH, mem0 if this interpreter can
import it. The servers of hedgerow and qmd need `hedgerow[mcp]` and Node 22. No model is loaded: all
programs search by keywords, and in the comparison with mem0 both embed by counting words. The
programs take turns, and each search must find its note.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from subprocess import DEVNULL, run
from typing import Any

import hedgerow as hr
from memory import write_notes
from sessions.mcp_client import Server
from suite.timing import Times, rounds

ROUNDS = 3
DIMENSIONS = 256
FOUND = 10
Command = list[str]


class Program:
    """The base of the compared programs.

    Each has its own copy of the notes and its own home folder.
    """

    NAME = ""

    def __init__(self, notes: Path, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        shutil.copytree(notes, self.notes)
        self.environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder)}

    def first(self) -> Command:
        """Return the command that indexes the notes for the first time."""
        raise NotImplementedError

    def again(self) -> Command:
        """Return the command that updates the index."""
        raise NotImplementedError

    def search(self, words: str) -> Command:
        """Return the command that searches for ten notes."""
        raise NotImplementedError

    def found_anew(self, words: str) -> Iterator[Command]:
        """Yield the commands of a search that sees the latest changes."""
        yield self.again()
        yield self.search(words)

    def serve(self) -> Command:
        """Return the command of an MCP server on standard input and output."""
        raise NotImplementedError

    def asked(self, words: str) -> tuple[str, dict[str, Any]]:
        """Return the server's search tool and its arguments."""
        raise NotImplementedError

    def run(self, command: Command) -> str:
        """Run a command and return its output. Raises if the command fails."""
        ended = run(  # noqa: S603
            command,
            check=False,
            capture_output=True,
            text=True,
            stdin=DEVNULL,
            env=self.environment,
        )
        if ended.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {ended.stderr or ended.stdout}")
        return ended.stdout


class Hedgerow(Program):
    """hedgerow, whose recall detects changed notes by itself."""

    NAME = "hedgerow"
    _COMMAND = (sys.executable, "-m", "hedgerow")

    def first(self) -> Command:
        """Return the command that indexes notes and manifest."""
        return [*self._COMMAND, "index", "--root", str(self.notes)]

    again = first

    def search(self, words: str) -> Command:
        """Return the command of a recall with JSON output, as an agent runs it."""
        root = ["--root", str(self.notes)]
        return [*self._COMMAND, "recall", words, *root, "--limit", str(FOUND), "--json"]

    def found_anew(self, words: str) -> Iterator[Command]:
        """Yield a recall command, which indexes changed notes first."""
        yield self.search(words)

    def serve(self) -> Command:
        """Return the command of an MCP server over the same folder."""
        return [*self._COMMAND, "mcp", "--root", str(self.notes)]

    def asked(self, words: str) -> tuple[str, dict[str, Any]]:
        """Return the recall tool, which also detects changes."""
        return "memory_recall", {"query": words, "limit": FOUND}


class BasicMemory(Program):
    """basic-memory without embeddings, which would load a model.

    It writes a permalink into each note.
    """

    NAME = "basic-memory"

    def __init__(self, notes: Path, folder: Path) -> None:
        super().__init__(notes, folder)
        self.environment |= {
            "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
            "BASIC_MEMORY_HOME": str(folder / "main"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
        }

    def first(self) -> Command:
        """Return the command that adds a project, which also indexes it."""
        return ["basic-memory", "project", "add", "notes", str(self.notes), "--local"]

    def again(self) -> Command:
        """Return the command that reindexes changed notes; `--full` would reindex all."""
        return ["basic-memory", "reindex", "--search", "--project", "notes"]

    def search(self, words: str) -> Command:
        """Return the command of a search whose results include the text of each note."""
        options = ["--project", "notes", "--page-size", str(FOUND), "--json", "--local"]
        return ["basic-memory", "tool", "search-notes", words, *options]

    def serve(self) -> Command:
        """Return the command of an MCP server for one project."""
        return ["basic-memory", "mcp", "--project", "notes"]

    def asked(self, words: str) -> tuple[str, dict[str, Any]]:
        """Return the search tool with the arguments of the same search."""
        return "search_notes", {"query": words, "page_size": FOUND, "search_type": "text"}


class Qmd(Program):
    """qmd with keyword search only. Its searches that expand and rerank load models."""

    NAME = "qmd"

    def first(self) -> Command:
        """Return the command that adds a collection, which also indexes it."""
        return ["qmd", "collection", "add", str(self.notes), "--name", "notes"]

    def again(self) -> Command:
        """Return the command that updates all collections."""
        return ["qmd", "update"]

    def search(self, words: str) -> Command:
        """Return the command of a search whose results include one line of each note."""
        return ["qmd", "search", words, "-n", str(FOUND), "--json"]

    def serve(self) -> Command:
        """Return the command of an MCP server for all collections."""
        return ["qmd", "mcp"]

    def asked(self, words: str) -> tuple[str, dict[str, Any]]:
        """Return the query tool with a keyword query."""
        searches = [{"type": "lex", "query": words}]
        return "query", {"searches": searches, "limit": FOUND, "rerank": False}


def main() -> None:
    """Write the notes, then time every installed program."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        notes = Path(folder) / "notes"
        notes.mkdir()
        write_notes(notes, size)
        programs = list(present(notes, Path(folder)))
        print(f"{size:,} notes")
        index(programs)
        as_servers(programs)
        in_process(notes, Path(folder))
        as_commands(programs)


def present(notes: Path, folder: Path) -> Iterator[Program]:
    """Yield hedgerow, and the other programs that are on the PATH."""
    for kind in (Hedgerow, BasicMemory, Qmd):
        if kind is Hedgerow or shutil.which(kind.NAME):
            own = folder / kind.NAME
            own.mkdir()
            yield kind(notes, own)
        else:
            print(f"{kind.NAME} is not on the PATH", file=sys.stderr)


def index(programs: Sequence[Program]) -> None:
    """Time the first indexing. It includes the start of the program, as every command does."""
    calls = {one.NAME: lambda one=one: one.run(one.first()) for one in programs}
    report("command: index all notes", rounds(calls, 1))


def as_commands(programs: Sequence[Program]) -> None:
    """Time the repeated commands: searches and updates."""
    numbers = count(1)
    asked = [asked_for(programs[0].notes, number) for number in range(ROUNDS)]

    def search(one: Program) -> None:
        words, name = asked[next(numbers) % ROUNDS]
        found(one, one.run(one.search(words)), name)

    def anew(one: Program) -> None:
        number = next(numbers)
        name, words = f"new{number}", f"firstever{number} secondever{number}"
        (one.notes / f"{name}.md").write_text(f"# A new note\n\nHere are {words} to find.\n")
        for command in one.found_anew(words):
            printed = one.run(command)
        found(one, printed, name)

    steps = [
        ("search", search),
        ("a new note, and a search that finds it", anew),
        ("index again, unchanged", lambda one: one.run(one.again())),
    ]
    for what, call in steps:
        calls = {one.NAME: lambda call=call, one=one: call(one) for one in programs}
        report(f"command: {what}", rounds(calls, ROUNDS))


def as_servers(programs: Sequence[Program]) -> None:
    """Time searches in a running server."""
    numbers = count(1)
    asked = [asked_for(programs[0].notes, number) for number in range(20)]

    def search(one: Program, server: Server) -> None:
        words, name = asked[next(numbers) % len(asked)]
        found(one, server.call(*one.asked(words)), name)

    servers: dict[str, Server] = {}
    try:
        for one in programs:
            if one.NAME == "hedgerow" and find_spec("mcp") is None:
                print("the server of hedgerow: not installed (mcp)", file=sys.stderr)
                return
            servers[one.NAME] = Server(one.serve(), one.environment)
        calls = {one.NAME: lambda one=one: search(one, servers[one.NAME]) for one in programs}
        rounds(calls, 2)
        report("MCP server: search", rounds(calls, len(asked)))
    finally:
        for server in servers.values():
            server.close()


def in_process(notes: Path, folder: Path) -> None:
    """Time hedgerow and mem0 as libraries, with one embedder and the texts of the same notes."""
    if find_spec("mem0") is None:
        print("mem0 is not installed", file=sys.stderr)
        return
    parts = [path.read_text().split("\n\n", 2)[1:] for path in sorted(notes.rglob("*.md"))]
    texts = [text for _, text in parts]
    root = hr.MemoryRoot.init(folder / "root")
    root = hr.MemoryRoot.open(root.path, embedder=CountedWords())
    theirs = mem0(folder / "mem0")
    user = {"user_id": "ana"}
    left, others = iter(parts), iter(texts)

    def remember() -> None:
        title, text = next(left)
        root.remember(text, title=title.removeprefix("# "))

    calls: dict[str, Callable[[], object]] = {
        "hedgerow": remember,
        "mem0": lambda: theirs.add(next(others), **user, infer=False),
    }
    report("library: remember one text", rounds(calls, len(texts)))
    chance = random.Random(3)
    words = [" ".join(chance.choice(texts).split()[:4]) for _ in range(50)]
    ours, other = iter(words), iter(words)
    calls = {
        "hedgerow": lambda: root.recall(next(ours), limit=FOUND),
        "mem0": lambda: theirs.search(next(other), filters=user, top_k=FOUND),
    }
    report("library: search", rounds(calls, len(words)))
    root.close()
    theirs.close()


def mem0(folder: Path) -> Any:
    """Return a mem0 memory with its default store and no model."""
    os.environ |= {"MEM0_TELEMETRY": "false", "MEM0_DIR": str(folder)}
    store = {"path": str(folder / "store"), "on_disk": True, "embedding_model_dims": DIMENSIONS}
    unused = {"provider": "openai", "config": {"api_key": "never used"}}
    memory = import_module("mem0").Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": unused,
            "llm": unused,
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = CountedWords.ForMem0()
    return memory


class CountedWords:
    """An embedder that counts words. It costs both libraries the same time."""

    name = "counted-words"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.vector(text) for text in texts]

    @staticmethod
    def vector(text: str) -> list[float]:
        """Return a vector with the number of words in each hash bucket."""
        vector = [0.0] * DIMENSIONS
        for word in text.split():
            vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1
        return vector

    class ForMem0:
        """The embedder with the interface that mem0 calls."""

        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            """Return the vector of one text."""
            del memory_action
            return CountedWords.vector(text)


def asked_for(notes: Path, number: int) -> tuple[str, str]:
    """Return three words of a note's title, and the name of its file."""
    files = sorted(notes.rglob("*-n*.md"))
    file = files[number * len(files) // 20 % len(files)]
    title = next(line for line in file.read_text().splitlines() if line.startswith("# "))
    return " ".join(title.split()[1:4]), file.stem


def found(one: Program, printed: str, name: str) -> None:
    """Exit with an error unless the search found its note, because its time would mean nothing."""
    if name not in printed:
        raise SystemExit(f"{one.NAME} did not find {name}: {printed[:500]}")


def report(what: str, figures: Mapping[str, Times]) -> None:
    """Print the median of each program, and its ratio to hedgerow's."""
    ours = figures["hedgerow"].p50
    for name, times in figures.items():
        print(
            f"{what:50} {name:14} {times.p50 * 1e3:10.1f} ms {times.p50 / ours:8.2f}x", flush=True
        )


if __name__ == "__main__":
    main()
