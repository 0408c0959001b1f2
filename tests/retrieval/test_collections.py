"""A search in a remote collection gives the results of an index (spec/opensearch.md)."""

from __future__ import annotations

import asyncio
from functools import cache

import numpy as np
import pytest

import collection_contract as contract
import hedgerow as hr
from counted_collection import CountedCollection
from retrieval_doubles import BrokenEmbedder, FnvEmbedder, corpus, keywords
from spec_fixtures import jsonl

CASES = jsonl("search")


@cache
def in_order(name: str) -> hr.Index:
    """Return a corpus with rows in a collection's order of equal scores: path, then id."""
    index = hr.Index.in_memory(tokenizer="porter unicode61")
    index.upsert(contract.in_order(corpus(name).chunks()))
    return index


@cache
def elsewhere(name: str) -> CountedCollection:
    """Return a collection of the same chunks."""
    return CountedCollection(corpus(name).chunks())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_cases(case):
    index = in_order(case["corpus"])
    options = {"embedder": FnvEmbedder()} if case["options"]["embedder"] else {}
    query = case["request"]["query"]
    expected = hr.Retriever(index, **options).search(query, **keywords(case))
    found = hr.Retriever(elsewhere(case["corpus"]), **options).search(query, **keywords(case))
    contract.compare(expected, found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tokenizer", ["porter unicode61", "unicode61", "trigram"])
def test_every_search_has_the_answer_of_an_index(seed, tokenizer):
    chunks = contract.chunks(60, seed)
    collection = CountedCollection(chunks, tokenizer=tokenizer)
    with hr.Index.in_memory(tokenizer=tokenizer) as index:
        index.upsert(chunks)
        for asked in contract.searches(30, seed):
            contract.check(index, collection, asked)


def test_a_batch_has_the_answers_of_an_index():
    chunks = contract.chunks(60, 1)
    collection = CountedCollection(chunks)
    with hr.Index.in_memory(tokenizer="porter unicode61") as index:
        index.upsert(chunks)
        for seed in range(5):
            contract.check_batch(index, collection, list(contract.searches(12, seed)))


def test_under_asyncio():
    async def run() -> hr.Response:
        retriever = hr.Retriever(CountedCollection(contract.chunks(9, 1)), embedder=FnvEmbedder())
        await retriever.aupsert([{"id": "new", "path": "p", "content": "an oak in winter"}])
        return await retriever.asearch("oak winter")

    assert "new" in [hit.id for hit in asyncio.run(run())]


def test_reembed():
    chunks = contract.chunks(300, 1)
    collection = CountedCollection(chunks)
    collection.embedder = ("another", None)
    retriever, seen = hr.Retriever(collection, embedder=FnvEmbedder()), []
    assert retriever.reembed(progress=lambda *done: seen.append(done)) == 300
    assert seen == [(256, 300), (300, 300)]
    assert collection.calls == ["close replacement"]
    assert retriever.search("winter").trace.mode == "hybrid"
    assert asyncio.run(hr.Retriever(collection, embedder=FnvEmbedder()).areembed()) == 300


def test_a_collection_without_chunks():
    found = hr.Retriever(CountedCollection(), embedder=FnvEmbedder()).search("winter")
    assert (list(found), found.error) == ([], None)


class TestFailures:
    def test_a_leg_that_fails_is_left_out(self):
        collection = CountedCollection(contract.chunks(20, 1))
        collection.broken["keyword_hits"] = hr.BackendError("too late", code="backend_timeout")
        found = hr.Retriever(collection, embedder=FnvEmbedder()).search("winter")
        assert found.trace.error_stage == "bm25"
        assert found.error.code == "backend_timeout"
        assert len(found) > 0

    def test_both_legs(self):
        collection = CountedCollection(contract.chunks(20, 1))
        collection.broken["open"] = hr.BackendError("nobody answers", code="backend_unavailable")
        with pytest.raises(hr.RetrievalError, match="nobody answers") as raised:
            hr.Retriever(collection, embedder=FnvEmbedder()).search("winter")
        assert raised.value.__cause__.code == "backend_unavailable"

    def test_an_exception_of_its_own_ends_the_search(self):
        collection = CountedCollection(contract.chunks(20, 1))
        for error in (KeyboardInterrupt(), ZeroDivisionError("a fault")):
            collection.broken["counts"] = error
            with pytest.raises(type(error)):
                hr.Retriever(collection).search("winter")
            with pytest.raises(type(error)):
                hr.Retriever(collection).search_many(["winter", "oak"])

    def test_vectors_of_another_embedder(self):
        collection = CountedCollection(contract.chunks(20, 1))
        collection.embedder = ("another", None)
        with pytest.raises(hr.InvalidInputError, match='embedder "another", not of "fnv64"'):
            hr.Retriever(collection, embedder=FnvEmbedder()).search("winter")

    def test_a_vector_of_another_dimension(self):
        collection = CountedCollection([hr.Chunk("a", "p", "x", embedding=[1.0, 0.0])])
        with pytest.raises(hr.InvalidInputError, match="has 64 dimensions and the index has 2"):
            hr.Retriever(collection, embedder=FnvEmbedder()).search("winter")

    def test_a_reembed_that_fails(self):
        chunks = contract.chunks(20, 1)
        collection = CountedCollection(chunks)
        with pytest.raises(ConnectionError, match="no model"):
            hr.Retriever(collection, embedder=BrokenEmbedder()).reembed()
        assert collection.calls == ["close replacement"]
        assert collection.get(chunks[0].id) == chunks[0]

    def test_texts_that_are_gone(self):
        collection = CountedCollection(contract.chunks(20, 1))
        collection.broken["chunks"] = hr.BackendError("gone", code="collection_damaged")
        with pytest.raises(hr.RetrievalError):
            hr.Retriever(collection).search("winter")


class TestScoreFusionOfManyVectors:
    """Beyond 1,024 vectors the server measures the spread of all cosines, and an index that of a sample."""

    @staticmethod
    def searched(group_by=None, neighbors=False, filters=None):
        vectors = np.random.default_rng(39).normal(0.2, 1.0, (1_300, 64))
        many = [
            hr.Chunk(
                f"c{n:04}",
                f"p{n // 4:03}",
                "winter " * (n % 400 == 7) + "oak",
                ordinal=n,
                metadata={"even": n % 2 == 0},
                embedding=vector,
            )
            for n, vector in enumerate(vectors)
        ]
        collection = CountedCollection(many)
        ranking = hr.Ranking("spec", fusion="score", neighbors=neighbors)
        found = hr.Retriever(collection, embedder=FnvEmbedder(), ranking=ranking).search(
            "winter", group_by=group_by, filters=filters, explain=True
        )
        (query,) = FnvEmbedder().embed(["winter"])
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines = dict(zip((one.id for one in many), units @ np.array(query), strict=True))
        return collection, many, found, cosines

    def test_chunks(self):
        collection, _, found, cosines = self.searched()
        mean, deviation = np.mean([*cosines.values()]), np.std([*cosines.values()])
        assert len(found) == 10
        for hit in found:
            meaning = hit.explanation["meaning"]
            assert meaning["cosine"] == pytest.approx(cosines[hit.id], abs=1e-6)
            assert meaning["deviations"] == pytest.approx(
                (cosines[hit.id] - mean) / deviation, abs=1e-4
            )
        # Hits by keywords alone are far away, so their vectors are requested.
        assert {hit.id for hit in found if hit.explanation["keywords"]} == {
            f"c{n:04}" for n in range(7, 1_300, 400)
        }
        assert collection.calls.count("vectors") == 1

    def test_paths(self):
        _, many, found, cosines = self.searched(group_by="path")
        best = {}
        for one in many:
            best[one.path] = max(best.get(one.path, -1.0), cosines[one.id])
        mean, deviation = np.mean([*best.values()]), np.std([*best.values()])
        for hit in found:
            expected = (best[hit.path] - mean) / deviation
            assert hit.explanation["meaning"]["deviations"] == pytest.approx(expected, abs=1e-4)

    def test_neighbors(self):
        _, _, found, cosines = self.searched(neighbors=True)
        mean, deviation = np.mean([*cosines.values()]), np.std([*cosines.values()])
        added = [one for hit in found for one in hit.explanation["neighbors"]]
        assert added
        for one in added:
            if int(one["id"][1:]) % 400 != 7:
                expected = 0.2 * (cosines[one["id"]] - mean) / deviation
                assert one["total"] == pytest.approx(expected, abs=1e-4)

    def test_each_query_of_a_batch_has_its_own_cosines(self):
        collection, *_ = self.searched()
        ranking = hr.Ranking("spec", fusion="score")
        retriever = hr.Retriever(collection, embedder=FnvEmbedder(), ranking=ranking)
        # With one thread a quarter of the queries share a pass.
        queries = [
            f"winter {word}"
            for word in ["hedgehog", "garden", "oak", "owl", "rain", "leaf", "seed", "frost"]
        ]
        alone = [retriever.search(query, explain=True) for query in queries]
        together = retriever.search_many(queries, threads=1, explain=True)
        for one, other in zip(alone, together, strict=True):
            assert [hit.explanation for hit in one] == [hit.explanation for hit in other]

    def test_few_that_pass_the_filters_are_measured_as_in_an_index(self):
        _, many, found, _ = self.searched(filters={"paths": [f"p{n:03}" for n in range(200)]})
        with hr.Index.in_memory(tokenizer="porter unicode61") as index:
            index.upsert([one for one in many if int(one.path[1:]) < 200])
            ranking = hr.Ranking("spec", fusion="score")
            there = hr.Retriever(index, embedder=FnvEmbedder(), ranking=ranking).search("winter")
        deviations = {hit.id: hit.explanation["meaning"]["deviations"] for hit in found}
        of_index = {hit.id: hit.explanation["meaning"]["deviations"] for hit in there}
        assert deviations == of_index


def test_why_not():
    chunks = contract.chunks(60, 2)
    collection = CountedCollection(chunks)
    with hr.Index.in_memory(tokenizer="porter unicode61") as index:
        index.upsert(chunks)
        for asked in contract.searches(15, 3):
            for id in ("c0003", "c0031", "missing"):  # noqa: A001
                whys = [
                    hr.Retriever(searched, embedder=FnvEmbedder(), **asked.retriever).why_not(
                        asked.query, id, **asked.options
                    )
                    for searched in (index, collection)
                ]
                assert whys[0].to_dict() == whys[1].to_dict()


@pytest.mark.parametrize("method", ["keyword_hits", "vector_hits"])
def test_why_not_has_no_reasons_where_a_leg_fails(method):
    collection = CountedCollection(contract.chunks(20, 1))
    collection.broken[method] = hr.BackendError("too late", code="backend_timeout")
    retriever = hr.Retriever(collection, embedder=FnvEmbedder())
    with pytest.raises(hr.BackendError, match="too late"):
        retriever.why_not("winter", "c0003")


@pytest.mark.parametrize("query", ["winter", '"snow deep" OR oak*', "none-of-these NOT oak"])
def test_what_will_be_counted_is_known_when_vectors_are_asked_for(query):
    collection = CountedCollection(contract.chunks(20, 1))
    hr.Retriever(collection, embedder=FnvEmbedder()).search(query, skip_retry_ladder=True)
    assert collection.expected == collection.counted != [[]]


def test_the_trace_names_where_it_was_searched():
    found = hr.Retriever(CountedCollection(contract.chunks(9, 1))).search("winter")
    assert found.trace.backend == "counted"
    assert found.trace.to_dict()["shards"] == {"total": 1, "successful": 1}
    assert hr.Trace._from_dict(found.trace.to_dict()) == found.trace


def test_what_a_retriever_does_to_it():
    collection = CountedCollection()
    with hr.Retriever(collection, embedder=FnvEmbedder()) as retriever:
        assert retriever.upsert([{"id": "a", "path": "p", "content": "oak"}]) == 1
        assert collection.embedder[0] == "fnv64"
        assert retriever.delete(["a", "b"]) == hr.Deletion(1, ["a"], ["b"])
        retriever.upsert([{"id": "a", "path": "p", "content": "oak"}])
        assert retriever.delete_path("p") == 1
    assert "close" not in collection.calls
    with pytest.raises(
        TypeError, match="must be an Index, the path of one, or a Collection, not 3"
    ):
        hr.Retriever(3)
