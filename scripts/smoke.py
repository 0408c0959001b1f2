"""Use every command of an installed hedgerow once, on a small root, a small index and a small store.

    python scripts/smoke.py [--in-process] [PROGRAM ARGUMENT ...]

The program is `python -m hedgerow` of this interpreter if none is named. With --in-process all
commands except `serve` run in this process, which saves an hour on an emulated processor. For each
command, the help and the output of one use are checked. A command that needs a package that is not
installed has to name it. Fails if a command of `hedgerow help all` has no use here. Needs only the
standard library.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

LONGEST = 600.0
"""Seconds for one command; emulated processors are slow."""

NOTES = {
    "garden.md": "---\ntags: [garden]\nyear: 2024\n---\n# Garden\n\nHedgehogs sleep through the winter.\n",
    "slugs.md": "# Slugs\n\nSlugs eat lettuce at night. See [[garden]].\n",
    "Żółw.md": "# Żółw\n\nŻółw śpi całą zimę.\n",
}
WRAPUP = """\
## Findings

Frogs eat slugs too.

## Decisions

Dig a pond.

## Conflicts / Corrections

None.

## Open Questions

How deep?
"""
AGENT = """\
schema = 1

[query]
pipeline = "all | limit:5"

[prompt]
template = "linker.md"

[execution]
model = "small"
actions = ["note"]
schedule = "daily"
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "smoke", "version": "1"},
    },
}


HAS_SSL = importlib.util.find_spec("_ssl") is not None
"""Whether the interpreter was built with ssl, which the loop of `mcp` and `serve` imports."""


class Use(NamedTuple):
    """A use of a command: its arguments, a pattern for its output, and its standard input."""

    arguments: Sequence[str]
    expected: str
    stdin: str = ""
    needs: str = ""
    """The package that the command needs.

    If the package is missing, the command must say how to install it.
    """
    code: int = 0


def main() -> int:
    """Run everything in a temporary folder. Return 1 if a command did not behave as expected."""
    is_in_process = sys.argv[1:2] == ["--in-process"]
    program = sys.argv[1 + is_in_process :] or [sys.executable, "-m", "hedgerow"]
    if isinstance(sys.stdout, io.TextIOWrapper):  # on Windows, the encoding of a pipe has no ż
        sys.stdout.reconfigure(errors="backslashreplace")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        smoke = (InProcess if is_in_process else Smoke)(program, Path(folder).resolve())
        smoke.all()
    where = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    done = f"{smoke.helps} helps and {smoke.uses} uses, {len(smoke.without)} without their package"
    print(
        f"{done} ({', '.join(smoke.without) or '-'}): {time.monotonic() - began:.0f} s on {where}"
    )
    for failure in smoke.failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return int(bool(smoke.failures))


