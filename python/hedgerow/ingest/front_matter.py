"""YAML front matter: what a note says about itself, read, written and changed.

spec/ingest.md, "Front matter", says how it is read; spec/memory.md, "Front matter", how it is
written. A change replaces the text of one value and nothing else, so comments, order and keys
that mean nothing to us stay as their author wrote them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hedgerow.errors import HedgerowError

from .yaml import (
    LIMIT,
    InvalidYamlError,
    TooManyAliasesError,
    compose,
    load_lines,
    load_value,
)

_FENCE = "---"
_OPENING = re.compile(r"---[ \t]*\Z")
_CLOSING = re.compile(r"(?:---|\.\.\.)[ \t]*\Z")
_KEY_LINE = re.compile(r"([A-Za-z0-9_-]+):(?:[ \t]+(.*))?\Z")
# Characters that JSON leaves as they are in a string, and YAML refuses or reads as a line end.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_INTEGER_LIMIT = 2**63
_MOST_VALUES = 10_000
_DEEPEST = 20
_NAMES = frozenset({"tags", "aliases"})
"""Lists of names, in which neither nothing nor a list is one."""

_MOST_ALONE = 1000
"""The most lines that are read alone of a block that is not valid YAML: each is a YAML document."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The block at the head of a file.

    `body_start` is the index of the first line after it, 0 when there is none. `problem` is why
    the block is not valid YAML, or None; with a problem, `fields` has the fields that read alone, and
    `unread` are the indexes of the lines of the file that do not.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    body_start: int = 0
    problem: str | None = None
    problem_line: int | None = None
    unread: tuple[int, ...] = ()

    def text(self, *keys: str) -> str:
        """Return the first of the keys that holds text or a number, on one line."""
        for key in keys:
            value = self.fields.get(key)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                line = " ".join(str(value).split())
                if line:
                    return line
        return ""

    @property
    def tags(self) -> tuple[str, ...]:
        """The `tags`, a list or one text with commas, without `#` and without repetition."""
        value = self.fields.get("tags", ())
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, Sequence):
            items = (items,)
        plain = (str(item).strip().lstrip("#") for item in items if _is_scalar(item))
        return tuple(dict.fromkeys(tag for tag in plain if tag))

    @property
    def metadata(self) -> dict[str, Any]:
        """The fields that a filter can use: scalars and lists of scalars.

        Without the title, tags and summary, which are fields of the chunk, and without nested
        values.
        """
        kept = {}
        for key, value in self.fields.items():
            if key in {"title", "tags", "summary"}:
                continue
            if _is_scalar(value):
                kept[key] = _json_scalar(value)
            elif isinstance(value, list) and all(_is_scalar(item) for item in value):
                kept[key] = [_json_scalar(item) for item in value]
        return kept

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON, with the items of lists as text.

        A short block with aliases can stand for a large value: one of too many parts, or nested too
        deep, is left out.
        """
        plain = {}
        for key, given in self.fields.items():
            value = given
            if key in _NAMES and isinstance(given, list):
                value = [item for item in given if _is_scalar(item)]
            budget = iter(range(_MOST_VALUES))
            try:
                plain[key] = _json_value(value, budget, _DEEPEST)
            except _TooMuchError:
                continue
        return plain


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Read the block between `---` on the first line and the next `---` or `...`.

    Without a closing line, or when the block is a list or running text, there is no front
    matter, and the file starts at its first line.
    """
    end = _closing_line(lines)
    if end is None:
        return FrontMatter()
    block = lines[1:end]
    try:
        value = load_lines(block)
    except InvalidYamlError as error:
        # Alone, an alias refers to nothing, and its name is not the text of the value.
        is_yaml = isinstance(error, TooManyAliasesError)
        fields, unread = _fields_alone(block, as_text=not is_yaml)
        if not fields and not (is_yaml and any(map(_KEY_LINE.match, block))):
            return FrontMatter()
        line = None if error.line is None else error.line + 2
        lost = tuple(at + 1 for at in unread)
        return FrontMatter(fields, end + 1, error.problem, line, lost)
    if value is None and all(not line.strip() or line.startswith("#") for line in block):
        return FrontMatter(body_start=end + 1)
    if not isinstance(value, Mapping):
        return FrontMatter()
    return FrontMatter({str(key): item for key, item in value.items()}, end + 1)


