"""Filters as queries on facts, with exactly the meaning of spec/filters.md."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hedgerow._engine import Filters
from hedgerow.errors import InvalidInputError

from . import _facts
from ._facts import instant

Query = dict[str, Any]

ALL: Query = {"match_all": {}}
NONE: Query = {"match_none": {}}

_MOST_TERMS = 65_536  # of one query, unless a server was told otherwise
_LONGEST_BOUND = 900  # bytes: Lucene makes an automaton of a range, with at most 1,000 states
_OWN = ("id", "path", "ordinal", "tags")
_RANGES = {"$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}


@dataclass(frozen=True)
class FilterQuery:
    """A filter as a query; None where every chunk passes."""

    query: Query | None = None
    whole: tuple[str, ...] = ()
    """Facts of which no chunk may have any, or the query would not be exact."""


def translated(filters: Filters | None) -> FilterQuery:
    """The query of filters; raises InvalidInputError for what no query says exactly."""
    if filters is None:
        return FilterQuery()
    translator = _Translator()
    queries = list(translator.arguments(filters))
    if not queries:
        return FilterQuery()
    return FilterQuery(every(queries), tuple(sorted(translator.whole)))


def every(queries: Iterable[Query]) -> Query:
    """Return a query for the common results of these; every chunk without queries."""
    wanted = [query for query in queries if query != ALL]
    if len(wanted) == 1:
        return wanted[0]
    return {"bool": {"filter": wanted}} if wanted else ALL


def some(queries: Iterable[Query]) -> Query:
    """Return a query for the union of the results of these; empty without queries."""
    wanted = [query for query in queries if query != NONE]
    if len(wanted) == 1:
        return wanted[0]
    return {"bool": {"should": wanted, "minimum_should_match": 1}} if wanted else NONE


def no(query: Query) -> Query:
    """Return a query for the chunks that the query does not match."""
    return {"bool": {"must_not": [query]}}


def has(fact: str) -> Query:
    """Chunks with a fact."""
    return {"term": {"facts": fact}}


def has_any(facts: Sequence[str]) -> Query:
    """Chunks with one of some facts, however many."""
    blocks = range(0, len(facts), _MOST_TERMS)
    return some({"terms": {"facts": list(facts[at : at + _MOST_TERMS])}} for at in blocks)


def of_paths(paths: Sequence[str]) -> Query:
    """Chunks of these paths."""
    prefix = _facts.field("path", own=True)
    forms = dict.fromkeys(form for path in paths for form in _forms(path))
    return has_any([_facts.equals(prefix, path) for path in forms])


@dataclass
class _Translator:
    """Reads one filter, which `Filters` has checked."""

    whole: set[str] = field(default_factory=set)

    def arguments(self, filters: Filters) -> Iterable[Query]:
        """Yield a query for each given argument of `Filters`."""
        path, tags = _facts.field("path", own=True), _facts.field("tags", own=True)
        if filters.paths:
            yield of_paths(filters.paths)
        if filters.path_prefix is not None:
            yield some([self._begins(path, form) for form in _forms(filters.path_prefix)])
        for tag in dict.fromkeys(filters.tags):
            yield some([has(_facts.has_item(tags, form)) for form in _forms(tag)])
        for key, value in filters.metadata.items():
            yield has(_facts.whole(key, value))
        if filters.where:
            yield self.conditions(filters.where)
        for operator, date in (("$gte", filters.after), ("$lt", filters.before)):
            if date is not None:
                yield self._operator(_prefix(filters.date_key), operator, {"$date": date})

    def conditions(self, where: Mapping[str, Any]) -> Query:
        """Fields and joins, all of which must hold."""
        return every([self._condition(key, value) for key, value in where.items()])

    def _condition(self, key: str, value: Any) -> Query:
        joins: dict[str, Callable[[], Query]] = {
            "$and": lambda: every([self.conditions(part) for part in value]),
            "$or": lambda: some([self.conditions(part) for part in value]),
            "$nor": lambda: no(some([self.conditions(part) for part in value])),
            "$not": lambda: no(self.conditions(value)),
        }
        if key in joins:
            return joins[key]()
        prefix = _prefix(key)
        if isinstance(value, Mapping) and "$date" not in value:
            if any(name.startswith("$") for name in value):
                return self._operators(prefix, value)
        elif isinstance(value, list) and prefix == _facts.field("tags", own=True):
            return self._operator(prefix, "$all", value)
        return self._equal(prefix, value)

    def _operators(self, prefix: str, operators: Mapping[str, Any]) -> Query:
        return every([self._operator(prefix, *operator) for operator in operators.items()])

    def _operator(self, prefix: str, name: str, operand: Any) -> Query:
        operators: dict[str, Callable[[], Query]] = {
            "$eq": lambda: self._equal(prefix, operand),
            "$ne": lambda: no(self._equal(prefix, operand)),
            "$in": lambda: self._any_of(prefix, operand),
            "$nin": lambda: no(self._any_of(prefix, operand)),
            "$all": lambda: every([self._equal(prefix, value) for value in operand]),
            "$between": lambda: every(
                [
                    self._compared(prefix, "$gte", operand[0]),
                    self._compared(prefix, "$lte", operand[1]),
                ]
            ),
            "$exists": lambda: self._exists(prefix, operand),
            "$contains": lambda: some(
                [has(_facts.has_item(prefix, form)) for form in _forms_of(prefix, operand)]
            ),
            "$glob": lambda: self._like(prefix, operand),
            "$not": lambda: no(self._operators(prefix, operand)),
        }
        return operators[name]() if name in operators else self._compared(prefix, name, operand)

    def _exists(self, prefix: str, wanted: bool) -> Query:
        there = has(_facts.exists(prefix))
        return there if wanted else no(there)

    def _equal(self, prefix: str, value: Any) -> Query:
        return self._any_of(prefix, [value])

    def _any_of(self, prefix: str, values: Sequence[Any]) -> Query:
        facts, missing = [], []
        for value in values:
            if isinstance(value, Mapping) and "$date" in value:
                facts.append(_facts.dated(prefix, _moment(value)))
            else:
                facts += [_facts.equals(prefix, form) for form in _forms_of(prefix, value)]
                # Null also matches a missing field.
                missing += [no(has(_facts.exists(prefix)))] if value is None else []
        return some([has_any(list(dict.fromkeys(facts))), *missing[:1]])

    def _compared(self, prefix: str, operator: str, value: Any) -> Query:
        """A range of one kind of fact; the next letter is where its facts end."""
        if isinstance(value, Mapping):
            return _range(prefix, "d", operator, _facts.dated(prefix, _moment(value)))
        if value is None:
            return self._equal(prefix, None) if operator in ("$gte", "$lte") else NONE
        fact = _facts.ordered(prefix, value)
        if len(fact.encode()) > _LONGEST_BOUND:
            raise _unsupported(f"compares texts with one of {len(value):,} characters")
        return _range(prefix, fact[len(prefix)], operator, fact)

    def _begins(self, prefix: str, beginning: str) -> Query:
        fact = _facts.ordered(prefix, beginning)
        if len(fact.encode()) > _LONGEST_BOUND:
            raise _unsupported(f"asks for a beginning of {len(beginning):,} characters")
        return {"prefix": {"facts": {"value": fact}}}

    def _like(self, prefix: str, pattern: str) -> Query:
        self.whole.add(_facts.is_long(prefix))
        begin = literal(f"{prefix}s")
        # A set is of characters, and a decomposed letter is several.
        forms = [pattern] if "[" in pattern else _forms_of(prefix, pattern)
        expressions = [begin + regular_expression(form) for form in forms]
        return some(
            {"regexp": {"facts": {"value": one, "max_determinized_states": 100_000}}}
            for one in expressions
        )


def _forms(text: str) -> list[str]:
    """Return a text, and its other Unicode forms, composed and decomposed."""
    return list(
        dict.fromkeys([text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD"))])
    )


def _forms_of(prefix: str, value: Any) -> list[Any]:
    """Return a value, and the other forms of a path or a tag."""
    own = (_facts.field("path", own=True), _facts.field("tags", own=True))
    return _forms(value) if isinstance(value, str) and prefix in own else [value]


def _prefix(name: str) -> str:
    """Return the prefix of the facts of a field of a condition."""
    if name in _OWN:
        return _facts.field(name, own=True)
    return _facts.field(name.removeprefix("metadata."))


def _range(prefix: str, kind: str, operator: str, fact: str) -> Query:
    """Facts of a kind that compare so with one; they end where those of the next letter begin."""
    bounds = {"gte": f"{prefix}{kind}", "lt": f"{prefix}{chr(ord(kind) + 1)}"}
    side = _RANGES[operator]
    bounds.pop("gte" if side.startswith("g") else "lt")
    return {"range": {"facts": {**bounds, side: fact}}}


def _moment(value: Mapping[str, Any]) -> tuple[int, int]:
    moment = instant(value["$date"])
    assert moment is not None, "Filters takes no other dates"  # noqa: S101 - a fault of ours
    return moment


def _unsupported(what: str) -> InvalidInputError:
    return InvalidInputError(
        f"the filter {what}, which is more than OpenSearch takes; write fewer than 200, or search an "
        "index",
        code="unsupported_by_backend",
    )


_SPECIAL = frozenset('.?+*|{}[]()"\\#@&<>~^$-')


def literal(text: str) -> str:
    """A regular expression for the text itself."""
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in text)


def regular_expression(pattern: str) -> str:
    """The regular expression of a pattern that `Filters` took."""
    parts = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif character == "[":
            part, at = _set(pattern, at)
            parts.append(part)
        else:
            parts.append(literal(character))
    return "".join(parts)


def _set(pattern: str, at: int) -> tuple[str, int]:
    """Return the set after an opening bracket, and the offset after it.

    A `]` that comes first is a member.
    """
    negated = pattern[at] in "!^"
    at += negated
    ranges: list[str] = []
    while pattern[at] != "]" or not ranges:
        first = last = pattern[at]
        at += 1
        if pattern[at] == "-" and pattern[at + 1] != "]":
            last = pattern[at + 1]
            at += 2
        ranges.append(literal(first) if first == last else f"{literal(first)}-{literal(last)}")
    return f"[{'^' if negated else ''}{''.join(ranges)}]", at + 1
