"""`hedgerow.otel`: the spans and metrics of searches, embedders and writes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import hedgerow as hr
from hedgerow._retrieval.observing import Observer, observer
from hedgerow.otel import _provider, instrument, uninstrument
from hostile_calls import HOSTILE
from retrieval_doubles import (
    AsyncFakeReranker,
    AsyncFnvEmbedder,
    BrokenEmbedder,
    FakeReranker,
    FnvEmbedder,
    corpus,
)


@dataclass
class Telemetry:
    """The exported spans and metrics."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    tracers: TracerProvider
    meters: MeterProvider

    def instrument(self, **options: Any) -> None:
        instrument(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    def spans(self) -> dict[str, ReadableSpan]:
        """Return the spans by name, in the order of their start. Each name must be unique."""
        found = sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
        assert len({span.name for span in found}) == len(found)
        self.exporter.clear()
        return {span.name: span for span in found}

    def points(self, name: str) -> list[Any]:
        """Return the data points of a metric."""
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    corpus("b")  # created once, before the measurements
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    made = Telemetry(exporter, reader, tracers, MeterProvider([reader]))
    made.instrument()
    yield made
    uninstrument()
    tracers.shutdown()
    made.meters.shutdown()


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def test_a_search_is_a_span_with_its_stages(telemetry: Telemetry) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=FnvEmbedder(), reranker=FakeReranker("reverse"))
    response = retriever.search("kaas")
    spans = telemetry.spans()
    search = spans["search :memory:"]
    assert (search.kind, search.parent) == (SpanKind.CLIENT, None)
    assert search.status.status_code is StatusCode.UNSET
    assert search.instrumentation_scope.name == "hedgerow"
    assert dict(search.attributes) == {
        "db.system.name": "hedgerow",
        "db.namespace": ":memory:",
        "db.operation.name": "search",
        "db.response.returned_rows": len(response),
        "hedgerow.search.mode": "hybrid",
        "hedgerow.search.fusion": "rrf",
        "hedgerow.search.candidates": response.trace.fused_count,
        "hedgerow.search.fell_back_to_bm25": False,
        "hedgerow.search.reranked": True,
    }
    assert list(spans) == [
        "search :memory:", "embeddings fnv64", "hedgerow.vector", "hedgerow.bm25", "hedgerow.fuse",
        "hedgerow.reweight", "rerank fake-reverse",
    ]  # fmt: skip
    children = [span for span in spans.values() if span is not search]
    assert {parent_of(span) for span in children} == {search.context.span_id}
    for child in children:
        assert search.start_time <= child.start_time <= child.end_time <= search.end_time
    for stage, hits in [
        ("vector", response.trace.vector_count),
        ("bm25", response.trace.bm25_count),
        ("fuse", response.trace.fused_count),
    ]:
        span = spans[f"hedgerow.{stage}"]
        assert (span.kind, span.attributes["hedgerow.hits"]) == (SpanKind.INTERNAL, hits)
        took = (span.end_time - span.start_time) / 1e6
        assert took == pytest.approx(response.trace.timings[stage], abs=0.001)


def test_models_are_called_as_generative_ai_is(telemetry: Telemetry) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=FnvEmbedder(), reranker=FakeReranker("reverse"))
    retriever.search("kaas")
    spans = telemetry.spans()
    embeddings = spans["embeddings fnv64"]
    assert embeddings.kind is SpanKind.CLIENT
    assert dict(embeddings.attributes) == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "FnvEmbedder",
        "gen_ai.request.model": "fnv64",
        "gen_ai.embeddings.dimension.count": 64,
        "hedgerow.embeddings.texts": 1,
    }
    assert spans["rerank fake-reverse"].attributes["hedgerow.rerank.documents"] > 1
    operations = {
        point.attributes["gen_ai.operation.name"]: point
        for point in telemetry.points("gen_ai.client.operation.duration")
    }
    assert {name: point.count for name, point in operations.items()} == {
        "embeddings": 1, "rerank": 1,
    }  # fmt: skip
    assert operations["embeddings"].explicit_bounds[:3] == (0.01, 0.02, 0.04)


def test_adapters_name_their_provider() -> None:
    local = "http://127.0.0.1:9/v1"
    with hr.embedders.OllamaEmbedder("nomic") as embedder:
        assert _provider(embedder) == "ollama"
    with hr.embedders.OpenAIEmbedder("bge", base_url=local) as embedder:
        assert _provider(embedder) == "openai"


