"""Parsing the grades in a language model's reply, with any surrounding text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from ._llm_prompt import HIGHEST_GRADE

_LONGEST_ANSWER = 65_536
_MOST_STARTS = 200
"""Limits on the work for a reply. Grades for a few documents are far below them."""

_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_START = re.compile(r"[{\[]")
_GRADE = re.compile(r"(-?\d{1,9}(?:[.,]\d{1,9})?)(?:\s*/\s*10)?")
_NUMBER = re.compile(r"\D{0,20}(\d{1,9})\D{0,3}")

_NUMBER_KEYS = ("document", "doc", "number", "id", "index")
_GRADE_KEYS = ("grade", "score", "relevance", "rating")


def read_grades(answer: str, count: int) -> dict[int, float]:
    """Return the grade from 0 to 10 of each document from 1 to `count` that has one.

    Accepted are fenced JSON, JSON amid prose, trailing commas, numbers as strings ("7", "7/10"), a
    bare list of entries or of one number per document, and an object from numbers to grades. Of
    several objects the one with the most grades counts. In a tie it is the last, because models
    think aloud first. Of several grades for one document the first counts.
    """
    best: dict[int, float] = {}
    for value in _json_values(answer):
        grades = _grades(value, count)
        if len(grades) >= len(best):
            best = grades or best
    return best


def _json_values(answer: str) -> Iterator[Any]:
    """Yield every JSON object and list in the text that is not part of another."""
    text = _TRAILING_COMMA.sub("", answer[-_LONGEST_ANSWER:])
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(_MOST_STARTS):
        start = _START.search(text, position)
        if start is None:
            return
        try:
            value, position = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            position = start.end()
        else:
            yield value


def _grades(value: Any, count: int, depth: int = 3) -> dict[int, float]:
    """Return the grades in one JSON value, by document number."""
    if isinstance(value, dict):
        entry = _of_entry(value)
        if entry is not None:
            pairs = [entry]
        elif inner := [part for part in value.values() if isinstance(part, (dict, list))]:
            found = [_grades(part, count, depth - 1) for part in inner] if depth else []
            return max(found, key=len, default={})
        else:
            pairs = [(_as_number(key), _as_grade(grade)) for key, grade in value.items()]
    elif all(isinstance(entry, dict) for entry in value):
        pairs = [pair for entry in value if (pair := _of_entry(entry)) is not None]
    elif len(value) == count:
        pairs = [(number, _as_grade(grade)) for number, grade in enumerate(value, start=1)]
    else:
        return {}
    return _in_range(pairs, count)


def _of_entry(entry: dict[str, Any]) -> tuple[int | None, float | None] | None:
    """Return the pair in `{"document": 1, "grade": 7}`, also under other usual names."""
    number = next((entry[key] for key in _NUMBER_KEYS if key in entry), None)
    grade = next((entry[key] for key in _GRADE_KEYS if key in entry), None)
    return None if number is None or grade is None else (_as_number(number), _as_grade(grade))


def _in_range(pairs: list[tuple[int | None, float | None]], count: int) -> dict[int, float]:
    found: dict[int, float] = {}
    for number, grade in pairs:
        if number is not None and grade is not None:
            found.setdefault(number, grade)
    from_zero = 0 in found and count not in found
    return {
        number: found[key] for number in range(1, count + 1) if (key := number - from_zero) in found
    }


def _as_number(value: Any) -> int | None:
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return int(match[1]) if match else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_grade(value: Any) -> float | None:
    if isinstance(value, str):
        match = _GRADE.fullmatch(value.strip())
        value = float(match[1].replace(",", ".")) if match else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    grade = float(min(max(value, 0), HIGHEST_GRADE))
    return None if math.isnan(grade) else grade
