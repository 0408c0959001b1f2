"""Nodes, edges and visits, and the pipeline language that selects nodes (spec/pipeline.md)."""

from __future__ import annotations

from ._engine import Node, Pipeline, QueryResult, Store, parse_pipeline
from .results import QueryStage

__all__ = ["Node", "Pipeline", "QueryResult", "QueryStage", "Store", "parse_pipeline"]
