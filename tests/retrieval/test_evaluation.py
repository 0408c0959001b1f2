"""Queries and judgments from files, and the quality of an index's results."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import evaluation as ev
from hedgerow._judged import JudgedQuery, read_judgements, read_queries, read_vectors

CHUNKS = [
    hr.Chunk("garden#0", "garden.md", "Hedgehogs sleep in winter.", embedding=[1.0, 0.1]),
    hr.Chunk("garden#1", "garden.md", "Hedgehogs eat at dusk.", embedding=[0.9, 0.3]),
    hr.Chunk("pond#0", "pond.md", "The pond froze in winter.", embedding=[0.1, 1.0]),
    hr.Chunk("wood#0", "wood.md", "Beeches keep their leaves.", embedding=[0.0, 1.0]),
]
BM25 = ev.Combination("spec", "bm25", None)


@pytest.fixture(scope="module")
def judged_index() -> hr.Index:
    made = hr.Index.in_memory()
    made.upsert(CHUNKS)
    return made


def written(folder: Path, content: str | bytes, name: str = "file") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def zipped(content: bytes) -> bytes:
    """Compress without a timestamp, so that test ids are equal in every run."""
    return gzip.compress(content, mtime=0)


class TestQueries:
    def test_every_key(self, tmp_path: Path) -> None:
        text = (
            '\ufeff{"id": "a", "text": "Hedgehogs?", "embedding": [1, 0.5], "scope": "x"}\r\n\n'
            '{"_id": 7, "text": "", "date": "2026-04-18", "embedding": []}'
        )
        assert read_queries(written(tmp_path, text)) == [
            JudgedQuery("a", "Hedgehogs?", None, [1, 0.5]),
            JudgedQuery("7", "", "2026-04-18", []),
        ]

    def test_compressed(self, tmp_path: Path) -> None:
        line = b'{"id": "a", "text": "oak"}\n'
        assert read_queries(written(tmp_path, zipped(line))) == [JudgedQuery("a", "oak")]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"id": "a", "text": "x"}\n{', ":2: not JSON"),
            ("[1]", ":1: not a JSON object"),
            ('{"text": "x"}', ':1: needs an "id" (or "_id") of text'),
            ('{"id": true, "text": "x"}', ":1: needs an"),
            ('{"id": "a"}', ':1: needs a "text"'),
            (
                '{"id": "a", "text": "x"}\n\n{"id": "a", "text": "y"}',
                ':3: the id "a" is used twice',
            ),
            ('{"id": "a", "text": "x", "date": "soon"}', ":1: the \"date\" 'soon' cannot be read"),
            ('{"id": "a", "text": "x", "embedding": ["1"]}', ':1: "embedding" must be a list'),
            (
                '{"id": "a", "text": "x", "embedding": [1]}\n{"id": "b", "text": "x"}',
                ":2: some queries have an embedding and some have none",
            ),
            ('{"id": "a", "text": "\\ud800"}', ":1: text has half of a surrogate pair"),
            ('{"id": "a", "text": "' + "a " * 40_000 + '"}', ":1: the query has 80000 bytes"),
            (b'{"id": "a", "text": "x"}\n\xff', ":2: not UTF-8"),
            ("\n", " holds no query"),
            (zipped(b'{"id": "a", "text": "x"}' * 50)[:30], " is damaged after line 0"),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path: Path, content: str | bytes, message: str) -> None:
        file = written(tmp_path, content)
        with pytest.raises(hr.InvalidInputError) as info:
            read_queries(file)
        assert info.value.code == "invalid_evaluation"
        assert str(info.value).startswith(f"{file}{message}")

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(hr.InvalidInputError, match="no such file") as info:
            read_queries(tmp_path / "none.jsonl")
        assert info.value.code == "path_not_found"


class TestJudgements:
    @pytest.mark.parametrize(
        "content",
        [
            "query-id\tcorpus-id\tscore\nq 1\ta b.md\t1\nq 1\tc\t0\n2\ta b.md\t-2\n",
            "q 1\ta b.md\t1\nq 1\tc\t0\n\n2\ta b.md\t-2",
            "q 1\t0\ta b.md\t1\r\nq 1\t0\tc\t0\r\n2\tQ0\ta b.md\t-2\r\n",
            zipped(b"qid\tdoc\trel\nq 1\ta b.md\t1\nq 1\tc\t0\nq 1\tc\t0\n2\ta b.md\t-2"),
        ],
    )
    def test_tabs(self, tmp_path: Path, content: str | bytes) -> None:
        found = read_judgements(written(tmp_path, content))
        assert found == {"q 1": {"a b.md": 1, "c": 0}, "2": {"a b.md": -2}}

    def test_trec_with_spaces(self, tmp_path: Path) -> None:
        found = read_judgements(written(tmp_path, "301 0 FR940202 2\n301 0  CR93E 0\n"))
        assert found == {"301": {"FR940202": 2, "CR93E": 0}}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("q\ta\t1\nq\tb\tyes", ':2: the score "yes" is not a whole number'),
            ("a\tb\tscore\nq\tb\t1", ':1: the score "score" is not a whole number'),
            ("q\ta\t1000001", ":1: the score is beyond 1,000,000; write a smaller one"),
            ("q\ta\t-" + "9" * 5000, ":1: the score is beyond 1,000,000; write a smaller one"),
            ("q\ta\t1\nq\tb", ":2: 2 columns; write query, document and score"),
            ("q\ta\t1\nq\ta\t2", ':2: "a" is judged twice for query "q"'),
            ("query-id\tcorpus-id\tscore\n", " holds no judgement"),
        ],
    )
    def test_what_cannot_be_read(self, tmp_path: Path, content: str, message: str) -> None:
        file = written(tmp_path, content)
        with pytest.raises(hr.InvalidInputError) as info:
            read_judgements(file)
        assert str(info.value).startswith(f"{file}{message}")


class TestVectors:
    def test_halves_become_singles(self, tmp_path: Path) -> None:
        file = tmp_path / "v.npy"
        np.save(file, np.array([[1, 0.5], [0, 1]], dtype=np.float16))
        rows = read_vectors(file, 2)
        assert [row.tolist() for row in rows] == [[1, 0.5], [0, 1]]
        assert rows[0].dtype == np.float32
        with pytest.raises(hr.InvalidInputError, match=r"has 2 rows for 1,000 queries"):
            read_vectors(file, 1000)

    def test_what_is_no_table_of_numbers(self, tmp_path: Path) -> None:
        with pytest.raises(hr.InvalidInputError, match=r"is not a \.npy file of numbers"):
            read_vectors(written(tmp_path, "text"), 1)
        with pytest.raises(hr.InvalidInputError, match=r"is not a \.npy file of numbers"):
            read_vectors(written(tmp_path, ""), 1)
        header = np.lib.format.magic(1, 0) + b"\x76\x00{'descr': '<f8', 'fortran_order': False, "
        claims = (header + b"'shape': (10000000000000, 9), }").ljust(127) + b"\n12345678"
        with pytest.raises(hr.InvalidInputError, match=r"is not a \.npy file of numbers"):
            read_vectors(written(tmp_path, claims), 1)
        np.save(tmp_path / "line.npy", np.ones(3))
        with pytest.raises(hr.InvalidInputError, match="must hold one table"):
            read_vectors(tmp_path / "line.npy", 3)
        with pytest.raises(hr.InvalidInputError, match="no such file"):
            read_vectors(tmp_path / "none.npy", 3)


class TestMeasures:
    def test_by_hand(self) -> None:
        found = ev.measure({"q": ["x", "a", "b"]}, {"q": {"a": 1, "b": 2}})
        # (1 / log2 3 + 2 / log2 4), relative to (2 + 1 / log2 3) of the ideal order
        assert found["q"] == pytest.approx(
            {"nDCG@10": 1.630930 / 2.630930, "Recall@10": 1, "MRR@10": 1 / 2}, abs=1e-6
        )

    def test_the_tenth_counts_and_the_eleventh_does_not(self) -> None:
        others = [f"x{place}" for place in range(10)]
        found = ev.measure({"q": [*others[:9], "a"], "r": [*others, "a"]}, {
            "q": {"a": 1}, "r": {"a": 1},
        })  # fmt: skip
        assert found["q"]["MRR@10"] == pytest.approx(0.1)
        assert set(found["r"].values()) == {0.0}

    def test_a_query_without_results_counts(self) -> None:
        found = ev.measure({"q": []}, {"q": {"a": 1}, "r": {"a": 1}})
        assert found == {"q": dict.fromkeys(ev.MEASURES, 0.0), "r": dict.fromkeys(ev.MEASURES, 0.0)}


QUERIES = [JudgedQuery("q", "winter"), JudgedQuery("r", "dusk"), JudgedQuery("s", "oak")]


class TestTask:
    def test_what_is_left_out_is_told(self, judged_index: hr.Index) -> None:
        judgements = {
            "q": {"garden#0": 1, "lake#0": 2, "pond#0": 0},
            "r": {"pond#0": 0},
            "z": {"garden#0": 1},
        }
        task = ev.make_task(judged_index, QUERIES, judgements)
        assert task == ev.Task(
            by="id",
            queries=[QUERIES[0]],
            judgements={"q": judgements["q"]},
            unasked=["z"],
            unjudged=["s"],
            without_relevant=["r"],
            unknown=["lake#0"],
        )
        assert task.judged == 3

    @pytest.mark.parametrize(
        ("documents", "given", "by"),
        [
            ({"garden#0": 1}, None, "id"),
            ({"garden.md": 1}, None, "path"),
            ({"garden.md": 1, "garden#0": 1}, None, "id"),
            ({"garden.md": 1, "garden#0": 1, "pond.md": 0}, None, "path"),
            ({"garden.md": 1, "garden#0": 1}, "path", "path"),
        ],
    )
    def test_documents_are_ids_or_paths(
        self, judged_index: hr.Index, documents: dict[str, int], given: Any, by: str
    ) -> None:
        assert ev.make_task(judged_index, QUERIES, {"q": documents}, given).by == by

    def test_nothing_in_common(self, judged_index: hr.Index) -> None:
        with pytest.raises(hr.InvalidInputError) as info:
            ev.make_task(judged_index, QUERIES, {"x": {"garden#0": 1}})
        assert info.value.code == "invalid_evaluation"
        assert str(info.value).startswith("none of the 3 queries has a relevant document")
        judged = {"q": {"lake.md": 1}}
        with pytest.raises(
            hr.InvalidInputError, match=r'such as "lake\.md", is the id or the path of'
        ):
            ev.make_task(judged_index, QUERIES, judged)
        with pytest.raises(hr.InvalidInputError, match=r"is the id of a chunk"):
            ev.make_task(judged_index, QUERIES, {"q": {"garden.md": 1}}, "id")


class TestEvaluate:
    def test_each_mode_is_the_retriever_s(self, judged_index: hr.Index) -> None:
        queries = [JudgedQuery("q", "winter"), JudgedQuery("r", "leaves")]
        judgements = {"q": {"pond#0": 1}, "r": {"wood#0": 1}}
        task = ev.make_task(judged_index, queries, judgements)
        vectors = ev.ReadyVectors(["winter", "leaves"], [[0.0, 1.0], [0.0, 1.0]])
        retriever = hr.Retriever(judged_index, embedder=vectors)
        for mode in ("bm25", "semantic", "hybrid"):
            steps: list[tuple[int, int]] = []
            outcome = ev.outcome_of(
                judged_index,
                task,
                ev.Combination("spec", mode, "rrf"),
                vectors=vectors,
                progress=lambda *step: steps.append(step),  # noqa: B023 - called within
            )
            ranks = [
                1 + [hit.id for hit in retriever.search(query.text, mode=mode)].index(wanted)
                for query, wanted in zip(queries, ["pond#0", "wood#0"], strict=True)
            ]
            expected = sum(1 / rank for rank in ranks) / 2
            assert outcome.measures["MRR@10"] == pytest.approx(expected)
            assert (outcome.degraded, steps) == (0, [(2, 2)])

    def test_paths_count_once(self, judged_index: hr.Index) -> None:
        queries = [JudgedQuery("q", "hedgehogs winter")]
        task = ev.make_task(judged_index, queries, {"q": {"pond.md": 1}})
        outcome = ev.outcome_of(judged_index, task, BM25)
        assert [hit.path for hit in hr.Retriever(judged_index).search("hedgehogs winter")] == [
            "garden.md", "garden.md", "pond.md",
        ]  # fmt: skip
        assert outcome.per_query["q"]["MRR@10"] == 1 / 2

    def test_dates_are_used(self) -> None:
        made = hr.Index.in_memory()
        made.upsert([hr.Chunk("a", "a.md", "2026 04 04"), hr.Chunk("b", "b.md", "planted")])
        queries = [JudgedQuery("q", "What did I plant 2 weeks ago?", "2026-04-18")]
        task = ev.make_task(made, queries, {"q": {"a": 1}})
        assert ev.outcome_of(made, task, BM25).measures["Recall@10"] == 1

    def test_a_query_without_a_vector_is_counted(self, judged_index: hr.Index) -> None:
        task = ev.make_task(judged_index, [JudgedQuery("q", "winter")], {"q": {"pond#0": 1}})
        vectors = ev.ReadyVectors(["winter"], [[]])
        way = ev.Combination("spec", "hybrid", "rrf")
        assert ev.outcome_of(judged_index, task, way, vectors=vectors).degraded == 1

    def test_an_embedder_that_fails_ends_it(self) -> None:
        class Broken:
            def embed(self, texts: Any) -> Any:
                raise ConnectionError(f"no model for {len(texts)}")

        with pytest.raises(ConnectionError, match="no model"):
            ev.embed_once(Broken(), [JudgedQuery("q", "winter")])

    def test_each_text_is_embedded_once(self) -> None:
        asked: list[list[str]] = []

        class Own:
            name = "own"

            def embed(self, texts: Any) -> list[list[float]]:
                asked.append(list(texts))
                return [[float(len(text))] for text in texts]

        queries = [JudgedQuery(str(place), "oak" if place % 2 else "elms") for place in range(600)]
        vectors = ev.embed_once(Own(), queries)
        assert (asked, vectors.name) == ([["elms", "oak"]], "own")
        assert vectors.embed(["oak", "elms", "oak"]) == [[3.0], [4.0], [3.0]]


def test_combinations_leave_out_what_a_mode_has_no_use_for() -> None:
    found = ev.combinations(["bm25", "semantic", "hybrid"], ["spec", "extended"], ["rrf", "score"])
    assert [str(way) for way in found] == [
        "spec bm25",
        "semantic",
        "spec hybrid rrf",
        "spec hybrid score",
        "extended bm25",
        "extended hybrid rrf",
        "extended hybrid score",
    ]
    assert [str(way) for way in ev.best_profile(["bm25", "semantic", "hybrid"])] == [
        "extended bm25 score neighbors not reweighted speakers, dates",
        "semantic score neighbors not reweighted speakers, dates",
        "extended hybrid score neighbors not reweighted speakers, dates",
    ]


def test_a_collection_in_the_beir_form(judged_index: hr.Index, tmp_path: Path) -> None:
    lines = [{"_id": "1", "text": "winter hedgehogs", "metadata": {}}]
    queries = written(tmp_path, "\n".join(map(json.dumps, lines)), "queries.jsonl")
    qrels = written(tmp_path, "query-id\tcorpus-id\tscore\n1\tgarden#0\t1\n", "test.tsv")
    task = ev.make_task(judged_index, read_queries(queries), read_judgements(qrels))
    assert ev.outcome_of(judged_index, task, BM25).measures == dict.fromkeys(ev.MEASURES, 1.0)