def test_the_duration_of_operations_is_measured(telemetry: Telemetry, tmp_path: Path) -> None:
    with hr.Retriever(tmp_path / "notes.db", create=True) as retriever:
        retriever.upsert([hr.Chunk("a", "a.md", "oak"), hr.Chunk("b", "b.md", "oak")])
        for _ in range(3):
            retriever.search("oak")
        retriever.search_many(["oak", "elm"])
    counts = {
        point.attributes["db.operation.name"]: point.count
        for point in telemetry.points("db.client.operation.duration")
    }
    assert counts == {"upsert": 1, "search": 3, "BATCH search": 1}
    [point, *_] = telemetry.points("db.client.operation.duration")
    assert point.attributes["db.namespace"] == "notes.db"
    assert point.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
    rows = {
        point.attributes["db.operation.name"]: (point.count, point.sum)
        for point in telemetry.points("db.client.response.returned_rows")
    }
    assert rows == {"search": (3, 6), "BATCH search": (1, 2)}


def test_a_batch_is_one_span(telemetry: Telemetry) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=FnvEmbedder())
    found = retriever.search_many(["kaas", "\ud800", "huis"], on_error="return")
    spans = telemetry.spans()
    assert list(spans) == ["BATCH search :memory:", "embeddings fnv64"]
    attributes = spans["BATCH search :memory:"].attributes
    assert attributes["db.operation.batch.size"] == 3
    assert attributes["db.response.returned_rows"] == len(found[0]) + len(found[2])
    assert attributes["hedgerow.search.failed"] == 1
    assert spans["embeddings fnv64"].attributes["hedgerow.embeddings.texts"] == 2


@pytest.mark.parametrize("many", [False, True])
def test_texts_are_told_when_asked_for(telemetry: Telemetry, many: bool) -> None:
    retriever = hr.Retriever(corpus("b"))

    def search() -> ReadableSpan:
        if many:
            retriever.search_many(["kaas", "huis"])
            return telemetry.spans()["BATCH search :memory:"]
        retriever.search("kaas")
        return telemetry.spans()["search :memory:"]

    assert "kaas" not in str(search().attributes)
    telemetry.instrument(capture_query_text=True)
    assert search().attributes["db.query.text"] == ("kaas; huis" if many else "kaas")


def test_half_a_surrogate_pair_is_told_too(telemetry: Telemetry) -> None:
    telemetry.instrument(capture_query_text=True)
    with pytest.raises(hr.InvalidInputError, match="surrogate"):
        hr.Retriever(corpus("b")).search_many(["\ud800"])
    assert telemetry.spans()["search :memory:"].attributes["db.query.text"] == "\\ud800"


def test_failures_have_their_code_and_no_message(telemetry: Telemetry) -> None:
    retriever = hr.Retriever(corpus("b"), embedder=BrokenEmbedder(), on_leg_failure="raise")
    with pytest.raises(hr.RetrievalError):
        retriever.search("kaas")
    spans = telemetry.spans()
    search, embeddings = spans["search :memory:"], spans["embeddings"]
    for span, kind in [(search, "leg_failed"), (embeddings, "ConnectionError")]:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes["error.type"], span.status.description) == (kind, None)
        assert span.events == ()
    assert search.attributes["db.response.status_code"] == "leg_failed"
    assert search.attributes["hedgerow.search.error_stage"] == "vector"
    assert "gen_ai.request.model" not in embeddings.attributes
    [point] = telemetry.points("db.client.operation.duration")
    assert (point.attributes["error.type"], point.count) == ("leg_failed", 1)


def test_what_degrades_is_told(telemetry: Telemetry) -> None:
    hr.Retriever(corpus("b"), embedder=BrokenEmbedder()).search("kaas")
    search = telemetry.spans()["search :memory:"]
    assert search.status.status_code is StatusCode.UNSET
    assert search.attributes["hedgerow.search.error_stage"] == "vector"
    assert search.attributes["hedgerow.search.fell_back_to_bm25"] is True


