"""Fixtures for several files in this folder."""

from __future__ import annotations

from model_folders import onnx_libraries

__all__ = ["onnx_libraries"]
