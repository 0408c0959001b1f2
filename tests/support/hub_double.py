"""A stand-in for the package huggingface_hub: what its cache has, and what the hub answers."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest


class Hub:
    """`cached` are the names of models; `asked` is what the hub itself was asked, with timeouts."""

    def __init__(self) -> None:
        self.cached: set[str] = set()
        self.asked: list[tuple[str, float]] = []
        self.error: Exception | None = None

    def try_to_load_from_cache(self, repository: str, file: str, *, cache_dir: Any) -> str | None:
        assert cache_dir is None
        return f"/cache/{file}" if repository in self.cached else None

    def model_info(self, repository: str, *, timeout: float) -> None:
        self.asked.append((repository, timeout))
        if self.error is not None:
            raise self.error


def install(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Put one where the library would be imported from, in an environment that is online."""
    hub = Hub()
    module: Any = ModuleType("huggingface_hub")
    module.try_to_load_from_cache = hub.try_to_load_from_cache
    module.HfApi = lambda: hub
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "SENTENCE_TRANSFORMERS_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return hub
