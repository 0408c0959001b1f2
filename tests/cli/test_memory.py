"""The commands of memory roots: choice of the root, options, wording and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import hedgerow
from command_line import (
    as_json,
    assert_every_option_has_help,
    failed,
    failed_as_json,
    ok,
    run,
)
from hedgerow.cli import load
from memory_doubles import WRAPUP, put

if sys.platform != "win32":
    import pty

pytestmark = pytest.mark.usefixtures("here")

COMMANDS = [
    *("init", "doctor", "trust", "remember", "recall", "list", "edit", "lint", "dedupe"),
    *("synthesize", "import", "rename"),
]
FURTHER = ["status", "process", "wrapup", "instructions", "run", "query"]


def test_a_blank_question_date_is_an_error(otter_root: Path) -> None:
    assert otter_root.is_dir()
    assert "question_date must be a date" in failed(2, "recall", "otters", "--question-date", "")


@pytest.fixture
def otter_root(here: Path) -> Path:
    ok("init", "--root", "memory")
    put(here, "memory/notes/a.md", "---\nsession_id: s-1\n---\n# A\n\nblue otter\n")
    return here / "memory"


class TestHelp:
    def test_the_group_names_all_commands(self) -> None:
        text = ok("--help")
        assert all(f"\n  {name} " in text for name in COMMANDS)
        assert not any(f"\n  {name} " in text for name in FURTHER)
        assert ok("help") == text
        whole = ok("help", "all")
        assert all(f"\n  {name} " in whole for name in [*COMMANDS, *FURTHER])

    @pytest.mark.parametrize("command", [*COMMANDS, "wrapup", "status", "process", "instructions"])
    def test_every_command_has_an_example_and_no_option_without_help(self, command: str) -> None:
        text = ok(command, "--help")
        assert f"    hedgerow {command}" in text.replace("    echo", "    hedgerow remember")
        assert_every_option_has_help(text)
        assert max(map(len, text.splitlines())) <= 80
        assert "url" not in text

    def test_version_alone(self) -> None:
        assert ok("version") == f"{hedgerow.__version__}\n"
        assert ok("-v") == ok("--version")
        assert ok("--v") == ok("--version")

    @pytest.mark.parametrize("flag", ["-v", "--v", "--version"])
    @pytest.mark.parametrize(
        "command",
        [
            ["status"],
            ["explain"],
            ["agents", "list"],
            ["recall", "--topic"],
            ["run", "memory:status"],
        ],
    )
    def test_the_version_wins_over_a_command(self, command: list[str], flag: str) -> None:
        if flag == "-v" and command[-1] == "--topic":
            return  # here the flag is the value of --topic
        assert ok(*command, flag) == ok("version")

    def test_note_has_another_name(self) -> None:
        assert "note was renamed: use remember." in failed(2, "note", "--title", "x")

    def test_instructions_are_markdown_with_the_sections_of_a_wrapup(self) -> None:
        text = ok("instructions")
        assert text.startswith("# hedgerow memory hint\n")
        assert ok("agent-hint") == text
        assert all(line in text for line in WRAPUP.splitlines() if line.startswith("##"))


class TestWhichRoot:
    def test_named_then_environment_then_nearest(
        self, here: Path, otter_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (here / "other").mkdir()
        (here / "third").mkdir()
        put(here, "sub/deep/x", "")
        monkeypatch.chdir(here / "sub/deep")
        assert as_json("status")["root"] == str(otter_root)
        monkeypatch.setenv("HEDGEROW_MEMORY_ROOT", str(here / "other"))
        assert as_json("status")["root"] == str(here / "other")
        named = as_json("status", "--root", "../../third", "--root", "../../memory")
        assert named["root"] == str(here / "third")

    @pytest.mark.parametrize("command", ["index", "search x"])
    def test_without_any_both_kinds_are_named(self, command: str) -> None:
        message = failed(2, *command.split())
        assert all(part in message for part in ("--root DIR", "--db FILE", "hedgerow init"))

    @pytest.mark.parametrize("args", ["status", "recall --topic x", "process --mode lint"])
    def test_without_any_the_fix_is_named(self, args: str) -> None:
        assert "hedgerow init --root DIR" in failed(2, *args.split())

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["status", "--root"], "--root requires a value"),
            (["status", "--root", "--json"], '"--root requires a value'),
            (["status", "--root", " "], "--root must not be empty"),
            (["init"], "Missing argument 'DIR'"),
            (["init", "a", "--root", "b"], "Name the folder once"),
            (["search", "x", "--db", "n.db", "--root", "memory"], "exclude each other"),
            (["index", "x", "--db", "n.db", "--root", "memory"], "exclude each other"),
            (["index", "x", "--root", "memory"], "indexed whole: leave PATH out"),
            (["index", "--root", "memory", "--tokenizer", "trigram"], "goes with --db FILE"),
            (["index", "--root", "memory", "--embedder", "a:b"], "goes with --db FILE"),
            (["search", "x", "--root", "memory", "--mode", "bm25"], "--mode goes with --db FILE"),
            (["search", "x", "--root", "memory", "--filter", "tag=a"], "--filter goes with --db"),
            (["search", "x", "--db", "n.db", "--type", "note"], "--type goes with --root DIR"),
            (["search", "x", "--db", "n.db", "--tags", "a"], "--tag goes with --root DIR"),
            (["search", "x", "--db", "n.db", "--no-sync"], "--no-sync goes with --root DIR"),
            (["search", "x", "--db", "n.db", "--depth", "deep"], "--depth goes with --root DIR"),
            (["recall", "--root", "memory"], "Missing argument 'QUERY...'"),
            (["recall", "--root", "memory", "--topic", "x", "--wat"], "No such option '--wat'"),
            (
                ["recall", "--topc", "x"],
                "No such option '--topc'. Did you mean '--topic'?",
            ),
            (["search", "x", "--verbose"], "No such option '--verbose'.\n"),
            (["remember", "--root", "memory"], "Missing option '--title'"),
            (["remember", "--root", "memory", "--title", ""], "Missing option '--title'"),
            (["process", "--root", "memory"], "Missing option '--mode'"),
            (["process", "--root", "memory", "--mode", "lint", "--since", "x"], "30d or 2w"),
            (["process", "--root", "memory", "--mode", "synthesize"], "needs a topic"),
            (["run", "memory:note"], "use memory:remember"),
            (["run", "memory:zap"], "Unknown recipe 'memory:zap'; the recipes are memory:status"),
        ],
    )
    def test_wrong_usage_names_the_fix(
        self, otter_root: Path, args: list[str], message: str
    ) -> None:
        assert otter_root.exists()
        assert message in failed(2, *args)

    @pytest.mark.parametrize("flag", ["--target-url", "--remote-url"])
    @pytest.mark.parametrize("command", ["status", "index", "search x", "recall --topic x", "init"])
    def test_a_root_elsewhere_is_recognised_and_refused(
        self, otter_root: Path, command: str, flag: str
    ) -> None:
        args = [*command.split(), "--root", str(otter_root), f"{flag}=https://brain.example"]
        error = failed_as_json(1, *args)
        assert error["code"] == "not_implemented"
        assert "https://brain.example" in error["message"]
        assert "not implemented yet" in error["message"]


class TestErrors:
    def test_are_one_object_on_stderr_with_json(self, here: Path) -> None:
        error = failed_as_json(1, "status", "--root", "nowhere")
        assert error["code"] == "root_not_found"
        assert f"hedgerow init --root {here.name and 'nowhere'}" in error["message"]
        assert failed_as_json(2, "recall")["code"] == "usage"

    def test_bytes_that_are_no_text(self, otter_root: Path) -> None:
        message = failed(1, "remember", "--root", str(otter_root), "--title", "T", stdin=b"a\xffb")
        assert "not UTF-8 (byte 1)" in message
        assert len(list(otter_root.rglob("*.md"))) == 1

    def test_doctor_names_the_command_that_sets_a_root_up_and_the_option_that_names_files(
        self, here: Path
    ) -> None:
        put(here, "bare/notes/a.md", "hedge\n")
        put(here, "bare/notes/b.pdf", "x")
        assert "To set the root up: hedgerow init --root " in ok("doctor", "--root", "bare")
        run("index", "--root", "bare")
        last = "To name the files that are passed by: --verbose\n"
        assert ok("doctor", "--root", "bare").endswith(last)
        assert last not in run("doctor", "--root", "bare", "--verbose").stdout

    def test_doctor_exits_with_1_when_unhealthy(self, here: Path) -> None:
        put(here, "m/hedgerow.json", '{"schemaVersion": 9}')
        result = run("doctor", "--root", "m", "--json")
        assert (result.exit_code, json.loads(result.stdout)["ok"]) == (1, False)
        assert run("doctor").exit_code == 1
        assert "Memory root: FAILED: home" not in run("doctor").stdout


class TestAnswers:
    def test_status_and_init(self, otter_root: Path) -> None:
        assert ok("init", "--root", "memory").splitlines() == [
            f"Memory root: {otter_root}",
            "Config: hedgerow.json (schema v1, existing)",
            "Folders: notes, sessions, findings, decisions, preferences, pages",
            ".gitignore: has .hedgerow/ already",
        ]
        assert ok("status").splitlines()[:4] == [
            f"Memory root: {otter_root}",
            "Initialized: yes",
            "Config: hedgerow.json (schema v1)",
            "Compatible: yes",
        ]

    def test_recall_shows_place_session_score_and_snippet(self, otter_root: Path) -> None:
        assert ok("recall", "--topic", "blue otter") == (
            f"Prior memory scan for: blue otter\nMemory root: {otter_root}\n\n"
            "1. notes/a.md:4-6 session=s-1 score=1.35\n   # A blue otter\n"
        )
        assert ok("search", "zebra") == "No memory matches found.\n"

    def test_explain_shows_parts_and_steps(self, otter_root: Path) -> None:  # noqa: ARG002
        for command in (["recall", "--topic"], ["search"]):
            text = ok(*command, "the blue otter record", "--explain")
            assert (
                "; found by keywords\n\nmode bm25, profile best, matching extended, fusion " in text
            )
            assert '1 hit for "blue" OR "otter" OR "record"\n' in text
            assert text.endswith("Not searched for: the.\n")
        assert ok("search", "zebra", "--explain").startswith(
            "No memory matches found.\n\nmode bm25, profile best,"
        )
        answer = as_json("recall", "--topic", "otter", "--explain")
        assert "trace" in answer
        assert answer["trace"]["profile"] == "best"

    @pytest.mark.parametrize(
        ("args", "mode"),
        [
            (["recall", "--query", "otter"], "recall"),
            (["run", "memory:recall", "--topic", "otter"], "memory:recall"),
            (["search", "otter"], "search"),
            (["search", "--query", "otter"], "search"),
            (["run", "memory:search", "--query", "otter"], "memory:search"),
        ],
    )
    def test_every_way_to_search(self, otter_root: Path, args: list[str], mode: str) -> None:
        answer = as_json(*args)
        assert set(answer) == {"root", "query", "depth", "results", "mode", "unreadable"}
        assert (answer["root"], answer["mode"]) == (str(otter_root), mode)
        assert [one["provenance"]["file"] for one in answer["results"]] == ["notes/a.md"]

    @pytest.mark.parametrize("args", [["--limit"], ["--limit", "--json"], ["--limit=3"]])
    def test_limit_may_stand_without_its_value(self, otter_root: Path, args: list[str]) -> None:
        for number in range(8):
            put(otter_root, f"notes/n{number}.md", "blue otter")
        answer = ok("recall", "--topic", "otter", *args)
        count = len(json.loads(answer)["results"]) if "--json" in args else answer.count("score=")
        assert count == (3 if "=" in args[0] else 5)

    def test_index_tells_what_it_did(self, otter_root: Path) -> None:
        (otter_root / "bad.md").write_bytes(b"\xff")
        result = run("index")
        assert result.stderr.startswith("Skipped bad.md: the file is not UTF-8")
        assert result.stdout == (
            f"Indexed 1 Markdown document in {otter_root}: 1 added, 0 changed, 0 removed.\n"
        )
        assert run("index", "--strict").exit_code == 1
        answer = json.loads(run("index", "--json").stdout)
        assert list(answer) == ["root", "documents", "added", "changed", "removed", "skipped"]
        assert answer["skipped"][0]["code"] == "not_utf8"

    def test_a_memory_that_is_not_indexed_is_kept_and_said(self, otter_root: Path) -> None:
        (otter_root / ".hedgerow").write_text("in the way")
        result = run("remember", "--title", "T", "--json", stdin=b"x")
        assert (result.exit_code, json.loads(result.stdout)["indexed"]) == (0, False)
        assert result.stderr.startswith("Not indexed yet: ")

    def test_process_without_apply_is_a_plan(self, otter_root: Path) -> None:
        result = run("process", "--mode", "lint", "--json")
        assert (result.exit_code, json.loads(result.stdout)["applied"]) == (2, False)
        error = json.loads(result.stderr)["error"]
        assert (error["code"], "add --apply" in error["message"]) == ("not_applied", True)
        assert not (otter_root / ".hedgerow").exists()
        assert as_json("process", "--mode", "lint", "--apply")["applied"] is True

    def test_a_note_cannot_write_to_the_terminal(self, otter_root: Path) -> None:
        put(otter_root, "notes/\u202eb.md", "red \x1b]0;title\x07 panda")
        assert not set("\x1b\x07\u202e") & set(ok("recall", "--topic", "panda"))


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_a_shell_completes_commands_and_options(here: Path) -> None:
    hedgerow_command = str(Path(sysconfig.get_path("scripts")) / "hedgerow")

    def complete(words: str, place: int) -> list[str]:
        done = subprocess.run(
            [hedgerow_command],
            env={
                **os.environ,
                "_HEDGEROW_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(place),
            },
            capture_output=True,
            text=True,
            check=True,
            cwd=here,
        )
        return [line.split(",")[1] for line in done.stdout.splitlines()]

    assert complete("hedgerow rem", 1) == ["remember"]
    assert complete("hedgerow recall --de", 2) == ["--depth"]
    assert complete("hedgerow recall --depth ", 3) == ["shallow", "normal", "deep"]
    assert "memory:recall" in complete("hedgerow run ", 2)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
class TestTerminal:
    def test_results_are_wrapped_and_words_marked(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "# Slugs\n\n" + "The otter swims far. " * 10 + "\x1b[2J\n")
        text = shown("recall", "otters", "--root", str(tmp_path))
        assert "\x1b[1;33motter\x1b[0m" in text
        assert "\x1b[2J" not in text
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert max(len(line) for line in plain.splitlines()[3:]) <= 60

    def test_nothing_found_says_what_was_looked_for(self, otter_root: Path) -> None:
        text = shown("recall", "zebra", "--root", str(otter_root))
        assert text.endswith('No memory matches found.\r\nSearched for: "zebra"\r\n')
        text = shown("recall", "!", "--root", str(otter_root))
        assert "no word of the query is left. Put words in quotes." in text


def shown(*args: str) -> str:
    """Return the output of a command in a terminal of 60 columns."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [str(Path(sysconfig.get_path("scripts")) / "hedgerow"), *args],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "", "COLUMNS": "60", "TERM": "xterm-256color"},
    ):
        os.close(follower)
        output = b""
        while chunk := _read(leader):
            output += chunk
    os.close(leader)
    return output.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end was closed
        return b""


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ([], "interrupted: nothing was written"),
        (["--apply"], "run the same command again to finish"),
    ],
)
def test_an_interrupted_import_says_what_it_left(otter_root, tmp_path, monkeypatch, options, state):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.memory.MemoryRoot.import_from", interrupt)
    result = run("import", "jsonl", str(tmp_path / "m.jsonl"), "--root", str(otter_root), *options)
    assert result.exit_code == 130
    assert state in result.stderr


