"""Embedders with a model in this process (spec/adapters.md)."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from hedgerow._adapters.local import (
    SHIPPED,
    OnnxModel,
    load_sentence_transformers,
    loaded,
    model_folder,
    unusable,
)
from hedgerow._checks import checked_count, checked_model_name, checked_texts
from hedgerow._engine import _StaticTable
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError, InvalidInputError

from .base import bad_answer, non_blank
from .prompts import PromptedEmbedder, Prompts, prompts_of_model, with_prompt

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


class StaticEncoder(Protocol):
    """The methods of a StaticModel that are used."""

    def encode(self, texts: list[str], /, *, batch_size: int, show_progress_bar: bool) -> Any:
        """Return an array with one row for each text."""


class Model2VecEmbedder(LocalEmbedder):
    """An `Embedder` over a model2vec model: a table of word vectors, fast on any CPU.

    `model` is the name or the folder of a model, or a StaticModel that is loaded already.
    `batch_size` texts are looked up together. `name`, the model's unless given, is the name of the
    vectors in an index; a loaded model needs one. A text without a word of the model has no vector.
    `query_prompt` and `document_prompt` are put before queries and documents; these models need
    none. With `download=False` a model is used only if it is on this machine.

    Threads may share it; they take turns. Raises MissingExtraError without the extra "model2vec",
    InvalidInputError for options that cannot be used and a folder that does not exist,
    HedgerowError (`model_unavailable`) for a model that is not here and cannot be downloaded, and
    other errors of the library when it loads the model.
    """

    adapter = "model2vec"

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        model: str | os.PathLike[str] | StaticEncoder,
        *,
        batch_size: int = 1024,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(checked_model_name(model, name))
        self._batch_size = checked_count(batch_size, "batch_size")
        self._prompts = Prompts().given(query_prompt, document_prompt)
        self._source = None
        self._model: StaticEncoder
        if isinstance(model, (str, os.PathLike)):
            self._source = source = os.fspath(model)
            with imports_of("model2vec", needed_by=type(self).__name__):
                from model2vec import StaticModel  # noqa: PLC0415 - needs the extra
            self._model = loaded(
                model,
                # By default the library would download a cached model again.
                lambda found, _: StaticModel.from_pretrained(found, force_download=False),
                repositories=[source],
                known_by="model.safetensors",
                another_way=SHIPPED,
                here_only=not download,
            )
        else:
            self._model = model

    def _encode(self, texts: list[str]) -> Any:
        return self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False)


_ORGANIZATION = "sentence-transformers"
"""The organization that the library adds to a model name without one."""


class SentenceEncoder(Protocol):
    """The methods of a SentenceTransformer that are used.

    If a model has `encode_query` and `encode_document`, these are called, with a `prompt`.
    """

    def encode(
        self,
        texts: list[str],
        /,
        *,
        prompt_name: str | None,
        batch_size: int,
        show_progress_bar: bool,
        convert_to_numpy: bool,
    ) -> Any:
        """Return an array with one row for each text."""


class SentenceTransformerEmbedder(LocalEmbedder):
    """An `Embedder` over a sentence-transformers model.

    `model` is the name or the folder of a model, which is loaded here on `device` ("cpu", "cuda",
    ...; None lets the library choose), or a SentenceTransformer that is loaded already.
    `batch_size` texts go through the model together. `name`, the model's unless given, is the name
    of the vectors in an index; a loaded model needs one.

    `query_prompt` and `document_prompt` are put before queries and documents, "" for none. Without
    them the model's own `prompts` are, and where it has none those that a model of its name is
    known to want (spec/adapters.md, "Prompts"). `prompt_name` picks one of the model's prompts for
    both. With `download=False` a model is used only if it is on this machine.

    Threads may share it; they take turns. Raises MissingExtraError without the extra
    "sentence-transformers", InvalidInputError for options that cannot be used and a folder that
    does not exist, HedgerowError (`model_unavailable`) for a model that is not here and cannot be
    downloaded, and other errors of the library when it loads the model.
    """

    adapter = "sentence-transformers"

    def __init__(  # noqa: PLR0913 - options, by keyword
        self,
        model: str | os.PathLike[str] | SentenceEncoder,
        *,
        device: str | None = None,
        batch_size: int = 32,
        prompt_name: str | None = None,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(checked_model_name(model, name))
        self._batch_size = checked_count(batch_size, "batch_size")
        self._prompt_name = prompt_name
        self._source = os.fspath(model) if isinstance(model, (str, os.PathLike)) else None
        self._model: SentenceEncoder
        if isinstance(model, (str, os.PathLike)):
            source = os.fspath(model)
            self._model = load_sentence_transformers(
                "SentenceTransformer",
                model,
                device,
                needed_by=type(self).__name__,
                repositories=[source] if "/" in source else [f"{_ORGANIZATION}/{source}", source],
                known_by="modules.json",
                another_way=SHIPPED,
                here_only=not download,
            )
        else:
            self._model = model
        self._prompts = self._found_prompts().given(query_prompt, document_prompt)

    def _found_prompts(self) -> Prompts:
        """Return the prompts of the model itself, or else those of its family."""
        own: Mapping[str, str] = getattr(self._model, "prompts", None) or {}
        if self._prompt_name is not None:
            both = own.get(self._prompt_name) or ""
            return Prompts(both, both)
        query = own.get("query") or ""
        document = next(filter(None, map(own.get, ("document", "passage", "corpus"))), "")
        if query or document:
            return Prompts(query, document)
        if default := own.get(getattr(self._model, "default_prompt_name", None) or ""):
            return Prompts(default, default)
        family = prompts_of_model(self.name) or prompts_of_model(self._source or "")
        return family or Prompts()

    def embed_queries(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the query prompt before each text."""
        return self._rows(texts, lambda batch: self._encode_as("query", batch, self.query_prompt))

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """Like `embed`, with the document prompt before each text."""
        return self._rows(
            texts, lambda batch: self._encode_as("document", batch, self.document_prompt)
        )

    def _encode_as(self, form: str, texts: list[str], prompt: str) -> Any:
        """Encode with the method for queries or documents, because some models route by it."""
        encode = getattr(self._model, f"encode_{form}", None)
        # The library raises the error for an unknown prompt name.
        unknown = self._prompt_name if not prompt else None
        if encode is None or unknown is not None:
            return self._encode([prompt + text for text in texts], unknown)
        return encode(
            texts,
            prompt=prompt,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )

    def embed(self, texts: Sequence[str]) -> NDArray[float32] | list[Any]:
        """Like `LocalEmbedder.embed`, with the prompt of `prompt_name` before each text."""
        return self._rows(texts, lambda batch: self._encode(batch, self._prompt_name))

    def _encode(self, texts: list[str], prompt_name: str | None = None) -> Any:
        return self._model.encode(
            texts,
            prompt_name=prompt_name,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )


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
        self._model = OnnxModel(folder, name, needed_by=type(self).__name__)
        self._settings = settings = self._model.settings
        super().__init__(settings.name)
        prompts = Prompts(settings.query_prompt, settings.document_prompt)
        if not self._model.has_settings:
            prompts = prompts_of_model(settings.name) or prompts
        self._prompts = prompts.given(query_prompt, document_prompt)
        self._source = os.fspath(folder)

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


