"""A state of a collection, and the reads of a search."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, Literal

from hedgerow._engine import Chunk, Filters
from hedgerow.errors import InvalidInputError

from ._client import Client, Deadline, partial_results
from ._documents import chunk_of, unit_of
from ._facts import LONGEST_TEXT
from ._filters import ALL, Query, every, has_any, of_paths, translated
from ._keyword_search import Expression, KeywordSearch, NativeSearch, candidates, counting
from ._mapping import EXACT, HASHES, MOST_HITS, Fast, MappedCollection, check_embedder
from ._tokens import Given

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self


KeywordHit = tuple[str, str, int, list[int]]
VectorHit = tuple[str, str, bytes]
SpreadOf = Literal["chunks", "paths"]
Spread = tuple[int, float, float]
_Key = tuple[tuple[tuple[str, ...], bool], ...]

_KEEP_ALIVE = "2m"
_PAGE = 10_000
_FEW = 500  # of whole chunks
_NO_SOURCE: dict[str, Any] = {"stored_fields": "_none_"}
_SAMPLE = 1024
"""The fewest chunks or paths of a sample, or about as many; it has at most about twice as many."""
_MOST_PATHS = 10_000
"""More paths than a sample has."""
_MOST_NEIGHBORS = 10_000
"""The most hits of a nearest-neighbor query, by the server's limit for `k`."""
_COSINE = {
    "source": "double score = _score.doubleValue(); return score >= 1 ? score - 1 : 1 - 1 / score"
}
"""Like `_cosine`, on the server."""
_WITH_VECTOR: Query = {"exists": {"field": "unit"}}


