"""Ranking in memory: identical to FTS5's, always of the latest state (spec/index.md)."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hedgerow as hr
from waiting import LONGEST, CpuTime, until

WORDS = ["oak", "oaks", "elm", "ash", "ashen", "the", "the", "the", "hedge", "winter"]
QUERIES = [
    "oak elm",
    "the",
    "ash*",
    '"oak elm"',
    "oak AND elm",
    'hedge AND "the winter"',
    "oak elm NOT ash",
    "oak " * 300,
    "nothing",
]


def chunk(name: str, content: str = "winter garden") -> hr.Chunk:
    return hr.Chunk(name, f"notes/{name}.md", content)


def forest(count: int, seed: int = 1) -> list[hr.Chunk]:
    dice = random.Random(seed)  # noqa: S311 - test data
    return [
        hr.Chunk(
            id=f"c{number}",
            path=f"notes/{number % 7}.md",
            title=" ".join(dice.choices(WORDS, k=2)),
            content=" ".join(dice.choices(WORDS, k=dice.randrange(12))),
        )
        for number in range(count)
    ]


def found(index: hr.Index, query: str, limit: int = 20, **options) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in index.search_bm25(query, limit, **options)]


def ids(index: hr.Index, query: str) -> list[str]:
    return [name for name, _ in found(index, query)]


def agree(one: hr.Index, other: hr.Index, limit: int = 20) -> None:
    for query in QUERIES:
        assert found(one, query, limit) == found(other, query, limit), query


def python(program: str, *arguments: object) -> str:
    """Return the output of a separate interpreter with hedgerow imported as `hr`."""
    command = [sys.executable, "-c", f"import hedgerow as hr, sys\n{program}"]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    return done.stdout


def wait_for_memory(index: hr.Index) -> None:
    until(lambda: index.stats().ranking_bytes > 0)


@pytest.fixture
def forest_file(tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    with hr.Index.open(path) as index:
        index.upsert(forest(300))
    return path


class TestWhoRanks:
    def test_all_rank_alike(self, forest_file):
        with (
            hr.Index.open(forest_file, ranking="fts5") as truth,
            hr.Index.open(forest_file, ranking="memory") as memory,
            hr.Index.open(forest_file) as auto,
        ):
            for limit in (1, 20, 1000):
                agree(memory, truth, limit)
                agree(auto, truth, limit)
            wait_for_memory(auto)
            agree(auto, truth)
            for filters in (
                hr.Filters(paths=["notes/3.md"]),
                hr.Filters(path_prefix="notes/"),
                hr.Filters(paths=["nowhere"]),
            ):
                for query in QUERIES:
                    expected = found(truth, query, filters=filters)
                    assert found(memory, query, filters=filters) == expected
            # An AND of alternatives and a phrase, which is left to FTS5.
            aliases = {"hedge": ["hedge", "oak elm"]}
            mixed = "hedge AND the OR ash"
            expected = found(truth, mixed, aliases=aliases)
            assert found(memory, mixed, aliases=aliases) == expected != []

    def test_memory_is_reported_and_given_back(self, forest_file):
        with hr.Index.open(forest_file, ranking="fts5") as index:
            assert len(found(index, "oak")) == 20
            assert index.stats().ranking_bytes == 0
        with hr.Index.open(forest_file, ranking="memory") as index:
            assert index.stats().ranking_bytes == 0, "not searched yet"
            found(index, "oak")
            assert 300 * 8 < index.stats().ranking_bytes < 300 * 200

    def test_auto_waits_for_the_second_search(self, forest_file):
        with hr.Index.open(forest_file) as index:
            found(index, "oak")
            time.sleep(0.2)
            assert index.stats().ranking_bytes == 0
            found(index, "oak")
            wait_for_memory(index)

    def test_which_way_it_went_is_said_and_logged_once(self, forest_file, caplog):
        caplog.set_level("INFO", logger="hedgerow")
        with hr.Index.open(forest_file, ranking="fts5") as index:
            found(index, "oak")
            assert index.stats().ranking_reason == "fts5: asked for"
        with hr.Index.open(forest_file, ranking="memory") as index:
            assert index.stats().ranking_reason == "fts5: no search yet"
            found(index, "oak")
            assert index.stats().ranking_reason == "memory: asked for; 1 MB"
        assert caplog.records == []
        with hr.Index.open(forest_file) as index:
            assert index.stats().ranking_reason == "fts5: no search yet"
            found(index, "oak")
            assert index.stats().ranking_reason.startswith("fts5: one search so far")
            found(index, "oak")
            wait_for_memory(index)
            for _ in range(3):
                found(index, "oak")
            reason = index.stats().ranking_reason
            assert reason == "memory: 1 MB, 1 MB while it is built, of at most 1 GiB"
            logged = [(record.levelname, record.getMessage()) for record in caplog.records]
            assert logged == [("INFO", f"BM25 is ranked by {reason}")]

    def test_closing_does_not_wait_for_the_reading(self):
        with hr.Index.in_memory() as index:
            index.upsert(forest(20_000))
            found(index, "oak")
            found(index, "oak")
            taken = CpuTime()
        assert taken.so_far() < 5
        with pytest.raises(hr.IndexFileError) as caught:
            found(index, "oak")
        assert caught.value.code == "index_closed"

    def test_an_unknown_ranking_is_refused(self, tmp_path):
        for make in (
            lambda: hr.Index.in_memory(ranking="tantivy"),  # type: ignore[arg-type]
            lambda: hr.Index.open(tmp_path / "i.db", ranking=""),  # type: ignore[arg-type]
        ):
            with pytest.raises(hr.InvalidInputError) as caught:
                make()
            assert caught.value.code == "invalid_option"
            assert str(caught.value).startswith('ranking must be "auto", "memory" or "fts5", not ')

    def test_a_handle_remembers_it(self, forest_file):
        with hr.Index.open(forest_file, ranking="memory") as index:
            assert repr(index).endswith(", read_only=False, ranking='memory')")
            with pickle.loads(pickle.dumps(index)) as again:
                assert repr(again) == repr(index)
        assert repr(hr.Index.in_memory(ranking="fts5")).endswith(", ranking='fts5')")


class TestFreshness:
    def test_of_writes_through_this_handle_and_another(self, forest_file):
        with (
            hr.Index.open(forest_file, ranking="memory") as index,
            hr.Index.open(forest_file, ranking="memory", read_only=True) as reader,
            hr.Index.open(forest_file, ranking="fts5") as truth,
        ):
            assert ids(index, "newcomer") == ids(reader, "newcomer") == []
            index.upsert([chunk("new", "a newcomer")])
            assert ids(index, "newcomer") == ids(reader, "newcomer") == ["new"]
            truth.upsert([chunk("new", "nothing of the kind"), chunk("other", "newcomer")])
            assert ids(index, "newcomer") == ids(reader, "newcomer") == ["other"]
            truth.delete(["other"])
            assert ids(index, "newcomer") == ids(reader, "newcomer") == []
            truth.delete_path("notes/3.md")
            agree(index, truth)
            # More changes than are applied incrementally.
            truth.upsert(forest(2_000, seed=2))
            agree(index, truth)
            agree(reader, truth)

    def test_after_hundreds_of_small_writes(self, forest_file):
        dice = random.Random(5)  # noqa: S311 - test data
        with (
            hr.Index.open(forest_file, ranking="memory") as index,
            hr.Index.open(forest_file, ranking="fts5") as truth,
        ):
            for step in range(300):
                one = dice.randrange(400)
                if dice.random() < 0.3:
                    index.delete([f"c{one}"])
                else:
                    index.upsert([chunk(f"c{one}", " ".join(dice.choices(WORDS, k=9)))])
                if step % 20 == 0:
                    agree(index, truth)
            agree(index, truth)
            # More writes since the last search than the change list holds.
            for step in range(300):
                truth.upsert([chunk("last", f"step{step}")])
            assert ids(index, "step299") == ["last"]
            assert ids(index, "step298") == []

    def test_of_writes_by_another_process(self, forest_file):
        with hr.Index.open(forest_file, ranking="memory") as index:
            found(index, "oak")
            python(
                "hr.Index.open(sys.argv[1]).upsert([hr.Chunk('far', 'p', 'newcomer')])",
                forest_file,
            )
            assert ids(index, "newcomer") == ["far"]
            python("hr.Index.open(sys.argv[1]).delete(['far'])", forest_file)
            assert ids(index, "newcomer") == []

    @pytest.mark.parametrize("ranking", ["memory", "auto"])
    @pytest.mark.parametrize("where", ["file", "memory"])
    def test_threads_see_what_was_written_before(self, where, ranking, tmp_path):
        index = (
            hr.Index.open(tmp_path / "index.db", ranking=ranking)
            if where == "file"
            else hr.Index.in_memory(ranking=ranking)
        )
        done = threading.Event()
        newest = 0

        def search() -> int:
            searches = 0
            while not done.is_set() or searches == 0:
                known = newest
                hits = index.search_bm25("marker", 1)
                assert known == 0 or int(hits[0].content.split()[1]) >= known
                searches += 1
            return searches

        with index, ThreadPoolExecutor(3) as threads:
            index.upsert(forest(500))
            searching = [threads.submit(search) for _ in range(3)]
            for step in range(1, 60):
                index.upsert([chunk("marked", f"marker {step}")])
                newest = step
            done.set()
            assert sum(task.result() for task in searching) > 0

    def test_optimize_and_backup_change_nothing(self, forest_file, tmp_path):
        with hr.Index.open(forest_file, ranking="memory") as index:
            before = [found(index, query) for query in QUERIES]
            index.optimize()
            assert [found(index, query) for query in QUERIES] == before
            index.backup(tmp_path / "copy.db")
        with hr.Index.open(tmp_path / "copy.db", ranking="memory") as copy:
            assert [found(copy, query) for query in QUERIES] == before


# Statistics of chunks, of terms and of the collection must be consistent, or FTS5 ranks instead.
DAMAGES = {
    "the length of a chunk": "UPDATE knowledge_fts_docsize SET sz = x'0101010150' WHERE id = 5",
    "the lengths": "UPDATE knowledge_fts_docsize SET sz = x'' WHERE id = 5",
    "the totals": "UPDATE knowledge_fts_data SET block = x'7f7f7f7f7f7f' WHERE id = 1",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_contradicts_itself_is_left_to_fts5(damage, forest_file, caplog):
    program = "import sqlite3\nwith sqlite3.connect(sys.argv[1]) as file: file.execute(sys.argv[2])"
    python(program, forest_file, damage)

    def outcome(index: hr.Index) -> object:
        try:
            return found(index, "oak elm")
        except hr.IndexFileError as error:
            return error.code

    with (
        hr.Index.open(forest_file, ranking="fts5") as truth,
        hr.Index.open(forest_file, ranking="memory") as memory,
    ):
        assert outcome(memory) == outcome(memory) == outcome(truth)
        assert memory.stats().ranking_bytes == 0
        reason = memory.stats().ranking_reason
        assert reason.startswith("fts5: the index is damaged: ")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"BM25 is ranked by {reason}")
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("ranking", ["memory", "auto"])
def test_a_fork_goes_through_while_the_index_is_read(ranking, forest_file):
    program = """
