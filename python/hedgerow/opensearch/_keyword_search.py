"""The expression of a keyword search as one query, scored as the embedded index scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log1p
from typing import Any, TypedDict

from ._filters import ALL, Query, every, some
from ._tokens import Given, Phrase


class Expression(TypedDict):
    """The search expression; numbers in `any`, `none` and `addends` are positions in `phrases`."""

    phrases: list[Given]
    idf: list[float]
    """Of each phrase."""
    norm: tuple[float, float]
    """The length norm of a chunk without tokens, and what each token adds to it."""
    any: list[list[list[int]]]
    """A chunk must meet one conjunction: hold one alternative of each of its lists."""
    none: list[int]
    """A chunk must hold none of these."""
    addends: list[tuple[int, int, int]]
    """A conjunction, a phrase, and how often what the phrase adds counts in chunks that meet it."""


_FEWEST_CANDIDATES = 300
_MOST_CANDIDATES = 10_000
"""What the server scores again at most, unless it is told otherwise."""


class KeywordSearch:
    """An expression: the query for its chunks, and the frequencies that each hit reports."""

    def __init__(self, expression: Expression, *, named: bool = True) -> None:
        self._expression = expression
        self._phrases = [Phrase.of(given) for given in expression["phrases"]]
        # A phrase without tokens is nowhere. The server would leave out what needs it, names and all.
        self._there = {number for number, phrase in enumerate(self._phrases) if phrase.tokens}
        self._unnamed = set(self._there) if named else set()

    def body(self, filters: Query | None, size: int) -> dict[str, Any]:
        """Return the query for chunks that match and pass, best first up to the rounding of float32."""
        return {"size": size, "track_total_hits": False, "query": self.query(filters)}

    def query(self, filters: Query | None) -> Query:
        """Finds what matches and passes the filters, scored."""
        conjunctions = []
        for number, groups in enumerate(self._expression["any"]):
            possible = [self._there.intersection(group) for group in groups]
            if all(possible):
                conjunctions.append(self._conjunction(possible, self._times(number)))
        found: dict[str, Any] = {"must": [some(conjunctions)]}
        if filters is not None:
            found["filter"] = [filters]
        unwanted = self._there.intersection(self._expression["none"])
        if unwanted:
            found["must_not"] = [self._phrases[number].matching() for number in sorted(unwanted)]
        others = self._unnamed.difference(unwanted)
        if others:
            # These clauses add nothing to scores, but report their frequencies.
            found["should"] = [
                {"constant_score": {"filter": self._named(number), "boost": 0.0}}
                for number in sorted(others)
            ]
        return {"bool": found}

    def frequencies(self, scores: dict[str, float]) -> list[int]:
        """How often a hit holds each phrase, from the scores of the named queries."""
        return [
            phrase.frequency(scores[str(number)]) if str(number) in scores else 0
            for number, phrase in enumerate(self._phrases)
        ]

    def _times(self, conjunction: int) -> dict[int, int]:
        """How often the gain of each phrase counts in chunks that meet a conjunction."""
        times: dict[int, int] = {}
        for number, phrase, count in self._expression["addends"]:
            if number == conjunction and phrase in self._there:
                times[phrase] = times.get(phrase, 0) + count
        return times

    def _conjunction(self, groups: Sequence[set[int]], times: dict[int, int]) -> Query:
        must, conditions = [], []
        for group in map(sorted, groups):
            if all(phrase in times for phrase in group):
                # Scored phrases are not looked up again.
                must.append(some(self._gain(phrase, times.pop(phrase)) for phrase in group))
            else:
                conditions.append(some(map(self._held, group)))
        should = [self._gain(phrase, count) for phrase, count in times.items()]
        if len(must) == 1 and not conditions and not should:
            return must[0]
        parts = {"must": must, "should": should}
        joined: dict[str, Any] = {kind: queries for kind, queries in parts.items() if queries}
        if conditions or not must:
            joined["filter"] = [every(conditions)]
        return {"bool": joined}

    def _gain(self, phrase: int, times: int) -> Query:
        factor = self._expression["idf"][phrase] * 2.2 * times  # k1 + 1
        return self._phrases[phrase].gain(self._name(phrase), factor, self._expression["norm"])

    def _held(self, phrase: int) -> Query:
        return self._named(phrase) if phrase in self._unnamed else self._phrases[phrase].matching()

    def _named(self, phrase: int) -> Query:
        return self._phrases[phrase].scored(self._name(phrase))

    def _name(self, phrase: int) -> str | None:
        """Return the name under which a hit reports the score of a phrase; one query of each has it."""
        if phrase not in self._unnamed:
            return None
        self._unnamed.discard(phrase)
        return str(phrase)


class NativeSearch(KeywordSearch):
    """An expression for which only the best chunks by the server's own BM25 are scored.

    That BM25 weighs lengths differently, so the best are only likely to be among them. But the
    server knows the highest score that a word can add, and skips most chunks that contain only
    common words.
    """

    def __init__(self, expression: Expression) -> None:
        # A query with a name would have to look at every chunk.
        super().__init__(expression, named=False)

    def body(self, filters: Query | None, size: int) -> dict[str, Any]:
        """Finds what matches and passes the filters, and is likely to be among the best."""
        scored = KeywordSearch(self._expression, named=False).query(None)
        named = [self._phrases[number].scored(str(number)) for number in sorted(self._there)]
        window = candidates(size)
        return {
            "size": size,
            "track_total_hits": window + 1,
            "query": self.query(filters),
            "rescore": {
                "window_size": window,
                "query": {"rescore_query": scored, "query_weight": 0.0},
            },
            # Leaves nothing out, and tells the frequencies of the hits alone.
            "post_filter": some([ALL, *named]),
        }

    def _gain(self, phrase: int, times: int) -> Query:
        word = self._phrases[phrase].word
        if word is None:
            return super()._gain(phrase, times)
        # Instead of the server's idf, which counts the chunks of a shard and deleted ones too.
        idf = self._expression["idf"][phrase]
        boost = times * idf / log1p(exp(idf))
        return {"term": {"tokens.native": {"value": word, "boost": boost}}}


def candidates(size: int) -> int:
    """Return the chunks of each shard that a `NativeSearch` scores exactly, for `size` results."""
    return max(size, min(_MOST_CANDIDATES, max(_FEWEST_CANDIDATES, 4 * size)))


def counting(phrases: Sequence[Given]) -> list[dict[str, Any]]:
    """Return searches that count the chunks with tokens, and then the chunks with each phrase.

    There is a search for each phrase: without deletions, the server has the number of chunks of a
    word ready. A single search with a filter for each phrase would examine every chunk.
    """
    matching = [Phrase.of(given).matching() for given in phrases]
    count = {"size": 0, "track_total_hits": True}
    totals = {**count, "aggs": {"tokens": {"sum": {"field": "length"}}}}
    return [totals, *({**count, "query": query} for query in matching)]