class PointInTime:
    """The reads of a search, all of one state. Threads may share it.

    Raises BackendError where a shard does not answer, unless `allow_partial`: then `report` names
    the missing shards.
    """

    def __init__(  # noqa: PLR0913 - what a search depends on
        self,
        client: Client,
        collection: MappedCollection,
        filters: Filters | None,
        timeout: float | None,
        *,
        allow_partial: bool,
        fast: Fast = EXACT,
    ) -> None:
        self._client = client
        self._collection = collection
        self._deadline = Deadline(client.timeout if timeout is None else timeout)
        self._allow_partial = allow_partial
        self._fast = fast
        self._report = Report()
        self._counted: dict[_Key, list[dict[str, Any]]] = {}
        wanted = translated(filters)
        self._filter = wanted.query
        self._id = self._opened()
        try:
            self._check_exact(wanted.whole)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the state on the server, immediately or together with others."""
        self._client.forget(self._id, self._deadline)

    @property
    def approximate(self) -> bool:
        """Whether vector hits may miss some of the nearest."""
        return self._fast.vectors

    def dimensions(self) -> int | None:
        """The number of dimensions of a vector; None before the first vector."""
        return self._collection.dimensions

    def check_embedder(self, embedder: str) -> None:
        """Raise InvalidInputError unless this embedder made the vectors, or none is known."""
        check_embedder(self._collection, embedder)

    def counts(self, phrases: Sequence[Given]) -> tuple[int, int, list[int]]:
        """The number of chunks, of their tokens, and of the chunks that hold each phrase.

        No filter applies, and deleted chunks do not count.
        """
        counted = self._counted.pop(_key(phrases), None)
        if counted is None:
            answers = self._search_all(counting(phrases))
        else:
            answers = [self._checked(answer) for answer in counted]
        all_chunks, *held = (answer["hits"]["total"]["value"] for answer in answers)
        return all_chunks, round(answers[0]["aggregations"]["tokens"]["value"]), held

    def keyword_hits(self, search: Expression, limit: int) -> tuple[list[KeywordHit], float | None]:
        """The best chunks: id, path, tokens, and their frequency of each phrase, weighted.

        The second value is the server's score of the last, None at the end. With fast keywords
        these are some of the best, with no such score.
        """
        size = min(limit, MOST_HITS)
        # The server has all of many scored, rather than a larger part of them twice.
        is_native = self._fast.keywords and candidates(size) > size
        expression = NativeSearch(search) if is_native else KeywordSearch(search)
        body = {**expression.body(self._filter, size), **_NO_SOURCE}
        body["docvalue_fields"] = ["id", "path", "length"]
        answer = self._search(body, include_named_queries_score="true")["hits"]
        hits = answer["hits"]
        found = [
            (
                hit["fields"]["id"][0],
                hit["fields"]["path"][0],
                hit["fields"]["length"][0],
                expression.frequencies(hit.get("matched_queries", {})),
            )
            for hit in hits
        ]
        self._report.rescored(len(found))
        if not is_native:
            return found, _floor(hits, limit)
        if answer["total"]["value"] > candidates(size):
            self._report.approximate()
        return found, None

    def vector_hits(
        self,
        vector: Sequence[float],
        limit: int,
        expected: Sequence[Given] = (),
        spread: SpreadOf | None = None,
    ) -> tuple[list[VectorHit], float | None, Spread | None]:
        """The nearest chunks by the inner product with a unit vector: id, path, stored vector.

        The second value is the server's cosine of the last, None at the end. The third is the number of
        chunks with a vector, and mean and deviation of their cosines, or of the highest of each path, by a
        sample of many; None without `spread`. Phrases expected in the next count are counted in the same
        request.
        """
        if self._collection.dimensions is None:
            return [], None, None
        size = min(limit, MOST_HITS)
        body = {"size": size, "query": self._nearest(list(vector), size), **_NO_SOURCE}
        body["docvalue_fields"] = ["id", "path", "unit"]
        bodies = [{"track_total_hits": False, **body}]
        chunks = 0
        if spread is not None:
            chunks, measured = self._spread_of(spread, list(vector))
            bodies.append(measured)
        answers = self._search_with_counts(bodies, expected)
        hits = answers[0]["hits"]["hits"]
        found = [
            (hit["fields"]["id"][0], hit["fields"]["path"][0], unit_of(hit["fields"]) or b"")
            for hit in hits
        ]
        self._report.rescored(len(found))
        floor = _floor(hits, limit)
        return (
            found,
            None if floor is None else _cosine(floor),
            None if spread is None else (chunks, *_mean_and_deviation(answers[-1])),
        )

    def vectors(self, ids: Sequence[str]) -> list[bytes | None]:
        """The stored vectors of chunks, in the order of their ids."""
        return self._by_id(ids, lambda hit: unit_of(hit.get("fields", {})), fields=["unit"])

    def chunks(self, ids: Sequence[str]) -> list[Chunk | None]:
        """The chunks of some ids, in their order, without their vectors."""
        return self._by_id(ids, lambda hit: chunk_of(hit["_source"]), source=True)

    def in_paths(self, paths: Sequence[str]) -> list[tuple[str, str, int]]:
        """Id, path and ordinal of all chunks of some paths that pass the filters."""
        return self._all(of_paths(paths), "id", "path", "ordinal")

    def paths(self) -> list[str]:
        """The different paths of the chunks that pass the filters."""
        found: list[str] = []
        source = {"sources": [{"path": {"terms": {"field": "path"}}}], "size": _PAGE}
        after: dict[str, Any] = {}
        while True:
            aggregation = {"paths": {"composite": {**source, **after}}}
            body = {"size": 0, "query": self._passing(), "aggs": aggregation}
            buckets = self._search({**body, "track_total_hits": False})["aggregations"]["paths"]
            found += [bucket["key"]["path"] for bucket in buckets["buckets"]]
            if "after_key" not in buckets:
                return found
            after = {"after": buckets["after_key"]}

    def ids(self) -> list[str]:
        """The ids of the chunks that pass the filters, in ascending order."""
        return [found for (found,) in self._all(ALL, "id")]

    def chunk_count(self) -> int:
        """The number of chunks that pass the filters."""
        return self._count(self._passing())

    def vector_count(self) -> int:
        """The number of chunks that pass the filters and have a vector."""
        return self._count(self._passing(_WITH_VECTOR))

    def _count(self, query: Query) -> int:
        answer = self._search({"size": 0, "query": query, "track_total_hits": True})
        count: int = answer["hits"]["total"]["value"]
        return count

    def all_vectors(self) -> list[bytes]:
        """The vectors of the chunks that pass the filters."""
        hits = self._pages(self._passing(_WITH_VECTOR), ["id", "unit"])
        return [unit for hit in hits if (unit := unit_of(hit["fields"])) is not None]

    def whole_chunks(self, query: Query = ALL) -> Iterator[Chunk]:
        """The chunks that a query finds and that pass the filters, by id, with their vectors."""
        for hit in self.everything(["id", "unit"], query):
            yield chunk_of(hit["_source"], unit_of(hit["fields"]))

    def everything(self, fields: list[str], query: Query = ALL) -> Iterator[dict[str, Any]]:
        """The documents that a query finds and that pass the filters, by id, with these fields."""
        return self._pages(self._passing(query), fields, source=True, page=_FEW)

    def report(self) -> dict[str, Any]:
        """How the answers were found, for the trace."""
        return self._report.trace()

    def _nearest(self, vector: list[float], limit: int) -> Query:
        wanted: dict[str, Any] = {"vector": vector, "k": limit}
        if self._fast.vectors:
            self._report.approximate()
            if self._filter is not None:
                wanted["filter"] = self._filter
        else:
            chunks = self._passing(_WITH_VECTOR)
            if self._collection.settings.fast.vectors or limit > _MOST_NEIGHBORS:
                return self._compared(vector, chunks)
            # Without a filter, deleted chunks would take the places of others.
            wanted["filter"] = chunks
        return {"knn": {"vector": wanted}}

    def _compared(self, vector: list[float], chunks: Query) -> Query:
        """The query that scores these chunks, exactly."""
        script = {
            "source": "knn_score",
            "lang": "knn",
            "params": {"field": "vector", "query_value": vector, "space_type": "innerproduct"},
        }
        return {"script_score": {"query": chunks, "script": script}}

    def _spread_of(self, spread: SpreadOf, vector: list[float]) -> tuple[int, dict[str, Any]]:
        """The number of chunks with a vector, and the search that measures the spread of their cosines.

        Of many chunks or paths it compares a sample: those with the lowest hashes.
        """
        chunks, paths = self._numbers_with_vector()
        field, count = ("sample", chunks) if spread == "chunks" else ("path_sample", paths)
        last = HASHES // max(1, count // _SAMPLE) - 1
        query = every([_WITH_VECTOR, {"range": {field: {"lte": last}}}])
        cosines = {"script": _COSINE}
        if spread == "chunks":
            aggregations: dict[str, Any] = {"spread": {"extended_stats": cosines}}
        else:
            aggregations = {
                "paths": {
                    "terms": {"field": "path", "size": _MOST_PATHS},
                    "aggs": {"best": {"max": cosines}},
                },
                "spread": {"extended_stats_bucket": {"buckets_path": "paths>best"}},
            }
        compared = self._compared(vector, self._passing(query))
        body = {"size": 0, "query": compared, "track_total_hits": False, "aggs": aggregations}
        return chunks, body

    def _numbers_with_vector(self) -> tuple[int, int]:
        """The number of chunks that pass the filters and have a vector, and about that of their paths."""
        count = {"paths": {"cardinality": {"field": "path"}}}
        body = {"size": 0, "query": self._passing(_WITH_VECTOR), "aggs": count}
        answer = self._search({**body, "track_total_hits": True})
        paths = int(answer["aggregations"]["paths"]["value"])
        return answer["hits"]["total"]["value"], paths

    def _passing(self, query: Query = ALL) -> Query:
        return query if self._filter is None else every([query, self._filter])

    def _all(self, query: Query, *fields: str) -> list[tuple[Any, ...]]:
        hits = self._pages(self._passing(query), list(fields))
        return [tuple(hit["fields"][field][0] for field in fields) for hit in hits]

    def _pages(
        self, query: Query, fields: list[str], *, source: bool = False, page: int = _PAGE
    ) -> Iterator[dict[str, Any]]:
        """Every hit, by id; `fields` has the id among them."""
        wanted = {"_source": True} if source else _NO_SOURCE
        body = {"size": page, "query": query, "sort": [{"id": "asc"}], **wanted}
        after: dict[str, Any] = {}
        while True:
            hits = self._hits({**body, **after, "docvalue_fields": fields})
            yield from hits
            if len(hits) < page:
                return
            after = {"search_after": hits[-1]["sort"]}

    def _by_id(
        self,
        ids: Sequence[str],
        read: Callable[[dict[str, Any]], Any],
        *,
        fields: Sequence[str] = (),
        source: bool = False,
    ) -> list[Any]:
        found: dict[str, Any] = {}
        wanted = list(dict.fromkeys(ids))
        for at in range(0, len(wanted), _PAGE):
            block = wanted[at : at + _PAGE]
            body: dict[str, Any] = {"size": len(block), "query": {"terms": {"id": block}}}
            body["docvalue_fields"] = ["id", *fields]
            body.update({"_source": True} if source else _NO_SOURCE)
            for hit in self._hits(body):
                found[hit["fields"]["id"][0]] = read(hit)
        return [found.get(wanted_id) for wanted_id in ids]

    def _check_exact(self, facts: Sequence[str]) -> None:
        """Refuse a filter that texts in the collection are too long for."""
        if not facts:
            return
        query = has_any(list(facts))
        answer = self._search({"size": 0, "query": query, "track_total_hits": 1})
        if answer["hits"]["total"]["value"]:
            raise _too_long()

    def _hits(self, body: dict[str, Any], **params: str) -> list[dict[str, Any]]:
        answer = self._search({"track_total_hits": False, **body}, **params)
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        return hits

    def _search_with_counts(
        self, bodies: Sequence[dict[str, Any]], expected: Sequence[Given]
    ) -> list[dict[str, Any]]:
        """Answer searches; errors of the expected counts are raised when the counts are read."""
        try:
            counts = counting(expected) if expected else []
        except InvalidInputError:
            counts = []  # raised again when the counts are asked for
        if not counts:
            return self._search_all(bodies)
        answers = self._answers([*bodies, *counts])
        self._counted[_key(expected)] = answers[len(bodies) :]
        return [self._checked(answer) for answer in answers[: len(bodies)]]

    def _search(self, body: dict[str, Any], **params: str) -> dict[str, Any]:
        answer = self._client.call(
            "POST",
            "/_search",
            {**body, "pit": self._pit()},
            deadline=self._deadline,
            params={**self._limits(), **params},
        )
        return self._checked(answer)

    def _search_all(self, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Several searches in one request."""
        if len(bodies) == 1:
            return [self._search(bodies[0])]
        return [self._checked(answer) for answer in self._answers(bodies)]

    def _answers(self, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the server's answers to several searches in one request. Each may be an error."""
        header = {"allow_partial_search_results": self._allow_partial}
        parts = [part for body in bodies for part in (header, {**body, "pit": self._pit()})]
        lines = "".join([json.dumps(part, ensure_ascii=False) + "\n" for part in parts])
        answer = self._client.call("POST", "/_msearch", lines, deadline=self._deadline)
        answers: list[dict[str, Any]] = answer["responses"]
        return answers

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer, unless a part of it is missing."""
        if "error" in answer:
            raise self._client.problem_of(answer)
        shards = answer["_shards"]
        missing = shards["total"] - shards["successful"]
        if (missing or answer.get("timed_out")) and not self._allow_partial:
            raise partial_results(self._client.name, f"{missing} of {shards['total']}")
        self._report.answered(shards)
        return answer

    def _opened(self) -> str:
        answer = self._client.call(
            "POST",
            # Not the name, behind which there may be another index by now, with other vectors.
            self._client.path("/_search/point_in_time", of=self._collection.index),
            deadline=self._deadline,
            params={
                "keep_alive": _KEEP_ALIVE,
                "allow_partial_pit_creation": str(self._allow_partial).lower(),
            },
        )
        self._checked(answer)
        opened: str = answer["pit_id"]
        return opened

    def _pit(self) -> dict[str, str]:
        return {"id": self._id, "keep_alive": _KEEP_ALIVE}

    def _limits(self) -> dict[str, str]:
        limits = {"allow_partial_search_results": str(self._allow_partial).lower()}
        left = self._deadline.left(self._client.name)
        if left is not None:
            # The server stops computing a cancelled search.
            limits["cancel_after_time_interval"] = f"{max(1, round(left * 1000))}ms"
        return limits


def _key(phrases: Sequence[Given]) -> _Key:
    return tuple((tuple(tokens), prefix) for tokens, prefix in phrases)


def _floor(hits: Sequence[dict[str, Any]], limit: int) -> float | None:
    """The score of the last hit where there may be more than the limit."""
    if len(hits) < min(limit, MOST_HITS):
        return None
    if limit > MOST_HITS:
        raise InvalidInputError(
            f"more than {MOST_HITS:,} chunks would have to be looked at; ask for fewer hits, or use "
            "narrower filters",
            code="unsupported_by_backend",
        )
    floor: float = hits[-1]["_score"]
    return floor


def _cosine(score: float) -> float:
    """Return the inner product of a score of the server: 1 + p, or 1 / (1 - p) below 0."""
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / score


def _mean_and_deviation(answer: Mapping[str, Any]) -> tuple[float, float]:
    found = answer["aggregations"]["spread"]
    # null without a chunk
    return found["avg"] or 0.0, found["std_deviation"] or 0.0


def _too_long() -> InvalidInputError:
    return InvalidInputError(
        f"the collection has texts of more than {LONGEST_TEXT:,} characters in a field that the filter "
        "has a pattern for, and knows only their beginning; filter by another field, or search an index",
        code="unsupported_by_backend",
    )


class Report:
    """Problems met by the requests of one search. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shards = {"total": 0, "successful": 0}
        self._missing: list[str] = []
        self._approximate = False
        self._rescored = 0

    def answered(self, shards: Mapping[str, Any]) -> None:
        """Note which shards an answer comes from."""
        with self._lock:
            seen = self._shards
            seen["total"] = max(seen["total"], shards["total"])
            least = seen["successful"] or shards["successful"]
            seen["successful"] = min(least, shards["successful"])
            for failure in shards.get("failures", ()):
                name = f"{failure.get('index')}[{failure.get('shard')}]"
                if name not in self._missing:
                    self._missing.append(name)

    def rescored(self, count: int) -> None:
        """Record that `count` hits were scored again here."""
        with self._lock:
            self._rescored += count

    def approximate(self) -> None:
        """Hits may miss some of the best."""
        self._approximate = True

    def trace(self) -> dict[str, Any]:
        """The fields of the trace."""
        with self._lock:
            # The server names one shard of those that fail for the same reason.
            unnamed = self._shards["total"] - self._shards["successful"] - len(self._missing)
            others = [f"{unnamed} more"] if unnamed > 0 else []
            return {
                "backend": "opensearch",
                "shards": dict(self._shards),
                "approximate": self._approximate,
                "rescored": self._rescored,
                "missing": [*self._missing, *others],
            }
