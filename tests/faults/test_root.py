"""A root with several processes: concurrent ones, and processes that are killed at any moment."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from faults import Rounds, finish, killed, python
from hedgerow import Index, MemoryRoot
from hedgerow.memory.doctor import diagnose
from memory_doubles import edges, edges_of_files, keys, put

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

WRITTEN = re.compile(
    r'---\ntype: "note"\ntitle: "[^"]*"\nsource: "hedgerow-remember"\n(?:\w+: .*\n){4}---\n\n'
    r"# .*\n\nword\w+ (?:filler ){300}end\n\Z"
)

WORKER = """
import sys
from hedgerow import MemoryRoot
root = MemoryRoot.open(sys.argv[1])
name, count = sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
for number in range(count):
    word = f"word{number}{name}"
    text = f"{word} " + "filler " * 300 + "end"
    done = root.remember(text, title=f"Memory {name} {number % 3}", on_duplicate="keep")
    if not done.indexed:
        raise SystemExit(f"not indexed: {done.problem}")
    if done.file not in [one.file for one in root.recall(word, limit=50)]:
        raise SystemExit(f"{done.file} was not found")
    print(done.file, flush=True)
"""


def start(root: Path, name: str, count: int) -> subprocess.Popen[str]:
    return python("-c", WORKER, root, name, count)


def test_two_processes_remember_and_recall_at_once(tmp_path: Path) -> None:
    """Both processes use the same titles, so they compete for the same names."""
    workers = [start(tmp_path, "same", 25) for _ in range(2)]
    answers = finish(*workers)
    written = [line for out in answers for line in out.splitlines() if line != "ready"]
    assert len(set(written)) == len(written) == 50
    check_whole(tmp_path, at_least=set(written))


def test_a_first_index_by_two_processes_is_one(tmp_path: Path) -> None:
    for number in range(300):
        put(tmp_path, f"notes/n{number}.md", f"# Note {number}\n\nhawthorn {number}\n")
    code = "import sys; from hedgerow import MemoryRoot as M; print(len(M.open(sys.argv[1]).recall('hawthorn', limit=400)))"
    assert finish(*[python("-c", code, tmp_path) for _ in range(3)]) == ["300\n"] * 3
    check_whole(tmp_path)


def test_threads_share_a_root(tmp_path: Path) -> None:
    with MemoryRoot.open(tmp_path) as root:

        def work(name: int) -> list[str]:
            written = []
            for number in range(10):
                word = f"word{name}x{number}"
                written.append(root.remember(f"{word} end", title="Same").file)
                assert written[-1] in [one.file for one in root.recall(word)]
            return written

        with ThreadPoolExecutor(4) as pool:
            names = [name for written in pool.map(work, range(4)) for name in written]
    assert len(set(names)) == 40
    check_whole(tmp_path, at_least=set(names))


def test_killed_at_any_moment_the_root_stays_whole(tmp_path: Path, rounds: Rounds) -> None:
    put(tmp_path, "notes/first.md", "# First\n\nhawthorn\n")
    told: set[str] = set()
    for chance in rounds.at_least(25):
        turn = rounds.done
        worker = start(tmp_path, f"turn{turn}", 10_000)
        # On a busy machine the later workers may be killed before they remember anything.
        lines = 2 if turn == 0 else 1
        ready, *written = killed(worker, chance, longest=0.25, lines=lines)
        assert ready == "ready"
        told |= set(written)
        if turn % 5 == 4:
            change(tmp_path, turn)
            check_whole(tmp_path, at_least=told)
    assert told


@pytest.mark.parametrize("command", ["index", "recall"])
def test_a_first_index_that_is_killed_is_finished_by_the_next(
    tmp_path: Path, rounds: Rounds, command: str
) -> None:
    for number in range(3000):
        put(tmp_path, f"notes/n{number}.md", f"# Note {number}\n\nhawthorn {number}\n")
    arguments = [command, *(["hawthorn"] if command == "recall" else []), "--root", tmp_path]
    for chance in rounds.at_least(1):
        shutil.rmtree(tmp_path / ".hedgerow", ignore_errors=True)
        for _ in range(5):
            process = python("-c", "from hedgerow.cli import main; main()", *arguments)
            time.sleep(chance.uniform(0.1, 0.9))
            process.kill()
            process.communicate()
        finish(python("-c", "from hedgerow.cli import main; main()", "index", "--root", tmp_path))
        check_whole(tmp_path)
        manifest: dict[str, Any] = json.loads((tmp_path / ".hedgerow/index.json").read_text())
        assert len(manifest["documents"]) == 3000


QUERIES = """
import sys
from hedgerow import MemoryRoot
root = MemoryRoot.open(sys.argv[1])
print("ready", flush=True)
while True:
    root.query("all")
    root.close()
