"""Embeddings from a transformer in ONNX on this machine (spec/adapters.md, "ONNX")."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow._adapters.onnx_model import OnnxModel, Settings, model_folder, read_settings
from hedgerow._checks import checked_texts

from ._local import LocalEmbedder
from ._prompts import Prompts, prompts_of_model, with_prompt
from .base import bad_answer

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class OnnxEmbedder(LocalEmbedder):
    """An `Embedder` over an ONNX model in a folder, float or int8, without torch.

    The folder has `tokenizer.json`, `model.onnx`, and `hedgerow-model.json` with pooling, prompts,
    normalization and limit (spec/adapters.md, "ONNX"). `name`, in that file or the folder's unless
    given, is what an index remembers the vectors by. `query_prompt` and `document_prompt` are put
    before queries and documents, "" for none.

    Texts are embedded one at a time, so that a vector depends on its text alone. Threads may share
    it; they take turns. Raises MissingExtraError without the extra "local", InvalidInputError for
    options that cannot be used and a folder that does not exist, HedgerowError (`model_unavailable`)
    for a folder without a usable model.
    """

    adapter = "onnx"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        download: bool = True,  # noqa: ARG002 - of all adapters; nothing is downloaded here
    ) -> None:
        place = model_folder(folder)
        settings = read_settings(place)
        prompts = None if settings is None else _prompts(settings)
        settings = settings or Settings()
        found = name or settings.name or place.resolve().name
        super().__init__(found)
        prompts = prompts or prompts_of_model(found) or Prompts()
        self._prompts = prompts.given(query_prompt, document_prompt)
        self._source = os.fspath(folder)
        self._settings = replace(settings, name=found)
        self._model = OnnxModel(place, self._settings, needed_by=type(self).__name__)

    def _encode(self, texts: list[str]) -> Any:
        import numpy as np  # noqa: PLC0415 - comes with the extra

        rows = [self._pooled(output) for output in self._model.outputs(texts)]
        if len({row.shape for row in rows}) != 1:
            raise bad_answer(f"the model {self.name}", "with vectors of different lengths")
        return np.stack(rows)

    def _pooled(self, output: NDArray[float32]) -> NDArray[float32]:
        """Return the vector of a text: pooled from its token states, or the model's own."""
        vector = output
        if output.ndim == 2:  # noqa: PLR2004 - a row for each token
            # A single text has no padding, so the mean covers only its own tokens.
            vector = output[0] if self._settings.pooling == "cls" else output.mean(axis=0)
        return _unit(vector) if self._settings.normalize else vector

    def embed_query_tokens(self, texts: Sequence[str]) -> list[NDArray[float32]]:
        """Like `embed_tokens`, with the query prompt before each text."""
        return self.embed_tokens(with_prompt(texts, self.query_prompt))

    def embed_document_tokens(self, texts: Sequence[str]) -> list[NDArray[float32]]:
        """Like `embed_tokens`, with the document prompt before each text."""
        return self.embed_tokens(with_prompt(texts, self.document_prompt))

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[float32]]:
        """Return for each text a matrix of token states at length 1, for late interaction.

        Raises HedgerowError (`bad_answer`) for a model that only returns pooled vectors.
        """
        outputs = self._model.outputs(checked_texts(texts))
        if any(output.ndim != 2 for output in outputs):  # noqa: PLR2004 - see `_pooled`
            raise bad_answer(f"the model {self.name}", "with one vector and no token states")
        return [_unit(output) for output in outputs]


def _prompts(settings: Settings) -> Prompts:
    return Prompts(settings.query_prompt, settings.document_prompt)


def _unit(rows: NDArray[float32]) -> NDArray[float32]:
    """Return the rows scaled to length 1. A row of zeros stays."""
    import numpy as np  # noqa: PLC0415 - comes with the extra

    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), np.float32)
