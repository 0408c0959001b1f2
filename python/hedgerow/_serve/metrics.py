"""The metrics of a server, for Prometheus."""

from __future__ import annotations

from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts requests by route, never by their content."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names = ("route", "method")
        self._requests = Counter(
            "hedgerow_requests",
            "Requests that were answered.",
            (*names, "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "hedgerow_request_seconds",
            "How long answers took.",
            names,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=self._registry,
        )
        self._running = Gauge(
            "hedgerow_requests_running", "Requests without an answer yet.", registry=self._registry
        )

    def text(self) -> bytes:
        """All counts, as Prometheus reads them."""
        return generate_latest(self._registry)

    def around(self, app: ASGIApp) -> ASGIApp:
        """Count the requests that an application answers."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status = "500"

            async def noted(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = str(message["status"])
                await send(message)

            began = perf_counter()
            try:
                with self._running.track_inprogress():
                    await app(scope, receive, noted)
            finally:
                # A path without a route, and a method that HTTP does not define, may be any text: a
                # client that makes them up must not add a time series with each.
                route = getattr(scope.get("route"), "path", "other")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._requests.labels(route, method, status).inc()
                self._seconds.labels(route, method).observe(perf_counter() - began)

        return counted
