"""Neighbors, compared with a plain implementation of the formula in spec/retrieval.md."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.typing import Fusion, Profile, Tokenizer

WORDS = ("oak", "elm", "ash")
CONTENTS = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)


class TwoNumbers:
    """An embedder of texts that are angles."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [vector(text) for text in texts]


def vector(text: str) -> list[float]:
    angle = sum(map(ord, text)) / 7
    return [math.cos(angle), math.sin(angle)]


def chunks_of(rows: list[tuple[int, int, str]]) -> list[hr.Chunk]:
    return [
        hr.Chunk(f"c{n}", f"{path}.md", content, ordinal=ordinal, embedding=vector(f"{n}"))
        for n, (path, ordinal, content) in enumerate(rows)
    ]


def beside(chunks: list[hr.Chunk], of: hr.Chunk) -> list[list[hr.Chunk]]:
    """Return the chunks at distance 1 and 2, the preceding one first."""
    path = [chunk for chunk in chunks if chunk.path == of.path]
    path.sort(key=lambda chunk: (chunk.ordinal, chunks.index(chunk)))
    at = path.index(of)
    return [
        [path[i] for i in (at - distance, at + distance) if 0 <= i < len(path)]
        for distance in (1, 2)
    ]


def plain_totals(
    index: hr.Index, query: str, fusion: Fusion = "rrf", **options: Any
) -> tuple[set[str], dict[str, float]]:
    """Return the ids that the legs found, and their totals without neighbors."""
    response = hr.Retriever(
        index, ranking=hr.Ranking("spec", fusion=fusion, reweight=False), **options
    ).search(query, limit=1000, candidates=4, skip_retry_ladder=True)
    return {hit.id for hit in response}, {hit.id: hit.score for hit in response}


def all_by_vectors(index: hr.Index, query: str) -> dict[str, float]:
    """Return the vector part of every chunk's score."""
    response = hr.Retriever(
        index, embedder=TwoNumbers(), ranking=hr.Ranking("spec", fusion="score", reweight=False)
    ).search(query, mode="semantic", limit=1000, candidates=1000)
    return {hit.id: hit.score for hit in response}


rows = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 6),
        CONTENTS,
    ),
    min_size=1,
    max_size=24,
)


@settings(deadline=None, max_examples=60)
@given(rows, st.sampled_from(["rrf", "score"]), st.booleans(), st.booleans())
def test_the_formula(
    given_rows: list[tuple[int, int, str]], fusion: str, with_vectors: bool, filtered: bool
) -> None:
    chunks = chunks_of(given_rows)
    if filtered:
        # Only passing chunks exist, but the words of the others still count for idf.
        filters = hr.Filters(tags=["yes"])
        chunks = [
            hr.Chunk(
                c.id,
                c.path,
                c.content,
                ordinal=c.ordinal,
                embedding=c.embedding,
                tags=["yes"] if n % 3 else [],
            )
            for n, c in enumerate(chunks)
        ]
    else:
        filters = None
    with hr.Index.in_memory() as index:
        index.upsert(chunks)
        embedder = TwoNumbers() if with_vectors else None
        search = {"limit": 1000, "candidates": 4, "skip_retry_ladder": True, "filters": filters}
        retriever = hr.Retriever(
            index, embedder=embedder, ranking=hr.Ranking("spec", fusion=fusion, reweight=False)
        )
        there = [c for c in chunks if filters is None or c.tags]

        def expected(search: dict[str, Any], *, by_path: bool) -> dict[str, float]:
            totals = {hit.id: hit.score for hit in retriever.search("oak elm", **search)}
            found = [c for c in there if c.id in totals]
            if with_vectors and fusion == "score":
                every = retriever.search(
                    "oak elm", **{**search, "mode": "semantic", "candidates": 1000}
                )
                totals = {**{hit.id: hit.score for hit in every}, **totals}
            raised = {}
            for chunk in [near for c in found for near in [c, *beside(there, c)[0]]]:
                own = total = totals.get(chunk.id, 0.0)
                for share, near in zip((0.4, 0.2), beside(there, chunk), strict=True):
                    if near:
                        best = max(totals.get(one.id, 0.0) for one in near)
                        total += share * (max(0.0, best - max(0.0, own) / 2) if by_path else best)
                raised[chunk.id] = total
            return raised

        raising = hr.Retriever(
            index,
            embedder=embedder,
            ranking=hr.Ranking("spec", fusion=fusion, reweight=False, neighbors=True),
        )
        response = raising.search("oak elm", **search)
        scores = expected(search, by_path=False)
        assert {hit.id: hit.score for hit in response} == scores
        assert response.trace.fused_count == len(scores)
        for hit in response:
            parts = hit.explanation
            assert parts is not None
            given_parts = [one["contribution"] for one in parts["neighbors"]]
            assert parts["fused"] + sum(given_parts) == pytest.approx(hit.score)
        grouped = raising.search("oak elm", **search, group_by="path")
        # There are fewer paths than candidates, so each leg returns all its hits.
        best_of_paths: dict[str, float] = {}
        paths = {chunk.id: chunk.path for chunk in there}
        for chunk, score in expected({**search, "candidates": 1000}, by_path=True).items():
            best_of_paths[paths[chunk]] = max(score, best_of_paths.get(paths[chunk], score))
        assert {hit.path: hit.score for hit in grouped} == best_of_paths


