"""Packages that only some parts need, and what installs them (spec/adapters.md, "Extras")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import MissingExtraError

PACKAGES = {
    "mcp": ("mcp",),
    "model2vec": ("model2vec",),
    "ollama": ("httpx", "tenacity"),
    "openai": ("httpx", "tenacity"),
    "sentence-transformers": ("sentence_transformers",),
    "tei": ("httpx", "tenacity"),
}
"""The packages of each extra, by the name they are imported under."""


@contextmanager
def imports_of(extra: str, *, needed_by: str) -> Iterator[None]:
    """Turn the failed import of a package of `extra` into a MissingExtraError.

    A package that is there but lacks one of its own is left to say so itself.
    """
    missing = ""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing not in PACKAGES[extra]:
            raise
    if missing:
        package = missing.replace("_", "-")
        raise MissingExtraError(
            f"{needed_by} needs the package {package}, which is not installed and comes with the "
            f'extra "{extra}"; run: pip install "hedgerow[{extra}]"',
            code="missing_extra",
        )
