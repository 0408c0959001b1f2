"""Reading the files of exports: JSON, JSON Lines, and JSON in a ZIP archive."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from hedgerow.errors import InvalidInputError
from hedgerow.ingest.source import Skip
from hedgerow.memory.files import system_errors

LARGEST = 1 << 30
"""The most bytes of an export that are read."""

# The errors that `zipfile` raises for damage, an unknown compression and an encrypted member.
_BAD_ARCHIVE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
)  # fmt: skip
with suppress(ImportError):  # an optional part of CPython
    from lzma import LZMAError

    _BAD_ARCHIVE += (LZMAError,)


def read_json(source: Path, name: str) -> Any:
    """Read the JSON of an export: a file, or `name` in a folder or in a ZIP archive.

    Raises InvalidInputError for anything that is not JSON, or is over the limit.
    """
    file = source / name if source.is_dir() else source
    if not file.is_file():
        raise _refused(file, "there is no such file")
    with system_errors("read", file):
        if zipfile.is_zipfile(file):
            data = _member(file, name)
        else:
            with file.open("rb") as stream:
                data = _limited(stream, file)
    return _parsed(data, file)


def _parsed(data: bytes, file: Path) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _refused(file, f"it is no JSON ({error})") from error


def read_parts(source: Path, stem: str) -> Iterator[tuple[str, Any]]:
    """Read the JSON of an export that may be in several files: `stem`.json, `stem`-000.json, ...

    Yields the name and the value of each, from a folder, a ZIP archive or one file. One of several
    that cannot be read is a Skip. Raises InvalidInputError for anything else.
    """
    pattern = re.compile(rf"{re.escape(stem)}(?:[-_]?\d+)?\.json", re.IGNORECASE)
    with system_errors("read", source):
        if source.is_dir():
            found = [one for one in source.iterdir() if pattern.fullmatch(one.name)]
            read = {one.name: partial(read_json, one, one.name) for one in sorted(found)}
        elif source.is_file() and zipfile.is_zipfile(source):
            read = {
                PurePosixPath(name).name: partial(_json_member, source, name)
                for name in _members(source, pattern)
            }
        else:
            name = source.name if pattern.fullmatch(source.name) else f"{stem}.json"
            read = {name: partial(read_json, source, name)}
    if not read:
        raise _refused(source, f"it holds no {stem}.json")
    for name in sorted(read, key=lambda one: (len(one), one)):
        try:
            yield name, read[name]()
        except InvalidInputError as error:  # noqa: PERF203 - each file by itself
            if len(read) == 1:
                raise
            yield name, Skip(name, "refused", error.message)


def read_lines(source: Path) -> Iterator[tuple[int, dict[str, Any] | Skip]]:
    """Read the objects of JSON Lines, each with its line; any other line is a Skip."""
    if not source.is_file():
        raise _refused(source, "there is no such file")
    with system_errors("read", source), source.open("rb") as stream:
        data = _limited(stream, source)
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            problem = "" if isinstance(found, dict) else "the line is no JSON object"
        except (ValueError, RecursionError) as error:
            found, problem = None, f"the line is no JSON ({error})"
        yield number, Skip(source.name, "refused", problem, number) if problem else found


def list_in(value: Any, source: Path, *keys: str) -> list[Any]:
    """Return the list of an export, which may be the value of one of some keys."""
    if isinstance(value, dict):
        value = next((value[key] for key in keys if isinstance(value.get(key), list)), value)
    if not isinstance(value, list):
        where = f", or an object with {' or '.join(keys)}" if keys else ""
        raise _refused(source, f"it is no list{where}")
    return value


def _member(file: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(file) as archive:
            members = sorted(
                (one for one in archive.namelist() if PurePosixPath(one).name == name), key=len
            )
            if not members:
                raise _refused(file, f"it holds no {name}")
            with archive.open(members[0]) as stream:
                return _limited(stream, file)
    except _BAD_ARCHIVE as error:
        raise _refused(file, f"it is no ZIP archive that can be read ({error})") from error


def _members(file: Path, pattern: re.Pattern[str]) -> list[str]:
    """Return the members of an archive with such a name, in the folder nearest to its top."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [
                one for one in archive.namelist() if pattern.fullmatch(PurePosixPath(one).name)
            ]
    except _BAD_ARCHIVE as error:
        raise _refused(file, f"it is no ZIP archive that can be read ({error})") from error
    top = min((PurePosixPath(one).parent for one in names), key=_depth, default=None)
    return [one for one in names if PurePosixPath(one).parent == top]


def _depth(folder: PurePosixPath) -> tuple[int, str]:
    return len(folder.parts), str(folder)


def _json_member(file: Path, name: str) -> Any:
    try:
        with zipfile.ZipFile(file) as archive, archive.open(name) as stream:
            data = _limited(stream, file)
    except _BAD_ARCHIVE as error:
        raise _refused(file, f"it is no ZIP archive that can be read ({error})") from error
    return _parsed(data, file)


def _limited(stream: IO[bytes], file: Path) -> bytes:
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _refused(file, f"it has more than {LARGEST:,} bytes; split it")
    return data


def _refused(file: Path, problem: str) -> InvalidInputError:
    return InvalidInputError(f"{file} cannot be imported: {problem}", code="invalid_export")
