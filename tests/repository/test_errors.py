"""The closed list of errors (spec/errors.md), and their classes."""

from __future__ import annotations

import ast
import re

import pytest

import hedgerow as hr
from hedgerow import _engine
from places import ROOT


def specified_codes() -> dict[str, str]:
    """Return every code in spec/errors.md, with the class of its section."""
    codes = {}
    section = ""
    for line in (ROOT / "spec" / "errors.md").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif found := re.match(r"\| `(\w+)` \|", line):
            codes[found[1]] = section
    return codes


def python_codes() -> set[str]:
    """Return every `code="…"` that the Python package raises or uses as a default."""
    found = set()
    for file in (ROOT / "python" / "hedgerow").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.keyword(arg="code", value=ast.Constant(value=code)):
                    found.add(code)
                case ast.arguments(
                    kwonlyargs=[ast.arg(arg="code")], kw_defaults=[ast.Constant(value=code)]
                ):
                    found.add(code)
    return found


def test_the_list_is_closed():
    assert set(specified_codes()) == _engine.ERROR_CODES | python_codes()


@pytest.mark.parametrize(
    "kind",
    ["BackendError", "InvalidInputError", "QueryTooLargeError", "IndexFileError", "EngineError"],
)
def test_one_class_catches_all(kind):
    assert issubclass(getattr(hr, kind), hr.HedgerowError)
    assert issubclass(getattr(hr, kind), Exception)


def test_invalid_input_is_a_value_error():
    assert issubclass(hr.InvalidInputError, ValueError)
    assert issubclass(hr.QueryTooLargeError, hr.InvalidInputError)
