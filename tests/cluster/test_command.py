"""`hedgerow cluster` from a shell."""

from __future__ import annotations

import json
from urllib.request import urlopen

import pytest

import collection_contract as contract
import hedgerow as hr
from command_line import as_json, failed, failed_as_json, ok
from hedgerow.opensearch import Collection, copy_index


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "notes.db"
    with hr.Index.open(path, stopwords=["der"]) as index:
        index.upsert(contract.chunks(60, 1))
        index.upsert([{"id": "none", "content": "oak", "embedding": [0.0] * 64}])
    return path


def test_a_copy_has_every_chunk_and_is_gone_on_with(node, name, db):
    place = f"{node.url}/{name}"
    first = as_json("cluster", "copy", str(db), place, "--shards", "2", "--replicas", "0")
    assert (first["written"], first["unchanged"], first["name"]) == (61, 0, name)
    with hr.Index.open(db) as index, Collection.open(node.url, name) as collection:
        assert sorted(collection.chunks(), key=lambda chunk: chunk.id) == sorted(
            index.chunks(), key=lambda chunk: chunk.id
        )
        assert collection.stopwords == frozenset({"der"})
        assert collection.check() == []
        assert collection._unembedded([hr.Chunk("none", "none", "oak")]) == []
        collection.delete(["c0001", "c0002"])
        collection.upsert(
            [{"id": "c0003", "content": "changed"}, {"id": "own", "content": "stays"}]
        )
        seen = []
        assert copy_index(index, collection, progress=lambda *done: seen.append(done)) == (3, 58)
        assert seen == [(61, 61)]
        assert collection.get("c0003") == index.get("c0003")
        assert len(collection) == 62
    assert "Copied 0 chunks of" in ok("cluster", "copy", str(db), place)


def segments(url: str, name: str) -> int:
    """The number of segments of all shards."""
    with urlopen(f"{url}/_cat/segments/{name}?format=json", timeout=30) as answer:  # noqa: S310
        return len(json.load(answer))


def test_a_copy_is_merged_if_it_wrote_much(node, name, db):
    with hr.Index.open(db) as index:
        for block in range(6):
            index.upsert(hr.Chunk(f"{block} {n}", "p", "oak") for n in range(500))
    place = f"{node.url}/{name}"
    unmerged = f"{place}-unmerged"
    ok("cluster", "copy", str(db), unmerged, "--replicas", "0", "--no-optimize")
    assert segments(node.url, f"{name}-unmerged") > 1
    ok("cluster", "copy", str(db), place, "--replicas", "0")
    assert segments(node.url, name) == 1
    with Collection.open(node.url, name) as collection:
        collection.delete(["0 1"])
        collection.delete(["0 2"])
    ok("cluster", "copy", str(db), place)  # two chunks of 3,061
    assert segments(node.url, name) > 1


def test_status(node, name, db):
    place = f"{node.url}/{name}"
    ok("cluster", "copy", str(db), place, "--replicas", "0")
    lines = dict(line.split(maxsplit=1) for line in ok("cluster", "status", place).splitlines())
    assert lines["collection"] == place
    assert lines["chunks"] == "61"
    assert lines["vectors"].endswith("64 dimensions")
    assert lines["searches"] == "exact vectors, exact keywords"
    assert lines["shards"] == "1 shard, 0 replicas of each, green"
    found = as_json("cluster", "status", place)
    assert (found["chunks"], found["status"], found["unassigned"]) == (61, "green", 0)


def test_a_search_is_that_of_the_index(node, name, tmp_path):
    # Use the collection's tokenizer: `words` would make tokens of the emoji in a path.
    db = tmp_path / "notes.db"
    with hr.Index.open(db, tokenizer="porter unicode61", stopwords=["der"]) as index:
        index.upsert(contract.chunks(60, 1))
        index.upsert([{"id": "none", "content": "oak", "embedding": [0.0] * 64}])
    place = f"{node.url}/{name}"
    ok("cluster", "copy", str(db), place, "--replicas", "0", "--shards", "2")
    for options in (
        ["winter feeding", "--explain"],
        ["oak", "--filter", "year >= 2023", "--group-by", "path"],
        ["hedgehog AND winter", "--why-not", "a.md#1"],
    ):
        here = as_json("search", *options, "--db", str(db))
        there = as_json("search", *options, "--url", place)
        assert (there.pop("url"), here.pop("db")) == (place, str(db))
        trace = there.pop("trace")
        assert (trace["backend"], trace["shards"]) == ("opensearch", {"total": 2, "successful": 2})
        here.pop("trace")
        assert sorted(map(str, there.pop("results"))) == sorted(map(str, here.pop("results")))
        assert place in there.pop("notices")[0]
        assert str(db) in here.pop("notices")[0]
        assert there == here
    explained = ok("search", "oak", "--url", place, "--explain")
    assert "not reweighted, on opensearch, 2 of 2 shards\n" in explained
    assert f"No results in {place} (61 chunks)." in ok("search", "nothingatall", "--url", place)


def test_a_replica_without_a_place_is_a_failure(node, name):
    with Collection.create(node.url, name):
        pass
    from command_line import run  # noqa: PLC0415 - of this test alone

    result = run("cluster", "status", f"{node.url}/{name}")
    assert result.exit_code == 1
    assert "1 shard, 1 replica of each, yellow; 1 have no place" in result.stdout


def test_what_does_not_fit_is_refused(node, name, db):
    with Collection.create(node.url, name, replicas=0, tokenizer="trigram"):
        error = failed_as_json(1, "cluster", "copy", str(db), f"{node.url}/{name}")
        assert error["code"] == "tokenizer_mismatch"
        assert "copy into a new collection" in error["message"]


def test_wrong_usage(node, name, monkeypatch):
    monkeypatch.delenv("HEDGEROW_OPENSEARCH_PASSWORD", raising=False)
    for wrong in ("notes", "http://localhost:9200", "http://", "localhost/notes"):
        assert "is not a URL with a name after it" in failed(2, "cluster", "status", wrong)
    place = f"{node.url}/{name}"
    message = failed(2, "cluster", "status", place, "--user", "me")
    assert "--user needs a password in the environment variable" in message
    assert failed_as_json(1, "cluster", "status", place)["code"] == "collection_missing"
    assert failed_as_json(1, "cluster", "copy", "none.db", place)["code"] == "index_not_found"
