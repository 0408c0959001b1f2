"""Every type in a public signature has a public name, so that callers can annotate with it."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr

MODULES = (
    "hedgerow",
    "hedgerow.agents",
    "hedgerow.embedders",
    "hedgerow.errors",
    "hedgerow.evaluation",
    "hedgerow.fusion",
    "hedgerow.fuzzy",
    "hedgerow.memory",
    "hedgerow.otel",
    "hedgerow.query",
    "hedgerow.remote",
    "hedgerow.rerankers",
    "hedgerow.temporal",
    "hedgerow.typing",
)
"""The modules that the README names. All others are private."""

STUB = Path(hr.__file__).with_name("_engine.pyi")
EXPORTED = {
    alias.name
    for node in ast.parse(Path(hr.__file__).with_suffix(".pyi").read_text("utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
PUBLIC = {name for module in MODULES for name in import_module(module).__all__} | EXPORTED


def sources() -> dict[Path, set[str]]:
    """Return the files that define public names, each with those names."""
    found: dict[Path, set[str]] = {}
    for module in MODULES:
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            try:
                file = Path(inspect.getsourcefile(value) or STUB)
            except TypeError:  # a class of the engine
                file = STUB
            found.setdefault(file, set()).add(value.__name__)
    return found


SOURCES = sources()


def of_others(tree: ast.Module) -> set[str]:
    """Return the names that a file imports from other packages than hedgerow."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            if not (node.module or "").startswith("hedgerow"):
                found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def name_of(node: Any) -> str:
    return getattr(node, "name", "")


def annotated(node: Any) -> Iterator[ast.expr]:
    """Yield the annotations of the public parts of a class or a function."""
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            name = name_of(inner)
            if not name.startswith("_") or name in {"__new__", "__init__", "__iter__"}:
                yield from annotated(inner)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        yield from (one.annotation for one in every if one and one.annotation)
        if node.returns is not None:
            yield node.returns
    elif isinstance(node, ast.AnnAssign) and not ast.unparse(node.target).startswith("_"):
        yield node.annotation


def aliases(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the values of assigned names in a file, such as type aliases."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def names_in(annotation: ast.AST, aliases: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the type names in an annotation, with aliases expanded."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in {
        "Annotated",
        "Literal",
    }:
        if ast.unparse(annotation.value) == "Annotated" and isinstance(annotation.slice, ast.Tuple):
            yield from names_in(annotation.slice.elts[0], aliases)
        return
    if isinstance(annotation, ast.Name):
        if annotation.id in aliases:
            yield from names_in(aliases[annotation.id], aliases)
        else:
            yield annotation.id
    for node in ast.iter_child_nodes(annotation):
        yield from names_in(node, aliases)


@pytest.mark.parametrize("file", sorted(SOURCES), ids=lambda file: file.stem)
def test_every_type_of_a_signature_has_a_public_name(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    known, local = PUBLIC | of_others(tree) | set(vars(builtins)), aliases(tree)
    hidden = {
        (name_of(node), name)
        for node in tree.body
        if name_of(node) in SOURCES[file]
        for annotation in annotated(node)
        for name in names_in(annotation, local)
        if name not in known
    }
    assert sorted(hidden) == []
