"""Every operation on a damaged file reports the damage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hedgerow as hr
from damages import NUMBERS, damaged, make_sound
from faults import Rounds
from index_doubles import run_sql
from ingest_runs import run
from waiting import LONGEST

BLOCKS = 8

OF_DAMAGE = {"index_damaged", "not_an_index", "index_too_new"}
WHEN_OPENED = {*OF_DAMAGE, "index_read_only"}
"""A damaged version number may look older, and an older file must be opened for writing once."""

QUERY = [0.1 * number for number in range(NUMBERS)]


class Answering:
    name = None
    dimensions = NUMBERS

    def embed(self, texts):
        return [QUERY for _ in texts]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("sound")
    make_sound(folder / "index.db", folder / "notes")
    return (folder / "index.db").read_bytes()


def hybrid(index: hr.Index) -> None:
    retriever = hr.Retriever(
        index, embedder=Answering(), ranking=hr.Ranking("spec", matching="extended", fusion="score")
    )
    try:
        retriever.search("hedgehog winter", group_by="path")
    except hr.RetrievalError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None


def all_chunks(index: hr.Index) -> None:
    for count, _ in enumerate(index.chunks()):
        assert count < 1000, "the chunks do not end"


def asked_of(index: hr.Index) -> Iterator[Callable[[], object]]:
    chunks = [hr.Chunk(f"c{n}", f"p{n}", "new oak", embedding=QUERY) for n in (0, 1, 2, 3, 50, 400)]
    narrow = hr.Filters(path_prefix="notes/", tags=["oak"], metadata={"s": "oak"})
    yield lambda: index.search_bm25('hedgehog winter OR "oak elm"')
    yield lambda: index.search_bm25("oak", filters=narrow)
    yield lambda: index.search_vector(QUERY)
    yield lambda: index.search_vector(QUERY, filters=narrow)
    yield lambda: hybrid(index)
    yield lambda: all_chunks(index)
    yield lambda: [index.get(f"c{number}") for number in range(0, 60, 7)]
    yield index.stats
    if not index.read_only:
        yield lambda: index.upsert(chunks)
        yield lambda: index.delete(["c5", "c7"])


def ask_the_store(path: Path) -> None:
    with opened(lambda: hr.Store.open(path)) as store:
        for pipeline in ["all | sort:priority | limit:5", "search:oak | spread | count"]:
            told(lambda pipeline=pipeline: store.query(pipeline, now=1_800_000_000))
        told(lambda: store.get("n3"))
        told(lambda: store.neighbors(["n3"]))
        told(lambda: store.upsert([hr.Node("n3", content="new")]))


class opened:  # noqa: N801 - reads like a function
    """Open a handle.

    If the file is too damaged for that, the operations in the block do nothing.
    """

    def __init__(self, open_it: Callable[[], object]) -> None:
        self.handle = told(open_it, WHEN_OPENED)

    def __enter__(self):
        return self.handle if self.handle is not None else _Nothing()

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            told(self.handle.close)


class _Nothing:
    read_only = True

    def __getattr__(self, name: str):
        return lambda *_, **__: None


def told(ask: Callable[[], object], codes: set[str] = OF_DAMAGE) -> object:
    """Call a function. Return its result, or None if it reported damage."""
    try:
        return ask()
    except hr.IndexFileError as error:
        if error.code not in codes:
            raise
        return None


def look_at(path: Path, seed: int) -> None:
    ranking = "memory" if seed % 2 else "fts5"
    for read_only in (True, False):
        with opened(lambda r=read_only: hr.Index.open(path, read_only=r, ranking=ranking)) as index:
            if isinstance(index, _Nothing):
                continue
            # `check` lists what is unreadable instead of raising.
            assert isinstance(index.check(), list)
            for ask in asked_of(index):
                told(ask)
    ask_the_store(path)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whatever_is_damaged_is_said_to_be(
    sound: bytes, tmp_path: Path, rounds: Rounds, block: int
) -> None:
    path = tmp_path / "index.db"
    failures: list[tuple[int, BaseException]] = []

    def look(seed: int) -> None:
        try:
            look_at(path, seed)
        except BaseException as error:  # noqa: BLE001 - all is told of below, with its seed
            failures.append((seed, error))

    for _ in rounds.at_least(30):
        seed = rounds.done * BLOCKS + block  # equal in every run
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.write_bytes(damaged(sound, seed))
        thread = threading.Thread(target=look, args=(seed,), daemon=True)
        thread.start()
        thread.join(LONGEST)
        assert not thread.is_alive(), f"seed {seed} does not end"
    assert failures == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (
            "UPDATE embeddings SET vector = x'' WHERE row = 2",
            '1 vectors are not of length 1 in 2 dimensions: "row 2"',
        ),
        (
            """UPDATE knowledge_chunks SET metadata = '{"a":1,"a":2}' WHERE id = 'b'""",
            '1 chunks have a key twice in their metadata: "b"',
        ),
        (
            "UPDATE sources SET skips = '[x'",
            '1 files have notes that are not JSON: "NOTE"',
        ),
        ("DROP TABLE embeddings", "the file is damaged: no such table: embeddings"),
        (
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, 'digest TEXT NOT NULL', 'digest TEXT') "
            "WHERE name = 'sources'",
            'the file is damaged: "sources" is not defined as hedgerow does it',
        ),
    ],
)
def test_check_lists_it(tmp_path: Path, damage: str, problem: str) -> None:
    path, note = tmp_path / "index.db", tmp_path / "notes/a.md"
    note.parent.mkdir()
    note.write_text("# A\n\noak\n")
    with hr.Index.open(path) as index:
        index.upsert(hr.Chunk(name, "p", "oak", embedding=[0.0, 1.0]) for name in "ab")
        index.upsert([hr.Chunk("none", "p", "oak", embedding=[])])
        run(index, note.parent)
        assert index.check() == []
    run_sql(path, damage)
    for read_only in (True, False):
        with hr.Index.open(path, read_only=read_only) as index:
            assert index.check() == [problem.replace("NOTE", str(note))]


def test_a_definition_that_sqlite_reads_and_nobody_wrote(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with hr.Index.open(path) as index:
        index.upsert([hr.Chunk("a", "p", "oak")])
    other = "UPDATE sqlite_schema SET sql = replace(sql, 'hedgerow_words 3', 'hedgerow_words 9')"
    run_sql(path, f"PRAGMA writable_schema = ON; {other} WHERE name = 'knowledge_fts'")
    for read_only in (True, False):
        with hr.Index.open(path, read_only=read_only) as index:
            assert "the file is damaged: " in index.check()[0]
            with pytest.raises(hr.IndexFileError, match="error in tokenizer constructor") as caught:
                index.search_bm25("oak")
            assert caught.value.code == "index_damaged"


def test_an_empty_vector_is_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with hr.Index.open(path) as index:
        index.upsert(hr.Chunk(name, "p", "oak", embedding=[0.0, 1.0]) for name in "ab")
    run_sql(path, "UPDATE embeddings SET vector = x'' WHERE row = 2")
    with (
        hr.Index.open(path) as index,
        pytest.raises(hr.IndexFileError, match="the vector of row 2 is not one") as caught,
    ):
        index.search_vector([0.0, 1.0])
    assert caught.value.code == "index_damaged"
