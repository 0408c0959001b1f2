"""Embeddings from a table of word pieces, in the engine (spec/adapters.md, "Static tables")."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hedgerow._adapters.onnx_model import model_folder, unusable
from hedgerow._checks import checked_texts
from hedgerow._engine import _StaticTable
from hedgerow.errors import InvalidInputError

from ._prompted import PromptedEmbedder
from ._prompts import Prompts
from .base import non_blank

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
