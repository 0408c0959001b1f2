"""The command line of memory roots, case by case: spec/fixtures/memory/cases.jsonl.

`{HERE}` is replaced by the working directory of a case, and `{TODAY}` by its local date.
"""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from command_line import run
from memory_doubles import put
from places import ROOT

FILE = ROOT / "spec" / "fixtures" / "memory" / "cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").split("\n") if line]
TYPES = {"string": str, "number": (int, float), "bool": bool, "array": list, "object": dict}
ABSENT = object()
PARTS = (
    "retrievalScore",
    "exactMatchBoost",
    "metadataBoost",
    "temporalRelevance",
    "memoryStrength",
    "provenanceConfidence",
    "depthPolicyBoost",
)


@pytest.mark.parametrize("given", CASES, ids=[case["case"] for case in CASES])
def test_case(given: dict[str, Any], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = filled_in(given, here)
    for name, text in case.get("files", {}).items():
        put(here, name, text)
    for step in case.get("before", []):
        prepare(here, step)
    monkeypatch.chdir(here / case.get("in", "."))
    for name, value in case.get("environment", {}).items():
        monkeypatch.setenv(name, value)
    result = run(*case["run"], stdin=case.get("stdin", "").encode())
    assert result.exit_code == case["exit"], result.stderr
    if case["exit"]:
        assert result.stderr.strip()
        assert "Traceback" not in result.stderr
    check_text(case, result)
    check_output(case, result)
    check_files(case, here)


def filled_in(case: dict[str, Any], here: Path) -> dict[str, Any]:
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    text = json.dumps(case).replace("{HERE}", str(here.resolve())).replace("{TODAY}", today)
    filled: dict[str, Any] = json.loads(text)
    return filled


def prepare(here: Path, step: dict[str, Any]) -> None:
    if "remove" in step:
        target = here / step["remove"]
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    else:
        result = run(*step["run"], stdin=step.get("stdin", "").encode())
        assert result.exit_code == 0, result.stderr


def check_text(case: dict[str, Any], result: Result) -> None:
    assert result.stdout == case.get("stdout", result.stdout)
    for stream, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        for part in case.get(f"{stream}_has", []):
            assert part in text, text


def check_output(case: dict[str, Any], result: Result) -> None:
    if not case.keys() & {"json", "result", "parts_sum"}:
        return
    answer = json.loads(result.stdout)
    for path, wanted in case.get("json", {}).items():
        check(answer, path, wanted)
    for file, expectations in case.get("result", {}).items():
        [hit] = [one for one in answer["results"] if one["provenance"]["file"] == file]
        for path, wanted in expectations.items():
            check(hit, path, wanted)
    for hit in answer["results"] if case.get("parts_sum") else []:
        parts = hit["scoreBreakdown"]
        assert sum(parts[name] for name in PARTS) == pytest.approx(parts["finalScore"])
        assert hit["score"] == parts["finalScore"]


def check_files(case: dict[str, Any], here: Path) -> None:
    assert [name for name in case.get("there", []) if not (here / name).exists()] == []
    assert [name for name in case.get("not_there", []) if (here / name).exists()] == []
    for name, wanted in case.get("texts", {}).items():
        text = (here / name).read_bytes().decode()
        assert all(part in text for part in wanted.get("has", [])), text
        assert not any(part in text for part in wanted.get("has_not", [])), text
        assert all(re.search(pattern, text) for pattern in wanted.get("matches", [])), text
        assert text == wanted.get("is", text)
    for name, expectations in case.get("manifest", {}).items():
        manifest = json.loads((here / name).read_text(encoding="utf-8"))
        for path, wanted in expectations.items():
            check(manifest, path, wanted)


def check(value: Any, path: str, wanted: dict[str, Any]) -> None:
    found = value
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found.get(part, ABSENT)
        if found is ABSENT:
            break
    [(how, expected)] = wanted.items()
    assert (found is ABSENT) == (how == "absent"), path
    match how:
        case "is":
            same_type = isinstance(found, bool) == isinstance(expected, bool)
            assert same_type, path
            assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)
        case "type":
            assert isinstance(found, TYPES[expected]), path
        case "matches":
            assert re.search(expected, found, re.DOTALL), path
        case "length":
            assert len(found) == expected, path
        case "no_longer_than":
            assert len(found) <= expected, path


def test_every_expectation_is_one_that_is_checked() -> None:
    known = {"is", "type", "matches", "length", "no_longer_than", "absent"}
    used = {
        how
        for case in CASES
        for part in (case.get("json", {}), *case.get("result", {}).values())
        for wanted in part.values()
        for how in wanted
    }
    assert used <= known
