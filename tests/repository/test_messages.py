"""Messages are for people: no code reads them, and none names a command of one interface."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hedgerow.cli import cli
from places import ROOT

PACKAGE = ROOT / "python" / "hedgerow"
OF_AN_INTERFACE = ("cli", "mcp.py", "memory/installing", "_serve")
"""The code whose texts name commands, tools or options of its own interface."""

EXEMPT = {
    "memory/instructions.py": "the text that a command prints for agents",
    "memory/trust.py": "only the user allows a request, and only on the command line",
}

_NAMES = "|".join(cli.list_commands(None))  # type: ignore[arg-type]  # it reads no context
COMMAND = re.compile(rf"(?<!\ba )\bhedgerow (?:{_NAMES})\b|[\s(`]--[a-z]")

COMPARES = {"startswith", "endswith", "replace", "removeprefix", "removesuffix", "find", "index"}
RUST_COMPARES = re.compile(r"message\(\)\s*\.(?:contains|starts_with|ends_with|find)\b")


def own_files() -> Iterator[Path]:
    """Yield the modules that know no interface."""
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).as_posix()
        if not name.startswith(OF_AN_INTERFACE) and name not in EXEMPT:
            yield file


def texts_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield the string literals of Python that are no docstrings, with their lines."""
    documentation = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr):
            documentation.add(node.value)
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and node not in documentation:
            yield node.lineno, node.value


def rust_files() -> list[Path]:
    """Return the source files of the crates without those of tests."""
    files = sorted((ROOT / "rust").glob("*/src/**/*.rs"))
    return [
        one for one in files if "tests" not in {*one.parts, one.stem} and "fuzz" not in one.parts
    ]


def code_of(source: str) -> str:
    """Return Rust without comments and unit tests."""
    code, _, _ = source.partition("#[cfg(test)]\nmod tests {")
    return re.sub(r"(?m)^\s*//.*$", "", code)


def rust_texts_in(source: str) -> Iterator[tuple[int, str]]:
    """Yield the string literals of Rust outside of unit tests, with their lines."""
    code = code_of(source)
    for found in re.finditer(r"(?<!['\\])\"((?:[^\"\\]|\\.)*)\"", code, re.DOTALL):
        yield code.count("\n", 0, found.start()) + 1, found[1]


def test_no_text_names_a_command_line():
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for files, texts in ((own_files(), texts_in), (rust_files(), rust_texts_in))
        for file in files
        for line, text in texts(file.read_text(encoding="utf-8"))
        if COMMAND.search(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    ["; use `hedgerow list`", "leave out --no-sync", "(--by)", "make it with: hedgerow init"],
)
def test_a_command_line_is_recognized(text: str):
    assert COMMAND.search(text)


@pytest.mark.parametrize(
    "text", ["not a hedgerow index", "--no-pager", "a -- b", "hedgerow serves"]
)
def test_other_texts_are_no_command_line(text: str):
    assert COMMAND.search(text) is None


def comparisons_in(source: str) -> Iterator[int]:
    """Yield the lines at which Python looks for something in a `.message`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=ast.Attribute(attr="message")):
                yield node.lineno
            case ast.Compare(comparators=[ast.Attribute(attr="message")]):
                yield node.lineno
            case ast.Call(func=ast.Attribute(ast.Attribute(attr="message"), attr)):
                if attr in COMPARES:
                    yield node.lineno


def test_no_code_reads_a_message():
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line in comparisons_in(file.read_text(encoding="utf-8"))
    ]
    found += [
        str(file.relative_to(ROOT))
        for file in rust_files()
        if RUST_COMPARES.search(code_of(file.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "'key' in error.message",
        "error.message.startswith('key')",
        "error.message.replace('key', '')",
        "damage.message == 'x'",
    ],
)
def test_a_comparison_is_recognized(source: str):
    assert list(comparisons_in(source)) == [1]
