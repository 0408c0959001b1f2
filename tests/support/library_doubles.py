"""Doubles of libraries that are too large to install for every test, with the same signatures.

tests/extras compares them with the real ones.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest


class SentenceTransformer:
    loaded: list[tuple[str, str | None]] = []  # noqa: RUF012 - what the tests look at

    def __init__(
        self,
        model_name_or_path: str,
        *,
        device: str | None = None,
        local_files_only: bool = False,
    ) -> None:
        del local_files_only
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


class PromptedTransformer(SentenceTransformer):
    """A double with configured prompts."""

    prompts: dict[str, str] = {"query": "", "document": ""}  # noqa: RUF012 - as the library's
    default_prompt_name: str | None = None

    def encode_query(
        self,
        inputs: list[str],
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
    ) -> Any:
        del batch_size, show_progress_bar, convert_to_numpy
        return self.asked("query", inputs, prompt)

    def encode_document(
        self,
        inputs: list[str],
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
    ) -> Any:
        del batch_size, show_progress_bar, convert_to_numpy
        return self.asked("document", inputs, prompt)

    def asked(self, form: str, inputs: list[str], prompt: str | None) -> Any:
        self.calls.append({"form": form, "prompt": prompt, "inputs": inputs})
        return np.array([[len((prompt or "") + text), 1.0] for text in inputs], dtype=np.float32)


class CrossEncoder:
    loaded: list[tuple[str, str | None]] = []  # noqa: RUF012 - what the tests look at

    def __init__(
        self,
        model_name_or_path: str,
        *,
        device: str | None = None,
        local_files_only: bool = False,
    ) -> None:
        del local_files_only
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
    """Replace the libraries by the doubles."""
    for library, doubles in {
        "sentence_transformers": (SentenceTransformer, CrossEncoder),
        "model2vec": (StaticModel,),
    }.items():
        module = ModuleType(library)
        for double in doubles:
            setattr(module, double.__name__, double)
            double.loaded.clear()
        monkeypatch.setitem(sys.modules, library, module)
