"""A retriever on a collection gives bit-identical results to one on an index of the same chunks."""

from __future__ import annotations

import asyncio
import random

import numpy as np
import pytest

import collection_contract as contract
import hedgerow as hr
from hedgerow.opensearch import Collection
from hedgerow.opensearch._client import Client
from opensearch_server import Node
from retrieval_doubles import FnvEmbedder, corpus, keywords
from spec_fixtures import jsonl

CASES = jsonl("search")


@pytest.fixture(scope="module")
def collections(node: Node):
    """Return a collection for each corpus of the cases."""
    made: dict[str, Collection] = {}

    def of(name: str) -> Collection:
        if name not in made:
            made[name] = Collection.create(node.url, f"corpus-{len(made)}", replicas=0, shards=2)
            made[name].upsert(corpus(name).chunks())
        return made[name]

    yield of
    for collection in made.values():
        collection.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_cases(collections, case):
    options = {"embedder": FnvEmbedder()} if case["options"]["embedder"] else {}
    query = case["request"]["query"]
    collection = collections(case["corpus"])
    with hr.Index.in_memory(tokenizer="porter unicode61") as index:
        # Insert rows in the order that a collection gives chunks with equal scores.
        index.upsert(contract.in_order(corpus(case["corpus"]).chunks()))
        expected = hr.Retriever(index, **options).search(query, **keywords(case))
        found = hr.Retriever(collection, **options).search(query, **keywords(case))
        contract.compare(expected, found)


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("tokenizer", ["porter unicode61", "unicode61", "trigram"])
def test_every_search_after_deletions(node, name, shards, tokenizer):
    chunks = contract.chunks(120, shards)
    gone = {chunk.id for chunk in random.Random(shards).sample(chunks, 40)}
    with (
        Collection.create(
            node.url, name, replicas=0, shards=shards, tokenizer=tokenizer
        ) as collection,
        hr.Index.in_memory(tokenizer=tokenizer) as index,
    ):
        collection.upsert(chunks)
        collection.delete(gone)
        index.upsert(chunk for chunk in chunks if chunk.id not in gone)
        for asked in contract.searches(60, shards):
            contract.check(index, collection, asked)
        for seed in range(3):
            contract.check_batch(index, collection, list(contract.searches(8, seed)))


@pytest.mark.parametrize("tokenizer", ["porter unicode61", "unicode61", "trigram"])
def test_every_search_in_six_scripts(node, name, tokenizer):
    words = contract.SCRIPTS
    chunks = contract.chunks(120, 5, words)
    with (
        Collection.create(node.url, name, replicas=0, shards=2, tokenizer=tokenizer) as collection,
        hr.Index.in_memory(tokenizer=tokenizer) as index,
    ):
        collection.upsert(chunks)
        index.upsert(chunks)
        for asked in contract.searches(60, 5, words):
            contract.check(index, collection, asked)
        contract.check_batch(index, collection, list(contract.searches(8, 6, words)))


def test_fast_keywords_that_preselect_everything(node, name):
    chunks = contract.chunks(120, 7)
    with (
        Collection.create(node.url, name, replicas=0, shards=2, keywords="fast") as collection,
        hr.Index.in_memory(tokenizer="porter unicode61") as index,
    ):
        collection.upsert(chunks)
        index.upsert(chunks)
        for asked in contract.searches(60, 7):
            contract.check(index, collection, asked)


def test_counts_and_vectors_are_one_request(node, name, monkeypatch):
    asked = []
    call = Client.call

    def noted(self, method, path, *rest, **options):
        asked.append(f"{method} {path.rsplit('/', 1)[-1]}")
        return call(self, method, path, *rest, **options)

    with Collection.create(node.url, name, replicas=0) as collection:
        retriever = hr.Retriever(collection, embedder=FnvEmbedder())
        retriever.upsert(contract.chunks(20, 1))
        retriever.search("winter")  # loads the settings of the collection
        monkeypatch.setattr(Client, "call", noted)
        for _ in range(4):
            assert retriever.search("winter").error is None
        # Every fourth search closes points in time that are done with.
        assert asked.count("DELETE point_in_time") == 1
        asked.remove("DELETE point_in_time")
        assert asked == ["POST point_in_time", "POST _msearch", "POST _search", "POST _search"] * 4


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("vectors", ["exact", "fast"])
@pytest.mark.parametrize("group_by", [None, "path"])
def test_score_fusion_of_many_vectors(node, name, shards, vectors, group_by):
    """The server measures the spread of all cosines."""
    numbers = random.Random(39)
    many = [
        hr.Chunk(
            f"c{n:04}",
            f"p{n // 3:03}",
            "winter " * (n % 400 == 7) + "oak",
            embedding=[numbers.gauss(0.2, 1) for _ in range(64)],
        )
        for n in range(1_500)
    ]
    (vector,) = FnvEmbedder().embed(["winter"])
    units = np.array([one.embedding for one in many])
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cosines = dict(zip((one.id for one in many), units @ np.array(vector), strict=True))
    best: dict[str, float] = {}
    for one in many:
        key = one.id if group_by is None else one.path
        best[key] = max(best.get(key, -1.0), cosines[one.id])
    mean, deviation = np.mean([*best.values()]), np.std([*best.values()])
    with Collection.create(
        node.url, name, replicas=0, shards=shards, vectors=vectors
    ) as collection:
        collection.upsert(many)
        for profile in ("spec", "best"):
            retriever = hr.Retriever(
                collection, embedder=FnvEmbedder(), ranking=hr.Ranking(profile, fusion="score")
            )
            found = retriever.search("winter", group_by=group_by, explain=True)
            assert found.error is None
            assert len(found) == 10
            if profile == "best" and group_by is not None:
                continue  # neighbors count before chunks are grouped
            for hit in found:
                known = best[hit.id if group_by is None else hit.path]
                deviations = hit.explanation["meaning"]["deviations"]
                assert deviations == pytest.approx((known - mean) / deviation, abs=1e-3)