import os, warnings
warnings.simplefilter("ignore")
index = hr.Index.open(sys.argv[1], ranking=sys.argv[2])
index.upsert([hr.Chunk(f"f{n}", "p", "oak elm ash " * 20) for n in range(5000)])
index.search_bm25("oak"); index.search_bm25("oak")
if (child := os.fork()) == 0:
    try:
        index.search_bm25("oak")
    except hr.IndexFileError as error:
        with hr.Index.open(sys.argv[1], ranking=sys.argv[2]) as again:
            os._exit(0 if error.code == "index_forked" and again.search_bm25("oak") else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert index.search_bm25("oak")
print("done")
"""
    assert python(program, forest_file, ranking) == "done\n"


@pytest.mark.parametrize("count", [20, 30, 300])
def test_long_questions_score_alike_in_memory_and_by_fts5(count):
    """For long queries, FTS5's function scores only the words that occur in a row."""
    chance = random.Random(count)  # noqa: S311 - the same every time
    words = [f"w{number}" for number in range(400)]
    texts = [" ".join(chance.choices(words, k=40)) for _ in range(300)]
    question = [*chance.choices(words, k=count), '"w1 w2"', "w3*"]
    chunks = [
        hr.Chunk(f"c{number}", f"{number}.md", text, title=chance.choice(words))
        for number, text in enumerate(texts)
    ]
    for query in (" ".join(question[:count]), " OR ".join(question) + " NOT w4"):
        found = []
        for ranking in ("memory", "fts5"):
            with hr.Index.in_memory(ranking=ranking) as index:
                index.upsert(chunks)
                index.delete(["c7", "c8"])
                hits = hr.Retriever(index, ranking=hr.Ranking("best", neighbors=False)).search(
                    query, limit=300, candidates=300
                )
                found.append([(hit.id, hit.score) for hit in hits])
        assert found[0] == found[1]
        assert len(found[0]) > 200
