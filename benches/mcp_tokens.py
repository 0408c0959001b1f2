"""Count the tokens of the tools of `hedgerow mcp`: python benches/mcp_tokens.py TOKENIZER.

TOKENIZER is a folder with the package gpt-tokenizer: npm install --prefix TOKENIZER gpt-tokenizer.
The memory is the notes of examples/. Each row has the bytes of a result as sent, and the tokens
(o200k_base) of the part that a model reads: the list of tools, the instructions and the texts of
answers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sessions.mcp_client import Server

NOTES = Path(__file__).parent.parent / "examples" / "notes"
COUNT = """
const { encode } = require("gpt-tokenizer");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => encode(text).length)));
"""
HEDGE = "decisions/2025-02-no-pellets.md"


def main() -> None:
    """Print a row for each answer."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        shutil.copytree(NOTES, root)
        command = [sys.executable, "-m", "hedgerow"]
        subprocess.run([*command, "init", "--root", str(root)], check=True, capture_output=True)  # noqa: S603
        server = Server([*command, "mcp", "--root", str(root)], dict(os.environ))
        try:
            rows = answers(server)
        finally:
            server.close()
    counts = tokens([text for _, _, text in rows], Path(sys.argv[1]))
    print(f"{'':40}{'bytes':>8}{'tokens':>8}")
    for (what, size, _), count in zip(rows, counts, strict=True):
        print(f"{what:40}{size:>8,}{count:>8,}")


def answers(server: Server) -> list[tuple[str, int, str]]:
    """Return the name, the size in bytes and the model's text of each answer."""
    listed = json.dumps(server.ask("tools/list", {})["tools"], separators=(",", ":"))
    rows = [("list of tools", len(listed), listed)]
    rows.append(("instructions", len(server.instructions), server.instructions))

    def add(what: str, tool: str, **arguments: Any) -> str:
        sent = server.call(tool, arguments)
        text: str = json.loads(sent)["content"][0]["text"]
        rows.append((what, len(sent.encode()), text))
        return text

    add("recall, 5 results", "memory_recall", query="hedge in winter")
    add("recall, 20 results", "memory_recall", query="hedge in winter", limit=20)
    add("recall, budget of 500", "memory_recall", query="hedge in winter", budget=500)
    add("recall, nothing found", "memory_recall", query="zeppelin")
    add("list, 20 memories", "memory_list")
    read = add("read a memory", "memory_read", key=HEDGE)
    add("remember", "memory_remember", title="Traps", text="Beer traps took forty slugs in a week.")
    add("supersede", "memory_supersede", old="Traps", text="Two traps took ninety.", title="Two")
    add("retract", "memory_retract", key="Two", reason="miscounted")
    digest = re.findall(r"digest (\w+)", read)[0]
    add("edit: append", "memory_edit", key=HEDGE, text="- Copper.", append=True, digest=digest)
    return rows


def tokens(texts: list[str], folder: Path) -> list[int]:
    """Count the tokens of texts with gpt-tokenizer."""
    done = subprocess.run(  # noqa: S603
        ["node", "-e", COUNT],  # noqa: S607
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    found: list[int] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
