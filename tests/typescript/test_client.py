"""`make test-typescript`: the generated client in Node, against real servers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

import hedgerow as hr
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.root_routes import RootService
from places import ROOT
from serving import CHUNKS, READER, WRITE, WRITER, listening
from shown import blocks_of

CLIENT = ROOT / "clients" / "typescript"


def npm(*arguments: str, **environment: str) -> None:
    program = shutil.which("npm")
    assert program is not None
    done = subprocess.run(
        [program, *arguments],
        cwd=CLIENT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def node(script: str, **environment: str) -> str:
    program = shutil.which("node")
    assert program is not None
    done = subprocess.run(
        [program, script],
        cwd=CLIENT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program_of_the_readme(root: str) -> str:
    """Return the README's program with the address of a test server and its assumed variables."""
    [block] = [one for one in blocks_of("clients/typescript/README.md") if one.language == "ts"]
    shown = block.text.replace("hedgerow-client", "../src/client.js")
    assert "http://127.0.0.1:7411" in shown
    return 'const token = process.env["TOKEN"]!;\n' + shown.replace("http://127.0.0.1:7411", root)


def test_the_client_is_generated_typed_and_works(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("NOT RUN: the TypeScript client was not tried, for want of npm")
    folder = tmp_path / "memory"
    with (
        hr.MemoryRoot.init(folder) as memory,
        hr.Retriever(tmp_path / "notes.db", create=True, ranking=hr.Ranking("best")) as retriever,
    ):
        (folder / "notes" / "slugs.md").write_text("# Slugs\n\nNo pellets against slugs.\n")
        retriever.upsert(CHUNKS)
        with (
            listening(RootService(memory)) as root,
            listening(IndexService(retriever)) as index,
        ):
            generated = CLIENT / "generated"
            generated.mkdir(exist_ok=True)
            for name, url in (("root", root), ("index", index)):
                document = httpx.get(f"{url}/openapi.json", headers=WRITE).json()
                (generated / f"{name}.json").write_text(json.dumps(document, indent=1))
            (generated / "readme.ts").write_text(program_of_the_readme(root))
            npm("ci", "--no-audit", "--no-fund")
            npm("run", "build")
            npm("test", ROOT_URL=root, INDEX_URL=index, HEDGEROW_TOKEN=WRITER)
            assert "notes/slugs.md" in node("built/generated/readme.js", TOKEN=READER)
        assert any("Moles" in file.read_text() for file in (folder / "notes").iterdir())
