"""`hedgerow chunks`, `update`, `delete --filter`, `index --metadata-index`, `search --group-by` and `grep`."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, failed, failed_as_json, ok, run
from memory_doubles import put


@pytest.fixture
def years(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an index of four chunks from two years."""
    monkeypatch.chdir(tmp_path)
    with hr.Index.open("years.db") as index:
        index.upsert(
            hr.Chunk(f"c{n}", "a.md", f"oak {n}\x1b[31m", metadata={"year": 2020 + n % 2})
            for n in range(4)
        )
    return tmp_path


def stored() -> list[hr.Chunk]:
    with hr.Index.open("years.db", read_only=True) as index:
        return list(index)


@pytest.mark.usefixtures("years")
class TestChunks:
    def test_as_text(self) -> None:
        listed = ok("chunks", "--db", "years.db", "--filter", "year = 2020").splitlines()
        assert listed == ["c0  oak 0\\x1b[31m", "c2  oak 2\\x1b[31m"]
        assert ok("chunks", "--db", "years.db", "--filter", "year > 2020", "--count") == "2\n"

    def test_what_is_left_out_is_said(self) -> None:
        result = run("chunks", "--db", "years.db", "-n", "1")
        assert result.stderr == "3 more chunks; --limit shows them.\n"
        result = run("chunks", "--db", "years.db", "--filter", "year = 1")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "No chunks.\n")

    def test_as_json(self) -> None:
        answer = as_json("chunks", "--db", "years.db", "-n", "1")
        assert (answer["count"], [one["id"] for one in answer["chunks"]]) == (4, ["c0"])
        assert as_json("chunks", "--db", "years.db", "--count") == {"db": "years.db", "count": 4}


@pytest.mark.usefixtures("years")
class TestUpdate:
    def test_it_is_a_dry_run_without_yes(self) -> None:
        command = ["update", "--filter", "year = 2020", "--set", "seen=true", "--db", "years.db"]
        message = failed(2, *command)
        assert "Nothing was changed: 2 chunks would be. To change them, add --yes." in message
        assert failed_as_json(2, *command)["code"] == "not_applied"
        assert ok(*command, "--yes") == "Updated 2 chunks of years.db.\n"
        assert [one.metadata.get("seen") for one in stored()] == [True, None, True, None]

    def test_values_are_json_or_text_and_null_removes(self) -> None:
        changes = ["--set", "year=null", "--set", "by=Ana B", "--set", "n=[1]", "--tag", "x"]
        answer = as_json("update", "--filter", "path=a.md", *changes, "--db", "years.db", "--yes")
        assert answer == {"db": "years.db", "updated": 4}
        assert stored()[0].metadata == {"by": "Ana B", "n": [1]}
        assert stored()[0].tags == ("x",)
        ok("update", "--filter", "path=a.md", "--no-tags", "--db", "years.db", "--yes")
        assert stored()[0].tags == ()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--set", "a=1"], "Pass what to change: --filter CONDITION"),
            (["--filter", "year = 1"], "Pass the change: --set KEY=VALUE"),
            (["--filter", "year = 1", "--set", "a"], "--set takes KEY=VALUE"),
            (["--filter", "year = 1", "--set", "a=1", "--set", "a=2"], "can be given once"),
            (["--filter", "year = 1", "--tag", "a", "--no-tags"], "not both"),
        ],
    )
    def test_what_is_missing_is_said(self, options: list[str], message: str) -> None:
        assert message in failed(2, "update", *options, "--db", "years.db")


@pytest.mark.usefixtures("years")
class TestDelete:
    def test_by_filter(self) -> None:
        command = ["delete", "c1", "--filter", "year = 2020", "--db", "years.db"]
        result = run(*command)
        assert result.exit_code == 2
        assert "Nothing was removed: 3 chunks would be" in result.stderr
        assert as_json(*command, "--yes")["ids"] == ["c1", "c0", "c2"]
        assert [one.id for one in stored()] == ["c3"]


@pytest.mark.usefixtures("years")
class TestGroups:
    def test_a_key_is_declared_and_grouped_by(self) -> None:
        search = ["search", "oak", "--db", "years.db", "--group-by", "year", "--json"]
        message = failed(1, *search)
        assert "to declare it once: hedgerow index --metadata-index year --db years.db" in message
        declared = ok("index", "--metadata-index", "year", "--db", "years.db")
        assert declared == "Declared in years.db: year\n"
        assert len(as_json(*search[:-1])["results"]) == 2

    def test_declaring_needs_an_index(self) -> None:
        failed(1, "index", "--metadata-index", "year", "--db", "none.db")
        assert "goes with --db FILE" in failed(2, "index", "--metadata-index", "year")


class TestGrep:
    @pytest.fixture
    def notes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A root with two files as the working directory."""
        hr.MemoryRoot.init(tmp_path)
        put(tmp_path, "notes/oak.md", "one\nThe oak.\nthree\nOak\x1b[31m\nfive\n")
        put(tmp_path, "notes/刺猬.md", "树篱\n")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    @pytest.mark.usefixtures("notes")
    def test_as_text(self) -> None:
        assert ok("grep", "oak") == "notes/oak.md:2: The oak.\n"
        assert ok("grep", "-i", "oak", "-C", "1").splitlines() == [
            "notes/oak.md-1- one",
            "notes/oak.md:2: The oak.",
            "notes/oak.md-3- three",
            "notes/oak.md:4: Oak\\x1b[31m",
            "notes/oak.md-5- five",
        ]
        assert ok("grep", "篱") == "notes/刺猬.md:1: 树篱\n"

    @pytest.mark.usefixtures("notes")
    def test_what_is_left_out_is_said(self) -> None:
        result = run("grep", "o|h", "--regex", "--limit", "1")
        assert result.stderr == "2 more lines match; --limit shows them.\n"

    @pytest.mark.usefixtures("notes")
    def test_nothing_found_is_exit_code_1(self) -> None:
        assert failed(1, "grep", "elm") == "Nothing found.\n"
        assert run("grep", "elm", "--json").exit_code == 1

    @pytest.mark.usefixtures("notes")
    def test_as_json(self) -> None:
        answer = as_json("grep", "oak", "-C", "1")
        assert answer["matches"] == [
            {
                "file": "notes/oak.md",
                "line": 2,
                "text": "The oak.",
                "before": ["one"],
                "after": ["three"],
            }
        ]

    @pytest.mark.usefixtures("notes")
    def test_a_wrong_pattern_is_wrong_usage(self) -> None:
        assert "no regular expression: unclosed group" in failed(2, "grep", "--regex", "a(")

    def test_without_a_root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert "there is no memory root here" in failed(2, "grep", "oak")
