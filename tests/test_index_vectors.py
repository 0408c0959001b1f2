"""Vectors: storing them, and searching by them (spec/index.md, "Vectors")."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import _engine


@pytest.fixture(params=["file", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path):
    opened = (
        hr.Index.open(tmp_path / "index.db") if request.param == "file" else hr.Index.in_memory()
    )
    with opened:
        yield opened
        assert opened.check() == []


def chunk(name: str, embedding: Any = None, path: str = "p", **fields: Any) -> hr.Chunk:
    fields.setdefault("content", f"the text of {name}")
    return hr.Chunk(name, path, embedding=embedding, **fields)


def ids(hits: list[hr.Hit]) -> list[str]:
    return [hit.id for hit in hits]


def run_sql(path: Path, sql: str) -> None:
    """Change a file behind our back: in a process of its own, with the index closed."""
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
    subprocess.run([sys.executable, "-c", program, str(path), sql], check=True)


def utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


# Few different numbers, so that many cosines are equal; vectors of zeros among them.
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5])
VECTORS = st.lists(NUMBERS, min_size=3, max_size=3)
NAMES = st.sampled_from(["a", "b", "é", "～", "😀", "a/b", ""])
STORED = st.lists(st.tuples(NAMES, st.none() | VECTORS, st.sampled_from(["x", "y"])), max_size=30)


@given(
    stored=STORED,
    query=VECTORS,
    filters=st.sampled_from([{}, {"tags": ["x"]}, {"paths": ["a", "😀"]}, {"path_prefix": "a"}]),
    again=STORED,
)
@settings(max_examples=200, deadline=None)
def test_found_is_what_brute_force_finds(stored, query, filters, again):
    kept: dict[str, tuple[str, list[float] | None, str]] = {}
    with hr.Index.in_memory() as index:
        for batch in [stored, again]:
            for n, (path, vector, tag) in enumerate(batch):
                # Without a vector the one before is kept: the texts are the same.
                before = kept.get(f"{n}", ("", None, ""))[1]
                kept[f"{n}"] = (path, before if vector is None else vector, tag)
            index.upsert(
                chunk(f"{n}", vector, path, tags=[tag])
                for n, (path, vector, tag) in enumerate(batch)
            )
            index.search_vector(query)
        expected = []
        for name, (path, vector, tag) in kept.items():
            passes = (
                tag in filters.get("tags", [tag])
                and path in filters.get("paths", [path])
                and path.startswith(filters.get("path_prefix", ""))
            )
            if passes and vector and any(vector) and any(query):
                dot = sum(a * b for a, b in zip(query, vector, strict=True))
                cosine = dot / math.hypot(*query) / math.hypot(*vector)
                expected.append((cosine, utf16(path), utf16(name), name))
        found = index.search_vector(query, 100, filters=filters)
        cosines = {name: cosine for cosine, _, _, name in expected}
        assert set(ids(found)) == set(cosines)
        assert len(found) == len(cosines)
        for hit in found:
            assert hit.score == hit.vector_similarity == pytest.approx(cosines[hit.id], abs=1e-5)
            assert hit.bm25_rank is None
        keys = [(-hit.score, utf16(hit.path), utf16(hit.id)) for hit in found]
        assert keys == sorted(keys)
        for limit in range(1, len(found) + 1):
            assert index.search_vector(query, limit, filters=filters) == found[:limit]
        assert index.check() == []


GIVEN = [0.5, -1.25, 3.0, 0.0]


class TestWhatIsAVector:
    @pytest.mark.parametrize(
        "make",
        [
            list,
            tuple,
            lambda numbers: array("f", numbers),
            lambda numbers: array("d", numbers),
            lambda numbers: memoryview(array("f", numbers)),
            np.array,
            lambda numbers: np.array(numbers, dtype=np.float32),
            lambda numbers: np.array(numbers, dtype=np.float16),
            lambda numbers: np.array(numbers, dtype=">f4"),
            lambda numbers: np.array(numbers, dtype=">f8"),
            lambda numbers: np.array(numbers, dtype="<f8"),
            lambda numbers: np.array([numbers, numbers], dtype=np.float32).T[:, 1],
            lambda numbers: np.repeat(np.array(numbers), 3)[::3],
            lambda numbers: [np.float32(number) for number in numbers],
        ],
    )
    def test_every_form_is_the_same(self, index, make):
        vector = make(GIVEN)
        made = chunk("a", vector)
        assert made == chunk("a", GIVEN)
        assert made.embedding == array("f", GIVEN)
        index.upsert([made])
        (hit,) = index.search_vector(vector)
        assert hit.score == pytest.approx(1)

    def test_integers(self):
        for vector in [[1, 2, -3], np.array([1, 2, -3]), array("b", [1, 2, -3])]:
            assert chunk("a", vector).embedding == array("f", [1, 2, -3])

    def test_what_is_stored_has_length_1(self, index):
        made = chunk("a", [3.0, 4.0])
        index.upsert([made])
        stored = index.get("a")
        assert stored.embedding == array("f", [0.6, 0.8])
        assert made.embedding == array("f", [3, 4])
        assert list(index.chunks()) == [stored]
        assert np.asarray(stored.embedding).dtype == np.float32
        assert stored == chunk("a", [0.6, 0.8]) != chunk("a")

    def test_a_vector_of_length_1_comes_back_to_the_bit(self, tmp_path):
        random = np.random.default_rng(7)
        vectors = random.normal(size=(50, 33))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        path = tmp_path / "index.db"
        with hr.Index.open(path) as index:
            index.upsert(chunk(f"{n}", vector) for n, vector in enumerate(vectors))
            for n, stored in enumerate(index.chunks()):
                assert np.array_equal(np.asarray(stored.embedding), vectors[n].astype(np.float32))
            read = list(index.chunks())
        before = path.read_bytes()
        with hr.Index.open(path) as index:
            assert index.upsert(read) == 50
        assert path.read_bytes() == before

    def test_chunks_pickle_and_compare(self):
        for made in [chunk("a", [0.1, 2]), chunk("a", []), chunk("a")]:
            assert pickle.loads(pickle.dumps(made)) == made
        assert chunk("a", []) != chunk("a")
        assert chunk("a", [1.0]) != chunk("a", [2.0])

    def test_it_cannot_be_changed(self):
        made = chunk("a", [1.0, 2.0])
        made.embedding[0] = 9.0
        assert made.embedding == array("f", [1, 2])

    @pytest.mark.parametrize(
        ("vector", "message"),
        [
            ([1.0, math.nan], "is not finite at position 1; embed the text again"),
            ([math.inf], "is not finite at position 0; embed the text again"),
            (array("f", [0, 0, -math.inf]), "is not finite at position 2; embed the text again"),
            (array("d", [math.nan]), "is not finite at position 0; embed the text again"),
            ([1e39], "is more than a float32 holds at position 0; scale the vector down"),
            (array("d", [1, 1e300]), "is more than a float32 holds at position 1; scale"),
            (np.zeros((1, 3)), "has 2 axes; give one vector at a time"),
            (np.float32(1), "has 0 axes; give one vector at a time"),
            (b"\0\0\0\0", "must be a sequence of numbers or a buffer of float32, not bytes"),
            ("12", "must be a sequence of numbers or a buffer of float32, not str"),
            ({1.0: 2.0}, "must be a sequence of numbers or a buffer of float32, not dict"),
            (3.0, "must be a sequence of numbers or a buffer of float32, not float"),
            ([1.0, None], "[1] must be a number, not NoneType"),
            ([[1.0]], "[0] must be a number, not list"),
            (np.array([1j]), 'is a buffer of format "Zd"; give numbers, best as float32'),
            (np.array([True]), 'is a buffer of format "?"; give numbers, best as float32'),
        ],
    )
    def test_what_is_refused(self, index, vector, message):
        with pytest.raises(hr.InvalidInputError) as caught:
            chunk("a", vector)
        assert caught.value.code == "invalid_chunk"
        assert str(caught.value).startswith("embedding")
        assert message in str(caught.value)
        with pytest.raises(hr.InvalidInputError) as caught:
            index.search_vector(vector)
        assert caught.value.code == "invalid_vector"
        assert str(caught.value).startswith("vector")
        assert message in str(caught.value)

    def test_numpy_is_not_needed(self):
        program = (
            "import warnings; warnings.simplefilter('ignore')\n"
            "import sys; sys.modules['numpy'] = None\n"
            "import hedgerow as hr\n"
            "with hr.Index.in_memory() as index:\n"
            "    index.upsert([hr.Chunk('a', 'p', 'c', embedding=[3, 4])])\n"
            "    (hit,) = index.search_vector([6, 8])\n"
            "    assert hit.score == 1.0, hit\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
        program = "import sys, warnings; warnings.simplefilter('ignore'); import hedgerow; "
        program += "assert 'numpy' not in sys.modules"
        subprocess.run([sys.executable, "-c", program], check=True)


class TestDimensions:
    def test_the_first_embedding_fixes_it(self, index):
        assert index.stats().dimensions is None
        assert index.search_vector([1.0, 2.0, 3.0]) == [], "nothing to disagree with"
        index.upsert([chunk("a"), chunk("b", [])])
        assert index.stats().dimensions is None
        index.upsert([chunk("c", [1.0, 2.0])])
        assert index.stats().dimensions == 2
        four = [chunk(f"x{n}", [1, 0]) for n in range(3)] + [chunk("x", [1, 2, 3])]
        with pytest.raises(hr.InvalidInputError) as caught:
            index.upsert(four)
        assert caught.value.code == "dimension_mismatch"
        assert str(caught.value) == (
            "chunks[3]: the embedding has 3 dimensions and the index has 2; use the embedder that "
            "the index was made with, or embed all chunks anew"
        )
        assert len(index) == 3, "nothing was written"
        with pytest.raises(hr.InvalidInputError, match="the vector has 1 dimensions and") as caught:
            index.search_vector([1.0])
        assert caught.value.code == "dimension_mismatch"
        with pytest.raises(hr.InvalidInputError, match="the vector has 3 dimensions and"):
            index.search_vector([0.0, 0.0, 0.0])
        index.delete(["c"])
        assert index.stats().dimensions == 2, "it stays"

    def test_it_can_be_asked_for(self, tmp_path):
        path = tmp_path / "index.db"
        with hr.Index.open(path, dimensions=2) as index:
            assert repr(index) == (
                f"Index.open('{path}', dimensions=2, tokenizer='porter unicode61', read_only=False)"
            )
            with pytest.raises(hr.InvalidInputError, match="3 dimensions and the index has 2"):
                index.upsert([chunk("a", [1, 2, 3])])
            with pickle.loads(pickle.dumps(index)) as again:
                assert repr(again) == repr(index)
        for options in [{}, {"dimensions": 2}, {"dimensions": 2, "read_only": True}]:
            with hr.Index.open(path, **options) as index:
                assert index.stats().dimensions == 2
        for read_only in [False, True]:
            with pytest.raises(hr.InvalidInputError) as caught:
                hr.Index.open(path, dimensions=3, read_only=read_only)
            assert caught.value.code == "dimension_mismatch"
            assert str(caught.value) == (
                f"the index {path} has vectors of 2 dimensions, not 3; leave the dimensions out, "
                "or embed all chunks anew"
            )
        with hr.Index.in_memory(3) as index:
            assert index.stats().dimensions == 3
            assert repr(index) == "Index.in_memory(dimensions=3, tokenizer='porter unicode61')"

    @pytest.mark.parametrize("dimensions", [0, -1, 1.5, "3"])
    def test_it_is_a_number(self, dimensions):
        with pytest.raises(hr.InvalidInputError) as caught:
            hr.Index.in_memory(dimensions=dimensions)
        assert caught.value.code == "invalid_option"
        assert str(caught.value) == f"dimensions must be an int of at least 1, not {dimensions!r}"


class TestWriting:
    def test_a_vector_stays_while_the_texts_do(self, index):
        index.upsert([chunk("a", [1, 0], title="t", summary="s")])
        same = {"title": "t", "summary": "s"}
        for fields in [{"metadata": {"n": 1}}, {"tags": ["x"]}, {"path": "q"}, {"ordinal": 7}]:
            index.upsert([chunk("a", **same, **fields)])
            assert ids(index.search_vector([1, 0])) == ["a"]
        for change in [{"title": "u"}, {"summary": "u"}, {"content": "u"}]:
            index.upsert([chunk("a", [1, 0], **same)])
            assert len(index.search_vector([1, 0])) == 1
            index.upsert([chunk("a", **{**same, **change})])
            assert index.search_vector([1, 0]) == []
            assert index.get("a").embedding is None

    def test_an_empty_vector_or_one_of_zeros_is_none(self, index):
        index.upsert([chunk("a", [1, 0]), chunk("b", [0, 0]), chunk("c", np.zeros(0))])
        assert ids(index.search_vector([1, 0])) == ["a"]
        assert index.stats().vectors == 1
        assert index.get("b").embedding is None
        for none in [[0, 0], []]:
            assert index.search_vector(none) == []
            index.upsert([chunk("a", [1, 0])])
            index.upsert([chunk("a", none)])
            assert index.search_vector([1, 0]) == []
        assert len(index) == 3

    def test_deleting_removes_vectors(self, index):
        index.upsert(chunk(f"{n}", [1, n], path=f"p{n % 2}") for n in range(6))
        assert len(index.search_vector([1, 0])) == 6
        index.delete(["0", "5"])
        index.delete_path("p1")
        assert ids(index.search_vector([1, 0])) == ["2", "4"]
        # Row numbers are given again, and bring no vector with them.
        index.upsert(chunk(f"new{n}") for n in range(6))
        assert ids(index.search_vector([1, 0])) == ["2", "4"]
        assert index.stats().vectors == 2

    def test_it_is_there_when_opened_again_and_in_backups(self, tmp_path):
        path, copy = tmp_path / "index.db", tmp_path / "copy.db"
        with hr.Index.open(path) as index:
            index.upsert([chunk("a", [1, 0]), chunk("b", [1, 1])])
            found = index.search_vector([1, 0.1])
            index.backup(copy)
        for file in [path, copy]:
            with hr.Index.open(file, read_only=True) as index:
                assert index.search_vector([1, 0.1]) == found
                assert index.check() == []
                assert index.stats().vectors == 2
        assert found[0].explain() == f"score {found[0].score:.4f}: vector similarity 0.9950"

    def test_statistics(self, index):
        stats = index.stats()
        assert (stats.dimensions, stats.embedder) == (None, None)
        assert (stats.vectors, stats.vector_bytes) == (0, 0)
        index.upsert(chunk(f"{n}", np.ones(64)) for n in range(100))
        assert index.stats().vector_bytes == 0, "not searched yet"
        index.search_vector(np.ones(64))
        stats = index.stats()
        assert (stats.dimensions, stats.vectors) == (64, 100)
        assert 100 * 64 * 4 <= stats.vector_bytes < 100 * 64 * 4 * 2


def test_a_file_of_version_1_is_given_vectors_and_nodes(tmp_path):
    path = tmp_path / "index.db"
    with hr.Index.open(path) as index:
        index.upsert([chunk("a"), chunk("b")])
    run_sql(
        path,
        "DROP TABLE embeddings; DROP TABLE changes; DELETE FROM settings WHERE name <> 'tokenizer';"
        "DROP TABLE nodes; DROP TABLE edges; DROP TABLE visits; DROP TABLE last_visits;"
        "DROP TABLE agent_runs; DROP TABLE agent_actions; DROP TABLE agent_claims;"
        "DROP TABLE agent_resumes;"
        "PRAGMA user_version = 1",
    )
    with pytest.raises(hr.IndexFileError, match="open it once without read_only"):
        hr.Index.open(path, read_only=True)
    with hr.Index.open(path) as index:
        assert [stored.id for stored in index.chunks()] == ["a", "b"]
        assert index.search_vector([1]) == []
        index.upsert([chunk("b", [1])])
        assert ids(index.search_vector([1])) == ["b"]
        assert ids(index.search_bm25("text")) == ["a", "b"]
        assert index.stats().schema_version == 4
        assert index.check() == []
    with hr.Store.open(path) as store:
        assert store.upsert([hr.Node("a")]) == 1
        assert store.query("all").keys == ["a"]


class TestSideBySide:
    OTHER = (
        "import sys, warnings; warnings.simplefilter('ignore'); import hedgerow as hr\n"
        "with hr.Index.open(sys.argv[1]) as index:\n"
        "    index.upsert([hr.Chunk('theirs', 'p', 'c', embedding=[1, 0])])\n"
        "    index.delete(['gone'])\n"
        "    print([hit.id for hit in index.search_vector([1, 0])])\n"
    )

    def test_what_another_process_writes_is_found(self, tmp_path):
        path = tmp_path / "index.db"
        with hr.Index.open(path) as index:
            index.upsert([chunk("ours", [1, 1]), chunk("gone", [1, 0.5])])
            assert ids(index.search_vector([1, 0])) == ["gone", "ours"]
            command = [sys.executable, "-c", self.OTHER, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            assert done.stdout == "['theirs', 'ours']\n"
            assert ids(index.search_vector([1, 0])) == ["theirs", "ours"]

    def test_threads_search_while_another_writes(self, index):
        """A search sees whole transactions only: pairs, of opposite vectors."""
        done = threading.Event()

        def write() -> None:
            try:
                for n in range(60):
                    batch = [chunk(f"{n % 20}{sign}", [sign, n]) for sign in (1, -1)]
                    index.upsert(batch)
                    if n % 3 == 0:
                        index.delete([made.id for made in batch])
            finally:
                done.set()

        def search() -> int:
            searches = 0
            while not done.is_set() or searches == 0:
                hits = index.search_vector([1.0, 0.0], 1000)
                assert len(hits) % 2 == 0
                assert sum(hit.score for hit in hits) == pytest.approx(0, abs=1e-5)
                searches += 1
            return searches

        with ThreadPoolExecutor(4) as pool:
            searches = [pool.submit(search) for _ in range(3)]
            pool.submit(write).result()
            assert all(job.result() > 0 for job in searches)

    def test_threads_agree_to_the_bit(self, index):
        random = np.random.default_rng(1)
        vectors = random.normal(size=(500, 40)).astype(np.float32)
        index.upsert(
            chunk(f"{n}", vector, tags=["even"] if n % 2 == 0 else [])
            for n, vector in enumerate(vectors)
        )
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: index.search_vector(vectors[3], 500), range(8)))
        assert all(hits == found[0] for hits in found)
        even = index.search_vector(vectors[3], 500, filters={"tags": ["even"]})
        assert even == [hit for hit in found[0] if int(hit.id) % 2 == 0]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    def test_a_handle_is_refused_after_fork(self, index):
        index.upsert([chunk("a", [1, 0])])
        index.search_vector([1, 0])
        child = os.fork()
        if child == 0:
            try:
                index.search_vector([1, 0])
            except hr.IndexFileError as error:
                os._exit(0 if error.code == "index_forked" else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ids(index.search_vector([1, 0])) == ["a"]


class TestEmbedding:
    """What a retriever embeds chunks with; private until then."""

    def test_the_embedder_is_stored_and_checked(self, index):
        chunks = [chunk(name) for name in "abc"]
        assert _engine._unembedded(index, chunks) == [0, 1, 2]
        chunks[0] = chunks[0]._with_embedding(np.array([0, 2]))
        assert _engine._unembedded(index, chunks) == [1, 2]
        assert _engine._upsert_from(index, chunks, "one") == 3
        assert index.stats().embedder == "one"
        rewritten = chunk("a", content="x")
        assert _engine._unembedded(index, [chunk("a"), chunk("b"), rewritten]) == [1, 2]
        left, after = _engine._unembedded_page(index, 0, 10)
        assert [stored.id for stored in left] == ["b", "c"]
        assert _engine._unembedded_page(index, after, 10) == ([], after)
        for vectors in [np.eye(2), np.eye(2, dtype=">f4"), [[1, 0], array("f", [0, 1])]]:
            assert _engine._set_embeddings(index, left, vectors, "one") == 2
            assert [stored.embedding for stored in index.chunks()] == [
                array("f", [0, 1]),
                array("f", [1, 0]),
                array("f", [0, 1]),
            ]
        for call in [
            lambda: _engine._check_embedder(index, "two"),
            lambda: _engine._upsert_from(index, chunks, "two"),
            lambda: _engine._set_embeddings(index, left, np.eye(2), "two"),
        ]:
            with pytest.raises(hr.InvalidInputError, match='"one", not "two"; use that') as caught:
                call()
            assert caught.value.code == "embedder_mismatch"
        everything = list(index.chunks())
        vectors = [[1, 2, 3], [], [3, 2, 1]]
        assert _engine._set_embeddings(index, everything, vectors, "two", replace=True) == 3
        stats = index.stats()
        assert (stats.embedder, stats.dimensions, stats.vectors) == ("two", 3, 2)
        assert ids(index.search_vector([1, 2, 3])) == ["a", "c"]
        assert _engine._unembedded_page(index, 0, 10)[0] == []

    def test_wrong_vectors_are_named(self, index):
        chunks = [chunk("a"), chunk("b")]
        index.upsert(chunks)
        for vectors, message in [
            ([[1.0], [math.nan]], r"vectors\[1\] is not finite at position 0"),
            ([[1.0], ["x"]], r"vectors\[1\]\[0\] must be a number, not str"),
            ([[1.0]], "there are 1 vectors for 2 chunks; give one to each"),
            (3, "vectors must be an iterable of vectors, not int"),
        ]:
            with pytest.raises(hr.InvalidInputError, match=message) as caught:
                _engine._set_embeddings(index, chunks, vectors)
            assert caught.value.code == "invalid_vector"
        with pytest.raises(hr.InvalidInputError, match=r"vectors\[1\] has 2 dimensions and the"):
            _engine._set_embeddings(index, chunks, [[1.0], [1.0, 2.0]])
        assert index.stats().dimensions is None


def test_many_vectors(index):
    random = np.random.default_rng(3)
    vectors = random.normal(size=(20_000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index.upsert(hr.Chunk(f"{n}", "p", "", embedding=vector) for n, vector in enumerate(vectors))
    for query in random.normal(size=(5, 64)):
        cosines = vectors @ (query / np.linalg.norm(query)).astype(np.float32)
        best = np.argsort(-cosines)[:50]
        found = index.search_vector(query, 50)
        assert [hit.score for hit in found] == pytest.approx(cosines[best], abs=1e-5)
        assert len(set(ids(found)) ^ {str(n) for n in best}) <= 2, "equal but for rounding"
    # One more is seen at once, without reading the others again.
    index.upsert([chunk("new", query)])
    assert ids(index.search_vector(query, 1)) == ["new"]
