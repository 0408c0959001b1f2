"""YAML front matter: what a note says about itself (spec/ingest.md, "Front matter")."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .simple_yaml import simple_fields

_LIMIT = 64 * 1024
_OPENING = re.compile(r"---[ \t]*\Z")
_CLOSING = re.compile(r"(?:---|\.\.\.)[ \t]*\Z")
_KEY_LINE = re.compile(r"([A-Za-z0-9_-]+):(?:[ \t]+(.*))?\Z")
_DATE_TIME = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(\.\d*)?[ \t]*"
    r"(Z|[-+]\d\d?(?::?\d\d)?)?\Z"
)
_INTEGER_LIMIT = 2**63


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The block at the head of a file.

    `body_start` is the index of the first line after it, 0 without one. `problem` says why
    the block is no valid YAML, or is None; the fields are then those of the lines that read.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    body_start: int = 0
    problem: str | None = None
    problem_line: int | None = None

    def text(self, *keys: str) -> str:
        """Give the first of the keys that holds text or a number, as one line."""
        for key in keys:
            value = self.fields.get(key)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                line = " ".join(str(value).split())
                if line:
                    return line
        return ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The `tags`: a list, or one text with commas; without `#`, each once."""
        value = self.fields.get("tags", ())
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, Sequence):
            items = (items,)
        plain = (str(item).strip().lstrip("#") for item in items if _is_scalar(item))
        return tuple(dict.fromkeys(tag for tag in plain if tag))

    @property
    def metadata(self) -> dict[str, Any]:
        """The fields that a filter can ask for: scalars and lists of scalars.

        Dates are ISO 8601 text. What the chunk itself carries (title, tags, summary) and
        nested values are left out.
        """
        kept = {}
        for key, value in self.fields.items():
            if key in {"title", "tags", "summary"}:
                continue
            if _is_scalar(value):
                kept[key] = _plain(value)
            elif isinstance(value, list) and all(_is_scalar(item) for item in value):
                kept[key] = [_plain(item) for item in value]
        return kept


def read_front_matter(lines: Sequence[str]) -> FrontMatter:  # noqa: PLR0911 - each way of having none
    """Read the block between `---` on the first line and the next `---` or `...`.

    Without a closing line, or when what stands between is a list or running text, there is
    no front matter and the file starts at its first line.
    """
    if not lines or not _OPENING.match(lines[0]):
        return FrontMatter()
    end = next((i for i in range(1, len(lines)) if _CLOSING.match(lines[i])), None)
    if end is None:
        return FrontMatter()
    block = lines[1:end]
    simple = simple_fields(block)
    if simple:
        return FrontMatter(simple, end + 1)
    try:
        value = _load("\n".join(block))
    except _InvalidYamlError as error:
        fields = _fields_of_lines(block)
        if not fields:
            return FrontMatter()
        line = None if error.line is None else error.line + 2
        return FrontMatter(fields, end + 1, error.problem, line)
    if value is None and all(not line.strip() or line.startswith("#") for line in block):
        return FrontMatter(body_start=end + 1)
    if not isinstance(value, Mapping):
        return FrontMatter()
    return FrontMatter({str(key): item for key, item in value.items()}, end + 1)


class _InvalidYamlError(Exception):
    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def _load(text: str) -> Any:
    if len(text) > _LIMIT:
        raise _InvalidYamlError(f"it is longer than {_LIMIT // 1024} KiB")
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - slow to import

    try:
        return _loader().load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "unreadable").split())
        raise _InvalidYamlError(problem, mark.line if mark else None) from error
    except (YAMLError, ValueError, TypeError) as error:
        raise _InvalidYamlError(str(error).partition("\n")[0] or "unreadable") from error
    except RecursionError as error:
        raise _InvalidYamlError("it is nested too deep") from error


@functools.cache
def _loader() -> Any:
    """Make a loader of YAML 1.2 that makes plain data only, and ISO text of dates.

    A number with an exponent stays the text it is: `1e3` is a name more often than a number.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import
    from ruamel.yaml.constructor import SafeConstructor  # noqa: PLC0415

    class Constructor(SafeConstructor):
        """A safe constructor that makes no dates, no numbers of `1e3` and no half characters."""

    def iso_text(_constructor: Any, node: Any) -> str:
        return _iso_time(node.value)

    def number(constructor: Any, node: Any) -> Any:
        if "e" in node.value.lower():
            return node.value
        return constructor.construct_yaml_float(node)

    def text(constructor: Any, node: Any) -> str:
        return _whole_characters(constructor.construct_scalar(node))

    Constructor.add_constructor("tag:yaml.org,2002:str", text)
    Constructor.add_constructor("tag:yaml.org,2002:timestamp", iso_text)
    Constructor.add_constructor("tag:yaml.org,2002:float", number)
    loader = YAML(typ="safe", pure=True)
    loader.Constructor = Constructor
    return loader


def _whole_characters(text: str) -> str:
    r"""Join the pairs that JSON writes of one character, `\ud83e\udd94`; ValueError for half of one."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        message = "it has an escape of half a surrogate pair"
    raise ValueError(message)


def _iso_time(value: str) -> str:
    """Write a YAML date-time as ISO 8601; a date already is."""
    time = _DATE_TIME.match(value)
    if not time:
        return value
    year, month, day, hour, minute, second = (int(part) for part in time.groups()[:6])
    fraction, zone = (time[7] or "").rstrip("."), time[8] or ""
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"


def _fields_of_lines(block: Sequence[str]) -> dict[str, Any]:
    """Read each `key: value` line alone, so that one bad line costs only itself."""
    fields: dict[str, Any] = {}
    for line in block:
        match = _KEY_LINE.match(line.rstrip())
        if not match or not match[2]:
            continue
        try:
            value = _load(match[2])
        except _InvalidYamlError:
            value = match[2]
        fields[match[1]] = match[2] if isinstance(value, Mapping) else value
    return fields


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _plain(value: Any) -> Any:
    """Keep what JSON and SQLite can hold; a number beyond them becomes its text."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if -_INTEGER_LIMIT <= value < _INTEGER_LIMIT else str(value)
