"""The files of an evaluation: queries, judgements and the vectors of queries (docs/cli.md, "eval")."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any, NamedTuple

from ._checks import shown
from ._engine import Chunk, _check_query
from ._extras import imports_of
from .errors import HedgerowError, InvalidInputError
from .temporal import parse_question_date
from .typing import Judgements

_HEADERS = frozenset({"query-id", "query_id", "queryid", "query", "qid", "topic"})
LINE_LIMIT = 16 * 1024 * 1024
"""The maximum length of a line in bytes. A small compressed file can contain a very long line."""

SCORE_LIMIT = 1_000_000
"""The limit of scores, both positive and negative. The measures count documents in an array by
score: a larger score would exhaust memory, or give wrong results without an error.
"""

_LONGEST_SCORE = 40
_GZIP = b"\x1f\x8b"

_Bad = Callable[[str], InvalidInputError]
"""Returns the error for a reason. It knows the line or item that is wrong."""


class JudgedQuery(NamedTuple):
    """A query from a file. `vector` is its `embedding`."""

    id: str
    text: str
    date: str | None = None
    vector: list[float] | None = None


def read_queries(path: str | os.PathLike[str]) -> list[JudgedQuery]:
    """Return the queries of a JSON Lines file: `id` or `_id`, `text`, and optionally more.

    `date` and `embedding` are optional. Raises InvalidInputError with the line number for an
    invalid query or a duplicate id, and if only some queries have an embedding.
    """
    found = _distinct(_queries_of_lines(path))
    if not found:
        raise wrong(f"{os.fspath(path)} holds no query; write one JSON object a line")
    return found


def read_passages(path: str | os.PathLike[str]) -> list[Chunk]:
    """Return the passages of a JSON Lines file as chunks: `id` or `_id`, `text`, optional `title`.

    The path of each chunk is its id. Raises InvalidInputError with the line number for an invalid
    passage.
    """
    found = []
    for record, bad in _records(path):
        name = _name_of(record, bad)
        title, text = record.get("title") or "", record.get("text")
        if not isinstance(text, str) or not isinstance(title, str):
            raise bad('needs a "text", and a "title" of text if it has one')
        found.append(Chunk(name, name, text, title=title))
    return found


def read_judgements(path: str | os.PathLike[str]) -> Judgements:
    """Return the judgments of a file: query, document and score, or the four columns of TREC.

    Columns are separated by tabs, or by white space in a line without tabs. The first line may be a
    header. Raises InvalidInputError with the line number for an invalid judgment.
    """
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        columns = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
        if number == 1 and columns[0].lower() in _HEADERS and not _is_score(columns[-1]):
            continue
        if len(columns) not in {3, 4}:
            raise _bad(
                path,
                number,
                f"{len(columns)} columns; write query, document and score with tabs between, "
                "or the four columns of TREC",
            )
        query, *_, document, score = columns
        if not _is_score(score):
            raise _bad(path, number, f'the score "{score}" is not a whole number')
        if len(score) > _LONGEST_SCORE or abs(int(score)) > SCORE_LIMIT:
            raise _bad(path, number, f"the score is beyond {SCORE_LIMIT:,}; write a smaller one")
        of_query = judgements.setdefault(query, {})
        if of_query.setdefault(document, int(score)) != int(score):
            raise _bad(path, number, f'"{document}" is judged twice for query "{query}"')
    if not judgements:
        raise wrong(f"{os.fspath(path)} holds no judgement; write query, document and score")
    return judgements


def given_queries(
    queries: Mapping[str, str] | Iterable[Mapping[str, Any]] | str | os.PathLike[str],
) -> list[JudgedQuery]:
    """Return queries from a mapping of ids to texts, from mappings, or from a file."""
    if isinstance(queries, (str, os.PathLike)):
        return read_queries(queries)
    if isinstance(queries, Mapping):
        queries = [{"id": name, "text": text} for name, text in queries.items()]
    if isinstance(queries, bytes) or not isinstance(queries, Iterable):
        raise InvalidInputError(
            "queries must be a mapping of ids to texts, an iterable of mappings or the name of a "
            f"file, not {type(queries).__name__}",
            code="invalid_option",
        )
    found = _distinct(_queries_of_records(queries))
    if not found:
        raise wrong("queries is empty; give at least one")
    return found


def given_judgements(
    judgements: Judgements | str | os.PathLike[str],
) -> Judgements:
    """Return judgments from a mapping or a file."""
    if isinstance(judgements, (str, os.PathLike)):
        return read_judgements(judgements)
    if not isinstance(judgements, Mapping):
        raise InvalidInputError(
            "judgements must be a mapping of the ids of queries, or the name of a file, not "
            f"{type(judgements).__name__}",
            code="invalid_option",
        )
    for query, documents in judgements.items():
        if not isinstance(query, str) or not isinstance(documents, Mapping):
            raise wrong(
                f"judgements[{shown(query)}] must be a mapping of documents to whole numbers, under "
                "the id of a query"
            )
        for document, score in documents.items():
            if not isinstance(document, str) or type(score) is not int:
                raise wrong(
                    f"judgements[{shown(query)}][{shown(document)}] must be a whole number, above 0 "
                    f"for relevant, not {shown(score)}"
                )
            if abs(score) > SCORE_LIMIT:
                raise wrong(
                    f"judgements[{shown(query)}][{shown(document)}] is beyond {SCORE_LIMIT:,}; give a "
                    "smaller score"
                )
    return {query: dict(documents) for query, documents in judgements.items()}


def read_vectors(path: str | os.PathLike[str], count: int) -> list[Any]:
    """Return the rows of a .npy file as float32, one for each of `count` queries, in order."""
    with imports_of("eval", needed_by="reading vectors"):
        import numpy as np  # noqa: PLC0415 - comes with the extra
    name = os.fspath(path)
    if not os.path.isfile(path):  # noqa: PTH113 - Path raises for a name that is too long
        raise _missing(name)
    try:
        # With memory mapping, a file shorter than its header claims fails before memory is
        # allocated.
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise wrong(f"{name} is not a .npy file of numbers; write it with numpy.save") from error
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":  # noqa: PLR2004 - a table
        raise wrong(f"{name} must hold one table of numbers, a row for each query")
    if len(rows) != count:
        raise wrong(
            f"{name} has {len(rows):,} rows for {count:,} queries; it needs one for each, in the "
            "order of the file of queries"
        )
    return list(rows.astype(np.float32))


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines with their numbers. Compressed files are detected."""
    name = os.fspath(path)
    if not os.path.isfile(path):  # noqa: PTH113 - Path raises for a name that is too long
        raise _missing(name)
    with open(path, "rb") as plain:  # noqa: PTH123 - a name may not be UTF-8
        compressed = plain.read(2) == _GZIP
        plain.seek(0)
        stream: IO[bytes] = gzip.GzipFile(fileobj=plain) if compressed else plain  # type: ignore[assignment]  # it reads as one
        number = 0
        try:
            for number, data in enumerate(_cut_lines(stream), start=1):
                if len(data) > LINE_LIMIT:
                    raise _bad(name, number, f"the line is longer than {LINE_LIMIT // 1024**2} MiB")
                text = data.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise _bad(name, number, "not UTF-8; save the file as UTF-8") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise wrong(f"{name} is damaged after line {number}: {error}") from error


