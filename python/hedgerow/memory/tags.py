"""The tags of a memory: in front matter, and `#tag` in the text (spec/memory.md, "Tags and aliases")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .links import normalized

_BETWEEN = re.compile(r"[,\s]+")


def tags_of(matter: Mapping[str, Any]) -> frozenset[str]:
    """Return the tags in front matter, a list or one text with commas or spaces between."""
    given = matter.get("tags")
    if isinstance(given, str):
        given = _BETWEEN.split(given)
    if not isinstance(given, list):
        return frozenset()
    return frozenset(compared(one) for one in given if isinstance(one, str)) - {""}


def compared(text: str) -> str:
    """Return a tag to compare: without `#`, in Unicode's form NFC, and without regard to case."""
    return normalized(text.strip().removeprefix("#").strip("/")).casefold()


def has_tags(tags: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether tags include all that are wanted; `infra/k8s` is nested in `infra` and counts as it."""
    there = frozenset(tags)
    return all(one in there or any(tag.startswith(f"{one}/") for tag in there) for one in wanted)


def separate_tags(tags: Iterable[str]) -> list[str]:
    """Return each tag of a list whose items may be several tags with commas between."""
    parts = (part.strip() for one in tags for part in one.split(","))
    return list(dict.fromkeys(part for part in parts if part))
