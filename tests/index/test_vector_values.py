"""Valid values of vectors, and their dimensions (spec/index.md, "Vectors")."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from array import array

import numpy as np
import pytest

import hedgerow as hr
from index_doubles import embedded

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
        made = embedded("a", vector)
        assert made == embedded("a", GIVEN)
        assert made.embedding == array("f", GIVEN)
        index.upsert([made])
        (hit,) = index.search_vector(vector)
        assert hit.score == pytest.approx(1)

    def test_integers(self):
        for vector in [[1, 2, -3], np.array([1, 2, -3]), array("b", [1, 2, -3])]:
            assert embedded("a", vector).embedding == array("f", [1, 2, -3])

    def test_what_is_stored_has_length_1(self, index):
        made = embedded("a", [3.0, 4.0])
        index.upsert([made])
        stored = index.get("a")
        assert stored.embedding == array("f", [0.6, 0.8])
        assert made.embedding == array("f", [3, 4])
        assert list(index.chunks()) == [stored]
        assert np.asarray(stored.embedding).dtype == np.float32
        assert stored == embedded("a", [0.6, 0.8]) != embedded("a")

    def test_a_vector_of_length_1_comes_back_to_the_bit(self, tmp_path):
        random = np.random.default_rng(7)
        vectors = random.normal(size=(50, 33))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        path = tmp_path / "index.db"
        with hr.Index.open(path) as index:
            index.upsert(embedded(f"{n}", vector) for n, vector in enumerate(vectors))
            for n, stored in enumerate(index.chunks()):
                assert np.array_equal(np.asarray(stored.embedding), vectors[n].astype(np.float32))
            read = list(index.chunks())
        before = path.read_bytes()
        with hr.Index.open(path) as index:
            assert index.upsert(read) == 50
        assert path.read_bytes() == before

    def test_chunks_pickle_and_compare(self):
        for made in [embedded("a", [0.1, 2]), embedded("a", []), embedded("a")]:
            assert pickle.loads(pickle.dumps(made)) == made
        assert embedded("a", []) != embedded("a")
        assert embedded("a", [1.0]) != embedded("a", [2.0])

    def test_it_cannot_be_changed(self):
        made = embedded("a", [1.0, 2.0])
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
            embedded("a", vector)
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
        index.upsert([embedded("a"), embedded("b", [])])
        assert index.stats().dimensions is None
        index.upsert([embedded("c", [1.0, 2.0])])
        assert index.stats().dimensions == 2
        four = [embedded(f"x{n}", [1, 0]) for n in range(3)] + [embedded("x", [1, 2, 3])]
        with pytest.raises(hr.InvalidInputError) as caught:
            index.upsert(four)
        assert caught.value.code == "dimension_mismatch"
        assert str(caught.value) == (
            "chunks[3]: the embedding has 3 dimensions and the index has 2; use the embedder that "
            "the index was made with; to embed all chunks again: retriever.reembed()"
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
                f"Index.open('{path}', dimensions=2, tokenizer='words', read_only=False)"
            )
            with pytest.raises(hr.InvalidInputError, match="3 dimensions and the index has 2"):
                index.upsert([embedded("a", [1, 2, 3])])
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
                f"the index {path} has vectors of 2 dimensions, not 3; leave the dimensions out; "
                "to embed all chunks again: retriever.reembed()"
            )
        with hr.Index.in_memory(3) as index:
            assert index.stats().dimensions == 3
            assert repr(index) == "Index.in_memory(dimensions=3, tokenizer='words')"

    @pytest.mark.parametrize("dimensions", [0, -1, 1.5, "3"])
    def test_it_is_a_number(self, dimensions):
        with pytest.raises(hr.InvalidInputError) as caught:
            hr.Index.in_memory(dimensions=dimensions)
        assert caught.value.code == "invalid_option"
        assert str(caught.value) == f"dimensions must be an int of at least 1, not {dimensions!r}"
