"""The cases of temporal expansion, and the module's outputs for a case."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from hedgerow import temporal
from spec_fixtures import jsonl

CASES = jsonl("temporal")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
ANCHOR = "2026-04-18 (Sat)"
HUGE = 1_000_000

EARLIEST = " [Note: look for the earliest dated event]"
MOST_RECENT = " [Note: look for the most recently dated event]"

SPACES = "\t\n\v\f\r \xa0\u1680\u2000\u2004\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
NOT_SPACES = "\x1c\x1d\x1e\x1f\x7f\x85\u180e\u200b\u200c\u200d\u2060\u2800\u3164\x00"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[arg-type,misc]


def expanded(question: str, question_date: str | None = ANCHOR) -> str:
    return temporal.expand_temporal(question, question_date).expanded_query


def outcome(question: str, question_date: str | None) -> dict[str, Any]:
    """Return all outputs of the module for a case, in the format of the fixture file."""
    anchor = temporal.parse_question_date(question_date)
    return {
        "expansion": temporal.expand_temporal(question, question_date).to_dict(),
        "augmented": temporal.augment_query(question, question_date),
        "hintLine": temporal.resolved_hint_line(question, question_date),
        "readerToday": temporal.reader_today(question_date),
        "dateSearchTokens": temporal.date_search_tokens(question_date),
        "parsedEpochMs": anchor and (anchor - EPOCH) // timedelta(milliseconds=1),
    }
