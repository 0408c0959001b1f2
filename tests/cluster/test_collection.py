"""Writing to a collection, and reading it back."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection
from hedgerow.opensearch._mapping import SCHEMA, Settings, body, index_name
from opensearch_server import Node

WHOLE = {
    "id": "a/1",
    "path": "notes/é.md",
    "content": 'Igel\0 schlafen\u2028im "Winter"',
    "title": "𝄞",
    "summary": " ",
    "tags": ["b", "a", "b", "two words"],
    "metadata": {"k": [1, 1.0, 2**64 - 1, -(2**63), 1e300, None, True, {"a.b": "\0"}], "": {}},
    "ordinal": 2**63 - 1,
    "embedding": [3.0, 4.0],
}


@pytest.fixture
def collection(node: Node, name: str):
    with Collection.create(node.url, name, replicas=0, shards=2) as made:
        yield made


def test_every_value_of_a_chunk_is_kept(collection):
    given = hr.Chunk.from_dict(WHOLE)
    assert collection.upsert([WHOLE, {"id": "b", "content": ""}]) == 2
    with hr.Index.in_memory() as index:
        index.upsert([WHOLE, {"id": "b", "content": ""}])
        assert collection.get("a/1") == index.get("a/1")
        assert list(collection.chunks()) == [index.get("a/1"), index.get("b")]
    assert repr(collection.get("a/1").metadata) == repr(given.metadata)
    assert collection.get("none") is None
    assert len(collection) == 2


def test_a_chunk_replaces_the_one_of_its_id(collection):
    same = [{"id": "a", "content": "first"}, {"id": "a", "content": "second", "path": "p"}]
    assert collection.upsert(same) == 1
    assert collection.get("a").content == "second"
    collection.upsert([{"id": "a", "content": "third"}])
    assert (collection.get("a").content, collection.get("a").path) == ("third", "a")
    assert len(collection) == 1


def test_ids_of_any_length(collection):
    ids = ["x" * 600, "x" * 601, "sha256:" + "0" * 64, "é" * 300, " ", "_", "a\0b"]
    collection.upsert({"id": id, "content": id[:3]} for id in ids)  # noqa: A001
    assert sorted(chunk.id for chunk in collection.chunks()) == sorted(ids)
    assert collection.delete(ids[:2]) == 2
    assert collection.get(ids[3]).id == ids[3]


def test_deleting(collection):
    collection.upsert({"id": str(n), "path": f"p{n % 2}", "content": "oak"} for n in range(10))
    assert collection.delete(["1", "1", "none"]) == 1
    assert collection.delete([]) == 0
    assert collection.delete_path("p1") == 4
    assert collection.delete_path("p1") == 0
    assert len(collection) == 5


def test_a_vector_is_kept_as_long_as_the_texts_are(collection):
    collection.upsert([{"id": "a", "content": "oak", "embedding": [3, 4]}])
    collection.upsert([{"id": "z", "content": "elm", "embedding": [0, 0]}])
    unchanged = [hr.Chunk("a", "elsewhere", "oak", tags=["t"]), hr.Chunk("z", "elsewhere", "elm")]
    changed = [hr.Chunk("a", "elsewhere", "oaks"), hr.Chunk("z", "elsewhere", "elms")]
    assert collection._unembedded(unchanged) == []
    assert collection._unembedded([*changed, hr.Chunk("new", "p", "")]) == [0, 1, 2]
    collection.upsert(unchanged)
    assert collection.get("a").path == "elsewhere"
    assert list(collection.get("a").embedding) == pytest.approx([0.6, 0.8])
    assert collection._unembedded(unchanged) == []
    collection.upsert(changed)
    assert collection.get("a").embedding is None
    assert collection._unembedded(changed) == [0, 1]


def test_vectors_of_others_are_refused(collection, node):
    assert collection.dimensions is None
    collection.upsert([{"id": "a", "content": ""}])
    assert collection._embedder_of() == (None, None, None)
    collection._upsert_from(
        [hr.Chunk("a", "p", "", embedding=[1, 2, 3])], "first", '{"name": "first"}'
    )
    assert collection._embedder_of() == ("first", '{"name": "first"}', 3)
    with pytest.raises(
        hr.InvalidInputError, match="has 2 numbers, and those of the collection have 3"
    ) as caught:
        collection.upsert([{"id": "b", "content": "", "embedding": [1, 2]}])
    assert caught.value.code == "dimension_mismatch"
    with pytest.raises(
        hr.InvalidInputError, match="are of the embedder 'first', not 'second'"
    ) as caught:
        collection._upsert_from([hr.Chunk("b", "p", "", embedding=[1, 2, 3])], "second")
    assert caught.value.code == "embedder_mismatch"
    assert len(collection) == 1
    with Collection.open(node.url, collection.name) as again:
        assert again.dimensions == 3


def test_two_writers_settle_one_dimension(node, name):
    with (
        Collection.create(node.url, name, replicas=0) as one,
        Collection.open(node.url, name) as other,
    ):
        one.upsert([{"id": "a", "content": "", "embedding": [1, 2]}])
        with pytest.raises(hr.InvalidInputError, match="has 3 numbers"):
            other.upsert([{"id": "b", "content": "", "embedding": [1, 2, 3]}])
        other.upsert([{"id": "b", "content": "", "embedding": [1, 2]}])
        assert len(one) == 2


def test_settings_are_kept(node, name):
    with Collection.create(
        node.url, name, replicas=0, dimensions=4, tokenizer="trigram", stopwords=["der", "die"]
    ):
        pass
    with Collection.open(node.url, name) as again:
        assert (again.tokenizer, again.dimensions) == ("trigram", 4)
        assert again.stopwords == frozenset({"der", "die"})
        assert again.check() == []
        stats = again.stats()
        assert (stats.chunks, stats.shards, stats.replicas, stats.status) == (0, 1, 0, "green")
        copy = pickle.loads(pickle.dumps(again))
        assert copy.tokenizer == "trigram"
        assert len(copy) == 0


def test_fast_vectors(node, name):
    with Collection.create(node.url, name, replicas=0, vectors="fast") as collection:
        collection.upsert(
            {"id": str(n), "content": "oak", "embedding": [n - 50, 7]} for n in range(100)
        )
        with collection._point_in_time(hr.Filters(where={"id": {"$ne": "57"}})) as moment:
            hits, last, _ = moment.vector_hits([2**-0.5, 2**-0.5], 3)
            assert [hit[0] for hit in hits] == ["58", "56", "59"]
            assert last is not None
            assert moment.report()["approximate"]
        with (
            Collection.open(node.url, name, vectors="exact") as exact,
            exact._point_in_time() as moment,
        ):
            assert [hit[0] for hit in moment.vector_hits([2**-0.5, 2**-0.5], 3)[0]] == [
                "57",
                "58",
                "56",
            ]
            assert not moment.report()["approximate"]


def test_fast_keywords(node, name):
    """Common words in all chunks, a rare one in few: scores are exact, cut hits are reported."""
    texts = [
        " ".join(["oak"] * (1 + n % 7) + ["elm"] * (n % 50 == 3) + ["x"] * n) for n in range(700)
    ]
    chunks = [{"id": str(n), "content": text} for n, text in enumerate(texts)]
    with Collection.create(node.url, name, replicas=0, keywords="fast", shards=2) as collection:
        collection.upsert(chunks)
        assert collection.check() == []
        assert collection.stats().keyword_search == "fast"
        exact = hr.Retriever(Collection.open(node.url, name, keywords="exact"))
        fast = hr.Retriever(collection)
        for query, cut in [
            ("oak elm", True),
            ("elm", False),
            ("oak AND elm", False),
            ('"oak elm" OR oak', True),
            ("elm NOT oa*", False),
            ("fir OR el*", False),
        ]:
            expected, found = (
                retriever.search(query, limit=10, skip_retry_ladder=True)
                for retriever in (exact, fast)
            )
            assert [(hit.id, hit.score) for hit in found] == [
                (hit.id, hit.score) for hit in expected
            ], query
            assert found.trace.approximate is cut, query
            assert not expected.trace.approximate
        exact.index.close()


@pytest.mark.parametrize("option", ["vectors", "keywords"])
def test_a_way_that_a_collection_was_not_made_for(node, name, option):
    with (
        Collection.create(node.url, name, replicas=0),
        pytest.raises(
            hr.InvalidInputError, match=f'^{option}="fast" is for a collection'
        ) as caught,
    ):
        Collection.open(node.url, name, **{option: "fast"})
    assert caught.value.code == "incompatible_options"
    with pytest.raises(hr.InvalidInputError, match=f'{option} must be "exact" or "fast", not 1'):
        Collection.open(node.url, name, **{option: 1})


def test_check_finds_what_is_wrong(collection):
    collection.upsert(
        [{"id": "a", "content": "oak", "embedding": [3, 4]}, {"id": "b", "content": "elm"}]
    )
    assert collection.check() == []
    client = collection._client
    bad = {
        "id": "c",
        "path": "p",
        "ordinal": 0,
        "length": 9,
        "tokens": [],
        "facts": [],
        "unit": "AAAA",
    }
    bad["chunk"] = {"title": "", "summary": "", "content": "ash", "tags": [], "metadata": "{}"}
    client.call("PUT", client.path("/_doc/c"), bad)
    assert collection.check() == [
        "the chunk 'c' is indexed with other tokens than its texts have; write it again"
    ]
    bad["length"] = 2
    client.call("PUT", client.path("/_doc/c"), bad)
    assert collection.check() == ["the chunk 'c' has a vector of 0 numbers, not 2; write it again"]


def test_a_schema_that_is_newer_or_none_is_refused(node, name):
    with Collection.create(node.url, name, replicas=0) as collection:
        client = collection._client
        newer = replace(Settings("unicode61", "en", "exact"), schema=SCHEMA + 1)
        client.call("PUT", client.path("/_mapping"), {"_meta": newer.meta()})
        with pytest.raises(
            hr.BackendError, match=f"has schema {SCHEMA + 1}, and this hedgerow knows"
        ) as caught:
            Collection.open(node.url, name)
        assert caught.value.code == "schema_newer"
        client.call("PUT", client.path("/_mapping"), {"_meta": {}})
        with pytest.raises(hr.BackendError, match="is not a collection of hedgerow") as caught:
            Collection.open(node.url, name)
        assert caught.value.code == "not_a_collection"


def test_an_older_schema_is_migrated(collection, node):
    older = f"{collection.name}-older"
    client = collection._client
    settings = Settings("unicode61", "nl", "exact", schema=0, embedder="e")
    wanted = {**body(settings, 2, 2, 0), "aliases": {older: {}}}
    client.call("PUT", client.path(of=index_name(older, 0)), wanted)
    chunks = [
        hr.Chunk.from_dict(WHOLE),
        hr.Chunk("b", "p", "oaks", embedding=[0, 0]),
        hr.Chunk("c", "p", "oaks"),
    ]
    described_old = replace(
        collection._found, index=index_name(older, 0), settings=settings, dimensions=2
    )
    old = Collection(type(client)(client.address, older, 30.0), described_old)
    old._current = lambda: described_old  # type: ignore[method-assign] # the schema is too old
    old.upsert(chunks)
    before = list(old.chunks())
    # Simulate an earlier migration that was interrupted.
    half = body(replace(settings, schema=SCHEMA), 2, 2, 0)
    client.call("PUT", client.path(of=index_name(older)), half)
    with Collection.open(node.url, older) as new:
        assert list(new.chunks()) == before
        assert new._unembedded([hr.Chunk("b", "p", "oaks"), hr.Chunk("c", "p", "oaks")]) == [1]
        assert (new.tokenizer, new.stopwords, new._embedder_of()[0]) == ("unicode61", "nl", "e")
        assert new.stats().schema_version == SCHEMA
        assert new.check() == []
        new.upsert([{"id": "d", "content": ""}])
    with pytest.raises(hr.BackendError) as caught:
        client.call("GET", client.path(of=index_name(older, 0)))
    assert caught.value.code == "collection_missing"


def test_names(node, name):
    with Collection.create(node.url, name, replicas=0):
        with pytest.raises(hr.BackendError, match="open it, or give another name") as caught:
            Collection.create(node.url, name)
        assert caught.value.code == "collection_exists"
    with pytest.raises(hr.BackendError, match="create it first") as caught:
        Collection.open(node.url, f"{name}-none")
    assert caught.value.code == "collection_missing"
    with pytest.raises(hr.InvalidInputError, match="cannot be the name of a collection") as caught:
        Collection.create(node.url, "Big")
    assert caught.value.code == "invalid_option"


def test_optimizing_leaves_one_segment_a_shard_and_changes_nothing(collection):
    for number in range(6):
        collection.upsert([{"id": str(number), "content": "oak", "embedding": [3, 4]}])
    before = list(collection.chunks())

    def segments() -> int:
        client = collection._client
        found = client.call("GET", client.path("/_stats/segments"))
        return found["_all"]["primaries"]["segments"]["count"]

    assert segments() > 2
    collection.optimize()
    collection.optimize()
    assert segments() == 2  # one per shard
    assert list(collection.chunks()) == before


def test_what_is_closed_is_not_used(collection):
    collection.close()
    collection.close()
    with pytest.raises(hr.HedgerowError, match="is closed; open it again") as caught:
        len(collection)
    assert caught.value.code == "endpoint_closed"


def test_nothing_is_made_up_where_the_collection_is_gone(collection):
    client = collection._client
    collection.upsert([{"id": "a", "content": ""}])
    found = collection._found
    client.call("DELETE", client.path(of=index_name(collection.name)))
    collection._current = lambda: found
    with pytest.raises(hr.BackendError) as caught:
        collection.upsert([{"id": "a", "content": ""}])
    assert caught.value.code == "bulk_refused"
    assert not client.call("HEAD", client.path(), ignore=(404,))
