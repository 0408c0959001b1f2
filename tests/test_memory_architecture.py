"""Who may know whom in a memory root: the floors, read from the imports of the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "hedgerow"
MEMORY = "hedgerow.memory"
CANONICAL = [
    "names",
    "note",
    "front_matter",
    "sections",
    "documents",
    "files",
    "times",
    "edit",
    "links",
]
SETUP = ["config", "locate"]
RETRIEVAL = [
    "derived",
    "freshness",
    "manifest",
    "opened",
    "recall",
    "root",
    "sync",
    "targets",
    "vectors",
]
STORE = ["agents", "linking", "node_state", "node_store", "nodes"]
POLICY = ["depth", "score", "snippet", "words"]
OUTSIDE = {
    "hedgerow.index",
    "hedgerow.pipeline",
    "hedgerow.retriever",
    "hedgerow.cli",
    "hedgerow.mcp",
}


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in PACKAGE.rglob("*.py")}


def imports_of(module: str) -> Iterator[str]:
    """Every module that is named in an import, wherever it stands, not for type checks only."""
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join([*base, node.module] if node.module else base) if node.level else ""
            start = start or node.module or ""
            for alias in node.names:
                full = f"{start}.{alias.name}"
                yield full if full in MODULES else start
                if start == "hedgerow" and alias.name in {"Index", "Retriever", "MemoryRoot"}:
                    yield "hedgerow.index" if alias.name != "MemoryRoot" else "hedgerow.memory"


def reach(module: str) -> set[str]:
    """Every module of ours that an import of this one leads to."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        found = {name for name in imports_of(waiting.pop()) if name in MODULES} - seen
        # The package itself holds everything public; what matters is what is asked of it.
        found -= {"hedgerow"}
        seen |= found
        waiting.extend(found)
    return seen


def in_memory(names: list[str]) -> set[str]:
    return {f"{MEMORY}.{name}" for name in names}


@pytest.mark.parametrize("name", [*CANONICAL, *SETUP, "writer"])
def test_what_reads_and_writes_markdown_knows_no_retrieval(name: str) -> None:
    assert not reach(f"{MEMORY}.{name}") & (in_memory(RETRIEVAL) | OUTSIDE)


@pytest.mark.parametrize("name", POLICY)
def test_the_policies_know_no_index(name: str) -> None:
    assert not reach(f"{MEMORY}.{name}") & (in_memory(RETRIEVAL) | OUTSIDE)


@pytest.mark.parametrize(
    "name", ["recall", "sync", "freshness", "manifest", "targets", "node_state"]
)
def test_retrieval_does_not_write_memories(name: str) -> None:
    assert not in_memory(["writer", "edit"]) & reach(f"{MEMORY}.{name}")


@pytest.mark.parametrize("name", sorted(name for name in MODULES if name.startswith(MEMORY)))
def test_nothing_in_a_root_knows_the_command_line(name: str) -> None:
    assert not [found for found in reach(name) if found.startswith("hedgerow.cli")]


@pytest.mark.parametrize(
    "name", ["roots", "run", "memory_setup", "memory_write", "memory_recall", "stores", "graph"]
)
def test_the_command_line_leaves_the_index_to_the_root(name: str) -> None:
    direct = set(imports_of(f"hedgerow.cli.{name}"))
    allowed = in_memory(["locate", "doctor", "instructions"]) | {MEMORY}
    assert not direct & {"hedgerow.index", "hedgerow.ingest"}
    assert {found for found in direct if found.startswith(MEMORY)} <= allowed


def test_every_module_has_its_place() -> None:
    placed = in_memory([*CANONICAL, *SETUP, *RETRIEVAL, *STORE, *POLICY, "writer"])
    others = in_memory(
        [
            "lock",
            "results",
            "scope",
            "lint",
            "synthesize",
            "process",
            "doctor",
            "instructions",
        ]
    )
    assert {name for name in MODULES if name.startswith(f"{MEMORY}.")} == placed | others