def _cut_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield lines. Of a line over the limit, the first piece has `LINE_LIMIT` + 1 bytes."""
    while line := stream.readline(LINE_LIMIT + 1):
        yield line


def _queries_of_lines(path: str | os.PathLike[str]) -> Iterator[tuple[JudgedQuery, _Bad]]:
    """Yield the query of each line, with a function that returns the line's errors."""
    for record, bad in _records(path):
        yield _query_of(record, bad), bad


def _records(path: str | os.PathLike[str]) -> Iterator[tuple[dict[str, Any], _Bad]]:
    """Yield the JSON object of each line, with a function that returns the line's errors."""
    for number, line in _lines(path):
        bad = partial(_bad, path, number)
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise bad(f"not JSON ({error})") from error
        if not isinstance(record, dict):
            raise bad("not a JSON object; every line is one object")
        yield record, bad


def _queries_of_records(queries: Iterable[Any]) -> Iterator[tuple[JudgedQuery, _Bad]]:
    """Yield the query of each mapping, with a function that returns the mapping's errors."""
    for i, given in enumerate(queries):
        record = given._asdict() if isinstance(given, JudgedQuery) else given
        if not isinstance(record, Mapping):
            raise InvalidInputError(
                f"queries[{i}] must be a mapping, not {type(record).__name__}",
                code="invalid_option",
            )
        bad = partial(_bad_item, i)
        yield _query_of(record, bad), bad


def _distinct(queries: Iterable[tuple[JudgedQuery, _Bad]]) -> list[JudgedQuery]:
    """Return the queries after checking that ids are unique, and that all or none have a vector."""
    found: dict[str, JudgedQuery] = {}
    for query, bad in queries:
        if query.id in found:
            raise bad(f'the id "{query.id}" is used twice; every query needs its own')
        found[query.id] = query
        if (query.vector is None) != (next(iter(found.values())).vector is None):
            raise bad(
                "some queries have an embedding and some have none; all or none must have one"
            )
    return list(found.values())


def _name_of(record: Mapping[str, Any], bad: _Bad) -> str:
    name = record.get("id", record.get("_id"))
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not name:
        raise bad('needs an "id" (or "_id") of text')
    return name


def _query_of(record: Mapping[str, Any], bad: _Bad) -> JudgedQuery:
    name = _name_of(record, bad)
    text, date, vector = (record.get(key) for key in ("text", "date", "embedding"))
    if not isinstance(text, str):
        raise bad('needs a "text"')
    try:
        _check_query(text)
    except HedgerowError as error:
        raise bad(error.message) from error
    if date is not None and (not isinstance(date, str) or parse_question_date(date) is None):
        raise bad(f'the "date" {date!r} cannot be read; write it as 2026-04-18')
    if vector is not None and hasattr(vector, "tolist"):
        vector = vector.tolist()
    numbers = isinstance(vector, list) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in vector
    )
    if vector is not None and not numbers:
        raise bad('"embedding" must be a list of numbers')
    return JudgedQuery(name, text, date, vector)


def _is_score(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _bad(path: str | os.PathLike[str], number: int, reason: str) -> InvalidInputError:
    return wrong(f"{os.fspath(path)}:{number}: {reason}")


def _bad_item(number: int, reason: str) -> InvalidInputError:
    return wrong(f"queries[{number}]: {reason}")


def wrong(message: str) -> InvalidInputError:
    """Return the error of a file or a value that an evaluation cannot use."""
    return InvalidInputError(message, code="invalid_evaluation")


def _missing(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name}: no such file", code="path_not_found")
