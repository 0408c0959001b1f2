"""Measure what installing a package adds: dependencies, megabytes and import time.

    python benches/footprint.py lancedb chromadb=chromadb qdrant-client=qdrant_client

Each package is installed into its own environment, which is deleted afterwards. After `=`, give the
module to import if its name differs. The time is the shortest of five imports, with compiled
bytecode.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

IMPORTS = 5
TIMED = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"


def main() -> None:
    """Measure each given package and print one line for each."""
    print(f"{'package':<24} {'version':<12} {'packages':>8} {'MB':>7} {'import, ms':>10}")
    for argument in sys.argv[1:]:
        package, _, module = argument.partition("=")
        with tempfile.TemporaryDirectory() as folder:
            print(measured(package, module or package.replace("-", "_"), Path(folder)), flush=True)


def measured(package: str, module: str, folder: Path) -> str:
    """Return the printed line of one package."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    before, empty = installed(python), size_of(folder)
    run(python, "-m", "pip", "install", "--quiet", package)
    brought = installed(python) - before
    name = Path(package).name.split("-")[0] if package.endswith(".whl") else package
    [version] = [found for one, found in brought if one.lower().replace("_", "-") == name.lower()]
    megabytes = (size_of(folder) - empty) / 1e6
    seconds = min(float(run(python, "-c", TIMED.format(module))) for _ in range(IMPORTS))
    return f"{name:<24} {version:<12} {len(brought):>8} {megabytes:>7.0f} {seconds * 1000:>10.0f}"


def size_of(folder: Path) -> int:
    """Return the total size of the files in a folder, in bytes."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files)


def installed(python: Path) -> set[tuple[str, str]]:
    """Return the names and versions of the installed packages."""
    lines = run(python, "-m", "pip", "list", "--format", "freeze").split()
    return {(name, version) for name, _, version in (line.partition("==") for line in lines)}


def run(*command: str | Path) -> str:
    """Return the output of a command."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")  # noqa: S603
    return done.stdout


if __name__ == "__main__":
    main()
