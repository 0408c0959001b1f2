"""Patterns of filters (spec/filters.md, `$glob`) as regular expressions of Lucene."""

from __future__ import annotations

_SPECIAL = frozenset('.?+*|{}[]()"\\#@&<>~^$-')


def literal(text: str) -> str:
    """A regular expression for the text itself."""
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in text)


def regular_expression(pattern: str) -> str:
    """The regular expression of a pattern that `Filters` took."""
    parts = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif character == "[":
            part, at = _set(pattern, at)
            parts.append(part)
        else:
            parts.append(literal(character))
    return "".join(parts)


def _set(pattern: str, at: int) -> tuple[str, int]:
    """Return the set after an opening bracket, and the offset after it.

    A `]` that comes first is a member.
    """
    negated = pattern[at] in "!^"
    at += negated
    ranges: list[str] = []
    while pattern[at] != "]" or not ranges:
        first = last = pattern[at]
        at += 1
        if pattern[at] == "-" and pattern[at + 1] != "]":
            last = pattern[at + 1]
            at += 2
        ranges.append(literal(first) if first == last else f"{literal(first)}-{literal(last)}")
    return f"[{'^' if negated else ''}{''.join(ranges)}]", at + 1
