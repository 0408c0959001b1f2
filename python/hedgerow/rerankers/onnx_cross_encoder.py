"""Reranking by a cross-encoder in ONNX on this machine (spec/adapters.md, "ONNX")."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from hedgerow._adapters.onnx_model import OnnxModel, Settings, model_folder, read_settings
from hedgerow._checks import checked_text, checked_texts

from .base import RerankDocument, RerankScore, bad_answer, best_first, checked_scores


class OnnxCrossEncoderReranker:
    """A `Reranker` over a cross-encoder with one label, as ONNX in a folder, without torch.

    The folder has `tokenizer.json` and `model.onnx`, and may have `hedgerow-model.json` with a name
    and a limit (spec/adapters.md, "ONNX"). Scores are the model's own numbers (logits).

    Threads may share it; they take turns. Raises MissingExtraError without the extra "local",
    InvalidInputError (`path_not_found`) for a folder that does not exist, HedgerowError
    (`model_unavailable`) for a folder without a usable model.
    """

    def __init__(self, folder: str | os.PathLike[str], *, name: str | None = None) -> None:
        place = model_folder(folder)
        settings = read_settings(place) or Settings()
        self.name = name or settings.name or place.resolve().name
        settings = replace(settings, name=self.name)
        self._model = OnnxModel(place, settings, needed_by=type(self).__name__)
        self._turn = Lock()

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return a score for each document, best first. Ties keep the order of documents.

        Raises HedgerowError if the model returns something other than one finite score for each
        document, InvalidInputError for a text with a lone surrogate.
        """
        checked_text(query, "the query")
        texts = checked_texts([document.text for document in documents], "documents")
        with self._turn:
            outputs = self._model.outputs([(query, text) for text in texts])
        source = f"the model {self.name}"
        if any(output.size != 1 for output in outputs):
            raise bad_answer(source, "with more than one number for a document")
        scores = [float(output.reshape(())) for output in outputs]
        return best_first(checked_scores(scores, len(texts), source))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
