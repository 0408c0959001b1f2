"""The commands by their arguments: what they print, and with which exit code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hedgerow
from command_line import as_json, failed, failed_as_json, ok, run

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(EXAMPLES / "notes", folder / "notes")
    return folder


@pytest.fixture(autouse=True)
def here(examples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a folder that holds `notes`, and `notes.db` made from it."""
    monkeypatch.chdir(examples)
    if not (examples / "notes.db").exists():
        ok("index", "notes", "--db", "notes.db")
    return examples


class TestHelp:
    def test_the_group_names_commands_examples_and_exit_codes(self) -> None:
        text = ok("--help")
        for part in ("index", "search", "parse", "compile", "--version", "130 interrupted"):
            assert part in text
        assert '  hedgerow search "winter feeding" --db notes.db\n' in text

    @pytest.mark.parametrize("command", ["index", "search", "eval", "parse", "compile"])
    def test_every_command_has_examples_and_no_option_without_help(self, command: str) -> None:
        text = ok(command, "-h")
        examples = [line for line in text.splitlines() if line.startswith("    hedgerow ")]
        assert len(examples) >= 2
        assert all(line.startswith(f"    hedgerow {command} ") for line in examples)
        assert "\\b" not in text
        options = text[text.index("Options:") :].splitlines()[1:]
        assert all(len(line.split("  ")) > 1 for line in options)
        assert max(map(len, text.splitlines())) <= 80

    def test_search_documents_filters(self) -> None:
        text = " ".join(ok("search", "--help").split())
        assert "path=FILE, prefix=FOLDER/, tag=TAG or meta.KEY=VALUE (JSON or text)" in text

    def test_alone_the_command_shows_its_help(self) -> None:
        assert ok() == ok("--help")

    def test_version(self) -> None:
        assert ok("--version") == f"hedgerow {hedgerow.__version__}\n"


class TestUsage:
    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["bogus"], "No such command 'bogus'"),
            (["search", "x"], "Missing option '--db'"),
            (["search", "--db", "notes.db"], "as TEXT or as --query TEXT"),
            (["search", "a", "--query", "b", "--db", "notes.db"], "as TEXT or as --query TEXT"),
            (["search", "a", "b", "--db", "notes.db"], "unexpected extra argument"),
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
            (["compile", "a", "--operator", "NOT"], "'NOT' is not one of"),
            (["compile", "a", "--matching", "fuzzy"], "'fuzzy' is not one of"),
            (["parse"], "Missing argument 'TEXT'"),
            (["parse", "-x"], "A text that starts with a hyphen goes after `--`"),
            (["index", "--db", "new.db"], "Missing argument 'PATH...'"),
            (["index", "notes"], "Missing option '--db'"),
            (["index", "notes", "--db", "new.db", "--tokenizer", "x"], "'x' is not one of"),
            (["parse", "a\udcff"], r"a\xff is not UTF-8"),
            (["parse", "a\ud800"], r"a\ud800 is not UTF-8"),
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
        assert "frost" in ok("parse", "--", "-frost")


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
                'made with the tokenizer "porter unicode61"',
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
            (["parse", "x" * 70_000], "query_text_too_large", ""),
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


class TestParseAndCompile:
    def test_parse_as_json_is_the_query(self) -> None:
        text = 'kube* NOT "old cluster"'
        assert as_json("parse", text) == hedgerow.parse_query(text).to_dict()

    def test_parse_as_text(self) -> None:
        assert ok("parse", 'kube* NOT "old cluster"') == (
            'normalised  kube* NOT "old cluster"\n'
            "operators   yes: every word is kept\n"
            "tokens          prefix kube\n"
            "            NOT phrase old cluster\n"
        )

    def test_parse_says_when_nothing_is_left(self) -> None:
        assert "tokens      none" in ok("parse", "is it the")

    def test_compile_gives_the_normative_text(self) -> None:
        assert ok("compile", "a AND b NOT c") == "a AND b AND NOT c\n"

    def test_compile_match_gives_what_runs(self) -> None:
        assert ok("compile", "winter NOT urban", "--match") == '("winter") NOT ("urban")\n'

    def test_compile_as_json_gives_both(self) -> None:
        assert as_json("compile", "kube*") == {"fts": "kube*", "match": '"kube" *'}

    def test_aliases_gather(self) -> None:
        args = [
            "compile",
            "k8s rollout",
            "--alias",
            "k8s=kubernetes, kube",
            "--alias",
            "k8s=kubectl",
        ]
        assert ok(*args) == "kubernetes OR kube OR kubectl OR rollout\n"

    def test_operator_in_any_case(self) -> None:
        assert ok("compile", "hedge rows", "--operator", "and") == "hedge AND rows\n"

    def test_extended_matching_changes_what_runs(self) -> None:
        args = ["compile", "IL-10 of T-cells", "--match"]
        assert "il" in ok(*args, "--matching", "extended")

    def test_nothing_searchable_is_said_on_stderr(self) -> None:
        result = run("compile", "is it the")
        assert (result.exit_code, result.stdout) == (0, "")
        assert "Nothing in the text can be searched for" in result.stderr


