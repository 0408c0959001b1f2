"""Each verb that writes to a root, killed at any moment.

Acknowledged changes stay, and the next call repairs derived files.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from faults import Rounds, finish, killed, python
from hedgerow import MemoryRoot
from memory_doubles import edges, keys, put

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

NOTES = 40

WORKER = """
import json, pathlib, sys
from hedgerow import MemoryRoot
path, verb, turn = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
root = MemoryRoot.open(path)
root.query("all")
print("ready", flush=True)

def told(*facts):
    print(json.dumps(facts), flush=True)

for number in range(10_000):
    name, other = f"notes/n{number % 40}.md", f"notes/n{(number + 1) % 40}.md"
    word = f"word{turn}x{number}"
    if verb == "remember":
        done = root.remember(f"{word} end", title=word)
        told(["has", done.file, word])
    elif verb == "retract":
        root.retract(name, word)
        told(["has", name, "retracted: "])
    elif verb == "restore":
        told(["unknown", name, "retracted: "])
        root.retract(name)
        root.restore(name)
        told(["lacks", name, "retracted: "])
    elif verb == "link":
        root.link(name, other, rel=f"rel{turn}n{number}")
        told(["has", name, f"rel{turn}n{number}: "])
    elif verb == "supersede":
        # In pairs, since a circle of all would be refused.
        name, other = f"notes/n{number % 20}.md", f"notes/n{number % 20 + 20}.md"
        root.supersede(name, by=other)
        told(["has", name, f"superseded_by: "], ["has", other, "supersedes: "])
    elif verb == "supersede by a text":
        done = root.supersede(name, text=f"{word} end")
        told(["has", done.written, word], ["has", name, "superseded_by: "])
    elif verb == "edit":
        memory = root.show(name)
        text = memory.text.replace("end\\n", f"{word} end\\n")
        root.edit(name, text, memory.digest)
        told(["has", name, word])
    elif verb == "forget":
        done = root.remember(f"{word} end", title=word)
        root.forget(done.file, purge=True)
        told(["gone", done.file, word])
    elif verb == "rename":
        done = root.remember(f"{word} end", title=word)
        root.rename(done.file, f"{word}.md")
        told(["gone", done.file, ""], ["has", f"notes/{word}.md", word])
    elif verb == "move":
        done = root.remember(f"{word} end", title=word)
        root.rename(done.file, f"moved/{word}.md")
        told(["gone", done.file, ""], ["has", f"moved/{word}.md", word])
    elif verb == "import":
        export = path / ".export.jsonl"
        export.write_text(json.dumps({"id": word, "text": f"{word} end"}) + "\\n")
        done = root.import_from(export, "jsonl", apply=True)
        told(*[["has", one.file, word] for one in done.memories])
    elif verb == "dedupe":
        for copy in ("a", "b"):
            new = path / ".new"
            new.write_text(f"{word} {'x' * number} one two end\\n")
            new.replace(path / "notes" / f"{word}{copy}.md")
        root.process("dedupe", topic=word, apply=True)
        told(["has", f"notes/{word}b.md", "superseded_by: "])
"""
VERBS = [
    "remember",
    "retract",
    "restore",
    "link",
    "supersede",
    "supersede by a text",
    "edit",
    "forget",
    "rename",
    "move",
    "import",
    "dedupe",
]


@pytest.mark.parametrize("verb", VERBS)
def test_killed_at_any_moment_it_keeps_what_it_acknowledged(
    tmp_path: Path, rounds: Rounds, verb: str
) -> None:
    for number in range(NOTES):
        put(tmp_path, f"notes/n{number}.md", f"# N{number}\n\n[[n{number - 1}]] fir{number} end\n")
    facts: dict[tuple[str, str], str] = {}
    for chance in rounds.at_least(2):
        worker = python("-c", WORKER, tmp_path, verb, rounds.done)
        lines = killed(worker, chance, longest=0.4, lines=2)
        assert lines[0] == "ready"
        for line in lines[1:]:
            facts |= {(file, text): fact for fact, file, text in json.loads(line)}
        check_facts(tmp_path, facts, verb)
        check_mended(tmp_path)
    assert facts


def check_facts(root: Path, facts: dict[tuple[str, str], str], verb: str) -> None:
    """Check that every acknowledged change is in the files, and that each file is complete."""
    for (file, text), fact in facts.items():
        exists = (root / file).exists()
        if fact in ("has", "lacks"):
            assert exists, (verb, file)
            assert (text in (root / file).read_text()) == (fact == "has"), (verb, file, text)
        elif fact == "gone":
            assert not exists, (verb, file)
    for path in root.rglob("*.md"):
        assert path.read_text().endswith("end\n"), path


def check_mended(path: Path) -> None:
    """Check that after the next call, index and store equal newly built ones."""
    with MemoryRoot.open(path) as root:
        lived = (keys(root), edges(root), sorted(one.file for one in root.recall("end", limit=500)))
        again = root.sync()
        assert (again.added, again.changed, again.removed, again.skips) == (0, 0, 0, [])
        assert root.store().index.check() == []
    copy = path.with_name("copy")
    shutil.copytree(path, copy, ignore=shutil.ignore_patterns(".hedgerow"))
    with MemoryRoot.open(copy) as root:
        anew = (keys(root), edges(root), sorted(one.file for one in root.recall("end", limit=500)))
    shutil.rmtree(copy)
    assert lived == anew


FOUR = """
import sys
from hedgerow import HedgerowError, MemoryRoot
root = MemoryRoot.open(sys.argv[1])
for number in range(15):
    try:
        print(root.remember(f"Word{number} alone and end", title=f"T {number}").file, flush=True)
    except HedgerowError as error:
        assert error.code == "duplicate_memory", error
"""


def test_four_processes_write_each_text_once(tmp_path: Path) -> None:
    answers: list[Any] = finish(*[python("-c", FOUR, tmp_path) for _ in range(4)])
    written = [file for answer in answers for file in answer.splitlines()]
    assert len(written) == len(set(written)) == len(list(tmp_path.glob("notes/*.md"))) == 15
    check_mended(tmp_path)
