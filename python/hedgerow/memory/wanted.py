"""Which memories a recall is asked for: their types, tags and times (spec/memory.md, "Recall")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hedgerow._checks import checked_texts
from hedgerow.typing import QuestionDate

from .names import bucket_of
from .times import checked_start, memory_time

_BETWEEN_TAGS = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the front matter of a memory has to say; without anything, all do.

    Its type is one of `types`, it has all `tags`, and it is from `after` or later and from earlier
    than `before`: one without a time is neither.
    """

    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    after: datetime | None = None
    before: datetime | None = None

    @classmethod
    def of(
        cls,
        types: Sequence[str],
        tags: Sequence[str],
        after: QuestionDate | None,
        before: QuestionDate | None,
        now: datetime,
    ) -> Wanted:
        """Check what was asked for; InvalidInputError for what is no date that exists."""
        return cls(
            frozenset(one.strip().lower() for one in checked_texts(types, "types")),
            frozenset(_tag(one) for one in checked_texts(tags, "tags")),
            None if after is None else checked_start(after, "after", now),
            None if before is None else checked_start(before, "before", now),
        )

    def passes(self, path: str, matter: Mapping[str, Any]) -> bool:
        """Tell whether a memory is among those that are asked for."""
        if self.types and bucket_of(path, matter) not in self.types:
            return False
        if self.tags and not self.tags <= tags_of(matter):
            return False
        if self.after is None and self.before is None:
            return True
        time = memory_time(path, matter)
        if time is None or (self.after is not None and time < self.after):
            return False
        return self.before is None or time < self.before


def tags_of(matter: Mapping[str, Any]) -> frozenset[str]:
    """Return the tags in front matter, a list or one text with commas or spaces between."""
    given = matter.get("tags")
    if isinstance(given, str):
        given = _BETWEEN_TAGS.split(given)
    if not isinstance(given, list):
        return frozenset()
    return frozenset(_tag(one) for one in given if isinstance(one, str)) - {""}


def _tag(text: str) -> str:
    """Return a tag to compare: without the `#` of a text, and without regard to case."""
    return text.strip().removeprefix("#").casefold()