def _closing_line(lines: Sequence[str]) -> int | None:
    if not lines or not _OPENING.match(lines[0]):
        return None
    return next((i for i in range(1, len(lines)) if _CLOSING.match(lines[i])), None)


def _fields_alone(block: Sequence[str], *, as_text: bool) -> tuple[dict[str, Any], list[int]]:
    """Read each field alone, with the lines below it that belong to it: a bad one costs only itself.

    A value on one line that is not valid YAML alone is left out, or kept as it is written with
    `as_text`. Also returns the indexes of the lines that were not read. Of a block that is too long,
    only the lines within the limit of a block are read.
    """
    fields: dict[str, Any] = {}
    unread: list[int] = []
    size = 0
    for count, entry in enumerate(_entries(block)):
        size += sum(len(block[at]) + 1 for at in entry)
        match = _KEY_LINE.match(block[entry[0]].rstrip())
        if match is None or size > LIMIT or count >= _MOST_ALONE:
            unread += entry
        elif any(block[at].strip() for at in entry[1:]):
            value = _value_of([block[at] for at in entry], match[1])
            if value is not _UNREADABLE:
                fields[match[1]] = value
                continue
            unread += entry[1:] if match[2] and as_text else entry
            if match[2] and as_text:
                fields[match[1]] = match[2]
        elif match[2]:
            try:
                value = load_value(match[2])
            except InvalidYamlError:
                if not as_text:
                    unread += entry
                    continue
                value = match[2]
            fields[match[1]] = match[2] if isinstance(value, Mapping) else value
    return fields, [at for at in unread if block[at].strip()]


_UNREADABLE = object()


def _value_of(lines: Sequence[str], key: str) -> Any:
    try:
        value = load_lines(lines)
    except InvalidYamlError:
        return _UNREADABLE
    return value.get(key, _UNREADABLE) if isinstance(value, Mapping) else _UNREADABLE


