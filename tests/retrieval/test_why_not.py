"""Why a chunk is not among the results (spec/retrieval.md, "Why not")."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import hedgerow as hr


class Angles:
    """An embedder of texts that begin with a number, which is their direction."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(text.split()[0]) / 10] for text in texts]


class Backwards:
    name = "backwards"

    def rerank(self, query: str, documents: list[hr.RerankDocument]) -> list[hr.RerankScore]:
        del query
        return [hr.RerankScore(len(documents) - 1 - i, 1.0) for i in range(len(documents))]


@pytest.fixture
def index():
    with hr.Index.in_memory() as index:
        index.upsert(
            hr.Chunk(
                f"c{n}",
                f"p{n // 3}.md",
                " ".join(["oak"] * (10 - n) + ["filler"] * n) + (" elm" if n == 4 else ""),
                ordinal=n,
                tags=["even"] if n % 2 == 0 else [],
            )
            for n in range(9)
        )
        yield index


def why(index: hr.Index, id: str, query: str = "oak", **options: Any) -> hr.WhyNot:  # noqa: A002
    return hr.Retriever(index).why_not(query, id, **options)


def test_what_is_among_the_results(index):
    found = why(index, "c0")
    assert (found.cut, found.result_rank, found.rank) == (None, 0, 0)
    assert str(found).startswith("'c0' is among the results: number 1. It is number 1 by keywords")


def test_what_the_index_lacks(index):
    found = why(index, "nowhere")
    assert (found.cut, str(found)) == ("not_in_index", "The index has no chunk 'nowhere'.")


def test_the_filters(index):
    found = why(index, "c1", filters={"tags": ["even"]})
    assert (found.cut, found.rank) == ("filters", None)
    assert str(found) == "'c1' does not pass the filters."


def test_what_the_query_excludes(index):
    found = why(index, "c4", "oak NOT elm")
    assert (found.cut, found.excluded_by) == ("excluded", ['"elm"'])
    assert str(found) == """'c4' holds what the query excludes: "elm"."""


def test_words_it_lacks(index):
    found = why(index, "c0", "elm ash")
    assert (found.cut, found.held, found.lacking) == ("no_match", [], ['"elm"', '"ash"'])
    assert str(found) == """'c0' holds none of "elm", "ash"."""
    one = why(index, "c4", "elm ash")
    assert (one.cut, one.held, one.lacking) == (None, ['"elm"'], ['"ash"'])
    assert str(one).endswith('It lacks "ash".')


def test_a_word_that_was_not_searched_for(index):
    found = why(index, "c0", "the record of elm")
    assert (found.cut, found.not_searched_for) == ("no_match", ["the", "record", "of"])
    assert str(found) == """'c0' holds none of "elm". Not searched for: the, record, of."""
    found = why(index, "c0", "is")
    assert (found.cut, found.held, found.lacking) == ("no_match", [], [])
    assert str(found) == "No word was searched for. Not searched for: is."


def test_a_word_that_is_required(index):
    found = why(index, "c0", "oak AND elm", skip_retry_ladder=True)
    assert (found.cut, found.held, found.lacking) == ("no_match", ['"oak"'], ['"elm"'])
    assert str(found) == """'c0' holds "oak" and lacks "elm"."""


def test_what_has_no_vector_is_not_found_by_one():
    with hr.Index.in_memory() as index:
        index.upsert([hr.Chunk("bare", "p.md", "ash")])
        retriever = hr.Retriever(index, embedder=Angles())
        retriever.index.upsert([hr.Chunk("elm", "p.md", "2 elm", embedding=[1.0, 0.2])])
        found = retriever.why_not("2 elm", "bare")
        assert (found.cut, found.by_vectors) == ("no_match", True)
        assert str(found).startswith(
            """'bare' holds none of "elm", and was not found by its vector."""
        )
        found = retriever.why_not("2 is", "bare")
        assert str(found).startswith(
            "No word was searched for, and 'bare' has no vector to be near by."
        )
        assert not retriever.why_not("2 elm", "bare", mode="bm25").by_vectors


def test_the_end_of_the_legs(index):
    found = why(index, "c5", limit=2, candidates=2)
    assert (found.cut, found.keywords.rank, found.rank) == ("candidates", 5, 5)
    assert str(found).startswith("'c5' was no candidate: each leg keeps the best 2. It is number 6")


def test_the_limit(index):
    found = why(index, "c5", limit=2)
    whole = hr.Retriever(index).search("oak")
    assert (found.cut, found.rank, found.limit) == ("limit", 5, 2)
    assert (found.score, found.needed) == (whole.results[5].score, whole.results[1].score)
    assert "'c5' is number 6, with a score of" in str(found)
    assert "the last of 2 results has" in str(found)


def test_equal_scores_at_the_limit():
    with hr.Index.in_memory() as index:
        index.upsert(hr.Chunk(str(n), f"{n}.md", "oak") for n in range(3))
        found = hr.Retriever(index, ranking=hr.Ranking("best")).why_not("oak", "2", limit=2)
        assert (found.cut, found.score) == ("limit", found.needed)
        assert str(found).startswith(
            f"'2' has the score of the last of 2 results, {found.score:.4f}, and comes after it."
        )


def test_a_better_chunk_of_the_path(index):
    found = why(index, "c4", group_by="path")
    assert (found.cut, found.group_best) == ("group", "c3")
    assert str(found).startswith("'c3' represents the group of 'c4', as its better chunk.")


def test_the_reranker(index):
    retriever = hr.Retriever(index, reranker=Backwards())
    found = retriever.why_not("oak", "c0", limit=3)
    assert found.cut == "reranker"
    assert str(found).startswith("The reranker dropped 'c0', or put it behind the first 3.")


def test_vectors_and_score_fusion():
    with hr.Index.in_memory() as index:
        chunks = [hr.Chunk(f"v{n}", f"{n}.md", f"{n} elm") for n in range(8)]
        retriever = hr.Retriever(index, embedder=Angles(), ranking=hr.Ranking("best"))
        retriever.upsert(chunks)
        found = retriever.why_not("2 oak", "v7", limit=3)
        assert (found.cut, found.keywords, found.vectors.rank) == ("limit", None, 7)
        every = retriever.search("2 oak", limit=8)
        assert found.rank == 7
        assert found.score == every.results[7].score
        assert found.explanation == every.results[7].explanation
        same = asyncio.run(retriever.awhy_not("2 oak", "v7", limit=3))
        assert same == found


def test_every_chunk_is_where_the_search_without_an_end_has_it(index):
    for profile in ("spec", "best"):
        retriever = hr.Retriever(index, ranking=hr.Ranking(profile))
        every = retriever.search("oak elm", limit=100, candidates=100)
        for rank, hit in enumerate(every):
            found = retriever.why_not("oak elm", hit.id, limit=1, candidates=1)
            assert found.score == pytest.approx(hit.score)
            better = sum(other.score > hit.score for other in every)
            assert better <= found.rank <= rank


def test_it_is_json(index):
    value = json.loads(json.dumps(why(index, "c5", limit=2).to_dict()))
    assert value["cut"] == "limit"
    assert value["keywords"]["rank"] == 5
    assert value["vectors"] is None


def test_an_id_is_a_text(index):
    with pytest.raises(hr.InvalidInputError, match="id must be a text, not 7"):
        why(index, 7)  # type: ignore[arg-type]
