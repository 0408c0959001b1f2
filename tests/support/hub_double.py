"""A double of the package huggingface_hub: its cache, and the responses of the hub."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest


class Hub:
    """`cached` has the names of cached models.

    `asked` has the requests to the hub, with timeouts.
    """

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
    """Replace the library by a double, in an environment that is online."""
    hub = Hub()
    module: Any = ModuleType("huggingface_hub")
    module.try_to_load_from_cache = hub.try_to_load_from_cache
    module.HfApi = lambda: hub
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "SENTENCE_TRANSFORMERS_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return hub