class Smoke:
    """The runs of one program in one folder."""

    def __init__(self, program: Sequence[str], folder: Path) -> None:
        self.program, self.folder = program, folder
        self.helps = self.uses = 0
        self.failures: list[str] = []
        self.without: list[str] = []
        # A private home directory for the tokens, consents and agent configuration.
        home = {"HOME": str(folder), "USERPROFILE": str(folder), "APPDATA": str(folder)}
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("HEDGEROW")
        }
        self.environment = {**kept, **home, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
        self.environment.pop("XDG_CONFIG_HOME", None)

    def all(self) -> None:
        """Run the help of each command, then the uses. A use finds the files of earlier ones."""
        self.prepare()
        names = self.commands()
        for name in names:
            self.check(name, Use([name, "--help"], r"Usage: hedgerow "))
        self.helps, self.uses = self.uses, 0
        used = set()
        for use in all_uses():
            used.add(use.arguments[0])
            self.check(" ".join(use.arguments), use)
        self.serve()
        used.add("serve")
        if missing := sorted(set(names) - used):
            self.failures.append(f"no use of {', '.join(missing)}; add one to scripts/smoke.py")

    def prepare(self) -> None:
        """Write the notes, an agent, memories to import and judged queries."""
        for folder in ("notes", "memory/notes"):
            (self.folder / folder).mkdir(parents=True)
            for name, text in NOTES.items():
                (self.folder / folder / name).write_text(text, encoding="utf-8")
        (self.folder / "agents").mkdir()
        (self.folder / "agents" / "linker.toml").write_text(AGENT, encoding="utf-8")
        (self.folder / "agents" / "linker.md").write_text("Look at {{nodes}}.\n", encoding="utf-8")
        (self.folder / "queries.jsonl").write_text(
            '{"_id": "1", "text": "winter"}\n', encoding="utf-8"
        )
        judged = "query-id\tcorpus-id\tscore\n1\tnotes/garden.md\t1\n"
        (self.folder / "judged.tsv").write_text(judged, encoding="utf-8")
        (self.folder / "memories.jsonl").write_text(
            '{"text": "Newts like ponds."}\n', encoding="utf-8"
        )

    def commands(self) -> list[str]:
        """Return the names of all commands, from the list in the help."""
        listed = self.run(["help", "all"]).stdout.split("\nMemory:\n")[-1]
        return re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)

    def check(self, name: str, use: Use) -> None:
        """Run a command, and record a failure if its exit code or output is unexpected."""
        if use.needs == "mcp" and not HAS_SSL:
            self.without.append(use.arguments[0])
            return
        self.uses += 1
        done = self.run(use.arguments, use.stdin)
        expected, code = use.expected, use.code
        if use.needs and importlib.util.find_spec(use.needs) is None:
            self.without.append(use.arguments[0])
            expected, code = r"pip install", 1
        text = done.stdout + done.stderr
        is_right = done.returncode == code and re.search(expected, text)
        seen = f"code {done.returncode}, {text!r} is not like {expected!r}"
        self.note(name, is_right=is_right, seen=seen)

    def run(self, arguments: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the program to its end. A nonzero exit code is not an error here."""
        return subprocess.run(
            [*self.program, *arguments],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=LONGEST,
            check=False,
        )

    def serve(self) -> None:
        """Start a server, send it a request over HTTP, and stop it."""
        command = ["serve", "--root", "memory", "--port", "0", "--tokens", "tokens"]
        if not HAS_SSL:
            self.without.append("serve")
            return
        if importlib.util.find_spec("uvicorn") is None:
            self.check("serve", Use(command, "", needs="uvicorn"))
            return
        self.uses += 1
        with subprocess.Popen(
            [*self.program, *command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as server:
            said, answer = "", ""
            try:
                if server.stderr is not None:
                    said = server.stderr.readline()
                if found := re.search(r"http://([\d.]+):(\d+)", said):
                    answer = self.ask(found[1], int(found[2]))
            finally:
                server.terminate()
        self.note("serve", is_right="garden.md" in answer, seen=f"{said!r} and {answer!r}")

    def ask(self, host: str, port: int) -> str:
        """Return the server's response to a recall."""
        token = (self.folder / "tokens" / "read").read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection = HTTPConnection(host, port, timeout=LONGEST)
        try:
            connection.request("POST", "/v1/recall", json.dumps({"query": "winter"}), headers)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def note(self, name: str, *, is_right: object, seen: str) -> None:
        """Print the outcome of one use, and record a failure."""
        print(f"{'ok' if is_right else 'FAILED':6} {name}", flush=True)
        if not is_right:
            self.failures.append(f"{name}: {seen}")


class InProcess(Smoke):
    """The runs of the commands in this process."""

    def all(self) -> None:
        """Run everything with the folder as the working directory, and with its environment."""
        before, environment = Path.cwd(), dict(os.environ)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        try:
            super().all()
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)

    def run(self, arguments: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in this process as a shell would run it."""
        from click.testing import CliRunner  # noqa: PLC0415 - of the installed hedgerow

        from hedgerow.cli import cli  # noqa: PLC0415

        done = CliRunner().invoke(cli, list(arguments), input=stdin, prog_name="hedgerow")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def all_uses() -> list[Use]:
    """Return the uses of every command except `serve`. Each use finds the files of earlier ones."""
    return [
        Use(["init", "memory"], r"Config: hedgerow\.json"),
        *(use._replace(arguments=[*use.arguments, "--root", "memory"]) for use in uses_of_a_root()),
        *(
            use._replace(arguments=[*use.arguments, "--db", "notes.db"])
            for use in uses_of_an_index()
        ),
        Use(["explain", "kube* NOT cluster"], r"prefix kube"),
        Use(
            ["cluster", "status", "http://127.0.0.1:9/notes"],
            r"127\.0\.0\.1:9",
            needs="opensearchpy",
            code=1,
        ),
        Use(["agents", "check", "agents"], r"1 agent in agents"),
        Use(["install", "codex"], r"mcp_servers\.hedgerow"),
        Use(["uninstall", "codex"], r"Not in .*config\.toml"),
        Use(["hook", "end"], r"^$", "{}"),
        Use(["instructions"], r"hedgerow memory hint"),
    ]


def uses_of_a_root() -> list[Use]:
    """Return the uses of the commands of a memory root."""
    day = "Slugs eat lettuce by day."
    hello = f"{json.dumps(HELLO)}\n"
    return [
        Use(["remember", "Compost stays warm.", "--type", "finding"], r"Remembered: findings/"),
        Use(["recall", "winter"], r"notes/garden\.md:"),
        Use(["recall", "żółw"], r"notes/Żółw\.md:"),
        Use(["grep", "lettuce"], r"notes/slugs\.md:3"),
        Use(["list"], r"notes/garden\.md"),
        Use(["show", "notes/garden.md"], r"Hedgehogs sleep"),
        Use(["edit", "notes/garden.md", "--replace", "winter", "cold winter"], r"Changed: notes"),
        Use(["history", "notes/garden.md"], r"created"),
        Use(["supersede", "notes/slugs.md", day], r"superseded by notes/"),
        Use(["diff", day], r"\+\+\+ notes/"),
        Use(["restore", "notes/slugs.md"], r"notes/slugs\.md: holds"),
        Use(["retract", "notes/slugs.md", "--reason", "wrong"], r"retracted since .*: wrong"),
        Use(["link", "notes/garden.md", "notes/Żółw.md"], r"Linked notes/garden\.md"),
        Use(["rename", "notes/Żółw.md", "notes/turtle.md"], r"Changed: notes/garden\.md"),
        Use(["import", "jsonl", "memories.jsonl", "--apply"], r"1 memory: 1 new"),
        Use(["lint"], r"Mode: lint"),
        Use(["audit"], r"memories read"),
        Use(["dedupe"], r"No memory is like an older one"),
        Use(["synthesize", "hedgehogs", "--apply"], r"Created from 1 source memory"),
        Use(["doctor"], r"hedgerow doctor: ok"),
        Use(["trust"], r"Nothing to allow"),
        Use(["wrapup", "--title", "Pond"], r"Wrote session wrapup", WRAPUP),
        Use(["query", "all | limit:2"], r"2 nodes"),
        Use(["graph"], r"links in"),
        Use(["visit", "linker", "notes/garden.md"], r"Recorded 1 visit"),
        Use(["forget", "Compost stays warm.", "--purge"], r"findings/.*compost"),
        Use(["status"], r"Compatible: yes"),
        Use(["process", "--mode", "lint", "--apply"], r"Applied: yes"),
        Use(["run", "memory:recall", "--topic", "winter"], r"notes/garden\.md:"),
        Use(["mcp"], r'"serverInfo"', hello, needs="mcp"),
    ]


def uses_of_an_index() -> list[Use]:
    """Return the uses of the commands of an index."""
    return [
        Use(["index", "notes"], r"3 chunks added"),
        Use(["search", "winter"], r"notes/garden\.md:5"),
        Use(["stats"], r"of 3 paths"),
        Use(["chunks", "--filter", "year >= 2024"], r"^notes/garden\.md#0  Garden\s*$"),
        Use(
            ["update", "--filter", "tag=garden", "--set", "year=2025", "--yes"], r"Updated 1 chunk"
        ),
        Use(
            ["eval", "--queries", "queries.jsonl", "--qrels", "judged.tsv"],
            r"bm25",
            needs="ir_measures",
        ),
        Use(["delete", "--path", "notes/slugs.md", "--yes"], r"Removed 1 chunk"),
        Use(["check"], r"hedgerow check: ok"),
        Use(["backup", "copy.db"], r"Copied notes\.db to copy\.db"),
    ]


if __name__ == "__main__":
    sys.exit(main())
