"""Documents that show code and what it prints: the code is run, as a reader would type it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path


def run_python(code: str, file: str, namespace: dict[str, object]) -> str:
    """What the code of a file prints; the namespace keeps what it defines for the next."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, file, "exec"), namespace)  # noqa: S102
    return output.getvalue()


def run_console(block: str, folder: Path) -> str:
    """The block as it reads when its commands, each after `$ `, are run in a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = ""
    for command in re.findall(r"^\$ (.*)", block, re.MULTILINE):
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        printed += f"$ {command}\n{done.stdout}"
    return printed