def _entries(block: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of the lines of each field, and of each line that belongs to none."""
    entry: list[int] = []
    for at, line in enumerate(block):
        continues = not line.strip() or line[0] in " \t#" or line.startswith(("- ", "-\t"))
        if entry and continues and _KEY_LINE.match(block[entry[0]].rstrip()):
            entry.append(at)
            continue
        if entry:
            yield entry
        entry = [at]
    if entry:
        yield entry


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float)


def _json_scalar(value: Any) -> Any:
    """Return a value that JSON and SQLite can store; a number out of their range becomes text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    in_range = isinstance(value, int) and -_INTEGER_LIMIT <= value < _INTEGER_LIMIT
    return value if in_range else str(value)


class _TooMuchError(Exception):
    pass


def _json_value(value: Any, budget: Iterable[int], depth: int) -> Any:
    if depth == 0 or next(iter(budget), None) is None:
        raise _TooMuchError
    if isinstance(value, Mapping):
        return {str(key): _json_value(item, budget, depth - 1) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        items = (_json_value(item, budget, depth - 1) for item in value)
        texts = [x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in items]
        # A set (`!!set`) has another order in every process.
        return sorted(texts) if isinstance(value, set) else texts
    return _json_scalar(value)


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

    New keys come last, each line ending in `newline`. Raises HedgerowError, with the code
    `invalid_front_matter`, when the block is not a YAML mapping with one key a line.
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


def append_items(
    block: str, key: str, items: Sequence[Any], new: Sequence[Any], newline: str = "\n"
) -> str:
    """Append `new` to the list `items` of a key, each on a line of its own or inside its brackets.

    An empty list, or a value that is not a list yet, is rewritten. Raises as
    `update_front_matter` does.
    """
    node = _list_node(block, key)
    if node is None:
        items, new = [*items, new[0]], new[1:]
        block = update_front_matter(block, {key: items}, newline)
        return append_items(block, key, items, new, newline) if new else block
    end = _end_of(node.value[-1])
    if node.flow_style:
        added = "".join(f", {yaml_value(item)}" for item in new)
        return f"{block[:end]}{added}{block[end:]}"
    end = block.find("\n", end) + 1
    if not end:
        block += newline
        end = len(block)
    indent = " " * node.start_mark.column
    added = "".join(f"{indent}- {yaml_value(item)}{newline}" for item in new)
    return f"{block[:end]}{added}{block[end:]}"


def remove_items(
    block: str, key: str, indexes: Sequence[int], kept: Sequence[Any], newline: str = "\n"
) -> str:
    """Remove the items at `indexes`, from 0, from the list of a key; `kept` are the others.

    A list with one item a line loses their lines; any other is rewritten.
    """
    node = _list_node(block, key)
    if node is None or node.flow_style or not kept:
        return update_front_matter(block, {key: list(kept)}, newline)
    for index in sorted(indexes, reverse=True):
        item = node.value[index]
        start = block.rfind("\n", 0, item.start_mark.index) + 1
        end = block.find("\n", _end_of(item)) + 1
        block = block[:start] + (block[end:] if end else "")
    return block


def remove_key(block: str, key: str) -> str:
    """Remove a key with its value and the lines of these; raises as `update_front_matter` does."""
    found, span = _key_and_value(block, key), _value_span(block, key)
    if found is None or span is None:
        return block
    start = block.rfind("\n", 0, found[0].start_mark.index) + 1
    end = block.find("\n", span[1]) + 1
    return block[:start] + (block[end:] if end else "")


def _value_span(block: str, key: str) -> tuple[int, int] | None:
    """Return the offsets of the value of a top-level key; None without the key."""
    found = _key_and_value(block, key)
    if found is None:
        return None
    name, value = found
    start, end = value.start_mark.index, value.end_mark.index
    colon = block.index(":", name.end_mark.index) + 1
    if start == end:
        # No value: the next token may be the next key.
        start = end = colon
    elif "\n" in block[colon:start]:
        # Rewritten, it goes on the line of its key.
        if block[colon:start].strip():
            raise _invalid(f"there is more than a value under {key}")
        start = colon
    # A block value ends where the next key begins; its last line end stays.
    return start, start + len(block[start:end].rstrip())


def _list_node(block: str, key: str) -> Any:
    """Return the YAML node of a list that is not empty; None for any other value."""
    from ruamel.yaml.nodes import SequenceNode  # noqa: PLC0415 - slow to import

    found = _key_and_value(block, key)
    is_list = found is not None and isinstance(found[1], SequenceNode) and found[1].value
    return found[1] if found and is_list else None


def _end_of(node: Any) -> int:
    """Return the offset at which the text of a node ends; for a block, that of its last part."""
    while isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end: int = node.end_mark.index
    return end


def _key_and_value(block: str, key: str) -> tuple[Any, Any] | None:
    """Return the YAML nodes of a top-level key and its value; None without the key."""
    from ruamel.yaml.nodes import MappingNode  # noqa: PLC0415 - slow to import

    try:
        root = compose(block)
    except InvalidYamlError as error:
        # The block begins on the second line of the file.
        where = "" if error.line is None else f" (line {error.line + 2})"
        raise _invalid(f"{error.problem}{where}") from error
    if root is None:
        return None
    if not isinstance(root, MappingNode) or root.flow_style:
        raise _invalid("it is not one `key: value` a line")
    found = next(((name, value) for name, value in root.value if name.value == key), None)
    if found and found[1].start_mark.index < found[0].start_mark.index:
        # The node of an alias is that of its anchor, further up.
        raise _invalid(f"the value of {key} is an alias")
    return found


def _invalid(problem: str) -> HedgerowError:
    return HedgerowError(
        f"the front matter cannot be changed: {problem}; mend it by hand, then try again",
        code="invalid_front_matter",
    )
