"""Time a memory root with many notes: python benches/memory.py [NOTES].

Each figure is the best of a few tries, which reduces the noise of a busy machine. The last lines compare
figures of the run with each other and with the goals, which are for 10,000 notes.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import hedgerow as hr

BEST: dict[str, float] = {}
"""The best time of each figure in milliseconds."""
MOST_COMPARED = 5_000
"""The most memories in the timed search for near-duplicates."""
TYPES = ("note", "session", "finding", "decision", "preference", "page")
SEED = 20260418


def main() -> None:
    """Write the notes, then time each step on them."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        words = write_notes(Path(folder), count)
        root = hr.MemoryRoot.open(folder)
        query = " ".join(words[7:10])
        report("start: hedgerow --version", command("--version"))
        report("start: import hedgerow, MemoryRoot", python("import hedgerow; hedgerow.MemoryRoot"))
        report(f"first sync of {count:,} notes", lambda: first_sync(root), tries=2)
        report("the same files read, their chunks written", lambda: floor(Path(folder)), tries=2)
        report("sync of unchanged notes", root.sync)
        report("index (sync and manifest)", root.index)
        remember = lambda: root.remember(text_of(words), title="Slugs")  # noqa: E731
        report("remember (look, write and index)", remember)
        report("recall, check for changes included", lambda: root.recall(query))
        report("recall --no-sync", lambda: root.recall(query, sync=False))
        with hr.MemoryRoot.open(folder, watch=True) as watched:
            watched.recall(query)
            report("recall, watched", lambda: watched.recall(query), tries=50)
        report("recall after 20 files changed", lambda: recall_after(root, query, words), tries=3)
        report_recalls(root, folder, query)
        report_writes(root, words)
        report_processing(root)
        recall = command("recall", "--root", folder, "--topic", query)
        report("hedgerow recall, start included", recall)
        memory = memory_of_recalls(folder, query)
        print(f"{'memory of a process that recalls':50} {memory:8.0f} MB")
    report_goals(memory)


def report_recalls(root: hr.MemoryRoot, folder: str, query: str) -> None:
    """Time recalls without a sync, by kind of filter, and the underlying search for comparison."""
    with hr.Index.open(Path(folder) / ".hedgerow/index.db", read_only=True) as index:
        retriever = hr.Retriever(index, ranking=hr.Ranking("best"))
        search = lambda: retriever.search(  # noqa: E731
            query, limit=5, group_by="path", skip_retry_ladder=True
        )
        report("search grouped by path, limit 5", search, tries=50)
    filters: dict[str, dict[str, object]] = {
        "no filter": {},
        "type": {"types": ["decision"]},
        "tag that no note has": {"tags": ["none"]},
        "after": {"after": "2026-01-15"},
        "after, in the future": {"after": "2036-01-15"},
        "as of": {"as_of": "2026-01-15"},
        "scope that no note has": {},
    }
    for name, options in filters.items():
        scoped = root.scoped(user="nobody") if name.startswith("scope") else root
        recall = lambda: scoped.recall(query, sync=False, **options)  # noqa: B023, E731
        report(f"recall --no-sync, {name}", recall, tries=50)


def write_notes(root: Path, count: int) -> list[str]:
    """Write notes of about 120 words each. Return the vocabulary."""
    chance = random.Random(SEED)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(3000)]
    for number in range(count):
        kind = TYPES[number % len(TYPES)]
        title = " ".join(chance.choices(words, k=4))
        body = "\n\n".join(" ".join(chance.choices(words, k=40)) + "." for _ in range(3))
        matter = f'---\ntype: "{kind}"\ntitle: "{title}"\ndate: 2026-01-{number % 28 + 1:02}\n---\n'
        file = root / f"{kind}s" / f"2026-01-{number % 28 + 1:02}-n{number:05}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{matter}\n# {title}\n\n{body}\n")
    return words


def floor(root: Path) -> None:
    """Do the minimum work of a first sync: read all files and write their chunks into an index."""
    with hr.Index.open(root / ".hedgerow/index.db", read_only=True) as index:
        chunks = list(index.chunks())
    with tempfile.TemporaryDirectory() as folder, hr.Index.open(Path(folder) / "i.db") as index:
        for file in root.rglob("*.md"):
            file.read_bytes()
        for start in range(0, len(chunks), 2000):
            index.upsert(chunks[start : start + 2000])


def recall_after(root: hr.MemoryRoot, query: str, words: list[str]) -> None:
    """Recall after twenty files were edited."""
    files = sorted(root.path.glob("notes/*.md"))[:20]
    for file in files:
        file.write_text(f"{file.read_text()}\n{text_of(words)}\n")
    root.recall(query)