TALK = [
    hr.Chunk("t-1", "talk.md", "Where shall we plant the hazel?", ordinal=1),
    hr.Chunk("t-5", "talk.md", "By the gate, where it is wet.", ordinal=5),
    hr.Chunk("t-9", "talk.md", "Fine.", ordinal=9),
    hr.Chunk("t-10", "talk.md", "And the roses?", ordinal=10),
    hr.Chunk("other", "other.md", "Where do gulls nest?", ordinal=6),
]


def test_an_answer_is_found_by_the_question_before_it() -> None:
    with hr.Index.in_memory() as index:
        index.upsert(TALK)
        retriever = hr.Retriever(index, ranking=hr.Ranking("best"))
        response = retriever.search("plant hazel")
        assert [hit.id for hit in response] == ["t-1", "t-5"]
        answer = response[1]
        assert answer.explanation is not None
        assert answer.explanation["neighbors"] == [
            {"id": "t-1", "distance": 1, "total": 1.0, "contribution": 0.4}
        ]
        assert answer.explain() == (
            '"t-1", next to it, gives 0.40 (40 % of 1.00); with its neighbors 0.40'
        )
        assert (response.trace.profile, response.trace.neighbors) == ("best", True)
        assert response.trace.to_dict()["profile"] == "best"
        without = hr.Retriever(index, ranking=hr.Ranking("best", neighbors=False)).search(
            "plant hazel"
        )
        assert [hit.id for hit in without] == ["t-1"]
        assert without.trace.profile is None


def test_neighbors_follow_what_is_written() -> None:
    with hr.Index.in_memory() as index:
        index.upsert(TALK)
        retriever = hr.Retriever(index, ranking=hr.Ranking("spec", neighbors=True))
        assert [hit.id for hit in retriever.search("hazel")] == ["t-1", "t-5"]
        index.upsert([hr.Chunk("t-2", "talk.md", "Hm.", ordinal=2)])
        assert [hit.id for hit in retriever.search("hazel")] == ["t-1", "t-2"]
        index.delete(["t-2"])
        index.upsert([hr.Chunk("t-5", "elsewhere.md", "By the gate.", ordinal=5)])
        assert [hit.id for hit in retriever.search("hazel")] == ["t-1", "t-9"]


def test_profiles_are_checked() -> None:
    with hr.Index.in_memory() as index:
        with pytest.raises(hr.InvalidInputError, match='profile must be "spec" or "best", not '):
            hr.Retriever(index, ranking=hr.Ranking("fast"))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="neighbors must be True, False or None, not 1"):
            hr.Retriever(index, ranking=hr.Ranking("spec", neighbors=1))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="reweight must be True, False or None, not 'no'"):
            hr.Retriever(index, ranking=hr.Ranking("spec", reweight="no"))  # type: ignore[arg-type]


def test_multipliers_can_be_left_out() -> None:
    with hr.Index.in_memory() as index:
        index.upsert(
            [
                hr.Chunk("a", "notes/tea.md", "I prefer green tea"),
                hr.Chunk("b", "memory/global/user-preference-tea.md", "tea"),
            ]
        )
        question = "what tea would you recommend me"
        multiplied = hr.Retriever(index).search(question)
        plain = hr.Retriever(index, ranking=hr.Ranking("spec", reweight=False)).search(question)
        assert (multiplied.trace.reweight, plain.trace.reweight) == (True, False)
        assert any(hit.explanation["multipliers"] for hit in multiplied if hit.explanation)
        assert not any(hit.explanation["multipliers"] for hit in plain if hit.explanation)


def test_the_shares_add_up_where_totals_are_negative() -> None:
    numbers = [math.fsum(vector(f"{n}")) for n in range(5)]
    assert len(set(numbers)) == 5  # the vectors differ, so some are nearer than the average
    with hr.Index.in_memory() as index:
        index.upsert(chunks_of([(0, n, "oak" if n == 2 else "elm") for n in range(5)]))
        found, totals = plain_totals(index, "oak", embedder=TwoNumbers(), fusion="score")
        every = all_by_vectors(index, "oak")
        assert any(total < 0 for total in every.values())
        assert found <= set(every)
        assert totals.keys() == found


