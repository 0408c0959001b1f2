"""What the commands on nodes share: which store they mean, and the time it is to them."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow import IndexFileError, Store, parse_question_date

from .params import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

_SECONDS = re.compile(r"-?\d{1,12}\Z")


def db_option(command: F) -> F:
    """Add `--db`, the file of a store."""
    return click.option("--db", metavar="FILE", type=TEXT, help="The file of a store.")(command)


def time_option(name: str, what: str) -> Callable[[F], F]:
    """Add an option that takes a time and gives Unix seconds, None where it is not given."""
    return click.option(
        name,
        metavar="TIME",
        type=TEXT,
        callback=_seconds,
        help=f"{what}: 2026-04-18, 2026-04-18T09:30Z, or Unix seconds.  [default: now]",
    )


def open_store(db: str) -> Store:
    """Open the file of a store, which must be there."""
    if not os.path.lexists(db):
        raise IndexFileError(
            f"there is no store at {db}; make one in Python with hedgerow.Store.open, or name a "
            "memory root with --root DIR",
            code="index_not_found",
        )
    return Store.open(db)


def present_time() -> int:
    """Give the present time in Unix seconds."""
    return int(time.time())


def _seconds(context: click.Context, param: click.Parameter, given: str | None) -> int | None:
    if given is None:
        return None
    text = given.strip()
    if _SECONDS.match(text):
        return int(text)
    time = parse_question_date(text)
    if time is None:
        raise click.BadParameter(
            f"{given!r} is no time; write a date as in 2026-04-18, a date and time as in "
            "2026-04-18T09:30Z, or Unix seconds",
            context,
            param,
        )
    return int(time.timestamp())