def test_wrong_rows_are_told_once(telemetry: Telemetry) -> None:
    class NoRows(FnvEmbedder):
        def embed(self, _texts: Any, /) -> Any:
            return []

    with pytest.raises(hr.HedgerowError, match="0 rows"):
        hr.Retriever(corpus("b"), embedder=NoRows()).search("kaas")
    assert telemetry.spans()["search :memory:"].attributes["error.type"] == "bad_answer"


def test_under_asyncio_each_search_has_its_own_children(telemetry: Telemetry) -> None:
    seen = []

    class Asking(AsyncFnvEmbedder):
        async def embed(self, texts: Any, /) -> Any:
            await asyncio.sleep(0.01)
            seen.append(trace.get_current_span().get_span_context().span_id)
            return await super().embed(texts)

    async def both() -> None:
        retriever = hr.Retriever(
            corpus("b"), embedder=Asking(), reranker=AsyncFakeReranker("reverse")
        )
        with telemetry.tracers.get_tracer("test").start_as_current_span("request"):
            await asyncio.gather(retriever.asearch("kaas"), retriever.asearch("huis"))

    asyncio.run(both())
    spans = telemetry.exporter.get_finished_spans()
    [request] = [span for span in spans if span.name == "request"]
    searches = [span for span in spans if span.name == "search :memory:"]
    assert [parent_of(span) for span in searches] == [request.context.span_id] * 2
    for name in ("embeddings fnv64", "hedgerow.bm25", "rerank fake-reverse"):
        parents = {parent_of(span) for span in spans if span.name == name}
        assert parents == {span.context.span_id for span in searches}
    calls = {span.context.span_id for span in spans if span.name == "embeddings fnv64"}
    assert set(seen) == calls, "what an embedder calls is below its span"
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_cancelled_search_ends_its_spans(telemetry: Telemetry) -> None:
    class Endless(AsyncFnvEmbedder):
        async def embed(self, _texts: Any, /) -> Any:
            await asyncio.sleep(300)

    async def cancelled() -> None:
        retriever = hr.Retriever(corpus("b"), embedder=Endless())
        await asyncio.wait_for(retriever.asearch("kaas"), 0.02)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(cancelled())
    for span in telemetry.spans().values():
        assert span.status.status_code is StatusCode.ERROR


def test_documents_that_are_embedded(telemetry: Telemetry, tmp_path: Path) -> None:
    with hr.Retriever(tmp_path / "notes.db", embedder=FnvEmbedder(), create=True) as retriever:
        retriever.upsert([hr.Chunk("a", "a.md", "oak"), hr.Chunk("b", "b.md", "elm")])
        spans = telemetry.spans()
        assert list(spans) == ["upsert notes.db", "embeddings fnv64"]
        assert spans["upsert notes.db"].attributes["hedgerow.chunks"] == 2
        assert parent_of(spans["embeddings fnv64"]) == spans["upsert notes.db"].context.span_id


def test_the_ladder_is_a_stage(telemetry: Telemetry) -> None:
    response = hr.Retriever(corpus("b")).search("kaaas")
    spans = telemetry.spans()
    assert spans["hedgerow.ladder"].attributes["hedgerow.hits"] == response.trace.attempts[-1].hits
    assert spans["hedgerow.bm25"].attributes["hedgerow.hits"] == 0


def test_without_it_nothing_is_made(telemetry: Telemetry) -> None:
    uninstrument()
    assert type(observer()) is Observer
    hr.Retriever(corpus("b"), embedder=FnvEmbedder()).search("kaas")
    assert telemetry.spans() == {}


def test_a_provider_that_makes_nothing_will_do() -> None:
    instrument()
    try:
        assert hr.Retriever(corpus("b")).search("kaas")
    finally:
        uninstrument()


@pytest.mark.parametrize("kind", sorted(HOSTILE.keys() - {"None"}))
def test_what_is_no_provider(kind: str) -> None:
    with pytest.raises(TypeError, match="tracer_provider must be a provider with get_tracer, not"):
        instrument(tracer_provider=HOSTILE[kind]())
    with pytest.raises(TypeError, match="meter_provider must be a provider with get_meter, not "):
        instrument(meter_provider=HOSTILE[kind]())
    assert type(observer()) is Observer


def test_nothing_is_imported_for_it() -> None:
    code = (
        "import sys, hedgerow as hr; hr.Retriever(hr.Index.in_memory()).search('oak');"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None; import hedgerow.otel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'run: pip install "hedgerow[otel]"' in done.stderr.splitlines()[-1]