def test_search_of_a_root_filters_as_recall_does(tmp_path):
    put(tmp_path, "notes/a.md", "---\ntags: [garden, pond]\n---\nThe hedge by the pond.\n")
    put(tmp_path, "notes/b.md", "---\ntags: [garden]\n---\nThe hedge by the door.\n")
    put(tmp_path, "decisions/c.md", "---\ntags: [garden]\n---\nThe hedge is cut.\n")
    for options, count in [
        (["--tag", "garden"], 3),
        (["--tags", "garden,pond"], 1),
        (["--tag", "garden", "--tag", "pond"], 1),
        (["--type", "decision"], 1),
        (["--types", "decision,note"], 3),
        (["--type", "note", "--tag", "#Garden"], 2),
        ([], 3),
    ]:
        found = [
            [one["provenance"]["file"] for one in as_json(*command, *options)["results"]]
            for command in (
                ["search", "hedge", "--root", str(tmp_path)],
                ["run", "memory:search", "hedge", "--root", str(tmp_path)],
                ["recall", "hedge", "--root", str(tmp_path)],
            )
        ]
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == count
    wrong = failed(1, "search", "hedge", "--root", str(tmp_path), "--type", "decison")
    assert wrong == failed(1, "recall", "hedge", "--root", str(tmp_path), "--type", "decison")