def test_a_long_path_leaves_room_for_others():
    chunks = [hr.Chunk(f"long {n}", "long.md", "oak oak oak", ordinal=n) for n in range(90)]
    chunks += [hr.Chunk(f"short {n}", f"short {n}.md", "an oak among elms") for n in range(8)]
    with hr.Index.in_memory() as index:
        index.upsert(chunks)
        retriever = hr.Retriever(index, ranking=hr.Ranking("best"))
        found = retriever.search("oak", limit=20, candidates=20, group_by="path")
        assert len(found) == 9
        assert found.trace.bm25_count == 98
        assert len(retriever.search("oak", limit=20, candidates=3, group_by="path")) == 1
        assert (
            retriever.search("oak", limit=20, candidates=3, group_by="path").trace.bm25_count == 48
        )


TOPICS = {"hedge": "pruning", "pond": "draining", "orchard": "pruning", "herbs": "draining"}
"""Topics, and the subject of the short note on each."""


def titled_threads() -> list[hr.Chunk]:
    """Return threads that repeat their title, short notes on the same topics, and other chunks."""
    chunks = [
        hr.Chunk(f"other {n}", f"other-{n}.md", f"The tide was high, day {n}.") for n in range(60)
    ]
    for topic, work in TOPICS.items():
        chunks += [
            hr.Chunk(f"{topic} {n}", f"{topic}.md", text, title=f"Minutes: the {topic}", ordinal=n)
            for n, text in enumerate(("Present were five.", "No reports.", "Tea. Next: May."))
        ]
        note = f"What the {work} took."
        chunks.append(hr.Chunk(topic, f"{topic}-note.md", note, title=f"Notes: the {topic}"))
    return chunks


@pytest.mark.parametrize("tokenizer", ["unicode61", "porter unicode61"])
def test_a_repeated_title_does_not_raise_long_threads(tokenizer: Tokenizer) -> None:
    """Grouped by path, `best` ranks short notes at least as high as `spec` does."""

    def mean_reciprocal_rank(index: hr.Index, profile: Profile) -> float:
        retriever = hr.Retriever(index, ranking=hr.Ranking(profile))
        ranks = []
        for topic, work in TOPICS.items():
            found = retriever.search(f"{topic} {work}", group_by="path")
            ranks.append([hit.path for hit in found].index(f"{topic}-note.md") + 1)
        return math.fsum(1 / rank for rank in ranks) / len(ranks)

    with hr.Index.in_memory(tokenizer=tokenizer) as index:
        index.upsert(titled_threads())
        spec = mean_reciprocal_rank(index, "spec")
        assert mean_reciprocal_rank(index, "best") >= spec == 1.0


def test_grouped_a_neighbor_counts_by_what_exceeds_half_of_the_own_total() -> None:
    with hr.Index.in_memory() as index:
        index.upsert(
            [
                hr.Chunk("a", "talk.md", "oak", ordinal=1),
                hr.Chunk("b", "talk.md", "oak", ordinal=2),
                hr.Chunk("c", "alone.md", "oak"),
                *(hr.Chunk(word, f"{word}.md", word) for word in ("larch", "ash", "fir", "elm")),
            ]
        )
        retriever = hr.Retriever(index, ranking=hr.Ranking("best"))
        assert {hit.id: hit.score for hit in retriever.search("oak")} == {
            "a": 1.4,
            "b": 1.4,
            "c": 1.0,
        }
        grouped = retriever.search("oak", group_by="path")
        assert {hit.id: hit.score for hit in grouped} == {"a": 1.0 + 0.4 * 0.5, "c": 1.0}
        assert (
            next(iter(grouped))
            .explain()
            .endswith(
                '"b", next to it, gives 0.20 (40 % of 0.50, its 1.00 less half of 1.00); '
                "with its neighbors 1.20"
            )
        )


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), CONTENTS), min_size=1, max_size=60
    ),
    query=CONTENTS,
    fusion=st.sampled_from(["rrf", "score"]),
    group_by=st.sampled_from([None, "path"]),
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 6)),
)
@settings(max_examples=200, deadline=None)
def test_fewer_hits_are_the_first_of_more(
    rows: list[tuple[int, int, str]],
    query: str,
    fusion: Fusion,
    group_by: str | None,
    sizes: tuple[int, int],
) -> None:
    candidates, limit = sizes
    index = hr.Index.in_memory()
    index.upsert(chunks_of(rows))
    ranking = hr.Ranking("best", fusion=fusion)
    retriever = hr.Retriever(index, embedder=TwoNumbers(), ranking=ranking)
    few, all_of_them = (
        [
            (hit.id, hit.score)
            for hit in retriever.search(query, limit=most, candidates=candidates, group_by=group_by)
        ]
        for most in (limit, 1000)
    )
    assert few == all_of_them[:limit]
