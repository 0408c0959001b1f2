"""The shared cases in spec/fixtures, which `cargo test` also runs."""

from __future__ import annotations

import json
from typing import Any

from places import ROOT

FOLDER = ROOT / "spec" / "fixtures"


def jsonl(name: str) -> list[dict[str, Any]]:
    """Return the cases of a subject.

    Only `\n` ends a line, because strings may contain other separators.
    """
    lines = (FOLDER / f"{name}.jsonl").read_bytes().decode().split("\n")
    return [json.loads(line) for line in lines if line]


def parser_cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((FOLDER / "query-parser" / "cases.json").read_bytes())
    return cases


def stopwords(language: str) -> list[str]:
    words: list[str] = json.loads((FOLDER / "stopwords" / f"{language}.json").read_bytes())
    return words
