"""What the embedders share: texts that have words, batches of them, and checked rows of numbers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hedgerow._checks import checked_texts
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    Row = array[float]


class Batches:
    """Texts in batches for a server, and the rows it answers, put where their texts stand.

    Blank texts are not sent, for some servers refuse them: their rows stay empty.
    """

    def __init__(self, texts: Sequence[str], size: int, source: str) -> None:
        self._texts = checked_texts(texts)
        self._size = size
        self._source = source
        self._dimensions: int | None = None
        self.rows: list[Row] = [array("f") for _ in self._texts]

    def __iter__(self) -> Iterator[list[str]]:
        places = places_with_words(self._texts)
        for start in range(0, len(places), self._size):
            self._places = places[start : start + self._size]
            yield [self._texts[place] for place in self._places]

    def take(self, answered: Any) -> None:
        """Check the rows for the batch that was yielded last, and keep them."""
        places = self._places
        if not isinstance(answered, list):
            raise self._bad("without a list of embeddings")
        if len(answered) != len(places):
            raise self._bad(f"with {len(answered)} embeddings for {len(places)} texts")
        for place, numbers in zip(places, answered, strict=True):
            self.rows[place] = self._row(numbers, f"texts[{place}]")

    def _row(self, numbers: Any, text: str) -> Row:
        row = None
        with suppress(TypeError, OverflowError):
            row = array("f", numbers) if isinstance(numbers, list) else None
        if row is None:
            raise self._bad(f"with something other than a list of numbers for {text}")
        if not row:
            raise self._bad(f"with an empty embedding for {text}")
        if not all(map(math.isfinite, row)):
            raise self._bad(f"with a number that is not finite for {text}")
        self._dimensions = self._dimensions or len(row)
        if len(row) != self._dimensions:
            raise self._bad(
                f"with {len(row)} dimensions for {text}, and {self._dimensions} for others"
            )
        return row if any(row) else array("f")

    def _bad(self, what: str) -> HedgerowError:
        return bad_answer(self._source, what)


def bad_answer(source: str, what: str) -> HedgerowError:
    """The error for an answer that is no answer to what was asked."""
    return HedgerowError(
        f"{source} answered {what}; check that it serves a model of this kind", code="bad_answer"
    )


def places_with_words(texts: Sequence[str]) -> list[int]:
    """The places of the texts that are more than white space."""
    return [place for place, text in enumerate(texts) if text.strip()]