def _unit(rows: NDArray[float32]) -> NDArray[float32]:
    """Return the rows scaled to length 1. A row of zeros stays."""
    import numpy as np  # noqa: PLC0415 - comes with the extra

    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), np.float32)


_GROUP = "hedgerow.models"
_PREFERRED = "bge-small-en-v1.5"
"""The model of `local` if several are installed: the best in hedgerow's measurements."""
_PACKAGES = 'pip install "hedgerow[local]" hedgerow-bge-small-en'


def installed_models() -> dict[str, Any]:
    """Return the entry points of installed models, by name."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import

    return {point.name: point for point in entry_points(group=_GROUP)}


def installed_folder(name: str = "") -> tuple[str, str]:
    """Return the name and the folder of an installed model.

    It is the model of this name, or else the only or preferred one. Raises HedgerowError
    (`model_unavailable`) if it is not installed, or if its package is damaged.
    """
    points = installed_models()
    if not points:
        raise HedgerowError(
            f"no package with a model is installed; run: {_PACKAGES}", code="model_unavailable"
        )
    chosen = name or (_PREFERRED if _PREFERRED in points else "")
    if not chosen and len(points) == 1:
        [chosen] = points
    if chosen not in points:
        known = ", ".join(f"local:{one}" for one in sorted(points))
        what = f"no installed package has the model {name}" if name else "several models are here"
        raise HedgerowError(f"{what}; name one of these: {known}", code="model_unavailable")
    folder: Callable[[], str | os.PathLike[str]] = points[chosen].load()
    place = os.fspath(folder())
    if not os.path.isdir(place):  # noqa: PTH112 - may not be UTF-8
        raise HedgerowError(
            f"the package of the model {chosen} has no folder {place}; install it again",
            code="model_unavailable",
        )
    return chosen, place


class InstalledEmbedder(OnnxEmbedder):
    """An `OnnxEmbedder` with a model from an installed package.

    It is the model of this name, or the preferred one. Raises the errors of `installed_folder` and
    `OnnxEmbedder`.
    """

    adapter = "local"

    def __init__(
        self,
        model: str = "",
        *,
        name: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        download: bool = True,
    ) -> None:
        found, folder = installed_folder(model)
        super().__init__(
            folder,
            name=name,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
            download=download,
        )
        # Recorded by name, because the folder differs between machines.
        self._source = found


_log = logging.getLogger("hedgerow.embedding")

_TOKENIZERS = ("tokenizer.json", "vocab.txt")
_TABLE = "model.safetensors"


class StaticEmbedder(PromptedEmbedder):
    """An `Embedder` over a table of word-piece vectors from model2vec, without its library.

    The folder has `model.safetensors` with the table, as floats or int8, and `tokenizer.json` or
    `vocab.txt` of a WordPiece tokenizer. The vector of a text is the mean over its first 512 known
    pieces. A text without known pieces has no vector. `name`, by default that of the folder,
    identifies the vectors in an index. `query_prompt` and `document_prompt` are put before queries
    and documents; these models need none.

    Threads may share it. Raises InvalidInputError (`path_not_found`) for a folder that does not
    exist, HedgerowError (`model_unavailable`) for a folder without a usable table.
    """

    adapter = "static"

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
        self.name = name or place.resolve().name
        self._prompts = Prompts().given(query_prompt, document_prompt)
        self._source = os.fspath(folder)
        self._folder = place
        self._table = _table(place)
        self._has_said_cut = False

    def embed(self, texts: Sequence[str]) -> list[Any]:
        """Return a row for each text, at length 1. It is empty for a text without a known piece.

        Raises InvalidInputError for a text with a lone surrogate.
        """
        checked = checked_texts(texts)
        rows: list[Any] = [()] * len(checked)
        indices = non_blank(checked)
        found, cut = self._table.embed([checked[i] for i in indices])
        for i, row in zip(indices, found, strict=True):
            rows[i] = row
        if cut and not self._has_said_cut:
            self._has_said_cut = True
            _log.warning(
                "%d of %d texts have more than the 512 word pieces that count for the model %s; index "
                "shorter chunks to embed all of them. Further texts are cut without a warning",
                cut,
                len(checked),
                self.name,
            )
        return rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        query, document = self._prompts.query, self._prompts.document
        return (_restored, (self._folder, self.name, query, document))


def _restored(folder: Path, name: str, query: str, document: str) -> StaticEmbedder:
    return StaticEmbedder(folder, name=name, query_prompt=query, document_prompt=document)


def _table(folder: Path) -> _StaticTable:
    tokenizer = next((folder / name for name in _TOKENIZERS if (folder / name).is_file()), None)
    if tokenizer is None:
        raise unusable(folder, f"it has no {' or '.join(_TOKENIZERS)}")
    try:
        return _StaticTable(tokenizer.read_bytes(), (folder / _TABLE).read_bytes())
    except InvalidInputError as error:
        raise unusable(folder, error.message) from error
    except OSError as error:
        raise unusable(folder, error.strerror or str(error)) from error
