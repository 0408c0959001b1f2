"""YAML as people and programs mostly write it above a note, read without the library.

One `key: value` a line, lists on one line or with a hyphen each: of these YAML makes exactly what is
made here, and the library takes a hundred times as long. Everything else is left to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?: +(\S.*?))? *\Z")
_ITEM = re.compile(r"( *)- +(\S.*?) *\Z")
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


def simple_fields(block: Sequence[str]) -> dict[str, Any] | None:
    """Read a block; None when a line of it is not simple."""
    fields: dict[str, Any] = {}
    items: list[Any] | None = None
    indent = ""
    try:
        for line in block:
            if not line.isprintable():
                return None
            match = _LINE.match(line)
            if match:
                if items == []:
                    return None
                key, value = match.groups()
                if key in fields or key.lower() in _WORDS_OF_YAML:
                    return None
                items = [] if value is None else None
                fields[key] = items if value is None else _value(value)
                continue
            item = _ITEM.match(line)
            if not item or items is None or (items and item[1] != indent):
                return None
            indent = item[1]
            items.append(_item(item[2]))
    except _NotSimpleError:
        return None
    return None if items == [] else fields


def _item(text: str) -> Any:
    """Read an item of a list: a scalar."""
    value = _value(text)
    if isinstance(value, list):
        raise _NotSimpleError
    return value


def _value(text: str) -> Any:
    match = _VALUE.match(text)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        raise _NotSimpleError
    found = match[kind]
    if kind == "plain":
        return _plain(found)
    if kind == "integer":
        return int(found)
    if kind == "decimal":
        return float(found)
    if kind == "texts":
        return json.loads(found)
    if kind == "words":
        return [_plain(word.strip(" ")) for word in found.split(",")]
    return found


def _plain(text: str) -> Any:
    """Give what YAML makes of a bare word: one of its two booleans, or the text."""
    if text.lower() in _WORDS_OF_YAML:
        if text not in _BOOLEANS:
            raise _NotSimpleError
        return _BOOLEANS[text]
    return text
