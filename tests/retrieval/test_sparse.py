"""The leg of sparse vectors (spec/index.md, "Sparse vectors"; spec/retrieval.md, "Score fusion")."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import pickle
import re
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from counted_collection import CountedCollection
from hedgerow.opensearch import Collection
from places import ROOT
from retrieval_doubles import FnvEmbedder

BEST = hr.Ranking("best")
PLAIN = hr.Ranking("best", neighbors=False, speakers=False, dates=False)

SYNONYMS = {"urchin": "hedgehog", "dwelling": "nest", "cold": "winter"}


class Expanding:
    """Each word with a weight by its length, and its synonym: a SPLADE that can be computed by hand."""

    def __init__(self) -> None:
        self.queries: list[list[str]] = []
        self.documents: list[list[str]] = []

    def sparse_queries(self, texts: Sequence[str], /) -> list[dict[str, float]]:
        self.queries.append(list(texts))
        return [weights(text) for text in texts]

    def sparse_documents(self, texts: Sequence[str], /) -> list[dict[str, float]]:
        self.documents.append(list(texts))
        return [weights(text) for text in texts]


def weights(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in re.findall(r"[a-z]+", text.lower()):
        found[word] = found.get(word, 0.0) + len(word) / 8
        if word in SYNONYMS:
            found[SYNONYMS[word]] = 0.5
    return found


def dot(query: Mapping[str, float], document: Mapping[str, float]) -> float:
    """The score: products of float32, added in the order of code points."""
    total = 0.0
    for token in sorted(query):
        if token in document:
            total += float(np.float32(query[token])) * float(np.float32(document[token]))
    return total


def chunk(id: str, content: str, path: str | None = None, **fields: Any) -> hr.Chunk:  # noqa: A002
    return hr.Chunk(id=id, path=path or f"{id}.md", content=content, **fields)


TEXTS = {
    "a": "The hedgehog sleeps in its nest",
    "b": "A winter without snow",
    "c": "The owl has a nest in the oak",
    "d": "Rain on the roof",
    "e": "A hedgehog in winter, in a nest of leaves",
}


def garden_chunks() -> list[hr.Chunk]:
    return [chunk(name, text) for name, text in TEXTS.items()]


def garden(**options: Any) -> tuple[hr.Retriever, Expanding]:
    encoder = Expanding()
    options = {"ranking": PLAIN, "sparse": encoder} | options
    retriever = hr.Retriever(hr.Index.in_memory(), **options)
    retriever.upsert(garden_chunks())
    return retriever, encoder


def ids(response: hr.Response) -> list[str]:
    return [hit.id for hit in response]


def scores(response: hr.Response) -> dict[str, float]:
    parts = {hit.id: (hit.explanation or {}).get("sparse") for hit in response}
    return {name: part["score"] for name, part in parts.items() if part is not None}


def test_synonyms_are_found_that_keywords_miss() -> None:
    retriever, encoder = garden()
    assert [hit.id for hit in retriever.search("urchin", mode="bm25")] == []
    response = retriever.search("urchin dwelling")
    assert ids(response)[0] in ("a", "e")
    assert response.trace.mode == "hybrid"
    assert response.trace.sparse_count == 3
    assert response.trace.to_dict()["sparseCount"] == 3
    assert "sparse" in response.trace.timings
    assert not response.trace.embedder_used
    assert not response.trace.fell_back_to_bm25
    query = weights("urchin dwelling")
    for name, score in scores(response).items():
        assert score == dot(query, weights(TEXTS[name]))
    assert encoder.queries == [["urchin dwelling"]]
    retriever.search("urchin dwelling")
    assert len(encoder.queries) == 1, "equal queries are encoded once"
    assert encoder.documents == [list(TEXTS.values())]
    stats = retriever.stats()
    assert (stats.sparse_vectors, stats.vectors) == (5, 0)
    assert stats.sparse_bytes > 0


def test_the_contribution_is_by_deviations() -> None:
    retriever, _ = garden()
    query = weights("urchin nest")
    all_scores = [dot(query, weights(text)) for text in TEXTS.values()]
    mean = sum(all_scores) / 5
    deviation = math.sqrt(sum((score - mean) ** 2 for score in all_scores) / 5)
    response = retriever.search("urchin nest")
    for hit in response:
        part = (hit.explanation or {})["sparse"]
        assert part["deviations"] == pytest.approx((part["score"] - mean) / deviation, abs=1e-6)
        assert part["contribution"] == pytest.approx(0.1 * part["deviations"])
        fused = sum(
            part["contribution"]
            for leg in ("keywords", "meaning", "sparse")
            if (part := (hit.explanation or {}).get(leg)) is not None
        )
        assert (hit.explanation or {})["fused"] == pytest.approx(fused)
        assert "sparse 0." in hit.explain() or "sparse -0." in hit.explain()
        assert "standard deviations" in hit.explain()


def test_a_rare_token_counts_at_most_as_the_best_keyword_match() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), sparse=Expanding(), ranking=PLAIN)
    retriever.upsert([chunk(str(n), "leaves") for n in range(400)] + [chunk("x", "hedgehog")])
    best = retriever.search("urchin")[0]
    part = (best.explanation or {})["sparse"]
    assert best.id == "x"
    assert part["deviations"] == pytest.approx(20, rel=0.01)
    assert part["contribution"] == pytest.approx(1)


def test_without_sparse_vectors_everything_is_as_it_was() -> None:
    plain = hr.Retriever(hr.Index.in_memory(), embedder=FnvEmbedder(), ranking=BEST)
    plain.upsert(garden_chunks())
    sparse = hr.Retriever(plain.index, embedder=FnvEmbedder(), ranking=BEST, sparse=Expanding())
    for query in ("hedgehog in winter", "oak nest", "urchin"):
        one, other = plain.search(query), sparse.search(query)
        assert other.results == one.results
        assert other.trace.sparse_count == 0
        assert "sparseCount" not in one.trace.to_dict()
        assert "sparse" not in one.trace.timings
    assert "sparse" not in one[0].explanation
    assert "sparse" not in plain.get("a").to_dict()
    assert plain.stats().sparse_vectors == 0


def test_modes() -> None:
    retriever, encoder = garden(embedder=FnvEmbedder())
    by_words = retriever.search("hedgehog", mode="bm25")
    assert by_words.trace.sparse_count is None
    assert encoder.queries == []
    assert not scores(by_words)
    by_meaning = retriever.search("urchin", mode="semantic")
    assert by_meaning.trace.mode == "semantic"
    assert by_meaning.trace.sparse_count == 2
    alone, _ = garden()
    response = alone.search("urchin", mode="semantic")
    assert response.trace.mode == "semantic"
    assert set(ids(response)) == {"a", "e"}


@pytest.mark.parametrize("neighbors", [False, True])
def test_filters_and_groups(neighbors: bool) -> None:
    ranking = hr.Ranking("best", neighbors=neighbors, speakers=False, dates=False)
    retriever = hr.Retriever(hr.Index.in_memory(), sparse=Expanding(), ranking=ranking)
    paths = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y"}
    retriever.upsert([chunk(name, text, paths[name]) for name, text in TEXTS.items()])
    within = retriever.search("urchin", filters={"path": "x"})
    assert scores(within)["a"] == dot(weights("urchin"), weights(TEXTS["a"]))
    assert not set(ids(within)) & {"c", "d", "e"}
    grouped = retriever.search("urchin dwelling", group_by="path")
    assert sorted(hit.path for hit in grouped) == ["x", "y"]
    assert {hit.id for hit in grouped} == {"a", "e"}


def test_neighbors_of_sparse_hits_count() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), sparse=Expanding(), ranking=BEST)
    talk = ["Where does it sleep?", "In the hedgehog nest", "Good night", "Rain again", "More rain"]
    retriever.upsert([chunk(str(n), text, "talk.md", ordinal=n) for n, text in enumerate(talk)])
    found = {hit.id: hit.explanation or {} for hit in retriever.search("urchin")}
    assert [one["id"] for one in found["0"]["neighbors"]] == ["1", "2"] or found["0"]["neighbors"]
    assert found["0"]["neighbors"][0]["total"] == pytest.approx(found["1"]["fused"])
    assert found["2"]["neighbors"][0]["id"] == "1"
    # A chunk that no leg found has its sparse score too.
    assert found["2"]["sparse"]["score"] == 0


def test_an_empty_index_and_one_chunk() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), sparse=Expanding(), ranking=BEST)
    assert retriever.search("urchin").results == []
    retriever.upsert([chunk("a", "The hedgehog")])
    [hit] = retriever.search("urchin")
    assert (hit.explanation or {})["sparse"] == {
        "rank": 0,
        "score": 0.5,
        "deviations": 0.0,
        "contribution": 0.0,
    }


def test_vectors_are_kept_while_the_texts_are_the_same() -> None:
    retriever, encoder = garden()
    retriever.upsert([chunk("a", TEXTS["a"], tags=["sleep"]), chunk("b", "Snow in spring")])
    assert encoder.documents[1:] == [["Snow in spring"]]
    index = retriever.index
    assert index.get("a").sparse == pytest.approx(weights(TEXTS["a"]))
    index.upsert([chunk("a", TEXTS["a"], path="elsewhere.md")])
    assert index.get("a").sparse is not None
    index.update({"path": "elsewhere.md"}, tags=["moved"])
    assert index.get("a").sparse is not None
    index.upsert([chunk("a", "Another text")])
    assert index.get("a").sparse is None
    index.upsert([chunk("c", TEXTS["c"], sparse={})])
    assert index.get("c").sparse is None
    retriever.upsert(list(index.chunks()))
    assert encoder.documents[-1] == ["Another text"], "c can have none"
    index.delete(["e"])
    assert index.stats().sparse_vectors == 3
    assert index.check() == []


def test_reembed_encodes_all_chunks_again() -> None:
    retriever, encoder = garden()
    assert retriever.reembed() == 5
    assert [len(texts) for texts in encoder.documents] == [5, 5]
    both = hr.Retriever(retriever.index, embedder=FnvEmbedder(), sparse=encoder, ranking=BEST)
    told: list[tuple[int, int]] = []
    assert both.reembed(progress=lambda *done: told.append(done)) == 5
    assert told == [(5, 5), (5, 5)]
    without = hr.Retriever(retriever.index, sparse=hr.embedders.IdfQueries({}), ranking=BEST)
    with pytest.raises(hr.InvalidInputError, match="this retriever has no embedder"):
        without.reembed()


def test_a_sync_encodes_the_chunks_of_files(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("The hedgehog sleeps.\n", "utf-8")
    with hr.Index.open(tmp_path / "i.db") as index:
        encoder = Expanding()
        index.sync_files(tmp_path / "notes", sparse=encoder)
        assert index.stats().sparse_vectors == 1
        (tmp_path / "notes" / "b.md").write_text("An owl.\n", "utf-8")
        report = index.sync_files(tmp_path / "notes", sparse=encoder)
        assert (report.added, report.unchanged) == (1, 1)
        assert [len(texts) for texts in encoder.documents] == [1, 1]
        report = index.sync_files(tmp_path / "notes", sparse=encoder)
        assert (report.added, report.changed, len(encoder.documents)) == (0, 0, 2)
        with pytest.raises(hr.InvalidInputError, match="the sparse embedder is asynchronous"):
            index.sync_files(tmp_path / "notes", sparse=Awaited())


def test_json_lines_bring_their_own(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "content": "One.", "sparse": {"urchin": 1.5}},
        {"id": "b", "content": "Two.", "sparse": None},
        {"id": "c", "content": "Three.", "sparse": [1]},
        {"id": "d", "content": "Four.", "sparse": {"x": -1}},
    ]
    file = tmp_path / "chunks.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with hr.Index.in_memory() as index:
        report = index.sync_files(file)
        reasons = [skip.reason for skip in report.skips]
        assert '"sparse" must be an object of tokens with their weights' in reasons[0]
        assert 'the sparse vector has the weight -1 for "x"' in reasons[1]
        assert [chunk.sparse for chunk in index.chunks()] == [{"urchin": 1.5}, None]
        # Out and in again.
        exported = [json.dumps(chunk.to_dict()) for chunk in index.chunks()]
        copy = hr.Index.in_memory()
        copy.upsert([json.loads(line) for line in exported])
        assert list(copy.chunks()) == list(index.chunks())


def test_a_chunk_keeps_its_vector_everywhere(tmp_path: Path) -> None:
    given = {"b": 0.1, "a": 2, "😀": 1e-30, "\uff5e": np.float32(0.3)}
    own = chunk("a", "text", sparse=given)
    assert list(own.sparse.items()) == sorted((k, float(np.float32(v))) for k, v in given.items())
    assert own.sparse is not own.sparse
    assert pickle.loads(pickle.dumps(own)) == own
    assert hr.Chunk.from_dict(own.to_dict()) == own
    assert hr.Chunk.from_dict(json.loads(json.dumps(own.to_dict()))) == own
    assert own != chunk("a", "text")
    with hr.Index.open(tmp_path / "i.db", tokenizer="porter unicode61") as index:
        index.upsert([own, chunk("b", "text")])
        index.retokenize("words")
        index.backup(tmp_path / "copy.db")
        assert index.peek(1) == index.get_many(["a"]) == [own]
    for name in ("i.db", "copy.db"):
        with hr.Index.open(tmp_path / name, read_only=True) as index:
            assert index.get("a") == own
            assert index.stats().sparse_vectors == 1
            assert index.check() == []


@pytest.mark.parametrize(
    ("sparse", "message"),
    [
        ([("a", 1.0)], "sparse must be a mapping of tokens to weights, not list"),
        ("text", "sparse must be a mapping of tokens to weights, not str"),
        ({"": 1.0}, "sparse has an empty token; leave it out"),
        ({"a": 0}, 'sparse has the weight 0 for "a"; a weight is a finite float32 above 0'),
        ({"a": -0.25}, 'sparse has the weight -0.25 for "a"'),
        ({"a": math.nan}, 'sparse has the weight NaN for "a"'),
        ({"a": math.inf}, 'sparse has the weight inf for "a"'),
        ({"a": 1e39}, 'sparse has the weight inf for "a"'),
        ({"a": 1e-50}, 'sparse has the weight 0 for "a"'),
        ({"a": "1"}, 'sparse["a"] must be a number, not str'),
        ({"a": True}, 'sparse["a"] must be a number, not bool'),
        ({1: 1.0}, "a token of sparse must be str, not int"),
        ({"\ud800": 1.0}, "a token of sparse has half of a surrogate pair"),
        ({"x" * 256: 1.0}, "sparse has a token of 256 bytes, and at most 255 are stored"),
        (
            {str(n): 1.0 for n in range(32769)},
            "sparse has 32769 tokens, and at most 32768 are stored; keep those with the largest",
        ),
    ],
)
def test_what_is_no_sparse_vector(sparse: Any, message: str) -> None:
    with pytest.raises((hr.InvalidInputError, TypeError), match=re.escape(message)):
        chunk("a", "text", sparse=sparse)
    with pytest.raises((hr.InvalidInputError, TypeError)) as caught:
        hr.Index.in_memory().upsert([{"id": "a", "content": "text", "sparse": sparse}])
    assert "chunks[0]" in str(caught.value)


def test_what_a_sparse_embedder_answers() -> None:
    retriever, encoder = garden()
    encoder.sparse_queries = lambda texts: [{"a": -1.0}] * len(texts)
    with pytest.raises(hr.InvalidInputError) as caught:
        retriever.search("one")
    message = 'the sparse vectors of the queries[0] has the weight -1 for "a"'
    assert message in str(caught.value)
    encoder.sparse_queries = lambda _texts: []
    with pytest.raises(hr.HedgerowError, match="answered with 0 vectors for 1 texts") as bad:
        retriever.search("two")
    assert bad.value.code == "bad_answer"
    encoder.sparse_documents = lambda _texts: {"a": 1.0}
    with pytest.raises(hr.HedgerowError, match="it must return a mapping of tokens to weights"):
        retriever.upsert([chunk("new", "text")])
    assert retriever.get("new") is None
    encoder.sparse_queries = lambda texts: [{}] * len(texts)
    response = retriever.search("nest")
    assert response.trace.sparse_count == 0
    assert set(ids(response)) == {"a", "c", "e"}


def test_a_sparse_embedder_that_fails_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    retriever, encoder = garden()

    def fail(_texts: Sequence[str]) -> list[dict[str, float]]:
        raise ConnectionError("no model")

    encoder.sparse_queries = fail  # type: ignore[method-assign]
    response = retriever.search("nest")
    assert set(ids(response)) == {"a", "c", "e"}
    assert response.trace.error_stage == "sparse"
    assert response.trace.mode == "bm25"
    assert response.trace.fell_back_to_bm25
    assert isinstance(response.error, hr.RetrievalError)
    assert "the sparse embedder failed, the other legs answer: no model" in caplog.text
    strict = hr.Retriever(retriever.index, sparse=encoder, ranking=PLAIN, on_leg_failure="raise")
    with pytest.raises(hr.RetrievalError, match="search by sparse vectors failed: no model"):
        strict.search("nest")


def test_batches_and_why_not() -> None:
    retriever, encoder = garden()
    queries = ["urchin", "cold dwelling", "oak", "urchin"]
    batch = retriever.search_many(queries)
    assert encoder.queries == [["urchin", "cold dwelling", "oak"]]
    for query, response in zip(queries, batch, strict=True):
        assert response.results == retriever.search(query).results
    found = retriever.why_not("urchin", "c")
    assert found.sparse is None
    assert found.cut == "no_match"
    found = retriever.why_not("urchin dwelling", "c", limit=1)
    assert found.cut == "limit"
    assert found.sparse is not None
    assert found.sparse.rank == 2
    assert found.sparse.score == dot(weights("urchin dwelling"), weights(TEXTS["c"]))
    assert "number 3 by sparse vectors (score 0." in str(found)
    assert found.to_dict()["sparse"] == {"rank": 2, "score": found.sparse.score}


class Awaited:
    async def sparse_queries(self, texts: Sequence[str], /) -> list[dict[str, float]]:
        return [weights(text) for text in texts]

    async def sparse_documents(self, texts: Sequence[str], /) -> list[dict[str, float]]:
        return [weights(text) for text in texts]


def test_an_asynchronous_one_is_awaited() -> None:
    retriever = hr.Retriever(hr.Index.in_memory(), sparse=Awaited(), ranking=PLAIN)
    for call in (lambda: retriever.search("a"), lambda: retriever.upsert([])):
        with pytest.raises(hr.InvalidInputError, match="the sparse embedder is asynchronous"):
            call()

    async def use() -> hr.Response:
        await retriever.aupsert(garden_chunks())
        return await retriever.asearch("urchin")

    assert set(ids(asyncio.run(use()))) == {"a", "e"}


def test_what_a_retriever_refuses() -> None:
    index = hr.Index.in_memory()
    for sparse in (object(), Expanding, "splade", FnvEmbedder()):
        with pytest.raises(hr.InvalidInputError, match=r"sparse must have a method sparse_queries"):
            hr.Retriever(index, sparse=sparse, ranking=BEST)  # type: ignore[arg-type]
    for ranking in (
        None,
        hr.Ranking("spec"),
        hr.Ranking("best", fusion="rrf", speakers=False, dates=False),
    ):
        with pytest.raises(hr.InvalidInputError) as caught:
            hr.Retriever(index, sparse=Expanding(), ranking=ranking)
        assert caught.value.code == "incompatible_options"
        assert 'pass ranking=Ranking("best")' in str(caught.value)
    retriever = hr.Retriever(index, sparse=Expanding(), ranking=BEST)
    assert "sparse=<" in repr(retriever)


def test_a_collection_has_no_sparse_vectors() -> None:
    with pytest.raises(hr.InvalidInputError) as caught:
        hr.Retriever(CountedCollection([]), sparse=Expanding(), ranking=BEST)
    assert caught.value.code == "unsupported_by_backend"
    assert "a collection has no sparse vectors" in str(caught.value)
    nothing: Any = None
    with pytest.raises(
        hr.InvalidInputError, match="'a' has a sparse vector, which a collection"
    ) as caught:
        Collection(nothing, nothing).upsert([chunk("a", "text", sparse={"a": 1.0})])
    assert caught.value.code == "unsupported_by_backend"


WRITER = """
import sys, hedgerow as hr
with hr.Index.open(sys.argv[1]) as index:
    index.upsert([hr.Chunk(id="new", path="n", content="x", sparse={"urchin": 5.0})])
    index.delete(["a"])
