"""Reading the date of a question (spec/temporal.md, "Anchor forms")."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pytest

from hedgerow import temporal
from temporal_cases import (
    utc,
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-04-18", utc(2026, 4, 18)),
        ("2026/04/18", utc(2026, 4, 18)),
        ("2026-04/18", utc(2026, 4, 18)),
        ("2026-04-18 (Sat)", utc(2026, 4, 18)),
        ("2026-04-18(Sat)", utc(2026, 4, 18)),
        ("2026-04-18 (Saturday)", utc(2026, 4, 18)),
        ("2026-04-18 (zaterdag, of niet)", utc(2026, 4, 18)),
        ("2026-04-18 ()", utc(2026, 4, 18)),
        ("2026-04-18 (Sat) 10:30", utc(2026, 4, 18, 10, 30)),
        ("2026-04-18 (Sat)10:30", utc(2026, 4, 18, 10, 30)),
        ("2026-04-18\u00a010:30:45", utc(2026, 4, 18, 10, 30, 45)),
        ("\ufeff 2026-04-18\u2028", utc(2026, 4, 18)),
        # roll-over: no field is out of range
        ("2026-02-30", utc(2026, 3, 2)),
        ("2024-02-30", utc(2024, 3, 1)),
        ("2026-13-10", utc(2027, 1, 10)),
        ("2026-00-00", utc(2025, 11, 30)),
        ("2026-99-99", utc(2034, 6, 7)),
        ("2026-04-18 24:00", utc(2026, 4, 19)),
        ("2026-04-18 99:99:99", utc(2026, 4, 22, 4, 40, 39)),
        # years 0 to 99
        ("0000-02-29", utc(1900, 3, 1)),
        ("0099-12-31 24:00", utc(2000, 1, 1)),
        ("0100-01-01", utc(100, 1, 1)),
        # the limits of the calendar
        ("9999-12-31 23:59:59", utc(9999, 12, 31, 23, 59, 59)),
        ("9999-12-31 24:00", None),
        ("9999-12-32", None),
        ("9999-13-01", None),
        # wrong formats
        ("2026-04-1810:30", None),
        ("2026-04-18 10", None),
        ("2026-04-18 1:3", None),
        ("2026-4-18", None),
        ("2026-04-18 (Sat", None),
        ("2026-04-18 (Sat) (Sun)", None),
        ("2026-04-18 (Sat) 10:30 extra", None),
        ("2026-04-18x", None),
        ("on 2026-04-18", None),
        ("٢٠٢٦-٠٤-١٨", None),
        ("2026\u221204\u221218", None),
        ("\x852026-04-18", None),
    ],
)
def test_anchor_form(text: str, instant: datetime | None) -> None:
    assert temporal.parse_question_date(text) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026", utc(2026, 1, 1)),
        ("2026-04", utc(2026, 4, 1)),
        ("0050", utc(50, 1, 1)),
        ("+002026-04-18", utc(2026, 4, 18)),
        ("2026-04-18T10:30", utc(2026, 4, 18, 10, 30)),
        ("2026-04-18t10:30z", utc(2026, 4, 18, 10, 30)),
        ("2026-04T10:30", utc(2026, 4, 1, 10, 30)),
        ("2026-04-18T10:30:45.1Z", utc(2026, 4, 18, 10, 30, 45, 100_000)),
        ("2026-04-18T10:30:45.123999Z", utc(2026, 4, 18, 10, 30, 45, 123_000)),
        ("2026-04-18T10:30:45+02:00", utc(2026, 4, 18, 8, 30, 45)),
        ("2026-04-18T10:30:45-1130", utc(2026, 4, 18, 22, 0, 45)),
        ("2026-04-18T00:30:00+05:45", utc(2026, 4, 17, 18, 45)),
        ("2026-04-18T24:00:00.000Z", utc(2026, 4, 19)),
        ("2026-02-30T00:00Z", utc(2026, 3, 2)),
        ("0001-01-01T00:00Z", utc(1, 1, 1)),
        ("0000-12-31T23:00-01:00", utc(1, 1, 1)),
        ("9999-12-31T23:59:59.999Z", utc(9999, 12, 31, 23, 59, 59, 999_000)),
        ("0001-01-01T00:00+00:01", None),
        ("9999-12-31T23:59-00:01", None),
        ("0000", None),
        ("-000001", None),
        ("-000000-12-31T23:00-01:00", None),
        ("+010000", None),
        ("+275760-09-13", None),
        ("2026-13", None),
        ("2026-00", None),
        ("2026-04-32T00:00Z", None),
        ("2026-04-00T00:00Z", None),
        ("2026-04-18T24:00:01Z", None),
        ("2026-04-18T24:00:00.001Z", None),
        ("2026-04-18T24:01Z", None),
        ("2026-04-18T25:00Z", None),
        ("2026-04-18T10:60Z", None),
        ("2026-04-18T10:30:60Z", None),
        ("2026-04-18T10:30:45.Z", None),
        ("2026-04-18T10:30:45,123Z", None),
        ("2026-04-18T10:30:45+02", None),
        ("2026-04-18T10:30:45+24:00", None),
        ("2026-04-18T10:30:45+02:60", None),
        ("2026-04-18T10:30:45 Z", None),
        ("2026-04-18T10:30:45Z[UTC]", None),
        ("2026-04-18T10", None),
        ("2026-04-18T", None),
        ("2026/04/18T10:30", None),
        ("20260418", None),
        ("20260418T103000Z", None),
        ("2026-W16-6", None),
        ("1776508800", None),
    ],
)
def test_iso_8601(text: str, instant: datetime | None) -> None:
    assert temporal.parse_question_date(text) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("April 18, 2026", utc(2026, 4, 18)),
        ("APRIL 18,2026", utc(2026, 4, 18)),
        ("Apr. 18 2026", utc(2026, 4, 18)),
        ("18 april 2026", utc(2026, 4, 18)),
        ("18-Apr-26", utc(2026, 4, 18)),
        ("Sept 5, 1999", utc(1999, 9, 5)),
        ("Saturday, April 18, 2026, 10:30 PM", utc(2026, 4, 18, 22, 30)),
        ("April 18, 2026 12:00 AM", utc(2026, 4, 18)),
        ("April 18, 2026 0:15 PM EST", utc(2026, 4, 18, 17, 15)),
        ("Sat, 18 Apr 2026 10:30:45 GMT", utc(2026, 4, 18, 10, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 +0200", utc(2026, 4, 18, 8, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 EST", utc(2026, 4, 18, 15, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 pdt", utc(2026, 4, 18, 17, 30, 45)),
        ("Sat, 18 Apr 2026 10:30:45 (no zone)", utc(2026, 4, 18, 10, 30, 45)),
        ("Sat Apr 18 2026 10:30:45 GMT+0200 (CEST)", utc(2026, 4, 18, 8, 30, 45)),
        ("Sat Apr 18 10:30:45 2026", utc(2026, 4, 18, 10, 30, 45)),
        ("Wed Apr  8 10:30:45 UTC 2026", utc(2026, 4, 8, 10, 30, 45)),
        ("Mon, 18 Apr 2026", utc(2026, 4, 18)),  # a Saturday, but weekdays are ignored
        ("2026-04-18 10:30:45.123+02:00", utc(2026, 4, 18, 8, 30, 45, 123_000)),
        ("2026/04/18 10:30 PM PST", utc(2026, 4, 19, 6, 30)),
        # days up to 31 roll over, and two-digit years are near the present
        ("31 April 2026", utc(2026, 5, 1)),
        ("February 30, 2026", utc(2026, 3, 2)),
        ("18 Apr 49", utc(2049, 4, 18)),
        ("18 Apr 50", utc(1950, 4, 18)),
        ("18 Apr 2026 24:00", utc(2026, 4, 19)),
        ("32 April 2026", None),
        ("0 April 2026", None),
        ("18 Apr 126", None),
        ("18 Apr 2026 24:01", None),
        ("18 Apr 2026 10:60", None),
        ("18 Apr 2026 13:00 PM", None),
        ("18 Apr 2026 10:30 +24:00", None),
        ("31 Dec 9999 23:59 EST", None),
        ("2026-13-18 10:30 UTC", None),
        ("0050-04-18 10:30 UTC", None),
        ("Sat, 18 Apr 2026 10:30:45 CET", None),
        ("Sat, 18 Apr 2026 10:30:45 A", None),
        ("Sat, 18 Apr 2026 10:30:45 Europe/Amsterdam", None),
        ("April 18, 2026 10 PM", None),
        ("April 18, 2026 10:30PM", None),
        ("April 18th, 2026", None),
        ("April 18, 2026 to May 1, 2026", None),
        ("April 18", None),
        ("April 2026", None),
        ("April", None),
        ("18 avril 2026", None),
        ("4/18/2026", None),
        ("18.4.2026", None),
        ("Saturday", None),
        ("today", None),
        ("Invalid Date", None),
        ("2026年4月18日", None),
        ("Augu\u017ft 18, 2026", None),
        ("", None),
        (" \ufeff", None),
    ],
)
def test_prose(text: str, instant: datetime | None) -> None:
    assert temporal.parse_question_date(text) == instant


@pytest.mark.parametrize("month", range(1, 13))
def test_every_month_has_its_name(month: int) -> None:
    name = date(2026, month, 9).ctime()[4:7]
    assert temporal.parse_question_date(f"9 {name} 2026") == utc(2026, month, 9)


def test_an_absent_date_is_no_date() -> None:
    assert temporal.parse_question_date(None) is None


def test_the_anchor_is_aware_and_in_utc() -> None:
    anchor = temporal.parse_question_date("2026-04-18T10:30+02:00")
    assert anchor is not None
    assert anchor.tzinfo is timezone.utc


@pytest.mark.parametrize("moment", [utc(2026, 4, 18), utc(2026, 4, 18, 10, 30, 45, 123_000)])
def test_isoformat_is_read_back(moment: datetime) -> None:
    assert temporal.parse_question_date(moment.isoformat()) == moment
    assert temporal.parse_question_date(str(moment)) == moment