class TestIndex:
    def test_reports_counts_as_json(self) -> None:
        report = as_json("index", "notes", "--db", "fresh.db")
        assert report.pop("seconds") >= 0
        chunks = report["chunks"]
        assert report == {
            "db": "fresh.db",
            "files": 35,
            "removed_files": 0,
            "ignored": 0,
            "chunks": chunks,
            "added": chunks,
            "changed": 0,
            "unchanged": 0,
            "removed": 0,
            "skipped": [],
        }
        assert chunks > 60

    def test_names_what_was_left_out_and_goes_on(self, tmp_path: Path) -> None:
        db = tmp_path / "x.db"
        folder = tmp_path / "files"
        folder.mkdir()
        (folder / "good.md").write_text("# Good\n\ntext\n")
        (folder / "bad.md").write_bytes(b"\xff\xff")
        (folder / "empty.txt").write_text("")
        (folder / "lines.jsonl").write_text('{"content": "x"}\n' + "{\n" * 5)
        (folder / "picture.png").write_bytes(b"")
        args = ["index", str(folder), "--db", str(db)]
        result = run(*args)
        assert result.exit_code == 0
        assert "2 chunks added" in result.stdout
        assert "Passed by 1 file of other kinds." in result.stdout
        assert f"{folder.as_posix()}/bad.md: the file is not UTF-8" in result.stderr
        assert "empty.txt: the file is empty" in result.stderr
        assert "lines.jsonl:2: not JSON" in result.stderr
        assert "and 2 more; --json names them all" in result.stderr
        assert len(as_json(*args)["skipped"]) == 7
        strict = run(*args, "--strict")
        assert strict.exit_code == 1
        assert "lines.jsonl:2" in strict.stderr

    def test_nothing_to_read_and_nothing_readable_differ(self, tmp_path: Path) -> None:
        (tmp_path / "none").mkdir()
        db = str(tmp_path / "x.db")
        assert ok("index", str(tmp_path / "none"), "--db", db).startswith("Nothing to index:")
        (tmp_path / "none" / "bad.md").write_bytes(b"\xff\xff")
        result = run("index", str(tmp_path / "none"), "--db", db)
        assert result.exit_code == 1
        assert "bad.md: the file is not UTF-8" in result.stderr
        (tmp_path / "none" / "bad.md").unlink()
        (tmp_path / "none" / "bad.jsonl").write_text("{\n")
        assert run("index", str(tmp_path / "none"), "--db", db).exit_code == 1

    def test_says_what_was_removed(self, tmp_path: Path) -> None:
        (tmp_path / "a.md").write_text("x")
        args = ["index", str(tmp_path), "--db", str(tmp_path / "x.db")]
        ok(*args)
        (tmp_path / "a.md").unlink()
        assert "Removed 1 chunk that no file holds (1 file gone)." in ok(*args)

    def test_a_note_cannot_write_to_the_terminal(self, tmp_path: Path) -> None:
        (tmp_path / "a.md").write_text("# T\x1b[31m\n\nred \x1b]0;title\x07 text \u202e\n")
        db = str(tmp_path / "x.db")
        ok("index", str(tmp_path), "--db", db)
        text = ok("search", "red", "--db", db, "--explain")
        assert not set("\x1b\x07\u202e") & set(text)
        assert "red �]0;title� text" in text


