"""Every command prints in any output encoding."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import hedgerow as hr
from agents_doubles import put_agent
from command_line import ok
from local_server import LocalServer, Reply
from memory_doubles import WRAPUP, put
from retrieval_doubles import fnv64
from waiting import LONGEST

HEDGEROW = str(Path(sysconfig.get_path("scripts")) / "hedgerow")
ASIAN = "味噌汁 🦔 slugs"
CP1252 = {"PYTHONIOENCODING": "cp1252"}
C_LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture(scope="module")
def japanese_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a root, an index, a store, judged queries and an agent, all in Japanese."""
    folder = tmp_path_factory.mktemp("encoding")
    root = hr.MemoryRoot.init(folder / "根").path
    put(root, "notes/a.md", f"# {ASIAN}\n\n{ASIAN} and [[緑]].\n")
    put(root, "notes/緑.md", "# 緑\n\nSlugs.\n")
    put(folder, "notes/味噌汁.md", f"# {ASIAN}\n\n{ASIAN}, ≥ 2.\n")
    put(folder, "notes/悪い.jsonl", "not JSON\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        ok("index", "notes/味噌汁.md", "--db", "味噌.db")
    with hr.Store.open(folder / "節.db") as store:
        store.upsert([hr.Node("節", content=ASIAN), hr.Node("緑", content="green")])
        store.link("節", "緑", 1.0, "隣")
    put_agent(folder / "agents")
    (folder / "agents" / "悪い.toml").write_text('query = "味噌"\n', encoding="utf-8")
    put(folder, "queries.jsonl", json.dumps({"id": "問", "text": ASIAN}))
    put(folder, "qrels.tsv", "問\tnotes/味噌汁.md\t1\n他\tx\t1\n")
    return folder


@pytest.fixture
def there(japanese_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(japanese_folder, tmp_path / "made"))


def run(
    folder: Path, *args: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [HEDGEROW, *args],
        cwd=folder,
        input=stdin.encode(),
        capture_output=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment},
        check=False,
        timeout=LONGEST,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


INDEX = ("--db", "味噌.db")
STORE = ("--db", "節.db")
ROOT = ("--root", "根")
COMMANDS = [
    # Arguments, standard input, exit code.
    (["init", "--root", "新"], "", 0),
    (["status", *ROOT], "", 0),
    (["doctor", *ROOT], "", 0),
    (["remember", *ROOT, "--title", ASIAN], ASIAN, 0),
    (["recall", *ROOT, "--topic", ASIAN], "", 0),
    (["run", "memory:recall", *ROOT, "--topic", ASIAN], "", 0),
    (["wrapup", *ROOT, "--title", ASIAN, "--topic", "slugs"], WRAPUP + ASIAN, 0),
    (["process", *ROOT, "--mode", "synthesize", "--topic", "slugs", "--apply"], "", 0),
    (["query", "all", *ROOT], "", 0),
    (["query", "all", *STORE], "", 0),
    (["link", "節", "緑", *STORE], "", 0),
    (["visit", "庭師", "節", *STORE], "", 0),
    (["graph", *ROOT], "", 0),
    (["graph", "節", *STORE], "", 0),
    (["index", "notes", "--db", "新.db"], "", 0),
    (["index", *ROOT], "", 0),
    (["search", ASIAN, *INDEX], "", 0),
    (["search", ASIAN, *INDEX, "--explain"], "", 0),
    (["search", ASIAN, *ROOT], "", 0),
    (["agents", "list", *STORE], "", 0),
    (["agents", "check", "agents"], "", 1),
    (["agents", "run", "linker", *STORE, "--dry-run"], "", 0),
    (["eval", *INDEX, "--queries", "queries.jsonl", "--qrels", "qrels.tsv"], "", 0),
    (["explain", ASIAN], "", 0),
]


@pytest.mark.parametrize(("args", "stdin", "code"), COMMANDS, ids=lambda value: str(value)[:40])
def test_text_is_escaped_where_it_cannot_be_encoded(
    there: Path, args: list[str], stdin: str, code: int
) -> None:
    done = run(there, *args, stdin=stdin, **CP1252)
    assert done.returncode == code, done.stderr
    assert done.stdout
    done.stdout.decode("cp1252")


@pytest.mark.parametrize(("args", "stdin", "code"), COMMANDS, ids=lambda value: str(value)[:40])
def test_json_reads_in_that_encoding_and_in_utf8(
    there: Path, args: list[str], stdin: str, code: int
) -> None:
    done = run(there, *args, "--json", stdin=stdin, **CP1252)
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout.decode("cp1252")) == json.loads(done.stdout.decode("utf-8"))
    if code == 0 and args[0] in {"recall", "explain"}:
        assert "味噌汁" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