def report_writes(root: hr.MemoryRoot, words: list[str]) -> None:
    """Time operations that change one or two files, on different files each time."""
    files = iter(sorted(str(file.relative_to(root.path)) for file in root.path.rglob("*.md")))
    root.query("all | select:key")
    first = [next(files) for _ in range(4)]
    marked, restored = iter(first), iter(first)
    report("retract", lambda: root.retract(next(marked)), tries=4)
    report("restore", lambda: root.restore(next(restored)), tries=4)
    report("link", lambda: root.link(next(files), next(files)), tries=4)
    report("supersede by another", lambda: root.supersede(next(files), by=next(files)), tries=4)
    supersede = lambda: root.supersede(next(files), text=text_of(words))  # noqa: E731
    report("supersede by a text", supersede, tries=4)


def report_processing(root: hr.MemoryRoot) -> None:
    """Time operations that read every memory. Nothing is changed."""
    report("lint", lambda: root.process("lint"), tries=2)
    some = lambda: root.process("dedupe", limit=MOST_COMPARED)  # noqa: E731
    report(f"dedupe of at most {MOST_COMPARED:,}", some, tries=2)
    report("dedupe", lambda: root.process("dedupe"), tries=2)
    report("audit", root.audit, tries=2)


def memory_of_recalls(folder: str, query: str) -> float:
    """Return the resident memory in MB of a new process after twenty recalls."""
    code = (
        "import os, sys; from hedgerow import MemoryRoot\n"
        "root = MemoryRoot.open(sys.argv[1])\n"
        "for _ in range(20): root.recall(sys.argv[2])\n"
        "pages = int(open('/proc/self/statm').read().split()[1])\n"
        "print(pages * os.sysconf('SC_PAGE_SIZE') / 1e6)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, folder, query], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def report_goals(memory: float) -> None:
    """Print what figures of this run are relative to others, each with its goal."""
    plain = BEST["recall --no-sync, no filter"]
    filtered = max(
        BEST[f"recall --no-sync, {name}"]
        for name in ("type", "tag that no note has", "after", "as of", "scope that no note has")
    )
    first_sync = next(time for what, time in BEST.items() if what.startswith("first sync"))
    dedupe = next(time for what, time in BEST.items() if what.startswith("dedupe of at most"))
    print()
    for what, value, goal in (
        ("recall / search grouped by path", plain / BEST["search grouped by path, limit 5"], "3"),
        ("recall, slowest filter / no filter", filtered / plain, "1.2"),
        (
            "check for changes, ms",
            BEST["recall, check for changes included"] - BEST["recall --no-sync"],
            "7",
        ),
        (
            "first sync / read and write its chunks",
            first_sync / BEST["the same files read, their chunks written"],
            "1.5",
        ),
        ("remember, ms", BEST["remember (look, write and index)"], "15"),
        ("retract, ms", BEST["retract"], "15"),
        ("restore, ms", BEST["restore"], "15"),
        ("supersede, ms", BEST["supersede by a text"], "15"),
        ("link, ms", BEST["link"], "15"),
        ("recall after 20 files changed, ms", BEST["recall after 20 files changed"], "30"),
        (f"dedupe of at most {MOST_COMPARED:,}, s", dedupe / 1000, "2"),
        ("memory, MB (the goal is for 100,000 notes)", memory, "400"),
    ):
        print(f"{what:50} {value:8.2f}    goal: at most {goal}")


def text_of(words: list[str]) -> str:
    """Return a random text of 40 words, unlike any memory."""
    return " ".join(random.SystemRandom().choices(words, k=40))


def first_sync(root: hr.MemoryRoot) -> None:
    """Sync a root after all its derived files were deleted."""
    root.close()
    shutil.rmtree(root.path / ".hedgerow", ignore_errors=True)
    root.sync()


def command(*arguments: str) -> Callable[[], object]:
    """Return a function that runs the `hedgerow` command."""
    program = str(Path(sysconfig.get_path("scripts")) / "hedgerow")
    return lambda: subprocess.run([program, *arguments], check=True, capture_output=True)  # noqa: S603


def python(code: str) -> Callable[[], object]:
    """Return a function that runs code in a new interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def report(what: str, call: Callable[[], object], tries: int = 7) -> None:
    """Time a call. Print the best and the median time."""
    taken = []
    for _ in range(tries):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    best, median = min(taken), sorted(taken)[len(taken) // 2]
    BEST[what] = best * 1000
    print(f"{what:50} {best * 1000:8.1f} ms best {median * 1000:8.1f} ms median", flush=True)


if __name__ == "__main__":
    main()
