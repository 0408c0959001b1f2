"""No stored or given text can control the terminal, in any command."""

from __future__ import annotations

import ast
import json
import logging
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import hedgerow as hr
from agents_doubles import put_agent
from command_line import ok, run
from hedgerow import cli
from hedgerow.cli.output import (
    PrintableFormatter,
    json_bytes,
    make_console,
    printable,
    progress_bar,
    visible,
)
from local_server import LocalServer, Reply, local_server
from memory_doubles import WRAPUP, put

COLOR = "\x1b[31;5;77m"
EVIL = f"{COLOR}red\x1b]8;;http://x\x07\x1b]0;t\x1b\\\x9b2J\x08\x7f\r\u202eabc\u2066\u200f\u061c\u200b\ufeff[red][link=http://x]:boom:"
"""Colors, a link, a title, erasing, a carriage return, bidirectional overrides, and rich markup."""

EVIL_LINES = f"slugs {EVIL}\n\tError: {EVIL}"
EVIL_NAME = "a\x9b31m\u202eb"
"""A hostile file name."""

JOINERS = "\u200c\u200d"
VISIBLE_FORMATS = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Visible characters in the Unicode category Cf."""


def is_harmless(character: str) -> bool:
    return (
        unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp", "Cs"}
        or character in JOINERS + VISIBLE_FORMATS
    )


def assert_harmless(text: str) -> None:
    found = [f"{ord(one):x}" for one in set(text) - {"\n", "\t"} if not is_harmless(one)]
    assert not found, text


class TestCharacters:
    def test_what_is_escaped_is_what_acts_or_hides(self) -> None:
        for character in map(chr, range(sys.maxunicode + 1)):
            assert (printable(character) == character) == (
                is_harmless(character) or character in "\n\t"
            ) or unicodedata.category(character) == "Cn", f"{ord(character):x}"

    def test_escapes(self) -> None:
        assert printable("\x1b \x9b \u202e \U000e0041 \r \udcff a\n\tb") == (
            r"\x1b \x9b \u202e \U000e0041 \r \udcff a" + "\n\tb"
        )
        assert visible("a\n\tb\x1b") == r"a\n\tb\x1b"

    def test_text_in_other_scripts_stays(self) -> None:
        text = "می‌خواهم क्‍ष 👩‍🌾 ❤️ 味噌汁 עברית"
        assert printable(text) == visible(text) == text

    def test_line_ends_of_windows_stay(self) -> None:
        assert printable("a\r\nb\r\rc\r\n") == "a\r\nb\\r\\rc\r\n"

    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    def test_json_means_the_same_and_is_harmless(
        self, monkeypatch: pytest.MonkeyPatch, encoding: str
    ) -> None:
        class Stream:
            pass

        Stream.encoding = encoding  # type: ignore[attr-defined]
        monkeypatch.setattr(sys, "stdout", Stream())
        value = {EVIL: [EVIL_LINES, "\udcff", "👩\u200d🌾\U000e0041"]}
        written = json_bytes(value, indent=2).decode()
        assert_harmless(written)
        assert json.loads(written) == value


@pytest.fixture(scope="module")
def model() -> Iterator[LocalServer]:
    with local_server() as server:
        content = f"LINK {json.dumps(EVIL)} b\nLINKS {EVIL}\nNOTE {EVIL}\n{EVIL}"
        server.answer = lambda _: Reply({"choices": [{"message": {"content": content}}]})
        yield server


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a root, an index, a store, agents and judged queries, all with hostile text."""
    folder = tmp_path_factory.mktemp("terminal")
    root = hr.MemoryRoot.init(folder / "root").path
    quoted = json.dumps(EVIL_LINES)
    head = "\n".join(
        f"{key}: {quoted}"
        for key in ("title", "summary", "type", "weight", "session_id", "related", "conflicts_with")
    )
    put(
        root,
        f"notes/{EVIL_NAME}.md",
        f"---\n{head}\ntags: [{quoted}]\n---\n{EVIL_LINES}\n[[{EVIL}]]\n",
    )
    put(root, "notes/\x1b[2J.md", "x")
    put(root, "notes/bad.md", f'---\na: "{EVIL}\nb: [\n---\nslugs')
    put(root, f"pages/{EVIL_NAME}.md", f"---\ntype: page\ntitle: {quoted}\n---\nslugs")
    put(root, f"findings/{EVIL_NAME}.md", f"---\ntype: finding\ntitle: {quoted}\n---\nslugs")
    put(root, "findings/b.md", f"---\ntype: finding\ntitle: {quoted}\n---\nslugs")
    put(root, f"{EVIL_NAME}.png", "")
    line = {"id": EVIL_LINES, "path": EVIL, "title": EVIL_LINES, "content": EVIL_LINES}
    lines = [{**line, "tags": [EVIL], "metadata": {EVIL: EVIL}}, {"content": 1, EVIL: 1}]
    put(folder, f"files/{EVIL_NAME}.jsonl", "\n".join(map(json.dumps, lines)) + f"\n{EVIL}\n")
    put(folder, "files/\x1b[2J.md", "x")
    asking = hr.MemoryRoot.init(folder / ASKING).path
    asks = {"embedder": f"openai:x@http://127.0.0.1:9/{EVIL}", "indexRoot": f"../../{EVIL_NAME}"}
    put(asking, "hedgerow.json", json.dumps({"schemaVersion": 1, **asks}))
    with hr.Store.open(folder / "store.db") as store:
        store.upsert([hr.Node(EVIL_LINES, content=EVIL_LINES, provenance=EVIL), hr.Node("b")])
        store.link(EVIL_LINES, "b", 1.0, EVIL)
    put_agent(
        folder / "agents", template="{{NODES}} " + EVIL.replace("\x08", "").replace("\x7f", "")
    )
    put(folder, f"agents/{EVIL_NAME}.toml", f"{json.dumps(EVIL)} = {json.dumps(EVIL)}\n")
    put(folder, "queries.jsonl", json.dumps({"id": EVIL, "text": "slugs"}))
    put(folder, "qrels.tsv", f"{EVIL.replace(chr(13), '')}\tx\t1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("index", "files", "--db", "index.db")
    return folder


@pytest.fixture
def in_made(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    monkeypatch.delenv("HEDGEROW_MEMORY_ROOT", raising=False)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HEDGEROW_MODEL_KEY", "key")
    return made


ROOT = ("--root", "root")
ASKING = f"asking{EVIL_NAME}"
STORE = ("--db", "store.db")
INDEX = ("--db", "index.db")
COMMANDS: list[list[str]] = [
    ["help"],
    ["version"],
    ["instructions"],
    ["init", "--root", f"new{EVIL_NAME}"],
    ["status", *ROOT],
    ["status", "--root", EVIL],
    ["doctor", *ROOT, "--verbose"],
    ["remember", *ROOT, "--title", EVIL_LINES],
    ["recall", *ROOT, "--topic", f"slugs {EVIL}"],
    ["run", "memory:recall", *ROOT, "--topic", "slugs"],
    ["run", EVIL],
    ["cluster", "status", f"http://127.0.0.1:9/{EVIL_NAME}"],
    ["search", EVIL, "--url", f"http://127.0.0.1:9/{EVIL_NAME}"],
    ["recall", *ROOT, "slugs", "--as-of", EVIL],
    ["supersede", EVIL, "b", *ROOT],
    ["retract", EVIL, "--reason", EVIL_LINES, *ROOT],
    ["restore", EVIL, *ROOT],
    ["forget", EVIL, "--purge", *ROOT],
    ["import", "jsonl", EVIL, *ROOT],
    ["rename", EVIL, EVIL, *ROOT],
    ["rename", "slugs", EVIL, *ROOT],
    ["import", "obsidian", f"{ROOT[1]}", *ROOT],
    ["recall", *ROOT, "slugs", "--budget", "400"],
    ["list", *ROOT, "--scope", f"user={EVIL}"],
    ["list", *ROOT, "--scope", EVIL],
    ["list", *ROOT],
    ["list", *ROOT, "--type", EVIL],
    ["show", EVIL, *ROOT],
    ["history", EVIL, *ROOT],
    ["history", f"notes/{EVIL_NAME}.md", *ROOT],
    ["diff", EVIL, *ROOT],
    ["diff", "slugs", "--old", EVIL, *ROOT],
    ["diff", "slugs", "--old", f"notes/{EVIL_NAME}.md", *ROOT],
    ["show", f"slugs#{EVIL}", *ROOT],
    ["list", "--written-by", EVIL, *ROOT],
    ["edit", "slugs", EVIL, "--replace", EVIL, *ROOT],
    ["recall", "slugs", "--recency", EVIL, *ROOT],
    ["edit", EVIL, *ROOT],
    ["edit", EVIL, EVIL, "--expect", EVIL, *ROOT],
    ["wrapup", *ROOT, "--title", EVIL, "--topic", "slugs", "--tag", EVIL],
    ["process", *ROOT, "--mode", "lint"],
    ["process", *ROOT, "--mode", "synthesize", "--topic", f"slugs {EVIL}"],
    ["process", *ROOT, "--mode", EVIL],
    ["query", "all", *ROOT],
    ["query", "all", "--explain", *STORE],
    ["query", "all", "--keys", *STORE],
    ["query", "all | select:key,type,provenance", *STORE],
    ["query", "all | similar:0", *STORE],
    ["query", f"type:{EVIL}", *STORE],
    ["query", "all", "--db", EVIL],
    ["graph", *STORE],
    ["graph", EVIL_LINES, *STORE],
    ["link", EVIL_LINES, "b", "--rel", EVIL, *STORE],
    ["link", EVIL_LINES, "b", "--rel", EVIL, "--remove", *STORE],
    ["link", EVIL, "b", *ROOT],
    ["visit", EVIL, EVIL_LINES, *STORE],
    ["visit", EVIL, EVIL, "--at", EVIL, *STORE],
    ["graph", *ROOT],
    ["graph", EVIL, *STORE],
    ["graph", EVIL_LINES, "--svg", f"{EVIL_NAME}.svg", *STORE],
    ["index", "files", "--db", "other.db", "--verbose"],
    ["index", EVIL, "--db", "other.db"],
    ["index", *ROOT, "--verbose"],
    ["search", "slugs", *INDEX],
    ["search", "slugs", *INDEX, "--explain"],
    ["search", EVIL_LINES, *INDEX, "--explain", "--filter", f"tag={EVIL}"],
    ["search", EVIL, *INDEX, "--filter", EVIL],
    ["search", "slugs", *ROOT],
    ["index", "--reembed", *INDEX, "--embedder", EVIL],
    ["stats", *INDEX],
    ["stats", "--db", EVIL],
    ["check", *INDEX],
    ["backup", f"{EVIL_NAME}.db", *INDEX],
    ["backup", EVIL_LINES, *INDEX],
    ["show", EVIL_LINES, *INDEX],
    ["show", EVIL, *INDEX],
    ["show", f"{EVIL}:1", *INDEX],
    ["serve", "--db", EVIL, "--tokens", EVIL_NAME],
    ["serve", *INDEX, "--host", EVIL, "--insecure-http"],
    ["delete", EVIL_LINES, "--path", EVIL, "x", *INDEX],
    ["delete", EVIL, "--path", EVIL, "--yes", *STORE],
    ["agents", "list", *STORE],
    ["agents", "check", *STORE, "agents"],
    ["agents", "check", EVIL],
    ["agents", "run", "linker", *STORE, "--dry-run"],
    ["agents", "run", "linker", *STORE, "--dry-run", "--model-url", "URL"],
    ["agents", "run", "linker", *STORE, "--model-url", "URL"],
    ["agents", "run", EVIL, *STORE],
    ["agents", "resume", "linker", *STORE],
    ["eval", *INDEX, "--queries", "queries.jsonl", "--qrels", "qrels.tsv"],
    ["eval", *INDEX, "--queries", "queries.jsonl", "--qrels", EVIL],
    ["trust", "--root", ASKING],
    ["trust", "--root", ASKING, "--yes"],
    ["trust", "--list"],
    ["lint", *ROOT],
    ["audit", *ROOT],
    ["grep", EVIL, *ROOT],
    ["grep", "slugs", *ROOT],
    ["chunks", "--db", "notes.db"],
    ["chunks", "--db", "notes.db", "--filter", EVIL],
    ["update", "--db", "notes.db", "--filter", EVIL, "--tag", EVIL],
    ["audit", EVIL],
    ["audit", "files"],
    ["install", "cursor", "--root", EVIL_NAME],
    ["install", "codex", "--project", "--root", EVIL_NAME],
    ["uninstall", "codex", "--project"],
    ["hook", "start", *ROOT],
    ["recall", "slugs", *ROOT, "--root", "files"],
    ["list", *ROOT, "--root", "files"],
    ["lint", EVIL, *ROOT],
    ["dedupe", EVIL_LINES, *ROOT],
    ["synthesize", EVIL, *ROOT],
    ["trust", "--root", ASKING, "--revoke"],
    ["recall", "--root", ASKING, "--topic", "slugs"],
    ["explain", EVIL_LINES],
    ["explain", f'"{EVIL_LINES}"'],
    ["explain", "x", "--alias", EVIL],
    [EVIL],
    ["recall", f"--{EVIL}"],
]
HAVE_NO_TEXT_OF_OTHERS = {"mcp"}
"""The MCP server speaks JSON-RPC, and `PrintableFormatter` formats its log."""


def test_every_command_is_among_them() -> None:
    assert set(cli._COMMANDS) - {args[0] for args in COMMANDS} == HAVE_NO_TEXT_OF_OTHERS


def shown(args: list[str], model: LocalServer, **env: str) -> tuple[str, str]:
    given = [model.url if arg == "URL" else arg for arg in args]
    text = WRAPUP + EVIL_LINES.replace("\x08", "")
    result = run(*given, stdin=text.encode(), env=env)
    return result.stdout, result.stderr


@pytest.mark.usefixtures("in_made")
@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: ascii(args)[:60])
def test_text_is_shown_and_obeyed_by_nobody(
    model: LocalServer, caplog: pytest.LogCaptureFixture, args: list[str]
) -> None:
    caplog.handler.setFormatter(logging.lastResort.formatter if logging.lastResort else None)
    stdout, stderr = shown(args, model, NO_COLOR="1")
    assert stdout or stderr
    assert_harmless(stdout)
    assert_harmless(stderr)
    stdout, stderr = shown(args, model, FORCE_COLOR="1", TERM="xterm-256color")
    assert COLOR not in stdout + stderr
    assert_harmless(re.sub(r"\x1b\[[0-9;]*m", "", stdout + stderr))


@pytest.mark.usefixtures("in_made")
@pytest.mark.parametrize(
    "args", [args for args in COMMANDS if not {"help", "version", "instructions", "--keys"} & set(args)],
    ids=lambda args: ascii(args)[:60],
)  # fmt: skip
def test_json_is_exact_and_obeyed_by_nobody(model: LocalServer, args: list[str]) -> None:
    stdout, stderr = shown([*args, "--json"], model)
    for text in filter(None, (stdout, stderr)):
        assert_harmless(text)
    if stdout.startswith("{"):
        json.loads(stdout)
    if args[:2] == ["query", "all"] and "store.db" in args:
        assert EVIL_LINES in [one["key"] for one in json.loads(stdout)["results"]]


@pytest.mark.usefixtures("in_made")
def test_lines_of_others_do_not_look_like_ours() -> None:
    """A newline in a key, a title or a name does not start a new line of output."""
    for args in (["query", "all", "--keys", *STORE], ["query", "all", *STORE], ["graph", *STORE],
                 ["search", "slugs", *INDEX], ["recall", *ROOT, "--topic", "slugs"]):  # fmt: skip
        assert not re.search(r"^\s*Error", ok_text(args), re.MULTILINE)


def ok_text(args: list[str]) -> str:
    result = run(*args)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.usefixtures("in_made")
def test_a_snippet_shows_what_is_there() -> None:
    text = ok("search", "slugs", *INDEX)
    assert r"\x1b[31;5;77mred\x1b]8;;http://x\x07" in text
    assert r"\u202eabc\u2066\u200f\u061c\u200b\ufeff[red]" in text


def unheard(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    """A logger without handlers."""
    log = logging.getLogger("test of the terminal")
    monkeypatch.setattr(log, "propagate", False)
    return log


def test_what_is_logged_is_printable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("version")
    log = unheard(monkeypatch)
    log.warning("a file %s", EVIL)
    text = capsys.readouterr().err
    assert r"a file \x1b[31;5;77mred" in text
    assert_harmless(text)
    failure = (ValueError, ValueError(EVIL), None)
    record = log.makeRecord("x", 40, "f", 1, "%s", (EVIL,), failure)
    assert_harmless(PrintableFormatter().format(record))


def test_a_warning_is_printed_without_its_traceback() -> None:
    failure = (ValueError, ValueError("no model"), None)
    for level, has_traceback in ((logging.WARNING, False), (logging.ERROR, True)):
        record = logging.LogRecord("x", level, "f", 1, "failed: %s", ("no model",), failure)
        text = PrintableFormatter().format(record)
        assert text.startswith("failed: no model")
        assert ("\nValueError: no model" in text) is has_traceback


def test_a_table_is_printable_even_if_its_cells_are_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.table import Table  # noqa: PLC0415 - like the commands
    from rich.text import Text  # noqa: PLC0415

    monkeypatch.setenv("FORCE_COLOR", "1")
    table = Table(EVIL)
    table.add_row(Text(EVIL, style="bold"))
    table.add_row(EVIL)
    console = make_console()
    console.print(table)
    console.print(EVIL)
    text = capsys.readouterr().out
    assert COLOR not in text
    assert "\x1b[" in text
    assert_harmless(re.sub(r"\x1b\[[0-9;]*m", "", text))


def test_what_is_logged_beside_a_progress_bar_is_printable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("version")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    log = unheard(monkeypatch)
    with progress_bar("Reading") as progress:
        assert progress is not None
        progress(1, 2)
        log.warning("a file %s", EVIL)
    text = capsys.readouterr().err
    assert r"\x1b[31;5;77mred" in text
    assert COLOR not in text
    assert_harmless(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text))


def calls_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_no_command_writes_past_it() -> None:
    """All output goes through `echo` or the console of output.py."""
    folder = Path(cli.__file__).parent
    forbidden = {
        "print", "click.echo", "click.secho", "click.echo_via_pager", "sys.stdout.write",
        "sys.stderr.write", "sys.stdout.buffer.write", "Console", "rich.print",
    }  # fmt: skip
    for file in folder.glob("*.py"):
        if file.name != "output.py":
            found = set(calls_of(ast.parse(file.read_text(encoding="utf-8"))))
            assert not found & forbidden, file.name


def test_the_errors_of_click_are_printable() -> None:
    @click.command()
    def command() -> None:
        raise click.ClickException(EVIL)

    assert isinstance(cli.cli, click.Group)
    cli.cli.add_command(command, "evil")
    try:
        result = run("evil")
    finally:
        cli.cli.commands.pop("evil")
    assert_harmless(result.stderr)
