"""Stand-ins with the signatures of the libraries that are too heavy to install for every test.

tests/extras holds them against the real ones.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest


class SentenceTransformer:
    loaded: list[tuple[str, str | None]] = []  # noqa: RUF012 - what the tests look at

    def __init__(self, model_name_or_path: str, *, device: str | None = None) -> None:
        self.loaded.append((model_name_or_path, device))
        self.calls: list[dict[str, Any]] = []
        self.answer: Any = None

    def encode(
        self,
        inputs: list[str],
        prompt_name: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
    ) -> Any:
        self.calls.append({k: v for k, v in locals().items() if k != "self"})
        if self.answer is not None:
            return self.answer
        return np.array([[len(text), 1.0] for text in inputs], dtype=np.float32)


class CrossEncoder:
    loaded: list[tuple[str, str | None]] = []  # noqa: RUF012 - what the tests look at

    def __init__(self, model_name_or_path: str, *, device: str | None = None) -> None:
        self.loaded.append((model_name_or_path, device))
        self.calls: list[dict[str, Any]] = []
        self.answer: Any = None

    def predict(
        self,
        inputs: list[tuple[str, str]],
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
    ) -> Any:
        self.calls.append({k: v for k, v in locals().items() if k != "self"})
        if self.answer is not None:
            return self.answer
        return np.array([len(text) for _, text in inputs], dtype=np.float32)


class StaticModel:
    loaded: list[tuple[str, bool]] = []  # noqa: RUF012 - what the tests look at

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.answer: Any = None

    @classmethod
    def from_pretrained(cls, path: str, *, force_download: bool = True) -> StaticModel:
        cls.loaded.append((path, force_download))
        return cls()

    def encode(
        self, sentences: list[str], *, batch_size: int = 1024, show_progress_bar: bool = False
    ) -> Any:
        self.calls.append({k: v for k, v in locals().items() if k != "self"})
        if self.answer is not None:
            return self.answer
        return np.array([[len(text), 1.0] for text in sentences], dtype=np.float32)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the doubles where the libraries would be imported from."""
    for library, doubles in {
        "sentence_transformers": (SentenceTransformer, CrossEncoder),
        "model2vec": (StaticModel,),
    }.items():
        module = ModuleType(library)
        for double in doubles:
            setattr(module, double.__name__, double)
            double.loaded.clear()
        monkeypatch.setitem(sys.modules, library, module)
