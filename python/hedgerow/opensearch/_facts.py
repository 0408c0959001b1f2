"""Values that filters compare, as terms of one keyword field, `facts`.

A fact is `FIELD NUL KIND VALUE`. Values are written so that the order of the terms, which is that
of their UTF-8 bytes, is the order of spec/filters.md ("Values"), and equal values are equal terms:
a term, a range of terms, or a pattern on terms is then equivalent to a condition, for any mixture
of types in a field. The kinds:

| kind | of | value |
|---|---|---|
| `x` | what is there, whatever it is | none |
| `z` `b` `n` `s` | null, bools, numbers, texts; items of lists too | in order |
| `t` | a text of which only the beginning is in `s`; items of lists too | none |
| `d` | texts that are dates; items of lists too | the instant, in order |
| `e` | lists, objects and long texts; items of lists too | a digest |
| `c` | items of lists | a digest |
| `w` | all that stands under a key of the metadata itself | a digest |
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from hedgerow._engine import Chunk

LONGEST_TEXT = 2000
"""Characters of a text that are in its term: Lucene refuses terms of more than 32,766 bytes."""

NUL = "\0"
_LONGEST_FIELD = 200
_EXPONENT_BIAS = 2000  # those of floats reach from -1074 to 1023
_MANTISSA = 64  # bits: those of an integer
_SECONDS_BIAS = 1 << 40  # before the year 1 and after 9999


def facts(chunk: Chunk, metadata: Mapping[str, Any]) -> list[str]:
    """All facts of a chunk with this metadata, each once."""
    found: set[str] = set()
    for name, value in own_fields(chunk).items():
        found.update(_of(field(name, own=True), value))
    for name, value in reached(metadata):
        found.update(_of(field(name), value))
    found.update(whole(key, value) for key, value in metadata.items())
    return sorted(found)


def own_fields(chunk: Chunk) -> dict[str, Any]:
    """Return the fields with names in filters, except the metadata."""
    return {
        "id": chunk.id,
        "path": chunk.path,
        "ordinal": chunk.ordinal,
        "tags": list(chunk.tags),
    }


def reached(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every name that finds a value in the metadata, with the value.

    A key with the whole name goes before the path through the key before its first dot.
    """
    yield from metadata.items()
    for key, value in metadata.items():
        if "." in key:
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                for rest, found in reached(inner):
                    name = f"{key}.{rest}"
                    if name not in metadata:
                        yield name, found


def field(name: str, *, own: bool = False) -> str:
    """Return the prefix of the facts of a field.

    `own` fields are the chunk's, others of the metadata.
    """
    long = len(name.encode()) > _LONGEST_FIELD or NUL in name
    shown = f"#{digest(name)}" if long else f".{name}"
    return f"{'chunk' if own else 'metadata'}{shown}{NUL}"


def whole(key: str, value: Any) -> str:
    """The fact that a key of the metadata itself has a value equal to this one."""
    return f"{field(key)}w{digest(value)}"


def exists(prefix: str) -> str:
    """The fact that a field is there."""
    return f"{prefix}x"


def has_item(prefix: str, value: Any) -> str:
    """The fact that a field is a list with an item equal to this value."""
    return f"{prefix}c{digest(value)}"


def equals(prefix: str, value: Any) -> str:
    """The fact that a field, or an item of it, equals a value."""
    if value is None or isinstance(value, (bool, int, float)):
        return ordered(prefix, value)
    if isinstance(value, str) and len(value) <= LONGEST_TEXT:
        return ordered(prefix, value)
    return f"{prefix}e{digest(value)}"


def ordered(prefix: str, value: Any) -> str:
    """The fact of a scalar, in the order of its kind; of a long text, that of its beginning."""
    if value is None:
        return f"{prefix}z"
    if isinstance(value, bool):
        return f"{prefix}b{int(value)}"
    if isinstance(value, (int, float)):
        return f"{prefix}n{number(value)}"
    return f"{prefix}s{value[:LONGEST_TEXT]}" + (NUL if len(value) > LONGEST_TEXT else "")


