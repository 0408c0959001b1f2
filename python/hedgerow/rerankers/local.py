"""Rerankers with a model in this process (spec/adapters.md)."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from hedgerow._adapters.local import OnnxModel, load_sentence_transformers
from hedgerow._checks import (
    checked_count,
    checked_flag,
    checked_model_name,
    checked_text,
    checked_texts,
    shown,
)
from hedgerow._extras import imports_of
from hedgerow.errors import InvalidInputError

from .base import RerankDocument, RerankScore, bad_answer, best_first, checked_scores

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class PairScorer(Protocol):
    """The methods of a CrossEncoder that are used."""

    def predict(
        self,
        pairs: list[tuple[str, str]],
        /,
        *,
        batch_size: int,
        show_progress_bar: bool,
        convert_to_numpy: bool,
    ) -> Any:
        """Return an array with one score for each pair."""


class CrossEncoderReranker:
    """A `Reranker` over a sentence-transformers CrossEncoder with one label.

    `model` is the name or the folder of a model, which is loaded here on `device` ("cpu", "cuda",
    ...; None lets the library choose), or a CrossEncoder that is loaded already. `batch_size`
    documents go through the model together. Scores are on the model's own scale. With
    `download=False` a model is used only if it is on this machine (spec/adapters.md, "Models in
    this process").

    Threads may share it; they take turns. Raises MissingExtraError without the extra
    "sentence-transformers", InvalidInputError for options that cannot be used and a folder that
    does not exist, HedgerowError (`model_unavailable`) for a model that is not here and cannot be
    downloaded, and other errors of the library when it loads the model.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | PairScorer,
        *,
        device: str | None = None,
        batch_size: int = 32,
        name: str | None = None,
        download: bool = True,
    ) -> None:
        self.name = checked_model_name(model, name, "cross-encoder")
        self._batch_size = checked_count(batch_size, "batch_size")
        checked_flag(download, "download")
        self._model: PairScorer
        if isinstance(model, (str, os.PathLike)):
            self._model = load_sentence_transformers(
                "CrossEncoder",
                model,
                device,
                needed_by=type(self).__name__,
                repositories=[os.fspath(model)],
                known_by="config.json",
                another_way="use a server that has one: TEIReranker, or tei:URL by name",
                here_only=not download,
            )
        else:
            self._model = model
        self._turn = Lock()

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return a score for each document, best first. Ties keep the order of documents.

        Raises HedgerowError if the model returns something other than one finite score for each
        document, InvalidInputError for a text with a lone surrogate.
        """
        checked_text(query, "the query")
        texts = checked_texts([document.text for document in documents], "documents")
        if not texts:
            return []
        with self._turn:  # tokenizers are not thread-safe
            answered = self._model.predict(
                [(query, text) for text in texts],
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        # The library returns an array; a custom model may return a list.
        scores = answered.tolist() if hasattr(answered, "tolist") else answered
        source = f"the model {self.name}"
        if not isinstance(scores, list):
            raise bad_answer(source, f"with something other than scores for {len(texts)} documents")
        return best_first(checked_scores(scores, len(texts), source))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class OnnxCrossEncoderReranker:
    """A `Reranker` over a cross-encoder with one label, as ONNX in a folder, without torch.

    The folder has `tokenizer.json` and `model.onnx`, and may have `hedgerow-model.json` with a name
    and a limit (spec/adapters.md, "ONNX"). Scores are the model's own numbers (logits).

    Threads may share it; they take turns. Raises MissingExtraError without the extra "local",
    InvalidInputError (`path_not_found`) for a folder that does not exist, HedgerowError
    (`model_unavailable`) for a folder without a usable model.
    """

    def __init__(self, folder: str | os.PathLike[str], *, name: str | None = None) -> None:
        self._model = OnnxModel(folder, name, needed_by=type(self).__name__)
        self.name = self._model.settings.name
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


_CACHED = 64 << 20
"""Bytes of cached token vectors: about 1,000 short texts with 384 numbers per token."""


class TokenEmbedder(Protocol):
    """An embedder that returns a vector for each token.

    It may have `embed_query_tokens` and `embed_document_tokens` instead of `embed_tokens`.
    """

    def embed_tokens(self, texts: Sequence[str], /) -> Iterable[Any]:
        """Return for each text a matrix with a row for each token, at length 1."""


class MaxSimReranker:
    """A `Reranker` that compares the tokens of query and document (MaxSim, as in ColBERT).

    The score is the mean over the tokens of the query of the largest product with a token of the
    document. `embedder` gives token vectors: `hr.embedders.OnnxEmbedder`, or an object with
    `embed_tokens`. Token vectors of documents are kept, up to `cache_bytes`.

    Threads may share it, as far as they may share the embedder. Raises InvalidInputError for an embedder without token vectors,
    MissingExtraError without numpy, which comes with the extra "local".
    """

    def __init__(
        self,
        embedder: TokenEmbedder,
        *,
        name: str | None = None,
        cache_bytes: int = _CACHED,
    ) -> None:
        queries = getattr(embedder, "embed_query_tokens", None)
        documents = getattr(embedder, "embed_document_tokens", None)
        either = getattr(embedder, "embed_tokens", None)
        self._queries, self._documents = queries or either, documents or either
        if not callable(self._queries) or not callable(self._documents):
            raise InvalidInputError(
                "embedder must have a method embed_tokens(texts) that returns a matrix for each "
                f"text, not {shown(embedder)}",
                code="invalid_option",
            )
        with imports_of("local", needed_by=type(self).__name__):
            import numpy  # noqa: ICN001, PLC0415 - the extra
        self._numpy = numpy
        self.name = name or f"max_sim({getattr(embedder, 'name', type(embedder).__name__)})"
        self._cached = _Matrices(checked_count(cache_bytes, "cache_bytes", least=0))

    def rerank(self, query: str, documents: Sequence[RerankDocument]) -> list[RerankScore]:
        """Return a score for each document, best first. Ties keep the order of documents.

        Raises HedgerowError if the embedder does not return one matrix for each text,
        InvalidInputError for a text with a lone surrogate.
        """
        return self.rerank_many([query], [documents])[0]

    def rerank_many(
        self, queries: Sequence[str], documents: Sequence[Sequence[RerankDocument]]
    ) -> list[list[RerankScore]]:
        """Like `rerank`, for each query. A text that several queries found is embedded once."""
        for i, query in enumerate(queries):
            checked_text(query, f"queries[{i}]")
        texts = dict.fromkeys(document.text for found in documents for document in found)
        matrices = self._of_documents(checked_texts(list(texts), "documents"))
        asked = list(dict.fromkeys(queries))
        of_queries = dict(zip(asked, self._embedded(self._queries, asked), strict=True))
        return [
            self._scored(of_queries[query], [matrices[one.text] for one in found])
            for query, found in zip(queries, documents, strict=True)
        ]

    def _of_documents(self, texts: list[str]) -> dict[str, NDArray[float32]]:
        found = self._cached.found(texts)
        missing = [text for text in texts if text not in found]
        new = dict(zip(missing, self._embedded(self._documents, missing), strict=True))
        self._cached.keep(new)
        return found | new

    def _embedded(self, embed: Any, texts: list[str]) -> list[NDArray[float32]]:
        if not texts:
            return []
        np = self._numpy
        found = [np.asarray(matrix, np.float32) for matrix in embed(texts)]
        if len(found) != len(texts) or any(matrix.ndim != 2 for matrix in found):  # noqa: PLR2004
            raise bad_answer(self.name, f"without a matrix for each of {len(texts)} texts")
        return found

    def _scored(
        self, query: NDArray[float32], documents: list[NDArray[float32]]
    ) -> list[RerankScore]:
        scores = [
            float((query @ document.T).max(axis=1).mean()) if len(document) and len(query) else 0.0
            for document in documents
        ]
        return best_first(checked_scores(scores, len(documents), self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class _Matrices:
    """A cache of the matrices of the last used texts, limited in bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._kept: OrderedDict[str, NDArray[float32]] = OrderedDict()
        self._turn = Lock()

    def found(self, texts: Iterable[str]) -> dict[str, NDArray[float32]]:
        found = {}
        with self._turn:
            for text in texts:
                if text in self._kept:
                    self._kept.move_to_end(text)
                    found[text] = self._kept[text]
        return found

    def keep(self, matrices: dict[str, NDArray[float32]]) -> None:
        with self._turn:
            for text, matrix in matrices.items():
                if text not in self._kept:
                    self._kept[text] = matrix
                    self._bytes += matrix.nbytes
            while self._bytes > self._most:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= dropped.nbytes


def max_sim(embedder: TokenEmbedder) -> MaxSimReranker:
    """Return a late-interaction reranker over an embedder's token vectors (`MaxSimReranker`)."""
    return MaxSimReranker(embedder)
