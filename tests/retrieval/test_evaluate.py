"""`evaluate`: the measurements of `hedgerow eval` as a function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr

CHUNKS = [
    hr.Chunk("garden#0", "garden.md", "Hedgehogs sleep in winter.", embedding=[1.0, 0.1]),
    hr.Chunk("garden#1", "garden.md", "Hedgehogs eat at dusk.", embedding=[0.9, 0.3]),
    hr.Chunk("pond#0", "pond.md", "The pond froze in winter.", embedding=[0.1, 1.0]),
]
QUERIES = {"q1": "hedgehogs at dusk", "q2": "frozen pond"}
JUDGED = {"q1": {"garden#1": 1}, "q2": {"pond#0": 2, "garden#0": 0}}


@pytest.fixture
def judged() -> hr.Index:
    made = hr.Index.in_memory()
    made.upsert(CHUNKS)
    return made


def test_by_keywords_alone(judged: hr.Index) -> None:
    calls = []
    found = hr.evaluate(judged, QUERIES, JUDGED, progress=lambda *at: calls.append(at))
    assert [str(outcome.combination) for outcome in found] == [
        "spec bm25", "extended bm25", "extended bm25 score neighbors not reweighted speakers, dates",
    ]  # fmt: skip
    assert len(found) == 3
    assert found[0].measures == {"nDCG@10": 1.0, "Recall@10": 1.0, "MRR@10": 1.0}
    assert found[0].per_query["q1"]["MRR@10"] == 1.0
    assert found.task.by == "id"
    assert calls[-1] == (6, 6)


def test_everything_in_files(judged: hr.Index, tmp_path: Path) -> None:
    judged.backup(tmp_path / "i.db")
    lines = [json.dumps({"id": name, "text": text}) for name, text in QUERIES.items()]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    (tmp_path / "j.tsv").write_text("q1\tgarden#1\t1\nq2\tpond#0\t2\nq2\tgarden#0\t0\n")
    found = hr.evaluate(tmp_path / "i.db", str(tmp_path / "q.jsonl"), tmp_path / "j.tsv")
    expected = hr.evaluate(judged, QUERIES, JUDGED)
    assert [one.measures for one in found] == [one.measures for one in expected]
    assert found.task == expected.task


@pytest.mark.parametrize("kind", [list, np.array])
def test_queries_with_vectors_of_their_own(judged: hr.Index, kind: Any) -> None:
    queries = [
        {"id": "q1", "text": "animals", "embedding": kind([0.9, 0.3])},
        {"id": "q2", "text": "water", "embedding": kind([0.1, 1.0])},
    ]
    found = hr.evaluate(judged, queries, JUDGED, modes=["semantic"], best=False)
    assert [str(outcome.combination) for outcome in found] == ["semantic"]
    assert found[0].measures["MRR@10"] == 1.0
    assert {way.combination.mode for way in hr.evaluate(judged, queries, JUDGED)} == {
        "bm25",
        "hybrid",
    }


def test_an_embedder_and_paths(judged: hr.Index) -> None:
    found = hr.evaluate(
        judged,
        QUERIES,
        {"q1": {"garden.md": 1}, "q2": {"pond.md": 1}},
        embedder=lambda texts: [[1.0, 0.5] for _ in texts],
        modes=("hybrid",),
        matching=["extended"],
        fusion=["rrf", "score"],
    )
    assert found.task.by == "path"
    assert [outcome.combination.fusion for outcome in found] == ["rrf", "score", "score"]


def test_what_is_best_and_what_it_says(judged: hr.Index) -> None:
    found = hr.evaluate(judged, {"q1": "froze hedgehogs"}, {"q1": {"pond#0": 1}})
    assert found.best() is max(found, key=lambda one: one.measures["nDCG@10"])
    assert found.best("MRR@10").measures["MRR@10"] > 0
    with pytest.raises(hr.InvalidInputError, match="measure must be one of 'nDCG@10', 'Recall"):
        found.best("MAP")
    lines = str(found).splitlines()
    assert lines[0].split() == ["nDCG@10", "Recall@10", "MRR@10"]
    assert lines[1].startswith("spec bm25 ")
    assert len(lines) == 1 + len(found)
    fields = found.to_dict()
    assert json.loads(json.dumps(fields)) == fields
    assert list(fields) == [
        "by", "queries", "judgements", "unasked", "unjudged", "withoutRelevant", "unknown",
        "results",
    ]  # fmt: skip
    assert fields["results"][0]["matching"] == "spec"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"queries": {}}, ValueError, "queries is empty; give at least one"),
        ({"queries": 5}, TypeError, "queries must be a mapping of ids to texts, an iterable of"),
        ({"queries": ["oak"]}, TypeError, r"queries\[0\] must be a mapping, not str"),
        ({"queries": [{"id": "a"}]}, ValueError, r'queries\[0\]: needs a "text"'),
        (
            {"queries": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
            ValueError,
            r'queries\[1\]: the id "a" is used twice',
        ),
        (
            {"queries": [{"id": "a", "text": "x"}, {"id": "b", "text": "y", "embedding": [1]}]},
            ValueError,
            r"queries\[1\]: some queries have an embedding and some have none",
        ),
        ({"queries": "x" * 300}, ValueError, "xxx: no such file"),
        ({"judgements": "nowhere.tsv"}, ValueError, "nowhere.tsv: no such file"),
        ({"judgements": 5}, TypeError, "judgements must be a mapping of the ids of queries"),
        ({"judgements": {"q1": 5}}, ValueError, r"judgements\['q1'\] must be a mapping of docu"),
        (
            {"judgements": {"q1": {"garden#1": 0.5}}},
            ValueError,
            r"judgements\['q1'\]\['garden#1'\] must be a whole number, above 0 for relevant, not 0.5",
        ),
        (
            {"judgements": {"q1": {"garden#1": 10**400}}},
            ValueError,
            r"judgements\['q1'\]\['garden#1'\] is beyond 1,000,000; give a smaller score",
        ),
        ({"judgements": {"q9": {"a": 1}}}, ValueError, "none of the 2 queries has a relevant doc"),
        ({"by": "title"}, ValueError, "by must be one of 'id', 'path', not 'title'"),
        ({"modes": "bm25"}, TypeError, "modes must be a list, not str"),
        (
            {"modes": ["fuzzy"]},
            ValueError,
            "modes must be one of 'bm25', 'semantic', 'hybrid', not 'fuzzy'",
        ),
        ({"modes": ["hybrid"]}, ValueError, "semantic and hybrid need vectors of the queries"),
        ({"neighbors": [1]}, ValueError, "neighbors must be one of True, False, not 1"),
        ({"fusion": []}, ValueError, "fusion is empty; give at least one"),
    ],
)
def test_what_is_wrong_is_named(judged: hr.Index, arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        hr.evaluate(judged, **{"queries": QUERIES, "judgements": JUDGED, **arguments})


def test_an_index_without_vectors_has_no_search_by_meaning() -> None:
    with hr.Index.from_texts(["oak"], ids=["a"]) as index:
        with pytest.raises(
            hr.InvalidInputError, match="the index has no vectors to search by mean"
        ):
            hr.evaluate(
                index, {"q": "oak"}, {"q": {"a": 1}}, modes=["hybrid"], embedder=lambda _: []
            )
        found = hr.evaluate(index, {"q": "oak"}, {"q": {"a": 1}}, embedder=lambda _: [])
        assert {way.combination.mode for way in found} == {"bm25"}


def test_a_reranker_reorders_the_hits_of_every_search() -> None:
    def backwards(_, documents):
        return [-one.score for one in documents]

    with hr.Index.from_texts(["oak oak", "oak elm fir"], ids=["a", "b"]) as index:
        judged = {"queries": {"q": "oak"}, "judgements": {"q": {"a": 1}}}
        plain = hr.evaluate(index, **judged)
        reranked = hr.evaluate(index, **judged, reranker=backwards)
    assert [way.measures["MRR@10"] for way in plain] == [1.0] * len(plain)
    assert 0.5 in [way.measures["MRR@10"] for way in reranked]
