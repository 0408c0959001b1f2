"""OpenTelemetry: spans and metrics of retrievers (docs/observability.md).

    from hedgerow.otel import instrument

    instrument()

Names and attributes follow OpenTelemetry's semantic conventions for database and generative AI
clients. It needs the extra `otel`, which has only the API: an application configures its SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter, time_ns
from typing import Any

from ._checks import checked_flag, shown
from ._engine import Index, __version__
from ._extras import imports_of
from ._retrieval.observing import Observer, RunningSearch, WatchedCall, observe
from .errors import HedgerowError, InvalidInputError
from .results import Response, Trace
from .typing import Searchable

with imports_of("otel", needed_by="hedgerow.otel"):
    from opentelemetry import metrics, trace
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

__all__ = ["instrument", "uninstrument"]
__dir__ = partial(sorted, __all__)


_SCHEMA = "https://opentelemetry.io/schemas/1.37.0"

# The histogram boundaries given by the conventions.
_OPERATION_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
_ROWS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
_MODEL_SECONDS = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]  # fmt: skip

# The stages in the order in which the engine runs them, and the count of each in the trace.
_STAGES: dict[str, Callable[[Trace], int]] = {
    "vector": lambda trace: trace.vector_count,
    "bm25": lambda trace: trace.attempts[0].hits if trace.attempts else 0,
    "ladder": lambda trace: trace.attempts[-1].hits,
    "fuse": lambda trace: trace.fused_count,
    "reweight": lambda trace: trace.fused_count,
}


def instrument(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    capture_query_text: bool = False,
) -> None:
    """Make every retriever of this process emit spans and metrics, until `uninstrument`.

    Without a provider, the application's global ones are used. `capture_query_text` adds the texts
    of queries as `db.query.text`; they may be private, so the default is False. Another call
    replaces the settings. Running searches keep the settings they started with.

    Raises InvalidInputError for anything but a provider and a flag; importing this module raises MissingExtraError without
    the extra `otel`.
    """
    _check_provider(tracer_provider, "tracer_provider", "get_tracer")
    _check_provider(meter_provider, "meter_provider", "get_meter")
    checked_flag(capture_query_text, "capture_query_text")
    observe(_Telemetry(tracer_provider, meter_provider, capture_query_text=capture_query_text))


def uninstrument() -> None:
    """Stop emitting spans and metrics."""
    observe(None)


def _check_provider(provider: object, name: str, method: str) -> None:
    if provider is not None and not callable(getattr(provider, method, None)):
        raise InvalidInputError(
            f"{name} must be a provider with {method}, not {shown(provider)}", code="invalid_option"
        )


class _Telemetry(Observer):
    def __init__(
        self,
        tracer_provider: TracerProvider | None,
        meter_provider: MeterProvider | None,
        *,
        capture_query_text: bool,
    ) -> None:
        self.tracer = trace.get_tracer("hedgerow", __version__, tracer_provider, _SCHEMA)
        meter = metrics.get_meter("hedgerow", __version__, meter_provider, _SCHEMA)
        self.operations = meter.create_histogram(
            "db.client.operation.duration",
            unit="s",
            description="Duration of database client operations.",
            explicit_bucket_boundaries_advisory=_OPERATION_SECONDS,
        )
        self.rows = meter.create_histogram(
            "db.client.response.returned_rows",
            unit="{row}",
            description="The actual number of records returned by the database operation.",
            explicit_bucket_boundaries_advisory=_ROWS,
        )
        self.models = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_MODEL_SECONDS,
        )
        self.capture_query_text = capture_query_text

    @contextmanager
    def search(self, index: Searchable, queries: Sequence[str]) -> Iterator[RunningSearch]:
        # The conventions' name for a batch of searches.
        operation = "search" if len(queries) == 1 else "BATCH search"
        attributes = _of_database(operation, index)
        given: dict[str, Any] = {}
        if len(queries) != 1:
            given["db.operation.batch.size"] = len(queries)
        if self.capture_query_text and queries:
            given["db.query.text"] = _exportable("; ".join(queries))
        with self._operation(SpanKind.CLIENT, attributes, given, self.operations) as ended:
            span = trace.get_current_span()
            watched = _WatchedSearch(self, span, attributes, ended)
            yield watched

    @contextmanager
    def writing(self, operation: str, index: Searchable, chunks: int) -> Iterator[None]:
        attributes = _of_database(operation, index)
        given = {"hedgerow.chunks": chunks}
        with self._operation(SpanKind.CLIENT, attributes, given, self.operations):
            yield

    @contextmanager
    def embedding(self, embedder: object, texts: int) -> Iterator[WatchedCall]:
        attributes = _of_model("embeddings", _provider(embedder), embedder)
        given = {"hedgerow.embeddings.texts": texts}
        with self._operation(SpanKind.CLIENT, attributes, given, self.models):
            yield _WatchedEmbedding(trace.get_current_span())

    @contextmanager
    def reranking(self, reranker: object, documents: int) -> Iterator[None]:
        attributes = _of_model("rerank", _provider(reranker), reranker)
        given = {"hedgerow.rerank.documents": documents}
        with self._operation(SpanKind.CLIENT, attributes, given, self.models):
            yield

    @contextmanager
    def _operation(
        self,
        kind: SpanKind,
        attributes: Mapping[str, Any],
        given: Mapping[str, Any],
        histogram: Histogram,
    ) -> Iterator[dict[str, Any]]:
        """Run a block in a current span, and record its duration in a histogram.

        Yields a mapping for further attributes of the histogram.
        """
        started = perf_counter()
        ended: dict[str, Any] = {}
        with self.tracer.start_as_current_span(
            _name(attributes),
            kind=kind,
            attributes={**attributes, **given},
            # Messages may quote the query, and tracebacks more, so only the class of the error is
            # recorded.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield ended
            except BaseException as error:
                ended.update(_failed(span, error))
                raise
            finally:
                histogram.record(perf_counter() - started, {**attributes, **ended})


class _WatchedSearch(RunningSearch):
    def __init__(
        self,
        telemetry: _Telemetry,
        span: Span,
        attributes: dict[str, Any],
        ended: dict[str, Any],
    ) -> None:
        self._telemetry = telemetry
        self._span = span
        self._attributes = attributes
        self._ended = ended
        self._began_ns = time_ns()

    def begin(self) -> None:
        self._began_ns = time_ns()

    def answered(self, answers: Sequence[Response | HedgerowError]) -> None:
        found = [answer for answer in answers if isinstance(answer, Response)]
        errors = [answer for answer in answers if not isinstance(answer, Response)]
        rows = sum(len(response) for response in found)
        if errors and not found:
            self._ended.update(_failed(self._span, errors[0]))
        else:
            self._span.set_attribute("db.response.returned_rows", rows)
            self._telemetry.rows.record(rows, self._attributes)
        if len(answers) != 1:
            self._span.set_attribute("hedgerow.search.failed", len(errors))
            return
        traced = getattr(answers[0], "trace", None)
        if isinstance(traced, Trace) and self._span.is_recording():
            self._span.set_attributes(_of_trace(traced))
            self._stages(traced)

    def _stages(self, traced: Trace) -> None:
        """Add a span for each stage of the engine, from the times in the trace."""
        context = trace.set_span_in_context(self._span)
        start = self._began_ns
        for stage, count in _STAGES.items():
            end = start + int(traced.timings[stage] * 1e6)
            if end > start:
                span = self._telemetry.tracer.start_span(
                    f"hedgerow.{stage}",
                    context,
                    attributes={"hedgerow.hits": count(traced)},
                    start_time=start,
                )
                span.end(end)
            start = end


class _WatchedEmbedding(WatchedCall):
    def __init__(self, span: Span) -> None:
        self._span = span

    def embedded(self, rows: Any) -> None:
        try:
            dimensions = len(rows[0])
        except (TypeError, IndexError, KeyError):
            return
        self._span.set_attribute("gen_ai.embeddings.dimension.count", dimensions)


def _name(attributes: Mapping[str, Any]) -> str:
    """Return the name of a span in the conventions' format: the operation and its object."""
    if "db.operation.name" in attributes:
        return f"{attributes['db.operation.name']} {attributes['db.namespace']}"
    model = attributes.get("gen_ai.request.model")
    operation = str(attributes["gen_ai.operation.name"])
    return f"{operation} {model}" if model else operation


