"""A transformer in ONNX on this machine: its folder, its settings, and running it on texts."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hedgerow._checks import checked_path, shown
from hedgerow._extras import imports_of
from hedgerow.errors import HedgerowError, InvalidInputError

if TYPE_CHECKING:
    from numpy import float32, int64
    from numpy.typing import NDArray

_log = logging.getLogger("hedgerow.embedding")

SETTINGS = "hedgerow-model.json"
_MODELS = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
)
_TORCH = ("model.safetensors", "pytorch_model.bin")
_MOST_SETTINGS = 1 << 20
"""Bytes of a file of settings; a larger file is not one."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the states of a model become a vector, from `hedgerow-model.json` in its folder.

    `pooling` is "mean" over the tokens or "cls", the first token. `max_tokens` is the limit of the
    model; longer texts are cut. A key that is not in the file has the value here.
    """

    name: str = ""
    model: str = ""
    pooling: str = "mean"
    normalize: bool = True
    query_prompt: str = ""
    document_prompt: str = ""
    max_tokens: int = 512


def read_settings(folder: Path) -> Settings | None:
    """The settings of a folder; None without a file of them.

    Raises InvalidInputError for a file that is not JSON, and for a value of another kind.
    """
    file = folder / SETTINGS
    try:
        with file.open("rb") as stream:
            found = json.loads(stream.read(_MOST_SETTINGS))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise _wrong(file, f"cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise _wrong(file, "must be an object of JSON")
    given: dict[str, Any] = {}
    for field in fields(Settings):
        value = found.get(field.name, field.default)
        if type(value) is not type(field.default):
            kind = {str: "a text", bool: "true or false", int: "an integer"}[type(field.default)]
            raise _wrong(file, f"has {field.name} {shown(value)}; it must be {kind}")
        given[field.name] = value
    if given["pooling"] not in ("mean", "cls"):
        raise _wrong(file, f'has pooling {shown(given["pooling"])}; it must be "mean" or "cls"')
    if given["max_tokens"] < 1:
        raise _wrong(file, f"has max_tokens {given['max_tokens']}; it must be at least 1")
    return Settings(**given)


def _wrong(file: Path, what: str) -> InvalidInputError:
    return InvalidInputError(f"{file} {what}", code="invalid_option")


class OnnxModel:
    """A tokenizer and a session of onnxruntime, from `tokenizer.json` and an ONNX file in a folder.

    Texts go through the model one at a time: the steps of an int8 model depend on everything in a
    batch, and so would its vectors. Threads may share it; the model runs on several cores itself.

    Raises MissingExtraError without the extra "local", InvalidInputError (`path_not_found`) for a
    folder that does not exist, HedgerowError (`model_unavailable`) for one without a usable model.
    """

    def __init__(
        self, folder: str | os.PathLike[str], settings: Settings, *, needed_by: str
    ) -> None:
        with imports_of("local", needed_by=needed_by):
            import numpy  # noqa: ICN001, PLC0415 - the extra
            import onnxruntime  # noqa: PLC0415 - the extra
            import tokenizers  # noqa: PLC0415 - the extra
        self._numpy = numpy
        self._settings = settings
        place = model_folder(folder)
        self._tokenizer = _tokenizer(tokenizers, place / "tokenizer.json", settings.max_tokens)
        self._session = _session(onnxruntime, _model_file(place, settings))
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._counting = Lock()
        self._has_said_cut = False

    def outputs(self, texts: Sequence[str | tuple[str, str]]) -> list[NDArray[float32]]:
        """The first output of the model for each text, or for each pair of texts."""
        found, cut = [], 0
        for text in texts:
            pair = (text,) if isinstance(text, str) else text
            encoding = self._tokenizer.encode(*pair)
            cut += bool(encoding.overflowing)
            found.append(self._run(encoding))
        if cut:
            self._say_cut(cut, len(texts))
        return found

    def _run(self, encoding: Any) -> NDArray[float32]:
        np = self._numpy
        given: dict[str, NDArray[int64]] = {
            "input_ids": np.array([encoding.ids], np.int64),
            "attention_mask": np.array([encoding.attention_mask], np.int64),
            "token_type_ids": np.array([encoding.type_ids], np.int64),
        }
        given = {name: numbers for name, numbers in given.items() if name in self._inputs}
        output: NDArray[float32] = np.asarray(self._session.run(None, given)[0][0], np.float32)
        return output

    def _say_cut(self, cut: int, texts: int) -> None:
        """Log once that texts are longer than the model reads."""
        with self._counting:
            said, self._has_said_cut = self._has_said_cut, True
        if not said:
            _log.warning(
                "%d of %d texts have more than the %d tokens that the model %s reads, and were cut; "
                "index shorter chunks to embed all of them. Further texts are cut without a warning",
                cut,
                texts,
                self._settings.max_tokens,
                self._settings.name,
            )


def model_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder; raises InvalidInputError (`path_not_found`) if it does not exist."""
    place = checked_path(folder, "folder")
    if not place.is_dir():
        raise InvalidInputError(
            f"there is no folder {place} with a model (in {Path.cwd()})", code="path_not_found"
        )
    return place


def is_onnx_folder(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has a model as ONNX alone, which sentence-transformers would not load."""
    place = checked_path(folder, "folder")
    has_onnx = any((place / name).is_file() for name in _MODELS)
    return has_onnx and not any((place / name).is_file() for name in _TORCH)


def _model_file(folder: Path, settings: Settings) -> Path:
    names = (settings.model,) if settings.model else _MODELS
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise unusable(folder, f"it has no {' or '.join(names[:2])}")


def _tokenizer(tokenizers: Any, file: Path, max_tokens: int) -> Any:
    if not file.is_file():
        raise unusable(file.parent, "it has no tokenizer.json")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower one
        raise unusable(file.parent, f"its tokenizer.json cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _session(onnxruntime: Any, file: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; warnings are about the optimisation of the graph
    # A thread that waits for work by spinning takes the core from the caller's own threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises no narrower one
        raise unusable(file.parent, f"{file.name} cannot be loaded: {error}") from error


def unusable(folder: Path, why: str) -> HedgerowError:
    """The error for a folder without a usable model."""
    return HedgerowError(
        f"the folder {folder} has no usable model: {why[:300]}", code="model_unavailable"
    )
