"""Run the tests against the built wheel on every interpreter there is: see `make test-matrix`.

python scripts/test_matrix.py [--ends] WHEELHOUSE [PYTEST ARGUMENT ...]

Looks for CPython 3.10 and later in PATH and among pyenv's versions, free-threaded builds too. Each gets
an environment of its own in .venv-matrix, with the wheel and without the sources of the package. --ends
takes the oldest and the newest of them alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST = (3, 10)
NEWEST = 20
TESTS = [
    f"tests/{folder}"
    for folder in (
        "agents", "cli", "embedders", "index", "ingest", "memory", "query", "remote", "rerankers",
        "retrieval", "serve", "store", "temporal",
    )
]  # fmt: skip
ABOUT = """
import json, platform, sys, sysconfig
print(json.dumps([
    platform.python_implementation(), *sys.version_info[:3],
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
]))
"""


def main() -> int:
    """Test each interpreter; 1 if one of them failed, or if there is none."""
    is_ends = sys.argv[1:2] == ["--ends"]
    wheelhouse, *arguments = sys.argv[1 + is_ends :]
    wheels = sorted(Path(wheelhouse).glob("hedgerow-*.whl"), key=lambda one: one.stat().st_mtime)
    if not wheels:
        print(f"there is no wheel in {wheelhouse}; make one with: make wheels")
        return 1
    found = sorted(interpreters().items())
    results = {}
    for name, python in found[:1] + found[1:][-1:] if is_ends else found:
        began = time.monotonic()
        print(f"\n=== {name}: {python}", flush=True)
        results[name] = tested(name, python, wheels[-1], arguments or TESTS)
        print(f"=== {name}: {results[name]} after {time.monotonic() - began:.0f} s", flush=True)
    print()
    for name, result in results.items():
        print(f"{name:<8} {result}")
    if not results:
        print("there is no CPython 3.10 or later in PATH")
    return int(not results or any(result != "passed" for result in results.values()))


def interpreters() -> dict[str, str]:
    """The interpreters by their version, such as 3.13 or 3.14t; of each the latest."""
    found: dict[str, tuple[int, str]] = {}
    for candidate in candidates():
        done = subprocess.run([candidate, "-c", ABOUT], capture_output=True, check=False)
        if done.returncode:
            continue
        kind, major, minor, patch, is_free = json.loads(done.stdout)
        if kind != "CPython" or (major, minor) < OLDEST:
            continue
        name = f"{major}.{minor:02}{'t' if is_free else ''}"
        found[name] = max(found.get(name, (-1, "")), (patch, candidate))
    return {name: path for name, (_, path) in found.items()}


def candidates() -> Iterator[str]:
    """Every program that may be one."""
    for minor in range(OLDEST[1], NEWEST):
        for suffix in ("", "t"):
            path = shutil.which(f"python3.{minor}{suffix}")
            if path:
                yield path
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(versions.glob("*/bin/python")))


def tested(name: str, python: str, wheel: Path, arguments: list[str]) -> str:
    """Install the wheel and the tests' own packages, and run the tests."""
    environment = ROOT / ".venv-matrix" / name
    shutil.rmtree(environment, ignore_errors=True)
    run = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    steps = [
        [python, "-m", "venv", str(environment)],
        [str(run), "-m", "pip", "install", "--quiet", "--upgrade", "pip"],
        [str(run), "-m", "pip", "install", "--quiet", "--group", "suite", str(wheel)],
        [
            str(run),
            "-m",
            "pytest",
            "-q",
            "--numprocesses",
            "auto",
            "--dist",
            "worksteal",
            *arguments,
        ],
    ]
    for step, said in zip(steps, ["venv", "pip", "packages", "tests"], strict=True):
        if subprocess.run(step, cwd=ROOT, check=False).returncode:
            return f"failed ({said})"
    return "passed"


if __name__ == "__main__":
    sys.exit(main())
