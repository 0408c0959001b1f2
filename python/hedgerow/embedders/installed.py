"""Models from installed packages, by entry points of the group `hedgerow.models`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hedgerow.errors import HedgerowError

from .onnx_model import OnnxEmbedder

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
