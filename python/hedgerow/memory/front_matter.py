"""Front matter as a memory root writes, changes and shows it (spec/memory.md, "Front matter").

Reading it is `hedgerow.ingest.front_matter`'s. Each value is written as JSON on one line, which
is YAML; a change replaces the text of one value and nothing else, so comments, order and keys
that mean nothing to us stay as their author wrote them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from hedgerow.ingest.front_matter import FrontMatter

_FENCE = "---"
# Characters that JSON leaves alone in a string and YAML does not take, or reads as a line end.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_INTEGER_LIMIT = 2**63
_MOST_VALUES = 10_000
_DEEPEST = 20


def yaml_value(value: Any) -> str:
    """Write a value as JSON on one line that YAML reads as the same value."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def render_front_matter(fields: Mapping[str, Any]) -> str:
    """Write the block with its fences, one key a line."""
    lines = [f"{key}: {yaml_value(value)}\n" for key, value in fields.items()]
    return "".join([_FENCE, "\n", *lines, _FENCE, "\n"])


def update_front_matter(block: str, changes: Mapping[str, Any], newline: str = "\n") -> str:
    """Set keys of the YAML between the fences; all other characters stay.

    New keys come last, each line with `newline` at its end. Raises HedgerowError, with the code `invalid_front_matter`, when the
    block is no YAML mapping.
    """
    missing: dict[str, Any] = {}
    for key, value in changes.items():
        span = _value_span(block, key)
        if span is None:
            missing[key] = value
            continue
        start, end = span
        lead = "" if block[start - 1].isspace() else " "
        block = f"{block[:start]}{lead}{yaml_value(value)}{block[end:]}"
    if block and not block.endswith("\n"):
        block += newline
    lines = (f"{key}: {yaml_value(value)}{newline}" for key, value in missing.items())
    return block + "".join(lines)


def append_item(block: str, key: str, items: Sequence[Any], item: Any, newline: str = "\n") -> str:
    """Add an item to the list `items` of a key, as one line more or between its brackets.

    A value that is no list yet, or an empty one, is written anew. Raises as
    `update_front_matter` does.
    """
    node = _list_node(block, key)
    if node is None:
        return update_front_matter(block, {key: [*items, item]}, newline)
    end = _end_of(node.value[-1])
    if node.flow_style:
        return f"{block[:end]}, {yaml_value(item)}{block[end:]}"
    end = block.find("\n", end) + 1
    if not end:
        block += newline
        end = len(block)
    indent = " " * node.start_mark.column
    return f"{block[:end]}{indent}- {yaml_value(item)}{newline}{block[end:]}"


def remove_items(
    block: str, key: str, places: Sequence[int], kept: Sequence[Any], newline: str = "\n"
) -> str:
    """Take the items at `places`, from 0, out of the list of a key, so that `kept` are left.

    Of a list of one item a line the lines go; any other is written anew.
    """
    node = _list_node(block, key)
    if node is None or node.flow_style or not kept:
        return update_front_matter(block, {key: list(kept)}, newline)
    for place in sorted(places, reverse=True):
        item = node.value[place]
        start = block.rfind("\n", 0, item.start_mark.index) + 1
        end = block.find("\n", _end_of(item)) + 1
        block = block[:start] + (block[end:] if end else "")
    return block


def metadata_of(matter: FrontMatter) -> dict[str, Any]:
    """Give all fields as plain JSON: items of lists as text, numbers beyond JSON as text.

    Aliases can make much of little; a value of too many or too deep parts is left out.
    """
    plain = {}
    for key, value in matter.fields.items():
        budget = iter(range(_MOST_VALUES))
        try:
            plain[key] = _plain(value, budget, _DEEPEST)
        except _TooMuchError:
            continue
    return plain


class _TooMuchError(Exception):
    pass


def _plain(value: Any, budget: Iterable[int], depth: int) -> Any:
    if depth == 0 or next(iter(budget), None) is None:
        raise _TooMuchError
    if isinstance(value, Mapping):
        return {str(key): _plain(item, budget, depth - 1) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return [_as_text(_plain(item, budget, depth - 1)) for item in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
        return value
    return str(value)


def _as_text(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


def _value_span(block: str, key: str) -> tuple[int, int] | None:
    """Find where the value of a top-level key stands in the text; None without the key."""
    found = _key_and_value(block, key)
    if found is None:
        return None
    name, value = found
    start, end = value.start_mark.index, value.end_mark.index
    colon = block.index(":", name.end_mark.index) + 1
    if start == end:
        # No value: what follows its colon may be the next key.
        start = end = colon
    elif "\n" in block[colon:start]:
        # Written anew, it stands on the line of its key.
        if block[colon:start].strip():
            raise _invalid(f"there is more than a value under {key}")
        start = colon
    # A block ends where the next key begins; its last line end stays.
    return start, start + len(block[start:end].rstrip())


def _list_node(block: str, key: str) -> Any:
    """Give the YAML node of a list that holds something; None for any other value."""
    from ruamel.yaml.nodes import SequenceNode  # noqa: PLC0415 - slow to import

    found = _key_and_value(block, key)
    is_list = found is not None and isinstance(found[1], SequenceNode) and found[1].value
    return found[1] if found and is_list else None


def _end_of(node: Any) -> int:
    """Find where the text of a node ends: that of a block ends with its last part."""
    while isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end: int = node.end_mark.index
    return end


def _key_and_value(block: str, key: str) -> tuple[Any, Any] | None:
    """Give the YAML nodes of a top-level key and its value; None without the key."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to import
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415
    from ruamel.yaml.nodes import MappingNode  # noqa: PLC0415

    try:
        root = YAML(typ="rt", pure=True).compose(block)
    except YAMLError as error:
        problem = " ".join(str(error).split())
        raise _invalid(problem) from error
    if root is None:
        return None
    if not isinstance(root, MappingNode) or root.flow_style:
        raise _invalid("it is not one `key: value` a line")
    return next(((name, value) for name, value in root.value if name.value == key), None)


def _invalid(problem: str) -> HedgerowError:
    return HedgerowError(
        f"the front matter cannot be changed: {problem}; mend it by hand, then try again",
        code="invalid_front_matter",
    )