class TestSearch:
    def test_shows_rank_score_place_title_and_snippet(self) -> None:
        lines = ok("search", "winter AND feeding", "--db", "notes.db").splitlines()
        assert lines[0].startswith("1. notes/garden/hedgehogs.md:7  ")
        assert lines[1] == "   Hedgehogs in the garden > Winter feeding"
        assert lines[2].startswith("   Do not stop feeding in October.")
        assert lines[-1] == "2 results."

    def test_query_is_the_same_as_text(self) -> None:
        args = ("--db", "notes.db")
        assert ok("search", "hedge", *args) == ok("search", "--query", "hedge", *args)

    def test_as_json_has_these_keys(self) -> None:
        answer = as_json("search", "味噌汁", "--db", "notes.db", "--limit", "1")
        assert list(answer) == [
            "query", "db", "chunks", "limit", "operator", "matching", "mode", "fusion", "filters",
            "match", "trace", "count", "results",
        ]  # fmt: skip
        (hit,) = answer["results"]
        assert list(hit) == [
            "rank", "score", "bm25_rank", "vector_similarity", "rerank_score", "id", "path", "line", "title", "summary", "tags",
            "snippet", "content", "metadata",
        ]  # fmt: skip
        assert hit["path"] == "notes/recipes/miso-soup.md"
        assert hit["line"] == hit["metadata"]["line_start"]
        assert hit["tags"] == ["料理", "和食"]
        assert Path(hit["metadata"]["source_file"]).is_file()

    def test_json_is_not_escaped_and_alone_on_stdout(self) -> None:
        text = ok("search", "味噌汁", "--db", "notes.db", "--json")
        assert "味噌" in text
        assert text.startswith("{\n") and text.endswith("}\n")  # noqa: PT018

    def test_limit_is_said_when_reached(self) -> None:
        text = ok("search", "hedge", "--db", "notes.db", "--limit", "2")
        assert "2 results, the limit: --limit 4 may show more." in text

    @pytest.mark.parametrize(
        ("filters", "paths"),
        [
            (["path=notes/recipes/sloe-gin.md"], {"notes/recipes/sloe-gin.md"}),
            (
                ["path=notes/people/tom.md", "path=notes/garden/slugs.md"],
                {"notes/people/tom.md"},
            ),
            (["prefix=notes/people/"], {"notes/people/tom.md"}),
            (["tag=decision"], set()),
            (["tag=hedge", "tag=autumn"], {
                "notes/recipes/sloe-gin.md",
                "notes/recipes/rosehip-syrup.md",
            }),
            (["meta.length_m=62"], {"notes/garden/hawthorn-hedge.md"}),
            (['meta.length_m="62"'], set()),
            (["meta.planted=2009-11-28"], {"notes/garden/hawthorn-hedge.md"}),
            (['meta.planted="2009-11-28"'], {"notes/garden/hawthorn-hedge.md"}),
        ],
    )  # fmt: skip
    def test_filters(self, filters: list[str], paths: set[str]) -> None:
        given = [part for one in filters for part in ("--filter", one)]
        args = ["search", "hedge OR blackthorn OR hawthorn OR roses", "--db", "notes.db", *given]
        assert {hit["path"] for hit in as_json(*args)["results"]} == paths

    def test_aliases_and_operators_apply(self) -> None:
        args = ["search", "k8s rollout", "--db", "notes.db"]
        answer = as_json(*args, "--alias", "k8s=kubernetes,kubectl", "--operator", "AND")
        assert answer["match"] == '("kubernetes" OR "kubectl") AND "rollout"'
        assert answer["count"] == 1

    def test_extended_matching_finds_short_names(self) -> None:
        args = ["search", "500 g", "--db", "notes.db"]
        assert as_json(*args, "--matching", "extended")["count"] > 0

    def test_explain_shows_every_word_both_forms_and_each_hit(self) -> None:
        text = ok("search", "the k8s", "--db", "notes.db", "--alias", "k8s=kubernetes", "--explain")
        for part in (
            "text        the k8s\n",
            "normalised  the k8s\n",
            "  the  dropped             a stop word: English\n",
            "  k8s  kept as kubernetes  k8s is an alias\n",
            "normative   kubernetes\n",
            'executed    "kubernetes"\n',
            "   why: number 1 by keywords (BM25 ",
            "  bm25  ",
        ):
            assert part in text

    def test_explain_as_json(self) -> None:
        answer = as_json("search", "the hedge", "--db", "notes.db", "--explain")
        explanation = answer["explanation"]
        assert list(explanation) == ["text", "normalised", "filtered", "words", "fts", "match"]
        assert [word["outcome"] for word in explanation["words"]] == ["dropped", "kept"]
        assert all(hit["explanation"] for hit in answer["results"])

    def test_explain_shows_what_other_options_run(self) -> None:
        args = ["search", "hedge birds", "--db", "notes.db", "--explain"]
        assert 'executed    "hedge" AND "birds"' in ok(*args, "--operator", "AND")
        assert "extended matching of a bare query" in ok(*args, "--matching", "extended")

    def test_no_results_says_what_was_searched_for(self) -> None:
        text = ok("search", "the unicorn", "--db", "notes.db", "--filter", "tag=garden")
        assert text.startswith("No results in notes.db (")
        assert 'Searched for: "unicorn"\n' in text
        assert "Only among: tag=garden\n" in text
        assert "Dropped: the: a stop word: English\n" in text
        assert as_json("search", "unicorn", "--db", "notes.db")["results"] == []

    @pytest.mark.parametrize("text", ["is it the", "", "!!!", '"'])
    def test_nothing_searched_is_not_nothing_found(self, text: str) -> None:
        shown = ok("search", text, "--db", "notes.db")
        assert shown.startswith("Nothing was searched for")
        assert "Put words in quotes" in shown

    def test_searching_makes_no_file(self, tmp_path: Path) -> None:
        failed(1, "search", "x", "--db", str(tmp_path / "x.db"))
        assert list(tmp_path.iterdir()) == []
