"""Which memories a recall is asked for: their types, tags and times (spec/memory.md, "Recall")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hedgerow._checks import checked_texts
from hedgerow.typing import QuestionDate

from .names import type_word
from .tags import compared, separate_tags
from .times import checked_start


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the front matter of a memory has to say; without anything, all do.

    Its type is one of `types`, it has all `tags` or tags nested in them, and it is from `after` or later and from earlier
    than `before`: one without a time is neither. A memory with a date alone is from the midnight in
    the time zone of `after`.
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
        """Check what was asked for; InvalidInputError for a date that does not exist."""
        return cls(
            frozenset(type_word(one) for one in checked_texts(types, "types")),
            frozenset(map(compared, separate_tags(checked_texts(tags, "tags")))),
            None if after is None else checked_start(after, "after", now),
            None if before is None else checked_start(before, "before", now),
        )

    def __bool__(self) -> bool:
        return bool(self.types or self.tags) or self.after is not None or self.before is not None
