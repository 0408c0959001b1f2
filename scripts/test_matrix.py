"""Run the tests against the built wheel on every installed interpreter: see `make test-matrix`.

python scripts/test_matrix.py [--ends] WHEELHOUSE [PYTEST ARGUMENT ...]

Looks for CPython 3.10 and later in PATH and among pyenv's versions, including free-threaded builds.
Each gets its own environment in .venv-matrix, with the wheel and without the sources of the
package. A free-threaded interpreter cannot install the abi3 wheel, so a wheel is built for it,
which takes some minutes. --ends tests only the oldest and the newest interpreter with a GIL.
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
    """Test each interpreter. Return 1 if one of them failed, or if none was found."""
    is_ends = sys.argv[1:2] == ["--ends"]
    wheelhouse, *arguments = sys.argv[1 + is_ends :]
    wheel = newest(Path(wheelhouse), "abi3")
    if wheel is None:
        print(f"there is no wheel in {wheelhouse}; make one with: make wheels")
        return 1
    found = sorted(interpreters().items())
    if is_ends:
        found = ends(found)
    results = {}
    for name, python in found:
        began = time.monotonic()
        print(f"\n=== {name}: {python}", flush=True)
        results[name] = tested(name, python, wheel, arguments or TESTS)
        print(f"=== {name}: {results[name]} after {time.monotonic() - began:.0f} s", flush=True)
    print()
    for name, result in results.items():
        print(f"{name:<8} {result}")
    if not results:
        print("there is no CPython 3.10 or later in PATH")
    return int(not results or any(result != "passed" for result in results.values()))


def ends(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the oldest and the newest interpreter with a GIL."""
    usual = [(name, python) for name, python in found if not is_free_threaded(name)]
    return usual[:1] + usual[1:][-1:]


def is_free_threaded(name: str) -> bool:
    """Whether an interpreter of this name, such as 3.14t, has no GIL."""
    return name.endswith("t")


def newest(folder: Path, abi: str) -> Path | None:
    """Return the most recent wheel for an ABI, such as abi3 or cp314t.

    None if there is no such wheel.
    """
    wheels = folder.glob(f"hedgerow-*-{abi}-*.whl")
    return max(wheels, key=lambda one: one.stat().st_mtime, default=None)


def interpreters() -> dict[str, str]:
    """Return the interpreters by version, such as 3.13 or 3.14t.

    Of each version, the latest patch release.
    """
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
    """Yield the paths of programs that may be interpreters."""
    for minor in range(OLDEST[1], NEWEST):
        for suffix in ("", "t"):
            path = shutil.which(f"python3.{minor}{suffix}")
            if path:
                yield path
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(versions.glob("*/bin/python")))


def tested(name: str, python: str, wheel: Path, arguments: list[str]) -> str:
    """Install the wheel and the tests' packages, run the tests, and return the outcome."""
    environment = ROOT / ".venv-matrix" / name
    shutil.rmtree(environment, ignore_errors=True)
    variables = dict(os.environ)
    if is_free_threaded(name):
        print(f"{name} cannot install {wheel.name}: a wheel of its own is built", flush=True)
        built = built_for(python, environment)
        if built is None:
            return "failed (wheel)"
        wheel = built
        variables["PYTHON_GIL"] = "0"  # stays off even if an imported module asks for it
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
        if subprocess.run(step, cwd=ROOT, env=variables, check=False).returncode:
            return f"failed ({said})"
    return "passed"


def built_for(python: str, environment: Path) -> Path | None:
    """Build a wheel for one interpreter, in a folder next to its environment.

    None if the build fails.
    """
    maturin = str(Path(sys.executable).with_name("maturin"))
    folder = environment.with_name(f"{environment.name}-wheel")
    shutil.rmtree(folder, ignore_errors=True)
    command = [maturin, "build", "--release", "--locked", "--interpreter", python]
    if subprocess.run([*command, "--out", str(folder)], cwd=ROOT, check=False).returncode:
        return None
    return newest(folder, "*")


if __name__ == "__main__":
    sys.exit(main())
