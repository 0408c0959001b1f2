"""Common features of all commands: help, wrong usage, failures; and `hedgerow explain`."""

from __future__ import annotations

import subprocess
import sys
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

pytestmark = pytest.mark.usefixtures("in_examples")


class TestHelp:
    def test_the_group_names_commands_examples_and_exit_codes(self) -> None:
        text = ok("--help")
        for part in ("index", "search", "recall", "--version", "130 interrupted"):
            assert part in text
        assert "  hedgerow search winter feeding --db notes.db\n" in text

    @pytest.mark.parametrize(
        "command",
        [
            "index",
            "search",
            "eval",
            "explain",
            "stats",
            "check",
            "backup",
            "show",
            "delete",
        ],
    )
    def test_every_command_has_examples_and_no_option_without_help(self, command: str) -> None:
        text = ok(command, "-h")
        examples = [line for line in text.splitlines() if line.startswith("    hedgerow ")]
        assert len(examples) >= 2
        assert all(line.startswith(f"    hedgerow {command} ") for line in examples)
        assert "\\b" not in text
        assert_every_option_has_help(text)
        assert max(map(len, text.splitlines())) <= 80

    def test_search_documents_filters(self) -> None:
        text = " ".join(ok("search", "--help").split())
        assert "path=FILE, prefix=FOLDER/, tag=TAG or meta.KEY=VALUE (JSON or text)" in text

    def test_alone_the_command_shows_its_help(self) -> None:
        assert ok() == ok("--help")

    def test_what_people_type_first_is_understood(self) -> None:
        for name, meant in {
            "ls": "list",
            "mv": "rename",
            "add": "remember",
            "ask": "recall",
        }.items():
            own = ok(meant, "--help").replace(
                f"Usage: hedgerow {meant} ", f"Usage: hedgerow {name} "
            )
            assert ok(name, "--help") == own

    @pytest.mark.parametrize("words", [("search",), ("ls",), ("agents", "check")])
    def test_help_before_a_command_shows_its_help(self, words: tuple[str, ...]) -> None:
        assert ok("help", *words) == ok(*words, "--help")

    def test_help_before_an_unknown_command_names_the_nearest(self) -> None:
        assert "No such command 'recal'; did you mean 'recall'?" in failed(2, "help", "recal")

    def test_help_groups_the_commands(self) -> None:
        text = ok("--help")
        groups = ["Memory:", "Index files:", "Services:", "Evaluation:"]
        assert [line for line in text.splitlines() if line in groups] == groups

    def test_version(self) -> None:
        assert ok("--version") == f"hedgerow {hedgerow.__version__}\n"


class TestUsage:
    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["bogus"], "No such command 'bogus'"),
            (["recal"], "No such command 'recal'; did you mean 'recall'?"),
            (["recal", "--db", "x"], "No such command 'recal'; did you mean 'recall'?"),
            (["reembed", "--db", "x"], "reembed is an option: hedgerow index --reembed"),
            (["savee"], "No such command 'savee'; did you mean 'remember'?"),
            (["search", "x"], "Missing option '--db'"),
            (["search", "--db", "notes.db"], "as TEXT or as --query TEXT"),
            (["search", "a", "--query", "b", "--db", "notes.db"], "as TEXT or as --query TEXT"),
            (["search", "a", "--db", "notes.db", "--limit", "0"], "0 is not in the range x>=1"),
            (["search", "a", "--db", "notes.db", "--limit", "x"], "not a valid integer"),
            (["search", "a", "--db", "notes.db", "--filter", "x"], "'x' is no filter; write path="),
            (["search", "a", "--db", "notes.db", "--filter", "tag="], "'tag=' is no filter"),
            (["search", "a", "--db", "notes.db", "--filter", "meta.=1"], "is no filter"),
            (
                ["search", "a", "--db", "n", "--filter", "prefix=a", "--filter", "prefix=b"],
                "prefix= can be given once",
            ),
            (
                ["search", "a", "--db", "n", "--filter", "meta.a=1", "--filter", "meta.a=2"],
                "--filter meta.a= can be given once",
            ),
            (["search", "a", "--db", "notes.db", "--alias", "k8s"], "'k8s' is no alias; write"),
            (["search", "a", "--db", "notes.db", "--alias", "k="], "'k=' is no alias"),
            (["explain", "a", "--operator", "NOT"], "'NOT' is not one of"),
            (["explain", "a", "--matching", "fuzzy"], "'fuzzy' is not one of"),
            (["explain"], "Missing argument 'TEXT'"),
            (["explain", "-x"], "A text that starts with a hyphen goes after `--`"),
            (["index", "--db", "new.db"], "Missing argument 'PATH...'"),
            (["index", "notes"], "Missing option '--db'"),
            (["index", "notes", "--db", "new.db", "--tokenizer", "x"], "'x' is not one of"),
            (["explain", "a\udcff"], r"a\xff is not UTF-8"),
            (["explain", "a\ud800"], r"a\ud800 is not UTF-8"),
            (["search", "\udcff", "--db", "notes.db"], r"\xff is not UTF-8"),
        ],
    )
    def test_wrong_usage_is_exit_code_2_on_stderr(self, args: list[str], message: str) -> None:
        text = failed(2, *args)
        assert message in text
        assert "--help" in text
        error = failed_as_json(2, *args)
        assert error["code"] == "usage"
        assert message in error["message"]
        assert not Path("new.db").exists()

    def test_a_text_that_starts_with_a_hyphen(self) -> None:
        assert as_json("search", "--query=-frost", "--db", "notes.db")["query"] == "-frost"
        assert "frost" in ok("explain", "--", "-frost")


