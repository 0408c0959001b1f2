"""YAML 1.2 of front matter as plain data (spec/ingest.md, "Front matter").

Keys are the text that is written, whatever type YAML would give them: `007`, `true` and `1.50`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .passages import shorten

LIMIT = 64 * 1024
"""The most characters of a block that is read."""

DEPTH_LIMIT = 100
"""How deep lists and mappings may nest, with aliases written out."""

EXPANDED_LIMIT = 4 * LIMIT
"""The most that a block may come to with its aliases written out: its characters, and one more for
each value. A block without aliases is always below that.
"""

_LONGEST_NUMBER = 40
"""A number with more characters is text: nothing that it is kept in could hold it."""

_LONGEST_PROBLEM = 200
_TOO_DEEP = f"it is nested too deep: at most {DEPTH_LIMIT} levels"
_BRACKET = re.compile(r"[\[\]{}]")
_DATE_TIME = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(\.\d*)?[ \t]*"
    r"(Z|[-+]\d\d?(?::?\d\d)?)?\Z"
)


class InvalidYamlError(Exception):
    """A block is not valid YAML; `line` counts from 0, or is None."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class TooManyAliasesError(InvalidYamlError):
    """The aliases of a block stand for too much, or one stands for a value that contains it."""


def load_lines(lines: Sequence[str]) -> Any:
    """Read a block; raises InvalidYamlError."""
    text = "\n".join(lines)
    _check_length(text)
    return simple_fields(lines) or load(text)


def load_value(text: str) -> Any:
    """Read the value of one line; raises InvalidYamlError."""
    # As in `simple_fields`, only the library knows which other characters YAML allows.
    if text.isprintable():
        try:
            return _simple_value(text)
        except _NotSimpleError:
            pass
    return load(text)


def load(text: str) -> Any:
    """Read YAML with the library; raises InvalidYamlError."""
    _check_size(text)
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import

    # One loader a call: it holds the state of a load, and a record of each that it has done.
    loader = YAML(typ="safe", pure=True)
    loader.Constructor = _constructor()
    return _by_library(loader, loader.load, text)


def compose(text: str) -> Any:
    """The library's nodes of a block, with the offsets of each, or None; raises InvalidYamlError."""
    _check_size(text)
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import

    loader = YAML(typ="rt", pure=True)
    return _by_library(loader, loader.compose, text)


def _by_library(loader: Any, read: Callable[[str], Any], text: str) -> Any:
    """Call the library, and raise InvalidYamlError for whatever it raises."""
    from ruamel.yaml.error import MarkedYAMLError  # noqa: PLC0415 - slow to import

    loader.composer.warn_double_anchors = False
    try:
        return read(text)
    except InvalidYamlError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "unreadable").split())
        line = mark.line if mark else None
        raise InvalidYamlError(shorten(problem, _LONGEST_PROBLEM), line) from error
    except RecursionError as error:
        raise InvalidYamlError(_TOO_DEEP) from error
    except Exception as error:  # the library raises more than it documents
        problem = str(error).partition("\n")[0] or "unreadable"
        raise InvalidYamlError(shorten(problem, _LONGEST_PROBLEM)) from error


def _check_size(text: str) -> None:
    """Refuse what is too long, and brackets that nest too deep for the library."""
    _check_length(text)
    if _depth(text) > DEPTH_LIMIT:
        raise InvalidYamlError(_TOO_DEEP)


def _check_length(text: str) -> None:
    if len(text) > LIMIT:
        raise InvalidYamlError(f"it is longer than {LIMIT // 1024} KiB")


def _depth(text: str) -> int:
    """Return how deep brackets nest: with open ones the library takes quadratic time.

    Brackets in quotes and comments count too; no block that people write has so many.
    """
    depth = deepest = 0
    if text.count("[") + text.count("{") > DEPTH_LIMIT:
        for bracket in _BRACKET.findall(text):
            depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
            deepest = max(deepest, depth)
    return deepest


@functools.cache
def _constructor() -> type:
    """Return the class that makes plain data: keys and dates are text, and so is `1e3`.

    A number with an exponent is a name more often than a number.
    """
    from ruamel.yaml.constructor import SafeConstructor  # noqa: PLC0415 - slow to import
    from ruamel.yaml.nodes import ScalarNode  # noqa: PLC0415

    text_tag = "tag:yaml.org,2002:str"

    def as_text(key: Any) -> Any:
        if not isinstance(key, ScalarNode):
            return key
        # A copy: an alias may use the same node as a value.
        return ScalarNode(text_tag, key.value, key.start_mark, key.end_mark, key.style)

    class Constructor(SafeConstructor):
        def construct_document(self, node: Any) -> Any:
            # Before anything is made: merging (`<<`) and whoever reads the value go through
            # an alias as often as it occurs.
            _check_expanded(node)
            return super().construct_document(node)

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            node.value = [(as_text(key), value) for key, value in node.value]
            if getattr(node, "merge", None) is not None:
                node.merge = [(as_text(key), value) for key, value in node.merge]

    Constructor.add_constructor(text_tag, _text)
    Constructor.add_constructor("tag:yaml.org,2002:int", _whole_number)
    Constructor.add_constructor("tag:yaml.org,2002:timestamp", _iso_text)
    Constructor.add_constructor("tag:yaml.org,2002:float", _number)
    return Constructor


def _text(constructor: Any, node: Any) -> str:
    return _join_surrogates(constructor.construct_scalar(node))


def _iso_text(constructor: Any, node: Any) -> str:
    return _iso_time(constructor.construct_scalar(node))


