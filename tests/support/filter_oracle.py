"""A slow evaluator of filters, written only from the text of spec/filters.md."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import hedgerow as hr

Condition = Mapping[str, Any]


def passes(chunk: hr.Chunk, where: Condition) -> bool:
    """Return whether a chunk meets all conditions."""
    return all(_holds(chunk, key, value) for key, value in where.items())


def _holds(chunk: hr.Chunk, key: str, value: Any) -> bool:  # noqa: PLR0911 - one for each form
    if key == "$and":
        return all(passes(chunk, part) for part in value)
    if key == "$or":
        return any(passes(chunk, part) for part in value)
    if key == "$nor":
        return not any(passes(chunk, part) for part in value)
    if key == "$not":
        return not passes(chunk, value)
    found = list(_values(chunk, key))
    if isinstance(value, Mapping) and any(name.startswith("$") for name in value):
        if "$date" in value:
            return _equal(found, value)
        return all(_compares(found, name, operand) for name, operand in value.items())
    if key == "tags" and isinstance(value, list):
        return all(_equal(found, tag) for tag in value)
    return _equal(found, value)


def _values(chunk: hr.Chunk, key: str) -> Iterator[Any]:
    own = {"id": chunk.id, "path": chunk.path, "ordinal": chunk.ordinal, "tags": list(chunk.tags)}
    if key in own:
        yield own[key]
        return
    yield from _reached(chunk.metadata, key.removeprefix("metadata."))


def _reached(metadata: Mapping[str, Any], key: str) -> Iterator[Any]:
    if key in metadata:
        yield metadata[key]
        return
    first, dot, rest = key.partition(".")
    inner = metadata.get(first) if dot else None
    for part in inner if isinstance(inner, list) else [inner]:
        if isinstance(part, dict):
            yield from _reached(part, rest)


def _candidates(found: list[Any]) -> Iterator[Any]:
    for value in found:
        yield value
        if isinstance(value, list):
            yield from value


def _compares(found: list[Any], name: str, operand: Any) -> bool:
    tests: dict[str, Callable[[], bool]] = {
        "$eq": lambda: _equal(found, operand),
        "$ne": lambda: not _equal(found, operand),
        "$in": lambda: any(_equal(found, value) for value in operand),
        "$nin": lambda: not any(_equal(found, value) for value in operand),
        "$all": lambda: all(_equal(found, value) for value in operand),
        "$gt": lambda: _ordered(found, operand, lambda order: order > 0),
        "$gte": lambda: _ordered(found, operand, lambda order: order >= 0),
        "$lt": lambda: _ordered(found, operand, lambda order: order < 0),
        "$lte": lambda: _ordered(found, operand, lambda order: order <= 0),
        "$between": lambda: (
            _ordered(found, operand[0], lambda order: order >= 0)
            and _ordered(found, operand[1], lambda order: order <= 0)
        ),
        "$exists": lambda: bool(found) is operand,
        "$contains": lambda: any(
            isinstance(value, list) and any(same(item, operand) for item in value)
            for value in found
        ),
        "$glob": lambda: any(
            isinstance(value, str) and _glob(operand).fullmatch(value) is not None
            for value in _candidates(found)
        ),
        "$not": lambda: not all(_compares(found, *part) for part in operand.items()),
    }
    return tests[name]()


def _equal(found: list[Any], wanted: Any) -> bool:
    if wanted is None and not found:
        return True
    if isinstance(wanted, Mapping) and "$date" in wanted:
        return _ordered(found, wanted, lambda order: order == 0)
    return any(same(value, wanted) for value in _candidates(found))


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return Fraction(left) == Fraction(right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def _ordered(found: list[Any], wanted: Any, holds: Callable[[int], bool]) -> bool:
    if wanted is None:
        return holds(0) and _equal(found, None)
    if isinstance(wanted, Mapping):
        moment = instant(wanted["$date"])
        assert moment is not None
        moments = (instant(value) for value in _candidates(found) if isinstance(value, str))
        return any(
            holds((there > moment) - (there < moment)) for there in moments if there is not None
        )
    return any(
        _kind(value) == _kind(wanted) and holds(_order(value, wanted))
        for value in _candidates(found)
    )


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def _order(left: Any, right: Any) -> int:
    if not isinstance(left, str):
        left, right = Fraction(left), Fraction(right)
    return int(left > right) - int(left < right)


_ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    r"(?:([Zz])|([+-])(\d\d):?(\d\d)|([+-])(\d\d))?)?)?)?",
    re.ASCII,
)


def instant(text: str) -> datetime | None:
    """Return the time of a date in UTC, to the microsecond. None if the text is not a date."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, part, _, sign, hours, minutes, sign2, hours2 = (
        found.groups()
    )
    try:
        moment = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((part or "0")[:6].ljust(6, "0")),
            tzinfo=timezone.utc,
        )
        ahead = timedelta(hours=int(hours or hours2 or 0), minutes=int(minutes or 0))
        if ahead >= timedelta(days=1) or int(minutes or 0) > 59:
            return None
        return moment + ahead if "-" in (sign, sign2) else moment - ahead
    except (ValueError, OverflowError):
        return None


def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))
