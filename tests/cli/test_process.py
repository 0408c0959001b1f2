"""The command as a process: signals, pipes, terminals, bytes, and startup time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from hedgerow import Index, IndexFileError
from places import ROOT
from waiting import LONGEST, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")

HEDGEROW = str(Path(sysconfig.get_path("scripts")) / "hedgerow")
EXAMPLES = ROOT / "examples"
MANY = 4000


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    return {**kept, "TERM": "xterm", "PYTHONWARNINGS": "error", **extra}


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hedgerow", "search", "--nonsense"],
        capture_output=True, encoding="utf-8", env=environment(), check=False, timeout=LONGEST,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


def run(*args: str | bytes, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HEDGEROW, *args],
        capture_output=True,
        encoding="utf-8",
        env=environment(**extra),
        check=False,
        timeout=LONGEST,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_closed_standard_input_is_blank(tmp_path: Path) -> None:
    root = str(tmp_path / "memory")
    assert run("init", "--root", root).returncode == 0
    for command, code in (("remember --title x", 1), ("recall slugs", 0)):
        done = subprocess.run(
            ["/bin/sh", "-c", f'"$0" {command} --root "$1" <&-', HEDGEROW, root],
            capture_output=True, encoding="utf-8", env=environment(), check=False, timeout=LONGEST,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert code == 0 or "the text is blank" in done.stderr


@pytest.fixture(scope="module")
def examples_db(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("process") / "notes.db"
    done = run("index", str(EXAMPLES / "notes"), "--db", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    return str(file)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    for number in range(MANY):
        sections = "".join(f"## Part {n}\n\nSome words about {number}.\n\n" for n in range(10))
        (folder / f"n{number:05}.md").write_text(f"# Note {number}\n\n{sections}")
    return folder


def test_ctrl_c_leaves_the_index_intact_and_says_what_happened(many: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    process = subprocess.Popen(
        [HEDGEROW, "index", str(many), "--db", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
    )
    until(lambda: chunks_in(file))
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=LONGEST)
    assert (process.returncode, stdout) == (130, "")
    # Python may add that the signal arrived while it closed a file.
    assert any(line.startswith("Error: interrupted after ") for line in stderr.splitlines())
    assert f"of {MANY:,}: " in stderr
    assert "intact; run the same command again to finish" in stderr
    answer = json.loads(run("search", "words", "--db", str(file), "--json").stdout)
    assert 0 < answer["chunks"] < 10 * MANY
    report = json.loads(run("index", str(many), "--db", str(file), "--json").stdout)
    assert report["unchanged"] == answer["chunks"]
    assert report["chunks"] == 10 * MANY


def test_a_second_process_searches_while_one_indexes(many: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    with subprocess.Popen(
        [HEDGEROW, "index", str(many), "--db", str(file)], stdout=subprocess.DEVNULL
    ) as process:
        until(lambda: chunks_in(file))
        # Stop the writer, so that it cannot finish before a slow search does.
        process.send_signal(signal.SIGSTOP)
        try:
            seen = run("search", "words", "--db", str(file), "--json")
            assert process.poll() is None
        finally:
            process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=LONGEST) == 0
    assert seen.stderr == ""
    assert 0 < json.loads(seen.stdout)["chunks"] < 10 * MANY


def chunks_in(file: Path) -> int:
    """Return the number of chunks that another process has written so far."""
    try:
        with Index.open(file, read_only=True) as index:
            return len(index)
    except IndexFileError:
        return 0  # the file, or its table, does not exist yet


@pytest.mark.parametrize("extra", [[], ["--json"], ["--explain"]])
def test_a_reader_that_has_seen_enough_is_no_failure(examples_db: str, extra: list[str]) -> None:
    with subprocess.Popen(
        [HEDGEROW, "search", "garden OR ops", "--db", examples_db, "--limit", "1000", *extra],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=LONGEST) == 0


def test_bytes_that_are_no_utf8_are_a_clear_error(examples_db: str) -> None:
    done = run("search", b"caf\xe9", "--db", examples_db)
    assert (done.returncode, done.stdout) == (2, "")
    assert r"caf\xe9 is not UTF-8" in done.stderr


def test_output_is_readable_where_the_terminal_is_not_utf8(examples_db: str) -> None:
    plain = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("search", '"味噌汁"', "--db", examples_db, "--json", **plain)
    assert json.loads(done.stdout)["results"][0]["title"].startswith("味噌汁")
    for args in (["search", "味噌汁", "--db", examples_db, "--explain"], ["explain", "味噌汁"]):
        done = run(*args, **plain)
        assert (done.returncode, done.stderr) == (0, "")


def in_terminal(*args: str, **extra: str) -> str:
    """Run with stdout and stderr on a terminal of 80 columns, and return the output."""
    import fcntl  # noqa: PLC0415 - POSIX only
    import pty  # noqa: PLC0415
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [HEDGEROW, *args], stdout=follower, stderr=follower, env=environment(**extra)
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait(timeout=LONGEST) == 0
    return shown.decode()


def test_a_terminal_gets_colours_and_lines_that_fit(examples_db: str) -> None:
    shown = in_terminal("search", "winter feeding", "--db", examples_db)
    assert "\x1b[1;33mfeeding\x1b[0m" in shown
    assert "\x1b[" not in run("search", "winter feeding", "--db", examples_db).stdout


def test_no_color_is_respected(examples_db: str) -> None:
    shown = in_terminal("search", "winter feeding", "--db", examples_db, NO_COLOR="1")
    assert "\x1b[33m" not in shown
    assert ";33m" not in shown


def test_progress_is_shown_on_a_terminal_only(many: Path, tmp_path: Path) -> None:
    shown = in_terminal("index", str(many), "--db", str(tmp_path / "a.db"))
    assert "Indexing" in shown
    assert f"{MANY}/{MANY}" in shown
    done = run("index", str(many), "--db", str(tmp_path / "b.db"))
    assert done.stderr == ""
    assert "Indexing" not in done.stdout


def test_an_evaluation_shows_its_table_and_its_progress(examples_db: str, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "1", "text": "winter feeding"}')
    (tmp_path / "j.tsv").write_text(f"1\t{EXAMPLES}/notes/garden/hedgehogs.md\t1\n")
    given = [
        "--db",
        examples_db,
        "--queries",
        str(tmp_path / "q.jsonl"),
        "--qrels",
        str(tmp_path / "j.tsv"),
    ]
    shown = in_terminal("eval", *given)
    assert "Searching" in shown
    assert "\x1b[1m1.0000\x1b[0m" in shown
    done = run("eval", *given)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.0000" in done.stdout
    assert "Searching" not in done.stdout


def modules_after(code: str) -> set[str]:
    code += "; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


SLOW = {"rich"}


def test_the_library_imports_nothing_of_the_command_line() -> None:
    assert not modules_after("import hedgerow") & {*SLOW, "click", "hedgerow.cli"}


def test_commands_import_what_they_need_and_no_more(examples_db: str) -> None:
    start = "from hedgerow.cli import cli\ntry: cli({})\nexcept SystemExit: pass\npass"
    assert not modules_after(start.format(["--help"])) & SLOW
    assert not modules_after(start.format(["explain", "x"])) & SLOW
    found = modules_after(start.format(["search", "x", "--db", examples_db, "--json"]))
    assert not found & SLOW


def test_the_example_script_runs(tmp_path: Path) -> None:
    import shutil  # noqa: PLC0415

    shutil.copytree(EXAMPLES, tmp_path / "examples")
    path = f"{Path(HEDGEROW).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(tmp_path / "examples" / "try.sh")],
        capture_output=True,
        text=True,
        env=environment(PATH=path),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n$ hedgerow ") == 7
    assert (tmp_path / ".try" / "notes.db").is_file()


class TestNodes:
    @pytest.fixture
    def linked_root(self, tmp_path: Path) -> Path:
        assert run("init", "--root", str(tmp_path / "memory")).returncode == 0
        for number in range(8):
            file = tmp_path / "memory" / "notes" / f"n{number}.md"
            file.write_text(f"# Note {number}\n\nSee [[n{number + 1}]].\n")
        return tmp_path / "memory"

    def test_a_pipeline_goes_through_pipes(self, linked_root: Path) -> None:
        command = f"'{HEDGEROW}' query 'all | sort:key desc' --keys --root '{linked_root}'"
        shell = f"{command} | head -n 2 && {command} | xargs '{HEDGEROW}' visit x --root '{linked_root}'"
        done = subprocess.run(
            ["sh", "-c", shell], capture_output=True, text=True, env=environment(), check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "notes/n7.md\nnotes/n6.md\nRecorded 8 visits of x.\n"

    def test_a_pipeline_that_cannot_be_read_is_exit_code_2(self, linked_root: Path) -> None:
        done = run("query", "all | limt:1", "--root", str(linked_root))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines() == [
            'Error: there is no stage "limt"; did you mean "limit"?',
            "  all | limt:1",
            "        ^^^^",
        ]

    def test_an_option_does_not_take_the_next_for_its_value(self) -> None:
        done = run("query", "all", "--root", "--json")
        assert done.returncode == 2
        assert "--root requires a value." in done.stderr

    def test_many_processes_link_one_file_and_none_is_lost(self, linked_root: Path) -> None:
        writers = [
            subprocess.Popen(
                [HEDGEROW, "link", "n0", f"n{number}", "--root", str(linked_root)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            for number in range(2, 8)
        ]
        for writer in writers:
            _, problem = writer.communicate(timeout=LONGEST)
            assert (writer.returncode, problem) == (0, "")
        keys = run(
            "query", "neighbors:notes/n0.md | sort:key", "--keys", "--root", str(linked_root)
        ).stdout
        assert keys.split() == [f"notes/n{number}.md" for number in range(1, 8)]
        text = (linked_root / "notes" / "n0.md").read_text()
        assert text.startswith('---\nrelated: ["[[notes/n')
        assert text.endswith("\n---\n# Note 0\n\nSee [[n1]].\n")
