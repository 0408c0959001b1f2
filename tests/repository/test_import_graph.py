"""Imports point in one direction: every import of the package, read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from places import ROOT

PYTHON = ROOT / "python"

LAYERS = [
    {"__main__"},
    {"cli"},
    {"_serve"},
    {"remote"},
    {"mcp", "integrations", "ray", "_ray", "_json"},
    {"memory"},
    {"agents"},
    {"evaluation", "otel", "_graph"},
    {"ingest"},
    {"retriever", "why_not", "_retrieval"},
    {"embedders", "rerankers", "opensearch"},
    {"_adapters"},
]
"""The layers of `hedgerow`'s packages and modules, top down. Unlisted ones are below all of these.

A module imports from its own layer and from lower ones. The layer of `hedgerow` itself does not
matter: an import from it counts as an import from the module that defines the name.
"""


def module_of(file: Path) -> str:
    return ".".join(file.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(file): file for file in (PYTHON / "hedgerow").rglob("*.py")}


def absolute(node: ast.ImportFrom, module: str, file: Path) -> str:
    """Return the module that `from ... import` names."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if file.stem == "__init__" else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


@cache
def exported(package: str) -> dict[str, str]:
    """Return the lazy names of a package, from its stub, with their modules."""
    stub = MODULES[package].with_suffix(".pyi")
    if not stub.exists():
        return {}
    nodes = ast.parse(stub.read_text(encoding="utf-8")).body
    return {
        alias.name: f"{package}.{node.module}" if node.module else f"{package}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def imports_of(module: str) -> Iterator[str]:
    """Yield the imported modules of the package, also in functions and for type checkers."""
    file = MODULES[module]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            source = absolute(node, module, file)
            for alias in node.names:
                if f"{source}.{alias.name}" in MODULES:
                    yield f"{source}.{alias.name}"
                elif source in MODULES:
                    yield exported(source).get(alias.name, source)


GRAPH = {
    module: {found for found in imports_of(module) if found in MODULES and found != module}
    for module in MODULES
}


def cycles() -> Iterator[frozenset[str]]:
    """Yield the sets of modules that import each other."""
    reach = {module: set(found) for module, found in GRAPH.items()}
    for through in GRAPH:
        for module in GRAPH:
            if through in reach[module]:
                reach[module] |= reach[through]
    seen: set[str] = set()
    for module in GRAPH:
        if module in reach[module] and module not in seen:
            cycle = frozenset({other for other in reach[module] if module in reach[other]})
            seen |= cycle
            yield cycle


def layer_of(module: str) -> int:
    part = [*module.split("."), ""][1]
    return next((depth for depth, layer in enumerate(LAYERS) if part in layer), len(LAYERS))


def test_no_module_imports_itself_through_others() -> None:
    assert list(cycles()) == []


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"hedgerow"}))
def test_a_module_imports_from_its_layer_and_below(module: str) -> None:
    assert [found for found in sorted(GRAPH[module]) if layer_of(found) < layer_of(module)] == []


def test_the_layers_exist() -> None:
    parts = {[*module.split("."), ""][1] for module in MODULES}
    assert set().union(*LAYERS) <= parts
