"""Inferred types of calls: mypy checks this file in `make lint`, and pytest runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Unpack, assert_type

import hedgerow as hr
from hedgerow import memory
from hedgerow.typing import (
    Aliases,
    ChunkLike,
    EdgeLike,
    FiltersLike,
    Legs,
    Mode,
    Operator,
    Progress,
    QuestionDate,
    SearchKeywords,
    Time,
    VisitLike,
)

if TYPE_CHECKING:
    from array import array  # noqa: F401 - in a text below


class Model:
    """A user-defined embedder and reranker."""

    name = "model"

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    async def rerank(
        self, query: str, documents: Sequence[hr.RerankDocument], /
    ) -> list[hr.RerankScore]:
        del query
        return [hr.RerankScore(i, 1.0) for i, _ in enumerate(documents)]


def search(retriever: hr.Retriever, text: str, **options: Unpack[SearchKeywords]) -> hr.Response:
    return retriever.search(text, **options)


def index() -> hr.Index:
    index = hr.Index.in_memory()
    index.upsert([hr.Chunk("a", "p", "oak", metadata={"year": 2024})])
    return index


def test_queries() -> None:
    query = hr.parse_query('oak OR "elm"')
    assert_type(query, hr.Query)
    assert_type(query.tokens, tuple[hr.Token, ...])
    assert_type(query.tokens[0].kind, Literal["term", "phrase", "prefix"])
    assert_type(query.tokens[0].operator, Literal["AND", "OR", "NOT"] | None)
    assert_type(query.has_operators, bool)
    aliases: Aliases = {"k8s": ["kubernetes"]}
    operator: Operator = "AND"
    assert_type(hr.compile_match("k8s", aliases, operator=operator), str)
    assert_type(hr.compile_many(["oak"], target="match"), list[str])
    explanation = hr.explain_query("oak")
    assert_type(explanation, hr.QueryExplanation)
    assert_type(explanation.words, tuple[hr.ExplainedWord, ...])
    assert_type(hr.AliasTable(aliases)["k8s"], tuple[str, ...])


def test_dates() -> None:
    asked: QuestionDate = date(2026, 4, 18)
    assert_type(hr.parse_question_date(asked), datetime | None)
    assert_type(hr.parse_question_date(datetime(2026, 4, 18)), datetime | None)  # noqa: DTZ001
    expansion = hr.expand_temporal("last Friday", asked)
    assert_type(expansion, hr.TemporalExpansion)
    assert_type(expansion.date_hints, tuple[str, ...])


def test_the_index() -> None:
    with index() as opened:
        assert_type(opened, hr.Index)
        assert_type(opened.path, Path | None)
        chunk = opened.get("a")
        assert_type(chunk, hr.Chunk | None)
        assert chunk is not None
        assert_type(chunk.tags, tuple[str, ...])
        assert_type(chunk.embedding, "array[float] | None")
        assert_type(chunk.metadata, dict[str, Any])
        filters: FiltersLike = {"year": 2024}
        assert_type(opened.search_bm25("oak", filters=filters), list[hr.Hit])
        assert_type(opened.search_vector([1.0, 0.0]), list[hr.Hit])
        assert_type([one.id for one in opened.chunks()], list[str])
        assert_type(opened.stats(), hr.IndexStats)
        assert_type(opened.stats().dimensions, int | None)
        assert_type(len(opened), int)


def test_searches() -> None:
    mode: Mode = "bm25"
    retriever = hr.Retriever(index(), ranking=hr.Ranking("best", operator="OR"))
    response = retriever.search("oak", mode=mode, limit=3, candidates=20)
    assert_type(response, hr.Response)
    assert_type(response.results, list[hr.Hit])
    assert_type(response[0], hr.Hit)
    assert_type(response.error, Exception | None)
    assert_type([hit.score for hit in response], list[float])
    hit = response[0]
    assert_type(hit.bm25_rank, int | None)
    assert_type(hit.vector_similarity, float | None)
    trace = response.trace
    assert_type(trace, hr.Trace)
    assert_type(trace.attempts, list[hr.Attempt])
    assert_type(trace.mode, Literal["bm25", "semantic", "hybrid"])
    assert_type(trace.profile, Literal["spec", "best"] | None)
    assert_type(trace.candidates, int)
    assert_type(retriever.search_many(["oak"]), list[hr.Response])
    assert_type(
        retriever.search_many(["oak"], on_error="return"), list[hr.Response | hr.HedgerowError]
    )
    assert_type(search(retriever, "oak", limit=2), hr.Response)
    why = retriever.why_not("oak", "a")
    assert_type(why, hr.WhyNot)
    assert_type(why.keywords, hr.LegRank | None)


def test_models() -> None:
    model = Model()
    embedder: hr.Embedder = model
    either: hr.AnyEmbedder = model
    reranker: hr.AsyncReranker = model
    told: list[tuple[int, int]] = []
    progress: Progress = lambda done, total: told.append((done, total))  # noqa: E731

    async def found() -> hr.Response:
        async with hr.Retriever(index(), embedder=embedder, reranker=reranker) as retriever:
            assert_type(retriever, hr.Retriever)
            assert_type(await retriever.areembed(progress=progress), int)
            return await retriever.asearch("oak", question_date=date(2026, 4, 18))

    assert_type(asyncio.run(found()).trace.rerank_provider, str | None)
    assert either is embedder
    assert told


def test_mistakes_are_found() -> None:
    """Each mistake needs its `ignore`, because mypy reports unused ones."""
    retriever = hr.Retriever(index())

    def wrong() -> None:
        retriever.search("oak", limit="3")  # type: ignore[arg-type]
        retriever.search("oak", mode="vectors")  # type: ignore[arg-type]
        retriever.search_many(["oak"], candidates="60")  # type: ignore[call-overload]
        hr.Retriever(index(), embedder=3)  # type: ignore[arg-type]
        hr.Retriever(index(), ranking=hr.Ranking("better"))  # type: ignore[arg-type]
        hr.compile_fts("oak", operator="NOT")  # type: ignore[arg-type]
        hr.Store.in_memory().visit("a", "b", "yesterday")  # type: ignore[arg-type]

    assert callable(wrong)


def test_stores() -> None:
    with hr.Store.in_memory() as store:
        assert_type(store, hr.Store)
        now: Time = datetime(2026, 4, 18, 9, 30)  # noqa: DTZ001 - it is UTC
        store.upsert([hr.Node("a", updated_at=now), hr.Node("b", last_replayed=date(2026, 4, 1))])
        edges: list[EdgeLike] = [("a", "b"), ("b", "a", 0.5, "causal"), {"a": "a", "b": "b"}]
        visits: list[VisitLike] = [("agent", "a", now), ("agent", "b", 5, "failed")]
        assert_type(store.link_many(edges), int)
        assert_type(store.visit_many(visits), int)
        assert_type(len(store), int)
        assert_type([node.key for node in store], list[str])
        assert_type(list(store), list[hr.Node])
        assert_type(store.get("a"), hr.Node | None)
        assert_type(next(iter(store)).updated_at, int | None)
        legs: Legs = lambda query, leg: [query, leg]  # noqa: E731
        result = store.query("all | sort:weight", now=now, legs=legs, explain=True)
        assert_type(result, hr.QueryResult)
        assert_type(result.stages, list[hr.QueryStage])
        assert_type(result.pairs, list[tuple[str, str, float]])


def test_memory_roots(tmp_path: Path) -> None:
    with hr.MemoryRoot.init(tmp_path) as root:
        assert_type(root, memory.MemoryRoot)
        assert_type(root.status(), memory.RootStatus)
        assert_type(root.status().not_allowed, tuple[memory.TrustRequest, ...])
        assert_type(root.remember("Oak.", title="Oak"), memory.RememberResult)
        report = root.sync()
        assert_type(report, memory.SyncReport)
        assert_type(report.skips, list[memory.Skip])
        assert_type(report.named, list[memory.PassedBy])
        recalled = root.recall("oak")
        assert_type(recalled, memory.Recall)
        assert_type(recalled.results, tuple[memory.RecalledMemory, ...])
        assert_type(recalled.results[0].parts, memory.ScoreParts)
        assert_type(root.process("lint", since=date(2026, 1, 1)), memory.ProcessResult)
        assert_type(root.query("all", now=datetime(2026, 4, 18)), hr.QueryResult)  # noqa: DTZ001
        assert_type(root.graph(), memory.RootGraph)
        assert_type(root.index_state(), memory.IndexState | None)
        assert_type(root.store(), hr.Store)
        agents = root.agents()
        assert_type(agents, hr.agents.Agents)
        assert_type(agents.statuses(date(2026, 4, 18)), list[hr.agents.AgentStatus])
        assert_type(agents.history("nobody"), list[hr.agents.AgentRun])


def test_values() -> None:
    response = search(hr.Retriever(index()), "oak")
    assert_type(response[0], hr.Hit)
    assert_type(response[:1], list[hr.Hit])
    assert_type(response.to_dict(), dict[str, Any])
    assert_type(response[0].tags, tuple[str, ...])
    assert_type(response[0].ordinal, int)
    given: list[ChunkLike] = [hr.Chunk(id="a", path="p", content="oak"), {"id": "b", "content": ""}]
    with hr.Index.from_texts(["oak"], metadatas=[None], stopwords="none") as texts:
        assert_type(texts, hr.Index)
        assert_type(texts.upsert(given), int)
        assert_type(texts.sync_files([]), hr.IndexReport)
        found = hr.evaluate(texts, {"q": "oak"}, {"q": {"a": 1}})
        assert_type(found, hr.Evaluation)
        assert_type(found[0].measures["nDCG@10"], float)
    with hr.Store.in_memory() as store:
        result = store.query("all")
        assert_type(result[:1], list[str])
        assert_type(result.nodes(store), list[hr.Node])
