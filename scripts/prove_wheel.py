"""Test a wheel in an environment without Rust: install it, import it, search, use every command.

    python scripts/prove_wheel.py WHEEL_OR_FOLDER

Fails if a step fails or if the wheel is over 8 MB. The import time is reported but not checked,
because it depends on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

MOST_BYTES = 8_000_000
SMOKE = Path(__file__).resolve().with_name("smoke.py")
IMPORTS_TIMED = 7  # the fastest is reported; slower runs were delayed by the machine

SEARCH = """
import hedgerow as hr

compiled = hr.compile_match("hedgehogs AND winter")
assert compiled == '"hedgehogs" AND "winter"', compiled
with hr.Index.in_memory() as index:
    index.upsert([hr.Chunk("1", "garden.md", "Hedgehogs sleep through the winter.")])
    hits = index.search_bm25("hedgehogs AND winter")
assert [hit.id for hit in hits] == ["1"], hits

from hedgerow._page import page

assert page(None).startswith("<!doctype html>")  # its files are in the wheel
print("compiled and searched with", hr.__version__, "from", hr.__file__)
"""

TIME_IMPORT = """
from time import perf_counter
start = perf_counter()
import hedgerow
print((perf_counter() - start) * 1000)
"""


def main() -> None:
    """Test the given wheel, or the newest wheel in the given folder."""
    wheel = Path(sys.argv[1])
    if wheel.is_dir():
        wheel = max(wheel.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.2f} MB")
    if size > MOST_BYTES:
        sys.exit(f"the wheel is over {MOST_BYTES / 1e6:.0f} MB")

    with tempfile.TemporaryDirectory() as folder:
        prove(wheel.resolve(), Path(folder))


def prove(wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment in the folder and use it from there."""
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "PATH": str(programs),  # only these programs: no cargo, rustc or cc
    }
    for tool in ("cargo", "rustc", "cc"):
        if shutil.which(tool, path=environment["PATH"]):
            sys.exit(f"{tool} is on the PATH: this would prove nothing")

    def run(program: str, *arguments: str) -> str:
        command = shutil.which(program, path=environment["PATH"])
        if command is None:
            sys.exit(f"the environment has no {program}")
        result = subprocess.run(
            [command, *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if result.returncode != 0:
            sys.exit(f"{program} failed: {' '.join(arguments)}")
        return result.stdout.strip()

    run("python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", str(wheel))
    print(run("python", "-c", SEARCH))
    print(run("hedgerow", "--version"))
    print(run("python", str(SMOKE)).splitlines()[-1])

    milliseconds = min(float(run("python", "-c", TIME_IMPORT)) for _ in range(IMPORTS_TIMED))
    print(f"import: {milliseconds:.0f} ms (the fastest of {IMPORTS_TIMED})")


if __name__ == "__main__":
    main()