def test_many_chunks_and_paths_are_measured_by_a_sample(node, name):
    numbers = random.Random(40)
    many = [
        hr.Chunk(f"c{n}", f"p{n}", "oak", embedding=[numbers.gauss(0, 1), 1.0])
        for n in range(5_000)
    ]
    with Collection.create(node.url, name, replicas=0, shards=2) as collection:
        collection.upsert(many)
        with collection._point_in_time() as moment:
            direction = [1.0, 0.0]
            found = {
                of: [moment.vector_hits(direction, 3, spread=of)[2] for _ in range(2)]
                for of in ("chunks", "paths")
            }
    cosines = [one.embedding[0] / np.hypot(*one.embedding) for one in many]
    exact = (np.mean(cosines), np.std(cosines))
    for once, again in found.values():
        assert once == again
        assert once[0] == 5_000
        assert once[1:] == pytest.approx(exact, abs=0.06)
        assert once[1:] != pytest.approx(exact, abs=1e-6)
    assert found["chunks"] != found["paths"]


def test_nearest_chunks_are_exact_beyond_a_query_for_neighbors(node, name):
    numbers = random.Random(41)
    vectors = [[numbers.gauss(0, 1), numbers.gauss(0, 1), 1.0] for _ in range(10_050)]
    with Collection.create(node.url, name, replicas=0, shards=2) as collection:
        collection.upsert(
            hr.Chunk(f"c{n}", "p", "", embedding=vector) for n, vector in enumerate(vectors)
        )
        with collection._point_in_time() as moment:
            for limit in (1, 10_000, 10_020, 20_000):
                hits, floor, _ = moment.vector_hits([1.0, 0.0, 0.0], limit)
                assert len({hit[0] for hit in hits}) == min(limit, 10_050)
                assert (floor is None) == (limit == 20_000)
        units = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
        best = np.argsort(-units[:, 0])[:5]
        with collection._point_in_time() as moment:
            hits = moment.vector_hits([1.0, 0.0, 0.0], 5)[0]
            assert [hit[0] for hit in hits] == [f"c{n}" for n in best]


def test_no_vector_passes_a_filter(node, name):
    with Collection.create(node.url, name, replicas=0) as collection:
        collection.upsert(
            [hr.Chunk("a", "p", "winter", embedding=[1.0] * 64), hr.Chunk("b", "q", "winter")]
        )
        for group_by in (None, "path"):
            retriever = hr.Retriever(
                collection, embedder=FnvEmbedder(), ranking=hr.Ranking("spec", fusion="score")
            )
            found = retriever.search("winter", group_by=group_by, filters={"paths": ["q"]})
            assert found.error is None
            assert [hit.id for hit in found] == ["b"]


def test_what_a_retriever_writes(node, name):
    with (
        Collection.create(node.url, name, replicas=0) as collection,
        hr.Retriever(collection, embedder=FnvEmbedder()) as retriever,
    ):
        chunks = contract.chunks(20, 1)
        assert retriever.upsert(chunks) == 20
        assert collection._embedder_of() == ("fnv64", None, 64)
        assert (
            collection._unembedded(
                [hr.Chunk.from_dict({**c.to_dict(), "embedding": None}) for c in chunks]
            )
            == []
        )
        found = retriever.search("winter")
        assert found.trace.to_dict()["backend"] == "opensearch"
        assert found.trace.to_dict()["shards"] == {"total": 1, "successful": 1}
        assert found.trace.rescored >= found.trace.bm25_count + found.trace.vector_count > 0
        assert retriever.delete([chunks[0].id]).removed == 1
        assert chunks[0].id not in [hit.id for hit in retriever.search("winter", limit=50)]
        again = asyncio.run(retriever.asearch("winter"))
        assert [hit.score for hit in again] == [hit.score for hit in retriever.search("winter")]