def _of_database(operation: str, index: Searchable) -> dict[str, Any]:
    return {
        "db.system.name": "hedgerow",
        "db.namespace": _namespace(index),
        "db.operation.name": operation,
    }


def _namespace(index: Searchable) -> str:
    """Return the name of a file or a collection, without its location."""
    path = index.path if isinstance(index, Index) else None
    name = path.name if path is not None else getattr(index, "name", None)
    return _exportable(name) if isinstance(name, str) else ":memory:"


def _of_model(operation: str, provider: str, model: object) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": operation, "gen_ai.provider.name": provider}
    name = getattr(model, "name", None)
    if isinstance(name, str) and name:
        attributes["gen_ai.request.model"] = _exportable(name)
    return attributes


def _exportable(text: str) -> str:
    """Return the text with lone surrogates escaped, because protobuf rejects them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _provider(adapter: object) -> str:
    """Return the provider of a model: the adapter's server if known, or the class."""
    kind = type(adapter)
    is_served = kind.__module__ == "hedgerow.embedders.served"
    return str(getattr(adapter, "adapter")) if is_served else kind.__qualname__  # noqa: B009 - of any object


def _of_trace(traced: Trace) -> dict[str, Any]:
    values = {
        "mode": traced.mode,
        "fusion": traced.fusion,
        "candidates": traced.fused_count,
        "fell_back_to_bm25": traced.fell_back_to_bm25,
        "reranked": traced.reranked,
        "rerank_skipped_reason": traced.rerank_skipped_reason,
        "error_stage": traced.error_stage,
    }
    return {f"hedgerow.search.{key}": value for key, value in values.items() if value is not None}


def _failed(span: Span, error: BaseException) -> dict[str, Any]:
    """Mark a span as failed. Return the attributes of the error, without its message."""
    span.set_status(Status(StatusCode.ERROR))
    told = {"error.type": type(error).__qualname__}
    if isinstance(error, HedgerowError):
        told = {"error.type": error.code, "db.response.status_code": error.code}
    span.set_attributes(told)
    return told
