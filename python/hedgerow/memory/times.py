"""Times in front matter and in queries: valid ISO 8601 dates and date-times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

ISO_TIME = (
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"[ ]?([Zz]|[-+]\d\d:?\d\d)?)?"
)
_WHOLE = re.compile(rf"\s*{ISO_TIME}\s*\Z")


def parse_time(value: object) -> datetime | None:
    """Parse a date or a date-time, in UTC without a zone; None for anything else."""
    match = _WHOLE.match(value) if isinstance(value, str) else None
    return time_of(match) if match else None


def time_of(match: re.Match[str]) -> datetime | None:
    """Return the time of a match that ends in the groups of `ISO_TIME`; None when it does not exist."""
    *numbers, fraction, zone = match.groups()[-8:]
    parts = [int(number or 0) for number in numbers]
    microsecond = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(*parts, microsecond, tzinfo=_zone(zone))  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def event_time(metadata: Mapping[str, Any], *keys: str) -> datetime | None:
    """Return the time under the first of the keys that holds one."""
    times = (parse_time(metadata.get(key)) for key in keys)
    return next((time for time in times if time), None)


def _zone(zone: str | None) -> timezone:
    if not zone or zone in "Zz":
        return timezone.utc
    sign = -1 if zone[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])))