"""


def test_another_process_writes(tmp_path: Path) -> None:
    file = tmp_path / "i.db"
    encoder = Expanding()
    with hr.Retriever(file, create=True, sparse=encoder, ranking=PLAIN) as retriever:
        retriever.upsert(garden_chunks())
        assert set(ids(retriever.search("urchin"))) == {"a", "e"}
        subprocess.run([sys.executable, "-c", WRITER, file], check=True)
        response = retriever.search("urchin")
        assert set(ids(response)) == {"e", "new"}
        expected = response.results
        with hr.Retriever(file, sparse=encoder, ranking=PLAIN) as again:
            assert again.search("urchin").results == expected


@pytest.mark.skipif(not (ROOT / "tests" / "data" / "upgrades").exists(), reason="no files")
def test_a_file_from_before_works(tmp_path: Path) -> None:
    newest = max((ROOT / "tests" / "data" / "upgrades").glob("*.db.gz"))
    file = tmp_path / "old.db"
    file.write_bytes(gzip.decompress(newest.read_bytes()))
    with hr.Index.open(file):
        pass  # migrated, if it was older

    def tables() -> list[str]:
        with closing(sqlite3.connect(file)) as connection:
            found = connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%sparse%'")
            return [name for (name,) in found]

    with hr.Index.open(file, read_only=True) as index:
        retriever = hr.Retriever(index, sparse=Expanding(), ranking=BEST)
        assert retriever.search("urchin").trace.sparse_count == 0
        assert index.check() == []
    assert tables() == []
    with hr.Retriever(file, sparse=Expanding(), ranking=BEST) as retriever:
        retriever.upsert([chunk("new", "The hedgehog")])
        assert "new" in ids(retriever.search("urchin"))
        assert retriever.index.check() == []
    assert tables() == ["sparse_vectors"]


IDF = {"hedge": 3.0, "##hog": 2.0, "##s": 0.5, "in": 0.0, "winter": 4.0, "?": 0.1, "s": 1.0}


def test_words_are_cut_into_the_longest_tokens_of_a_table() -> None:
    queries = hr.embedders.IdfQueries(IDF)
    found = queries.sparse_queries(["Hedgehogs in WINTER, winter?", "unknown s", ""])
    assert found == [
        {"hedge": 3.0, "##hog": 2.0, "##s": 0.5, "winter": 4.0, "?": 0.1},
        {"s": 1.0},
        {},
    ]


def test_chunks_bring_their_own_vectors() -> None:
    queries = hr.embedders.IdfQueries(IDF)
    retriever = hr.Retriever(hr.Index.in_memory(), sparse=queries, ranking=PLAIN)
    retriever.upsert(
        [
            chunk("a", "Igel", sparse={"hedge": 1.0, "##hog": 0.5}),
            chunk("b", "Eule", sparse={"winter": 0.25}),
            chunk("c", "Maus"),
        ]
    )
    response = retriever.search("hedgehog in winter", mode="semantic")
    assert scores(response) == {"a": 4.0, "b": 1.0}


def test_a_table_is_a_mapping() -> None:
    with pytest.raises(hr.InvalidInputError, match="idf must be a mapping"):
        hr.embedders.IdfQueries([("a", 1.0)])  # type: ignore[arg-type]