def dated(prefix: str, moment: tuple[int, int]) -> str:
    """The fact of a date."""
    seconds, nanoseconds = moment
    return f"{prefix}d{seconds + _SECONDS_BIAS:011x}{nanoseconds:08x}"


def is_long(prefix: str) -> str:
    """The fact that only the beginning of a text of a field is known."""
    return f"{prefix}t"


def number(value: float) -> str:
    """A number so that texts are ordered as numbers are, exactly; equal ones are equal texts."""
    if value == 0:
        return "1"
    numerator, denominator = abs(value).as_integer_ratio()
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    # The value is mantissa * 2^(exponent - 63), and the first bit of the mantissa is set.
    shift = _MANTISSA - 1 - exponent
    mantissa = (numerator << max(shift, 0)) // (denominator << max(-shift, 0))
    place = (exponent + _EXPONENT_BIAS) << _MANTISSA | mantissa
    if value > 0:
        return f"2{place:020x}"
    return f"0{(1 << 80) - 1 - place:020x}"


def digest(value: Any) -> str:
    """Return a digest, equal exactly for values that are equal as JSON."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def _canonical(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "n" if value is None else f"b{int(value)}"
    if isinstance(value, (int, float)):
        return f"#{number(value)}"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Mapping):
        inner = (f"{json.dumps(key)}:{_canonical(value[key])}" for key in sorted(value))
        return f"{{{','.join(inner)}}}"
    return f"[{','.join(_canonical(item) for item in value)}]"


def _of(prefix: str, value: Any) -> Iterator[str]:
    yield exists(prefix)
    yield from _alone(prefix, value)
    if isinstance(value, list):
        for item in value:
            yield from _alone(prefix, item)
            yield has_item(prefix, item)


def _alone(prefix: str, value: Any) -> Iterable[str]:
    """The facts of a value itself, whatever it has inside."""
    yield equals(prefix, value)
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            yield ordered(prefix, value)
            yield is_long(prefix)
        if (moment := instant(value)) is not None:
            yield dated(prefix, moment)


_DATE = re.compile(
    r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?"
    r"(?:[Zz]|([+-])(\d{2})(?::?(\d{2})|:(\d{2}):(\d{2}))?)?)?)?)?",
    re.ASCII,
)
_EPOCH = date(1970, 1, 1).toordinal()
_HOUR, _MINUTE = 3600, 60


def instant(text: str) -> tuple[int, int] | None:
    """Seconds since 1970 in UTC and nanoseconds; None for anything that is not a date.

    Parts that are missing are the first ones, and without an offset a time is UTC.
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction = found.groups()[:7]
    try:
        days = date(int(year), int(month or 1), int(day or 1)).toordinal() - _EPOCH
    except ValueError:
        return None
    ahead = _ahead(found)
    if int(hour or 0) >= 24 or int(minute or 0) >= 60 or int(second or 0) >= 60 or ahead is None:  # noqa: PLR2004 - of a day
        return None
    time = int(hour or 0) * _HOUR + int(minute or 0) * _MINUTE + int(second or 0)
    return days * 24 * _HOUR + time - ahead, int((fraction or "0")[:9].ljust(9, "0"))


def _ahead(found: re.Match[str]) -> int | None:
    """Return the seconds by which local time is ahead of UTC; None without a clock time."""
    sign, hours, short, minutes, seconds = found.groups()[7:]
    hours, minutes, seconds = int(hours or 0), int(short or minutes or 0), int(seconds or 0)
    if hours >= 24 or minutes >= 60 or seconds >= 60:  # noqa: PLR2004 - of a day
        return None
    ahead = hours * _HOUR + minutes * _MINUTE + seconds
    return -ahead if sign == "-" else ahead
