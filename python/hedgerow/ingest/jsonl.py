"""JSON Lines to chunks: one a line (spec/ingest.md, "JSON Lines")."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

from hedgerow import Chunk, InvalidInputError

from .passages import shorten
from .source import (
    FILE_LIMIT,
    Skip,
    Source,
    UnreadableSourceError,
    decode,
    title_from_name,
    why_unreadable,
)

_TEXT_KEYS = ("id", "path", "title", "summary", "content")
_KEYS = frozenset({*_TEXT_KEYS, "tags", "metadata", "ordinal", "embedding"})
_ORDINAL_LIMIT = 2**31
_LONGEST_NUMBER = 40
_LONGEST_REASON = 300
_TOO_DEEP = "nested too deep: at most 100 levels"


def read_jsonl(source: Source, skips: list[Skip]) -> Iterator[Chunk]:
    """Yield the chunk of each line; a bad line is added to `skips`, and the others are read.

    Read line by line, so the file may be larger than memory. Raises UnreadableSourceError
    when it cannot be opened or has no line that is not blank.
    """
    empty = True
    try:
        with open(source.file, "rb") as stream:  # noqa: PTH123 - names may not be UTF-8
            for number, data in enumerate(_lines(stream), start=1):
                if not data.strip():
                    continue
                empty = False
                try:
                    _check_length(data)
                    yield _read_line(source, number, data)
                except (_BadLineError, UnreadableSourceError, InvalidInputError) as error:
                    reason = shorten(str(error), _LONGEST_REASON)
                    skips.append(Skip(source.path, "bad_line", reason, number))
    except OSError as error:
        raise UnreadableSourceError("unreadable", why_unreadable(error)) from error
    if empty:
        raise UnreadableSourceError("empty", "the file is empty")


class _BadLineError(ValueError):
    """A line that is not a chunk; the message is for the user."""


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is too long only as much as shows that."""
    while line := stream.readline(FILE_LIMIT + 1):
        yield line
        while len(line) > FILE_LIMIT and not line.endswith(b"\n"):
            line = stream.readline(FILE_LIMIT + 1)


def _check_length(line: bytes) -> None:
    if len(line) > FILE_LIMIT:
        raise _BadLineError(f"the line is longer than {FILE_LIMIT // 1024**2} MiB; split its text")


def _read_line(source: Source, number: int, data: bytes) -> Chunk:
    record = _parse(decode(data))
    for key in _TEXT_KEYS:
        if not isinstance(record.get(key, ""), str):
            raise _BadLineError(f'"{key}" must be text')
    if not record.get("content", "").strip():
        raise _BadLineError('"content" is missing or blank; every line needs one')
    ordinal = record.get("ordinal", number - 1)
    if not _is_count(ordinal):
        raise _BadLineError('"ordinal" must be a whole number from 0')
    path = record.get("path") or source.path
    return Chunk(
        record.get("id") or f"{source.path}#{number - 1}",
        path,
        record["content"],
        title=record.get("title") or title_from_name(path),
        summary=record.get("summary", ""),
        tags=_tags(record.get("tags", ())),
        metadata=_metadata(source, number, record),
        ordinal=ordinal,
        embedding=_embedding(record.get("embedding")),
    )


def _parse(text: str) -> dict[str, Any]:
    try:
        record = json.loads(
            text,
            parse_int=_whole_number,
            parse_constant=_no_constant,
            object_pairs_hook=_no_repeats,
        )
    except json.JSONDecodeError as error:
        raise _BadLineError(f"not JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise _BadLineError(_TOO_DEEP) from error
    if not isinstance(record, dict):
        raise _BadLineError("not a JSON object; every line is one object")
    try:
        # An escape such as \ud800 alone makes text that cannot be stored.
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise _BadLineError("holds half of a surrogate pair") from error
    except RecursionError as error:
        raise _BadLineError(_TOO_DEEP) from error
    return record


def _metadata(source: Source, number: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """Join `metadata` with the keys that are not fields of a chunk, so that nothing is lost."""
    metadata = record.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise _BadLineError('"metadata" must be an object')
    others = {key: value for key, value in record.items() if key not in _KEYS}
    twice = sorted(others.keys() & metadata.keys())
    if twice:
        raise _BadLineError(f'"{twice[0]}" is both outside and inside "metadata"; keep one')
    facts = {"source_file": source.file, "line_start": number, "line_end": number}
    return {**others, **metadata, **facts}


def _tags(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, Sequence) or not all(isinstance(item, str) for item in items):
        raise _BadLineError('"tags" must be a list of texts, or one text with commas')
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def _embedding(value: Any) -> list[float] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(map(_is_number, value)):
        raise _BadLineError('"embedding" must be one list of numbers, or null')
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _ORDINAL_LIMIT


def _whole_number(digits: str) -> int:
    # The engine refuses integers over 64 bits; Python would take long to read the longest.
    if len(digits) > _LONGEST_NUMBER:
        raise _BadLineError("a number has more than 64 bits; write it as text")
    return int(digits)


def _no_constant(name: str) -> NoReturn:
    raise _BadLineError(f"{name} is not a JSON number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise _BadLineError(f'the key "{twice}" is repeated')
    return record
