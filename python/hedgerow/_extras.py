"""Optional packages, and the extras that install them (spec/adapters.md, "Extras")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .errors import MissingExtraError

PACKAGES = {
    "eval": ("ir_measures", "matplotlib", "numpy"),
    "graph": ("networkx", "numpy"),
    "langchain": ("langchain_core",),
    "llama-index": ("llama_index.core",),
    "local": ("onnxruntime", "tokenizers", "numpy"),
    "mcp": ("mcp",),
    "model2vec": ("model2vec",),
    "ollama": ("httpx", "tenacity"),
    "openai": ("httpx", "tenacity"),
    "opensearch": ("opensearchpy",),
    # Imported as opentelemetry.trace and the like; the package is opentelemetry-api.
    "otel": ("opentelemetry.api",),
    "ray": ("ray",),
    "remote": ("httpx", "tenacity"),
    "serve": ("mcp", "prometheus_client", "pydantic", "starlette", "uvicorn"),
    "sentence-transformers": ("sentence_transformers",),
    "tei": ("httpx", "tenacity"),
}
"""The packages of each extra, by the name they are imported under."""

_PIP_NAMES = {"opensearchpy": "opensearch-py"}
_NOTES = {
    "onnxruntime": " (onnxruntime has no wheel for musl, as in Alpine Linux: use an image with glibc, "
    "or an embedder on a server)"
}
"""What the error of a missing package adds, for packages that cannot be installed everywhere."""


def pip_name(package: str) -> str:
    """The name of a package for pip."""
    return _PIP_NAMES.get(package, package.replace("_", "-").replace(".", "-"))


@contextmanager
def imports_of(extra: str, *, needed_by: str) -> Iterator[None]:
    """Turn the failed import of a package of `extra` into a MissingExtraError.

    Where an installed package lacks one that it needs itself, its own error is raised.
    """
    missing = ""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = _package(extra, error.name or "")
        if not missing:
            raise
    if missing:
        raise MissingExtraError(
            f"{needed_by} needs the package {missing}, which is not installed and comes with the "
            f'extra "{extra}"; run: pip install "hedgerow[{extra}]"{_NOTES.get(missing, "")}',
            code="missing_extra",
        )


def import_of(package: str, *, needed_by: str) -> Any:
    """Import a package that no extra brings, or raise a MissingExtraError where it is not there."""
    missing = False
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        missing = error.name == package
        if not missing:
            raise
    raise MissingExtraError(
        f"{needed_by} needs the package {package}, which is not installed; run: pip install "
        f"{package}",
        code="missing_extra",
    )


def _package(extra: str, module: str) -> str:
    """The package of `extra` that is missing when `module` cannot be imported, as pip calls it."""
    for package in PACKAGES[extra]:
        # Without any package of theirs, `llama_index` is missing rather than `llama_index.core`.
        if package == module or package.startswith(f"{module}."):
            return pip_name(package)
    return ""
