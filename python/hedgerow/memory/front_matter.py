"""Front matter as a memory root writes, changes and shows it (spec/memory.md, "Front matter").

Reading it is `hedgerow.ingest.front_matter`'s. Each value is written as JSON on one line, which
is YAML; a change replaces the text of one value and nothing else, so comments, order and keys
that mean nothing to us stay as their author wrote them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
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


def update_front_matter(block: str, changes: Mapping[str, Any]) -> str:
    """Set keys of the YAML between the fences; all other characters stay.

    New keys come last. Raises HedgerowError, with the code `invalid_front_matter`, when the
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
        block += "\n"
    return block + "".join(f"{key}: {yaml_value(value)}\n" for key, value in missing.items())


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
    for name, value in root.value:
        if name.value == key:
            start, end = value.start_mark.index, value.end_mark.index
            if start == end:
                # No value: what follows its colon may be the next key.
                start = end = block.index(":", name.end_mark.index) + 1
            # A block ends where the next key begins; its last line end stays.
            return start, start + len(block[start:end].rstrip())
    return None


def _invalid(problem: str) -> HedgerowError:
    return HedgerowError(
        f"the front matter cannot be changed: {problem}; mend it by hand, then try again",
        code="invalid_front_matter",
    )
