"""Vectors: storage and search (spec/index.md, "Vectors")."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import subprocess
import sys
import threading
from array import array
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import _engine
from index_doubles import embedded, ids, run_sql, without_ledger


def utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


# Few distinct numbers, so that many cosines are equal. Some vectors are zero.
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
                # A chunk without a vector keeps its stored one, because the texts are equal.
                before = kept.get(f"{n}", ("", None, ""))[1]
                kept[f"{n}"] = (path, before if vector is None else vector, tag)
            index.upsert(
                embedded(f"{n}", vector, path, tags=[tag])
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


class TestWriting:
    def test_a_vector_stays_while_the_texts_do(self, index):
        index.upsert([embedded("a", [1, 0], title="t", summary="s")])
        same = {"title": "t", "summary": "s"}
        for fields in [{"metadata": {"n": 1}}, {"tags": ["x"]}, {"path": "q"}, {"ordinal": 7}]:
            index.upsert([embedded("a", **same, **fields)])
            assert ids(index.search_vector([1, 0])) == ["a"]
        for change in [{"title": "u"}, {"summary": "u"}, {"content": "u"}]:
            index.upsert([embedded("a", [1, 0], **same)])
            assert len(index.search_vector([1, 0])) == 1
            index.upsert([embedded("a", **{**same, **change})])
            assert index.search_vector([1, 0]) == []
            assert index.get("a").embedding is None

    def test_an_empty_vector_or_one_of_zeros_is_none(self, index):
        index.upsert([embedded("a", [1, 0]), embedded("b", [0, 0]), embedded("c", np.zeros(0))])
        assert ids(index.search_vector([1, 0])) == ["a"]
        assert index.stats().vectors == 1
        assert index.get("b").embedding is None
        for none in [[0, 0], []]:
            assert index.search_vector(none) == []
            index.upsert([embedded("a", [1, 0])])
            index.upsert([embedded("a", none)])
            assert index.search_vector([1, 0]) == []
        assert len(index) == 3

    def test_deleting_removes_vectors(self, index):
        index.upsert(embedded(f"{n}", [1, n], path=f"p{n % 2}") for n in range(6))
        assert len(index.search_vector([1, 0])) == 6
        index.delete(["0", "5"])
        index.delete_path("p1")
        assert ids(index.search_vector([1, 0])) == ["2", "4"]
        # Row numbers are reused, without the vectors of deleted chunks.
        index.upsert(embedded(f"new{n}") for n in range(6))
        assert ids(index.search_vector([1, 0])) == ["2", "4"]
        assert index.stats().vectors == 2

    def test_it_is_there_when_opened_again_and_in_backups(self, tmp_path):
        path, copy = tmp_path / "index.db", tmp_path / "copy.db"
        with hr.Index.open(path) as index:
            index.upsert([embedded("a", [1, 0]), embedded("b", [1, 1])])
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
        index.upsert(embedded(f"{n}", np.ones(64)) for n in range(100))
        assert index.stats().vector_bytes == 0, "not searched yet"
        index.search_vector(np.ones(64))
        stats = index.stats()
        assert (stats.dimensions, stats.vectors) == (64, 100)
        # Blocks of 128 vectors, with two bytes for each code of 64, rounded up to 128.
        assert 100 * 64 * 4 <= stats.vector_bytes < 128 * (64 * 4 + 2 * 128)


def test_a_file_of_version_1_is_given_vectors_and_nodes(tmp_path):
    path = tmp_path / "index.db"
    with hr.Index.open(path) as index:
        index.upsert([embedded("a"), embedded("b")])
    run_sql(
        path,
        "DROP TABLE embeddings; DROP TABLE changes; DELETE FROM settings WHERE name <> 'tokenizer';"
        "DROP TABLE subjects; DROP TABLE sources; DROP TABLE source_chunks;"
        "DROP TABLE staged_embeddings; DROP TABLE metadata_keys; DROP TABLE metadata_values;"
        "PRAGMA user_version = 1",
    )
    with pytest.raises(hr.IndexFileError, match="open it once for writing"):
        hr.Index.open(path, read_only=True)
    with hr.Index.open(path) as index:
        assert [stored.id for stored in index.chunks()] == ["a", "b"]
        assert index.search_vector([1]) == []
        index.upsert([embedded("b", [1])])
        assert ids(index.search_vector([1])) == ["b"]
        assert ids(index.search_bm25("text")) == ["a", "b"]
        assert index.stats().schema_version == 7
        assert index.check() == []
    with hr.Store.open(path) as store:
        assert store.upsert([hr.Node("a")]) == 1
        assert store.query("all").keys == ["a"]


def test_a_file_of_format_4_keeps_its_nodes(tmp_path):
    path = tmp_path / "store.db"
    with hr.Store.open(path) as store:
        store.upsert([hr.Node("a"), hr.Node("b")])
        store.link("a", "b")
    without_ledger(path)
    # A handle without node support migrates the file first.
    with hr.Index.open(path) as index:
        assert index.get("a") is not None
    with hr.Store.open(path) as store:
        assert store.query("seed:a | spread").keys == ["a", "b"]
        assert store.index.check() == []


def test_a_file_of_an_index_has_no_tables_of_nodes(tmp_path):
    path = tmp_path / "index.db"
    hr.Index.open(path).close()
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'knowledge_%'"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        found = {name for (name,) in connection.execute(tables)}
        subjects = dict(connection.execute("SELECT name, version FROM subjects"))
    assert found == {
        *("settings", "changes", "identity", "subjects", "embeddings"),
        *("staged_embeddings", "sources", "source_chunks", "metadata_keys", "metadata_values"),
    }
    assert subjects == {"chunks": 6, "sources": 2, "vectors": 3}


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
            index.upsert([embedded("ours", [1, 1]), embedded("gone", [1, 0.5])])
            assert ids(index.search_vector([1, 0])) == ["gone", "ours"]
            command = [sys.executable, "-c", self.OTHER, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            assert done.stdout == "['theirs', 'ours']\n"
            assert ids(index.search_vector([1, 0])) == ["theirs", "ours"]

    def test_threads_search_while_another_writes(self, index):
        """A search sees only whole transactions: pairs of opposite vectors."""
        done = threading.Event()

        def write() -> None:
            try:
                for n in range(60):
                    batch = [embedded(f"{n % 20}{sign}", [sign, n]) for sign in (1, -1)]
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
            embedded(f"{n}", vector, tags=["even"] if n % 2 == 0 else [])
            for n, vector in enumerate(vectors)
        )
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: index.search_vector(vectors[3], 500), range(8)))
        assert all(hits == found[0] for hits in found)
        even = index.search_vector(vectors[3], 500, filters={"tags": ["even"]})
        assert even == [hit for hit in found[0] if int(hit.id) % 2 == 0]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_handle_is_refused_after_fork(self, index):
        index.upsert([embedded("a", [1, 0])])
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
    """The private functions with which a retriever embeds chunks."""

    def test_the_embedder_is_stored_and_checked(self, index):
        chunks = [embedded(name) for name in "abc"]
        assert _engine._unembedded(index, chunks) == [0, 1, 2]
        chunks[0] = chunks[0]._with_embedding(np.array([0, 2]))
        assert _engine._unembedded(index, chunks) == [1, 2]
        assert _engine._upsert_from(index, chunks, "one") == 3
        assert index.stats().embedder == "one"
        rewritten = embedded("a", content="x")
        assert _engine._unembedded(index, [embedded("a"), embedded("b"), rewritten]) == [1, 2]
        assert (_engine._is_embedded(index), _engine._has_vectors(index)) == (False, True)
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
        assert _engine._begin_staging(index, "two") == 0
        assert _engine._stage_embeddings(index, everything[:2], vectors[:2]) == 2
        assert index.stats().embedder == "one"
        assert _engine._begin_staging(index, "two") == 2
        rest, after = _engine._unstaged_page(index, 0, 10)
        assert [stored.id for stored in rest] == ["c"]
        assert _engine._stage_embeddings(index, rest, vectors[2:]) == 1
        assert _engine._unstaged_page(index, after, 10) == ([], after)
        assert _engine._replace_by_staged(index) == 3
        stats = index.stats()
        assert (stats.embedder, stats.dimensions, stats.vectors) == ("two", 3, 2)
        assert ids(index.search_vector([1, 2, 3])) == ["a", "c"]
        assert _engine._unembedded_page(index, 0, 10)[0] == []
        assert _engine._is_embedded(index)

    def test_wrong_vectors_are_named(self, index):
        chunks = [embedded("a"), embedded("b")]
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
    # One more vector is visible immediately, without reloading the others.
    index.upsert([embedded("new", query)])
    assert ids(index.search_vector(query, 1)) == ["new"]
