"""Checks of the values in the file of an agent (spec/agents.md, "Definitions")."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from .definition import PERIODS, WITHHELD, period_of
from .problems import nearest
from .template import check_placeholder, parse_placeholder
from .toml_fields import WrongValueError, shown, text

__all__ = [
    "NAME",
    "SCHEMA",
    "agent_name",
    "inner_path",
    "like_a_name",
    "placeholder_label",
    "schedule_of",
    "schema",
    "withheld",
]

SCHEMA = 1
NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")


def withheld(op: str) -> str:
    """Check an action of `allow`."""
    if op not in WITHHELD:
        message = f"allow takes {' and '.join(WITHHELD)}, and not {shown(op)}"
        raise WrongValueError(message, nearest(op, WITHHELD))
    return op


def schema(value: Any) -> int:
    """Check the schema of the file."""
    number = isinstance(value, int) and not isinstance(value, bool)
    if number and value > SCHEMA:
        raise WrongValueError(
            f"the file is for a newer hedgerow (schema {shown(value)}; this one reads {SCHEMA}); "
            "upgrade hedgerow"
        )
    if not number or value != SCHEMA:
        raise WrongValueError(f"schema must be {SCHEMA}, not {shown(value)}")
    return SCHEMA


def agent_name(value: Any) -> str:
    """Check the name of an agent."""
    name = text("name")(value)
    if not NAME.fullmatch(name):
        raise WrongValueError(
            f"{shown(name)} is not a name for an agent; use 1 to 64 of a-z, 0-9 and -, a letter first",
            like_a_name(name),
        )
    return name


def like_a_name(word: str) -> str | None:
    """Return the name that is most like a word; None if there is none."""
    name = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:64]
    return name if NAME.fullmatch(name) else None


def inner_path(name: str) -> str:
    """Check the path of a template, which must be inside the folder of its agent."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive
    if absolute or ".." in parts:
        raise WrongValueError(
            f'{shown(name)} is outside the folder of the agents; name a file in it, without ".."'
        )
    if "\0" in name:
        raise WrongValueError(f"{shown(name)} is not a file name")
    return name


def placeholder_label(written: str) -> str:
    """Check an entry of `placeholders`; returns the label of the placeholder."""
    name, key = parse_placeholder(written)
    wrong = check_placeholder(name, key)
    if wrong:
        raise WrongValueError(*wrong)
    return name if key is None else f"{name}:{key}"


def schedule_of(value: Any) -> tuple[str, int | None]:
    """Check a schedule; returns it with its period in seconds."""
    schedule = text("schedule")(value)
    try:
        return schedule, period_of(schedule)
    except ValueError as error:
        raise WrongValueError(str(error), nearest(schedule, PERIODS)) from error
