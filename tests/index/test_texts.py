"""The cache of texts of recent hits in a handle."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import hedgerow as hr
from waiting import LONGEST

MEBIBYTE = 1 << 20


def contents(index: hr.Index, query: str = "oak") -> list[str]:
    return sorted(hit.content for hit in index.search_bm25(query, 999))


def test_what_is_kept_is_reported_and_given_back():
    index = hr.Index.in_memory(dimensions=2)
    with index:
        metadata = {"planted": [1904, {"by": "nobody"}]}
        index.upsert([hr.Chunk("a", "p", "oak" * 1000, metadata=metadata, embedding=[1, 0])])
        assert index.stats().text_bytes == 0, "nothing found yet"
        (hit,) = index.search_vector([1, 0])
        assert 3000 < index.stats().text_bytes < 5000
        again = index.search_vector([1, 0])
        assert again == [hit]
        assert again[0].metadata == metadata
        again[0].metadata["planted"].clear()
        assert index.search_vector([1, 0])[0].metadata == metadata
        assert index.get("a").content == hit.content


def test_no_more_than_16_mebibytes_are_kept():
    with hr.Index.in_memory() as index:
        large = "oak " + "x" * (MEBIBYTE - 1024)
        index.upsert(hr.Chunk(f"c{n:02}", "p", f"{large} {n}") for n in range(20))
        index.upsert([hr.Chunk("larger", "p", "beech " + "x" * MEBIBYTE)])
        expected = sorted(f"{large} {n}" for n in range(20))
        for _ in range(3):
            assert contents(index) == expected
            assert 15 * MEBIBYTE < index.stats().text_bytes <= 16 * MEBIBYTE
        kept = index.stats().text_bytes
        (hit,) = index.search_bm25("beech")
        assert len(hit.content) > MEBIBYTE
        assert index.stats().text_bytes == kept, "too large to be kept"


def test_another_process_is_followed(tmp_path: Path):
    path = tmp_path / "index.db"
    program = (
        "import hedgerow as hr, sys\n"
        "with hr.Index.open(sys.argv[1]) as index:\n"
        "    index.delete(['a'])\n"
        "    index.upsert([hr.Chunk('b', 'p', 'oak and elm'), hr.Chunk('d', 'p', 'a new oak')])\n"
    )
    with hr.Index.open(path) as index:
        index.upsert(hr.Chunk(name, "p", f"oak {name}") for name in "abc")
        assert contents(index) == ["oak a", "oak b", "oak c"]
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=LONGEST)
        assert contents(index) == ["a new oak", "oak and elm", "oak c"]


def test_threads_see_each_of_their_own_writes(tmp_path: Path):
    wrong = []

    def work(index: hr.Index, name: str) -> None:
        for number in range(50):
            index.upsert([hr.Chunk(name, "p", f"{name} {number} oak")])
            found = [hit.content for hit in index.search_bm25(name)]
            if found != [f"{name} {number} oak"]:
                wrong.append((name, number, found))

    with hr.Index.open(tmp_path / "index.db", ranking="memory") as index:
        names = ["ash", "elm", "fir", "yew"]
        threads = [threading.Thread(target=work, args=(index, name)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert contents(index) == [f"{name} 49 oak" for name in names]