def test_the_filters_of_a_search_have_the_words_of_a_recall():
    of_recall, of_search = (
        {one.name: one for one in load(name).params} for name in ("recall", "search")
    )
    for name in ("types", "tags"):
        for words in ("help", "opts", "metavar"):
            assert getattr(of_search[name], words) == getattr(of_recall[name], words)


def test_rename_names_the_title_that_stays(tmp_path):
    put(tmp_path, "notes/old.md", "# Tulips\n\nPlant them.\n")
    place = ["--root", str(tmp_path)]
    said = ok("rename", "old", "bulbs", *place)
    assert said == (
        "Renamed: notes/old.md to notes/bulbs.md\n"
        "Its title is still Tulips; `hedgerow edit` changes it.\n"
    )
    assert as_json("rename", "bulbs", "new/bulbs", *place)["title"] == "Tulips"
    assert "title" not in ok("rename", "bulbs", "other/bulbs", *place)
    assert "title" not in ok("rename", "bulbs", "Tulips", *place)


@pytest.mark.parametrize(
    ("method", "command", "state"),
    [
        (
            "rename",
            ["rename", "a", "b"],
            "links to it may be changed already; run the same command",
        ),
        ("forget", ["forget", "a", "--purge"], "parts of it may be deleted already; run the same"),
        ("process", ["dedupe", "--apply", "--json"], "every file written so far is complete; run"),
        ("process", ["synthesize", "a", "--apply"], "every file written so far is complete; run"),
        ("process", ["lint"], "interrupted: nothing was written"),
    ],
)
def test_an_interrupted_command_says_what_it_left(otter_root, monkeypatch, method, command, state):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"hedgerow.memory.MemoryRoot.{method}", interrupt)
    result = run(*command, "--root", str(otter_root))
    assert result.exit_code == 130
    assert state in result.stderr
