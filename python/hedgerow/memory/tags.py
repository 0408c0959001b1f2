"""The tags of a memory: in front matter, and `#tag` in the text (spec/memory.md, "Tags and aliases")."""

from __future__ import annotations

from collections.abc import Iterable

from .links import normalized


def compared(text: str) -> str:
    """Return a tag to compare: without `#`, in Unicode's form NFC, and without regard to case."""
    return normalized(text.strip().removeprefix("#").strip("/")).casefold()


def separate_tags(tags: Iterable[str]) -> list[str]:
    """Return each tag of a list whose items may be several tags with commas between."""
    parts = (part.strip() for one in tags for part in one.split(","))
    return list(dict.fromkeys(part for part in parts if part))