"""


def test_two_processes_one_of_them_killed_again_and_again(tmp_path: Path, rounds: Rounds) -> None:
    for number in range(60):
        put(tmp_path, f"n{number}.md", f"[[n{number - 1}]] " + "filler " * 200)
    with MemoryRoot.open(tmp_path) as root:
        for chance in rounds.at_least(6):
            worker = python("-c", QUERIES, tmp_path)
            for number in range(rounds.done % 7, 60, 7):
                put(tmp_path, f"n{number}.md", f"[[n{number - 1}]] turn {rounds.done}")
                keys(root)
            assert killed(worker, chance, longest=0.1) == ["ready"]
            assert len(keys(root)) == 60
            assert len(edges(root)) == 59
            assert root.store().index.check() == []


VERBS = """
import random, sys
from hedgerow import HedgerowError, MemoryRoot
root, chance = MemoryRoot.open(sys.argv[1]), random.Random(sys.argv[2])
print("ready", flush=True)
while True:
    files = [one.file for one in root.list(limit=100).memories]
    a, b = chance.sample(files, 2)
    verb = chance.choice(["remember", "link", "unlink", "supersede", "restore", "retract", "rename", "forget", "hand"])
    try:
        if verb == "remember" or len(files) < 6:
            root.remember(f"{chance.random()} [[{a}]]", title=f"T{chance.randrange(9)}", on_duplicate="keep")
        elif verb in ("link", "unlink"):
            getattr(root, verb)(a, b, rel=chance.choice(["see", "related"]))
        elif verb == "supersede":
            root.supersede(a, by=b)
        elif verb in ("restore", "retract"):
            getattr(root, verb)(a)
        elif verb == "rename":
            root.rename(a, f"m{chance.randrange(30)}")
        elif verb == "forget":
            root.forget(a, purge=True)
        else:
            with open(root.path / a, "a") as file:
                file.write(f"[[{b}]]\\n")
            root.recall("filler")
    except HedgerowError as error:
        if error.code in ("index_damaged", "root_io", "file_changed"):
            raise
    print(verb, flush=True)
"""


def test_edges_are_those_of_the_files_after_a_kill(tmp_path: Path, rounds: Rounds) -> None:
    folder = tmp_path / "memory"
    for number in range(12):
        put(folder, f"notes/n{number}.md", f"# N{number}\n\nfiller [[n{(number + 5) % 12}]]\n")
    done: Counter[str] = Counter()
    with MemoryRoot.open(folder) as root:
        edges(root)
        for chance in rounds.at_least(50):
            worker = python("-c", VERBS, folder, chance.random())
            ready, *verbs = killed(worker, chance, longest=0.2)
            assert ready == "ready"
            done.update(verbs)
            if rounds.done % 2:
                root.recall("filler")  # reads the files, and leaves the edges to the next query
            expected = edges_of_files(folder, tmp_path / "copy")
            assert edges(root) == expected
            assert diagnose(folder).edges.message == "Those of the links of the files."
            assert [*folder.rglob(".hedgerow-*.tmp")] == []
    assert done


def change(root: Path, turn: int) -> None:
    """Edit one file and rename another, as a person might between two commands."""
    files = sorted((root / "notes").glob("*turn*.md"))
    if len(files) > 2:
        text = files[0].read_text()
        files[0].write_text(re.sub(r"word\w+", f"word{turn}", text))
        renamed = files[1].with_name(f"renamed-{turn}.md")
        files[1].rename(renamed)


def check_whole(folder: Path, at_least: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Check that every memory is complete, and that the index matches the files."""
    renamed = len(list(folder.rglob("renamed-*.md")))
    missing = [name for name in at_least if not (folder / name).exists()]
    assert len(missing) <= renamed
    for file in folder.rglob("*turn*.md"):
        assert WRITTEN.match(file.read_text()), file
    root = MemoryRoot.open(folder)
    root.sync()
    again = root.sync()
    assert (again.added, again.changed, again.removed, again.skips) == (0, 0, 0, [])
    root.close()
    on_disk = {str(file.relative_to(folder)) for file in folder.rglob("*.md")}
    with Index.open(folder / ".hedgerow/index.db") as index:
        assert index.check() == []
        texts: dict[str, str] = {}
        for chunk in index.chunks():
            texts[chunk.path] = texts.get(chunk.path, "") + chunk.content
    assert set(texts) == on_disk
    for path, text in texts.items():
        assert (folder / path).read_text().endswith(text[-20:] + "\n")
    assert again.documents == len(on_disk)
