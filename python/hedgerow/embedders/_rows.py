"""What the embedders share: batches of texts out, checked rows of numbers in."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hedgerow._checks import checked_texts
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

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
        places = _with_words(self._texts)
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


class LocalTexts:
    """Texts for a model in this process, which batches them itself and answers with an array."""

    def __init__(self, texts: Sequence[str], source: str) -> None:
        self._count = len(checked := checked_texts(texts))
        self._source = source
        self._places = _with_words(checked)
        self.to_embed = [checked[place] for place in self._places]

    def none(self) -> list[Any]:
        """The rows where no text has anything to embed."""
        return [()] * self._count

    def rows(self, answered: Any) -> NDArray[float32] | list[Any]:
        """The checked array, or a list of its rows where some texts have no vector."""
        import numpy as np  # noqa: PLC0415 - comes with the libraries, hedgerow itself has no use for it

        vectors = np.asarray(answered, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self._places):  # noqa: PLR2004 - a matrix
            shape = "x".join(map(str, vectors.shape))
            texts = len(self._places)
            raise bad_answer(self._source, f"with an array of {shape} for {texts} texts")
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            place = self._places[int(finite.argmin())]
            raise bad_answer(self._source, f"with a number that is not finite for texts[{place}]")
        has_direction: Any = vectors.any(axis=1)
        if len(vectors) == self._count and has_direction.all():
            return vectors
        rows = self.none()
        for place, row, usable in zip(self._places, vectors, has_direction, strict=True):
            if usable:
                rows[place] = row
        return rows


def _with_words(texts: Sequence[str]) -> list[int]:
    """The places of the texts that are more than white space."""
    return [place for place, text in enumerate(texts) if text.strip()]