def _whole_number(constructor: Any, node: Any) -> Any:
    written = constructor.construct_scalar(node)
    return written if len(written) > _LONGEST_NUMBER else constructor.construct_yaml_int(node)


def _number(constructor: Any, node: Any) -> Any:
    written = constructor.construct_scalar(node)
    if "e" in written.lower() or len(written) > _LONGEST_NUMBER:
        return written
    return constructor.construct_yaml_float(node)


def _check_expanded(root: Any) -> None:
    """Refuse a document that is too much, or too deep, with its aliases written out.

    A few hundred characters of aliases to aliases stand for more than fits into memory. Each node
    is looked at once, so that this takes no longer than reading it did.
    """
    # For each node that is done, its size and how deep it nests; None while it is open.
    known: dict[int, tuple[int, int] | None] = {}
    stack = [(root, _parts_of(root))]
    while stack:
        node, parts = stack[-1]
        known.setdefault(id(node), None)
        part = next((part for part in parts if known.get(id(part), ...) is ...), None)
        if part is not None:
            stack.append((part, _parts_of(part)))
            continue
        stack.pop()
        of_parts = [known[id(part)] for part in _parts_of(node)]
        if None in of_parts:
            raise TooManyAliasesError("an alias is inside of what it stands for")
        done = [one for one in of_parts if one is not None]
        is_scalar = not isinstance(node.value, list)
        size = 1 + len(node.value) * is_scalar + sum(size for size, _ in done)
        depth = 0 if is_scalar else 1 + max((depth for _, depth in done), default=0)
        if size > EXPANDED_LIMIT:
            limit = f"{EXPANDED_LIMIT // 1024} KiB"
            raise TooManyAliasesError(f"with its aliases written out it is longer than {limit}")
        if depth > DEPTH_LIMIT:
            raise InvalidYamlError(_TOO_DEEP)
        known[id(node)] = size, depth


def _parts_of(node: Any) -> Iterator[Any]:
    """Yield the nodes inside of one, keys and values alike."""
    if isinstance(node.value, list):
        for part in node.value:
            if isinstance(part, tuple):
                yield from part
            else:
                yield part


def _join_surrogates(text: str) -> str:
    r"""Join the escaped pairs of JSON, `\ud83e\udd94`; ValueError for half of a pair."""
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


# Kept: of 10,000 blocks ruamel.yaml takes 14.5 s and this 0.3 s. The faster libraries change
# what is read: PyYAML (1.1 s) is YAML 1.1, py-yaml12 (0.1 s) loses the text of keys and of `1e3`.

_LINE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_-]*):(?: +(\S.*))?\Z")
_ITEM = re.compile(r"( *)- +(\S.*)\Z")
_VALUE = re.compile(
    r"(?P<plain>[^\W\d_](?:[^:#]|:(?=[^\s:])|(?<=[^\s#])#)*(?<!:))\Z"
    r"|(?P<date>\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d))?)\Z"
    r"|(?P<integer>-?(?:0|[1-9][0-9]{0,14}))\Z"
    r"|(?P<decimal>-?(?:0|[1-9][0-9]{0,8})\.[0-9]{1,9})\Z"
    r'|"(?P<double>[^"\\]*)"\Z'
    r"|'(?P<single>[^'\\]*)'\Z"
    r'|(?P<texts>\[(?:"[^"\\]*"(?:, ?"[^"\\]*")*)?\])\Z'
    r"|\[(?P<words>[A-Za-z][A-Za-z0-9./_ -]*(?:, [A-Za-z][A-Za-z0-9./_ -]*)*)\]\Z"
)
_BOOLEANS = {"true": True, "false": False}
_WORDS_OF_YAML = frozenset({"null", "true", "false"})


class _NotSimpleError(Exception):
    pass


def simple_fields(lines: Sequence[str]) -> dict[str, Any] | None:
    """Read one `key: value` a line, with lists on one line or an item a line.

    None when a line is anything else; what is read is what the library reads.
    """
    fields: dict[str, Any] = {}
    items: list[Any] | None = None
    indent = ""
    try:
        for line in lines:
            if not line.isprintable():
                return None
            trimmed = line.rstrip(" ")
            match = _LINE.match(trimmed)
            if match:
                if items == []:
                    return None
                key, value = match.groups()
                if key in fields:
                    return None
                items = [] if value is None else None
                fields[key] = items if value is None else _simple_value(value)
                continue
            item = _ITEM.match(trimmed)
            if not item or items is None or (items and item[1] != indent):
                return None
            indent = item[1]
            items.append(_simple_item(item[2]))
    except _NotSimpleError:
        return None
    return None if items == [] else fields


def _simple_item(text: str) -> Any:
    value = _simple_value(text)
    if isinstance(value, list):
        raise _NotSimpleError
    return value


def _simple_value(text: str) -> Any:
    match = _VALUE.match(text)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        raise _NotSimpleError
    found = match[kind]
    if kind == "plain":
        return _plain_scalar(found)
    if kind == "integer":
        return int(found)
    if kind == "decimal":
        return float(found)
    if kind == "texts":
        return json.loads(found)
    if kind == "words":
        return [_plain_scalar(word.strip(" ")) for word in found.split(",")]
    return found


def _plain_scalar(text: str) -> Any:
    """Read an unquoted word: a boolean, or text."""
    if text.lower() in _WORDS_OF_YAML:
        if text not in _BOOLEANS:
            raise _NotSimpleError
        return _BOOLEANS[text]
    return text
