"""Pages with code and its output: their blocks, run as a reader would.

The blocks of a page are run in order, in one folder and one namespace. A block below a file name,
such as "`agents/linker.toml`:", is written to that file.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from places import ROOT

BLOCK = re.compile(
    r"(?:^`(?P<file>[^`\s]+)`:\n\n)?^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
NO_PAGES = ("examples/", "tests/data/", "spec/fixtures/", ".github/")
"""Data files that are Markdown."""


@dataclass(frozen=True)
class Block:
    """The text between two fences. `file` is the name above it, or empty."""

    page: str
    line: int
    language: str
    text: str
    file: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Return every page of the repository."""
    found = [
        file
        for pattern in ("*.md", "*/*.md", "docs/*/*.md", "tests/*/*.md", "clients/*/*.md")
        for file in ROOT.glob(pattern)
    ]
    names = {file.relative_to(ROOT).as_posix() for file in found}
    return sorted(name for name in names if not name.startswith((".", *NO_PAGES)))


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start("fence")) + 1,
            found["language"],
            found["text"],
            found["file"] or "",
        )
        for found in BLOCK.finditer(text)
    ]


def prose_of(page: str) -> str:
    """Return a page without its blocks."""
    return BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Run:
    """A page as written, as run, and the names that its code has defined."""

    shown: str
    printed: str
    names: dict[str, Any]


@contextlib.contextmanager
def run_page(
    page: str, folder: Path, names: dict[str, Any], without: str | None = None
) -> Iterator[Run]:
    """Run a page in a folder, and close everything it left open.

    Python and console blocks that match the pattern `without` are skipped, with their output.
    """
    shown = printed = ""
    left_out = False
    try:
        for before, block in pairwise([None, *blocks_of(page)]):
            assert block is not None
            if block.language in {"python", "console"}:
                left_out = without is not None and bool(re.search(without, block.text))
            if block.file:
                file = folder / block.file
                file.parent.mkdir(exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "python" and not left_out:
                shown += f"--- {block}\n"
                printed += f"--- {block}\n{run_python(block.text, str(block), names)}"
            elif block.language == "console" and not left_out:
                shown += f"--- {block}\n{block.text}"
                printed += f"--- {block}\n{run_console(block.text, folder)}"
            elif block.language == "text" and not left_out and is_output(before):
                shown += block.text
        home = Path(os.environ["HOME"]).resolve()
        for path, name in ((folder.resolve(), "~/garden"), (home, "~")):
            printed = printed.replace(str(path), name)
        yield Run(comparable(shown), comparable(printed), names)
    finally:
        for value in names.values():
            if hasattr(value, "close") and type(value).__module__.startswith("hedgerow"):
                value.close()


def is_output(before: Block | None) -> bool:
    """Return whether a text block is the output of the previous block.

    Otherwise it is a diagram.
    """
    return before is not None and before.language == "python"


def run_python(code: str, file: str, namespace: dict[str, Any]) -> str:
    """Return the output of code, and the warnings that hedgerow logs.

    `await` is allowed at the top level.
    """
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setLevel(logging.WARNING)
    logging.getLogger("hedgerow").addHandler(handler)
    try:
        with contextlib.redirect_stdout(output):
            compiled = compile(code, file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            awaited = eval(compiled, namespace)  # noqa: S307
            if inspect.iscoroutine(awaited):
                asyncio.run(awaited)
    finally:
        logging.getLogger("hedgerow").removeHandler(handler)
    return output.getvalue()


def run_console(block: str, folder: Path) -> str:
    """Return the block with the output of its commands, each after `$ `, when run in a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"}
    printed = ""
    for command in re.findall(r"^\$ (.*)", block, re.MULTILINE):
        serves = command.startswith("hedgerow serve")
        started = subprocess.Popen(
            # Use a free port, and no shell between this process and the server, so that it can be
            # stopped.
            ["sh", "-c", f"exec {command} --port 0" if serves else command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        with started:
            assert started.stdout is not None
            if serves:
                told = "".join(started.stdout.readline() for _ in range(2))
                started.terminate()
                told = re.sub(r"(http://127\.0\.0\.1):\d+", r"\1:7411", told)
            else:
                told = started.stdout.read()
        printed += f"$ {command}\n{told}"
    return printed


def comparable(text: str) -> str:
    """Return a text without variable parts.

    These are times, random tokens, sizes that depend on folders, and empty lines between commands.
    """
    text = re.sub(r"\n\n(?=\$ )", "\n", text)
    text = re.sub(r" *\d+\.\d+ ms\b", " 0.00 ms", text)
    text = re.sub(r"\d+\.\d (s|KB)\b", r"0.0 \1", text)
    text = re.sub(r"\(embed \d+\.\d[^)]*\)", "(stages that took long)", text)
    text = re.sub(r"(\d\.\d{4} +)\d+\.\d\d$", r"\g<1>0.00", text, flags=re.MULTILINE)
    text = re.sub(r"hedgerow [0-9a-f]{16}$", "hedgerow token", text, flags=re.MULTILINE)
    return re.sub(r"20\d\d-\d\d-\d\d(T[\d:.]+Z| \d\d:\d\dZ)?", "day", text)