LEFT_OUT = (
    "Skipped notes/緑.md: its name is not UTF-8 or holds a control character; rename it\n".encode()
)


@pytest.mark.parametrize(
    "args",
    [
        ["explain", "味噌汁 hedge"],
        ["recall", "--root", "root", "--topic", "slugs"],
        ["search", "slugs", "--root", "root"],
        ["search", "slugs", "--db", "notes.db"],
    ],
)
def test_the_c_locale_loses_nothing(there: Path, args: list[str]) -> None:
    (there / "根").rename(there / "root")
    (there / "味噌.db").rename(there / "notes.db")
    done = run(there, *args, **C_LOCALE)
    # Notes whose names this locale cannot decode are reported.
    assert (done.returncode, done.stderr.replace(LEFT_OUT, b"")) == (0, b"")
    assert "味噌汁".encode() in done.stdout or rb"\u5473\u564c\u6c41" in done.stdout
    found = json.loads(run(there, *args, "--json", **C_LOCALE).stdout.decode("ascii"))
    assert "味噌汁" in json.dumps(found, ensure_ascii=False)


@pytest.mark.parametrize(
    "args",
    [
        ["recall", *ROOT, "--topic", "slugs"],
        ["graph", *ROOT],
        ["graph", *STORE],
        ["graph", "節", *STORE, "--svg", "図.svg"],
        ["query", "all", *STORE],
        ["search", "x", *INDEX],
    ],
)
def test_a_name_that_the_system_cannot_express_is_one_sentence(
    there: Path, args: list[str]
) -> None:
    done = run(there, *args, **C_LOCALE)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"cannot be written in this locale's encoding, ascii; set PYTHONUTF8=1" in done.stderr


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_error_is_escaped_too(there: Path, more: list[str]) -> None:
    done = run(there, "search", "x", "--db", "無い.db", *more, **CP1252)
    assert (done.returncode, done.stdout) == (1, b"")
    text = done.stderr.decode("cp1252")
    shown = json.loads(text)["error"]["message"] if more else text
    assert ("無い.db" if more else r"\u7121\u3044.db") in shown


def test_reembed(there: Path, server: LocalServer) -> None:
    server.answer = lambda request: Reply({
        "embeddings": [fnv64(text) for text in request.body["input"]]
    })  # fmt: skip
    name = f"ollama:模型@{server.url}"
    done = run(there, "index", "--reembed", *INDEX, "--embedder", name, **CP1252)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u6a21\u578b" in done.stdout
    done = run(there, "index", "--reembed", *INDEX, "--embedder", name, "--json", **CP1252)
    assert json.loads(done.stdout)["embedder"] == "模型"


def test_utf8_is_written_as_it_is(there: Path) -> None:
    done = run(there, "explain", ASIAN, "--json", PYTHONIOENCODING="utf-8")
    assert "味噌汁".encode() in done.stdout
    done = run(there, "explain", ASIAN, PYTHONIOENCODING="utf-8")
    assert "味噌汁".encode() in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="names there are bytes")
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_file_whose_name_is_no_utf8_is_shown(there: Path, encoding: str) -> None:
    (there / "odd").mkdir()
    with open(os.fsencode(there / "odd") + b"/\xff.jsonl", "wb") as file:  # noqa: PTH123
        file.write(b"not JSON\n")
    args = ["index", "odd", "--db", "odd.db"]
    done = run(there, *args, PYTHONIOENCODING=encoding)
    assert rb"odd/\xff.jsonl: its name is not UTF-8" in done.stderr
    done = run(there, *args, "--json", PYTHONIOENCODING=encoding)
    assert json.loads(done.stdout)["skipped"][0]["path"] == r"odd/\xff.jsonl"
