"""New vectors for all chunks of a collection: a copy that takes its place."""

from __future__ import annotations

import pytest

import collection_contract as contract
import hedgerow as hr
from command_line import as_json, failed, ok
from hedgerow.opensearch import Collection
from opensearch_server import Node
from retrieval_doubles import FnvEmbedder


class Lengths:
    """An embedder of three numbers, which calls `before` ahead of each block."""

    name = "lengths"

    def __init__(self, before=None) -> None:
        self.before = before
        self.embedded: list[str] = []

    def embed(self, texts):
        if self.before is not None:
            self.before()
        self.embedded += texts
        return [[1.0, len(text), text.count("a")] for text in texts]


@pytest.fixture
def collection(node: Node, name: str):
    with Collection.create(node.url, name, replicas=0, shards=2, stopwords="nl") as made:
        hr.Retriever(made, embedder=FnvEmbedder()).upsert(
            {"id": f"c{n:03}", "content": f"oak {n}", "tags": ["t"], "metadata": {"n": n}}
            for n in range(300)
        )
        yield made


def indices(collection: Collection) -> list[str]:
    found = collection._client.call("GET", f"/{collection.name}-hedgerow-*/_alias")
    return sorted(found)


def test_the_new_vectors_take_the_place_of_the_old_ones(collection, node):
    before = [chunk.to_dict() | {"embedding": None} for chunk in collection.chunks()]
    seen = []
    with Collection.open(node.url, collection.name) as reader:
        old = hr.Retriever(reader, embedder=FnvEmbedder())
        assert old.search("oak").trace.mode == "hybrid"
        retriever = hr.Retriever(collection, embedder=Lengths())
        assert retriever.reembed(progress=lambda *done: seen.append(done)) == 300
        assert seen == [(256, 300), (300, 300)]
        # A reader of another process finds out, and keeps its other legs.
        with pytest.raises(hr.InvalidInputError, match="are of the embedder 'lengths'") as caught:
            old.search("oak")
        assert caught.value.code == "embedder_mismatch"
        assert len(hr.Retriever(reader, embedder=Lengths()).search("oak")) > 0
        assert hr.Retriever(reader).search("oak").trace.mode == "bm25"
    assert [chunk.to_dict() | {"embedding": None} for chunk in collection.chunks()] == before
    assert (collection.dimensions, collection.stopwords) == (3, "nl")
    assert collection._embedder_of()[0] == "lengths"
    assert collection.stats().shards == 2
    assert collection.check() == []
    assert indices(collection) == [f"{collection.name}-hedgerow-2-2"]
    collection.upsert([{"id": "new", "content": "elm"}])
    # The next one gets the next number.
    assert hr.Retriever(collection, embedder=FnvEmbedder()).reembed() == 301
    assert indices(collection) == [f"{collection.name}-hedgerow-2-3"]
    with hr.Index.in_memory(tokenizer="porter unicode61", stopwords="nl") as index:
        index.upsert(contract.in_order(collection.chunks()))
        expected = hr.Retriever(index, embedder=FnvEmbedder()).search("oak 17")
        found = hr.Retriever(collection, embedder=FnvEmbedder()).search("oak 17")
        assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected]


def test_what_is_written_meanwhile_is_in_the_copy(collection):
    def write():
        if embedder.embedded and not written:
            written.append(True)
            hr.Retriever(collection).upsert(
                [{"id": "c000", "content": "changed"}, {"id": "new", "content": "a maple"}]
            )
            collection.delete(["c001", "c299"])

    written: list[bool] = []
    embedder = Lengths(write)
    assert hr.Retriever(collection, embedder=embedder).reembed() == 299
    ids = [chunk.id for chunk in collection.chunks()]
    assert len(ids) == 299
    assert not {"c001", "c299"} & set(ids)
    assert collection.get("c000").content == "changed"
    assert collection.get("new").embedding is not None
    assert embedder.embedded.count("changed") == 1


def test_a_failed_one_leaves_the_vectors_and_is_continued(collection):
    def fail():
        if len(failing.embedded) == 256:
            raise OSError("the model is gone")

    before = list(collection.chunks())
    failing = Lengths(fail)
    with pytest.raises(OSError, match="the model is gone"):
        hr.Retriever(collection, embedder=failing).reembed()
    assert list(collection.chunks()) == before
    assert collection.dimensions == 64
    again = Lengths()
    assert hr.Retriever(collection, embedder=again).reembed() == 300
    assert len(again.embedded) == 44
    assert len(indices(collection)) == 1


def test_another_embedder_begins_anew(collection):
    class Fails(FnvEmbedder):
        name = "fails"

        def embed(self, texts):
            if len(texts) < 256:
                raise OSError("the model is gone")
            return super().embed(texts)

    with pytest.raises(OSError, match="the model is gone"):
        hr.Retriever(collection, embedder=Fails()).reembed()
    embedder = Lengths()
    assert hr.Retriever(collection, embedder=embedder).reembed() == 300
    assert len(embedder.embedded) == 300
    assert collection.dimensions == 3


def test_writes_are_refused_for_the_last_comparison_alone(collection):
    """A chunk that changes after the first comparison is embedded while writes are refused."""

    def write():
        if len(embedder.embedded) == 256:
            collection.upsert([{"id": "c000", "content": "changed"}])
        if len(embedder.embedded) == 300:
            with pytest.raises(hr.BackendError, match="blocked") as caught:
                collection.upsert([{"id": "c001", "content": "too late"}])
            refused.append(caught.value.code)
            raise OSError("the model is gone")

    refused: list[str] = []
    embedder = Lengths(write)
    with pytest.raises(OSError, match="the model is gone"):
        hr.Retriever(collection, embedder=embedder).reembed()
    assert refused == ["bulk_refused"]
    collection.upsert([{"id": "c001", "content": "in time"}])
    assert hr.Retriever(collection, embedder=Lengths()).reembed() == 300
    assert collection.get("c001").content == "in time"


def test_a_collection_without_chunks(node, name):
    with Collection.create(node.url, name, replicas=0) as collection:
        assert hr.Retriever(collection, embedder=Lengths()).reembed() == 0
        assert collection._embedder_of() == ("lengths", None, None)
        assert collection.check() == []


def test_the_command(node, collection, monkeypatch):
    monkeypatch.setattr("hedgerow.embedders.embedder_named", lambda *_, **__: Lengths())
    place = f"{node.url}/{collection.name}"
    assert "needs --embedder NAME" in failed(2, "cluster", "reembed", place)
    found = as_json("cluster", "reembed", place, "--embedder", "local")
    assert (found["embedded"], found["dimensions"], found["embedder"]) == (300, 3, "lengths")
    line = ok("cluster", "reembed", place, "--embedder", "local")
    assert line.startswith(f"Embedded 300 chunks of {place} in ")
