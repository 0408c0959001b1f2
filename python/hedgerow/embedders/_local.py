"""The shared parts of embedders with a local model: everything except the call of the model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from hedgerow._checks import checked_texts

from ._prompted import PromptedEmbedder
from .base import bad_answer, non_blank

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class LocalEmbedder(PromptedEmbedder):
    """An `Embedder` with a model in this process.

    Threads may share it; their calls are serialized.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._turn = Lock()

    @abstractmethod
    def _encode(self, texts: list[str]) -> Any:
        """Return the model's result: an array with one row for each text, unchecked."""

    def embed(self, texts: Sequence[str]) -> NDArray[float32] | list[Any]:
        """Return a row for each text: an array, or a list with empty rows for texts without a vector.

        Blank texts have none. Raises HedgerowError when the model returns something other than one
        finite vector for each text, InvalidInputError for a text with half of a surrogate pair.
        """
        return self._rows(texts, self._encode)

    def _rows(
        self, texts: Sequence[str], encode: Callable[[list[str]], Any]
    ) -> NDArray[float32] | list[Any]:
        """Return the checked rows of the model for the texts."""
        local = _Texts(texts, f"the model {self.name}")
        if not local.to_embed:
            return local.none()
        with self._turn:  # tokenizers are not thread-safe
            answered = encode(local.to_embed)
        return local.rows(answered)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class _Texts:
    """Texts for a model that does its own batching and returns an array."""

    def __init__(self, texts: Sequence[str], source: str) -> None:
        self._count = len(checked := checked_texts(texts))
        self._source = source
        self._indices = non_blank(checked)
        self.to_embed = [checked[i] for i in self._indices]

    def none(self) -> list[Any]:
        """Return empty rows, if no text has anything to embed."""
        return [()] * self._count

    def rows(self, answered: Any) -> NDArray[float32] | list[Any]:
        """Return the checked array, or a list of its rows if some texts have no vector."""
        import numpy as np  # noqa: PLC0415 - comes with the libraries; hedgerow itself does without

        texts = len(self._indices)
        try:
            vectors = np.asarray(answered, dtype=np.float32)
        except (TypeError, ValueError) as error:
            what = f"with something other than an array of numbers for {texts} texts"
            raise bad_answer(self._source, what) from error
        if vectors.ndim != 2 or len(vectors) != texts:  # noqa: PLR2004 - a matrix
            shape = (
                f"an array of {'x'.join(map(str, vectors.shape))}" if vectors.ndim else "a number"
            )
            raise bad_answer(self._source, f"with {shape} for {texts} texts")
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            i = self._indices[int(finite.argmin())]
            raise bad_answer(self._source, f"with a number that is not finite for texts[{i}]")
        has_direction: Any = vectors.any(axis=1)
        if len(vectors) == self._count and has_direction.all():
            return vectors
        rows = self.none()
        for i, row, usable in zip(self._indices, vectors, has_direction, strict=True):
            if usable:
                rows[i] = row
        return rows