class TestFailures:
    @pytest.mark.parametrize(
        ("args", "code", "message"),
        [
            (
                ["search", "x", "--db", "none.db"],
                "index_not_found",
                "there is no index at none.db; make it with: hedgerow index PATH --db none.db",
            ),
            (["search", "x", "--db", "notes"], "index_io", "is a folder"),
            (["search", "x", "--db", "notes/about.md"], "not_an_index", "not a hedgerow index"),
            (["index", "notes", "--db", "notes/about.md"], "not_an_index", "left as it is"),
            (["index", "notes", "--db", "no/new.db"], "index_io", "create it first"),
            (["index", "notes", "nots", "--db", "new.db"], "path_not_found", "nots: no such file"),
            (
                ["index", "notes", "--db", "notes.db", "--tokenizer", "trigram"],
                "tokenizer_mismatch",
                'has the tokenizer "words", not "trigram"',
            ),
            (
                ["search", "a " * 5000, "--db", "notes.db"],
                "too_many_tokens",
                "",
            ),
            (
                [
                    "search",
                    "a b",
                    "--db",
                    "notes.db",
                    "--operator",
                    "AND",
                    "--matching",
                    "extended",
                ],
                "incompatible_options",
                "",
            ),
            (["explain", "x" * 70_000], "query_text_too_large", ""),
        ],
    )
    def test_are_one_sentence_and_exit_code_1(
        self, args: list[str], code: str, message: str
    ) -> None:
        if code == "too_many_tokens":
            args = [args[0], 'x "a" ' * 5000, *args[2:]]
        text = failed(1, *args)
        assert text.startswith("Error: ")
        assert text.count("\n") == 1
        assert message in text
        error = failed_as_json(1, *args)
        assert error["code"] == code
        assert message in error["message"]
        assert not Path("new.db").exists()

    def test_the_default_tokenizer_is_no_excuse_for_another(self) -> None:
        ok("index", "notes", "--db", "tri.db", "--tokenizer", "trigram")
        assert '"trigram", not "porter unicode61"' in failed(
            1, "index", "notes", "--db", "tri.db", "--tokenizer", "porter unicode61"
        )
        ok("index", "notes", "--db", "tri.db")


class TestExplain:
    def test_as_json_is_the_query_with_both_forms(self) -> None:
        text = 'kube* NOT "old cluster"'
        forms = {"fts": 'kube* AND NOT "old cluster"', "match": '("kube" *) NOT ("old cluster")'}
        assert as_json("explain", text) == hedgerow.parse_query(text).to_dict() | forms

    def test_as_text(self) -> None:
        assert ok("explain", 'kube* NOT "old cluster"') == (
            'normalised  kube* NOT "old cluster"\n'
            "operators   yes: every word is kept\n"
            "tokens          prefix kube\n"
            "            NOT phrase old cluster\n"
            'normative   kube* AND NOT "old cluster"\n'
            'executed    ("kube" *) NOT ("old cluster")\n'
        )

    def test_nothing_searchable_is_said_on_stderr(self) -> None:
        result = run("explain", "is it the")
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "tokens      none")
        assert "Nothing in the text can be searched for" in result.stderr

    def test_aliases_gather(self) -> None:
        aliases = ["--alias", "k8s=kubernetes, kube", "--alias", "k8s=kubectl"]
        found = as_json("explain", "k8s rollout", *aliases)
        assert found["fts"] == "kubernetes OR kube OR kubectl OR rollout"

    def test_operator_in_any_case(self) -> None:
        assert as_json("explain", "hedge rows", "--operator", "and")["fts"] == "hedge AND rows"

    def test_extended_matching_changes_what_runs(self) -> None:
        assert "il" in as_json("explain", "IL-10 of T-cells", "--matching", "extended")["match"]


def test_ctrl_c_while_the_command_is_imported_has_no_traceback() -> None:
    program = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from hedgerow.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: interrupted\n")
