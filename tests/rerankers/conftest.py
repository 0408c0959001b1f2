"""Fixtures of several files here."""

from __future__ import annotations

from model_folders import onnx_libraries

__all__ = ["onnx_libraries"]
