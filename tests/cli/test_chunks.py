"""`hedgerow show` and `delete`: single chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, failed, failed_as_json, ok, run

DB = ("--db", "notes.db")
HEDGEHOG = "notes/garden/hedgehogs.md"


@pytest.fixture
def own_notes(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example notes with an index that the test may change."""
    with hr.Index.open(examples / "notes.db", read_only=True) as index:
        index.backup(tmp_path / "notes.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def count() -> int:
    with hr.Index.open("notes.db") as index:
        return len(index)


class TestShow:
    pytestmark = pytest.mark.usefixtures("in_examples")

    def test_by_id(self) -> None:
        head, content = ok("show", f"{HEDGEHOG}#0", *DB).split("\n\n", 1)
        lines = head.splitlines()
        assert lines[:4] == [
            f"id        {HEDGEHOG}#0",
            f"path      {HEDGEHOG}",
            "ordinal   0",
            "title     Hedgehogs in the garden > Winter feeding",
        ]
        assert lines[-1] == "vector    none"
        with hr.Index.open("notes.db", read_only=True) as index:
            assert content == index.get(f"{HEDGEHOG}#0").content + "\n"

    def test_as_json(self) -> None:
        found = as_json("show", f"{HEDGEHOG}#0", *DB)
        (chunk,) = found["chunks"]
        assert list(chunk) == [
            "id", "path", "ordinal", "line", "title", "summary", "tags", "metadata", "dimensions",
            "content",
        ]  # fmt: skip
        assert (found["db"], chunk["line"], chunk["ordinal"]) == ("notes.db", 7, 0)
        assert chunk["dimensions"] is None

    def test_by_the_place_that_search_shows(self) -> None:
        hit = as_json("search", "winter feeding", *DB)["results"][0]
        for place in (f"{hit['path']}:{hit['line']}", f"{hit['path']}:{hit['line'] + 1}"):
            (chunk,) = as_json("show", place, *DB)["chunks"]
            assert (chunk["id"], chunk["content"]) == (hit["id"], hit["content"])

    def test_all_of_a_path_in_their_order(self) -> None:
        chunks = as_json("show", HEDGEHOG, *DB)["chunks"]
        assert [chunk["ordinal"] for chunk in chunks] == list(range(len(chunks)))
        assert ok("show", HEDGEHOG, *DB).count("\nid  ") == len(chunks) - 1

    @pytest.mark.parametrize("what", [f"{HEDGEHOG}#999", f"{HEDGEHOG}:1", "notes", "", "#", "#1"])
    def test_what_is_not_there(self, what: str) -> None:
        error = failed_as_json(1, "show", what, *DB)
        assert error["code"] == "unknown_chunk"
        assert error["message"].startswith(f"notes.db has no chunk with the id {what}, nor at such")

    def test_an_id_wins_over_a_place_and_nothing_drives_the_terminal(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with hr.Index.open("odd.db") as index:
            index.upsert(
                [
                    hr.Chunk("p#1", "other", "the id"),
                    hr.Chunk(
                        "x", "p", "the \x1b[31mplace\nand more", title="a\nb\u202e", ordinal=1
                    ),
                    hr.Chunk("y", "p", "", embedding=[1, 2, 3], ordinal=2, metadata={"a": "\x1b"}),
                ]
            )
        assert [c["id"] for c in as_json("show", "p#1", "--db", "odd.db")["chunks"]] == ["p#1"]
        text = ok("show", "x", "--db", "odd.db")
        assert r"title     a\nb\u202e" in text
        assert text.endswith("the \\x1b[31mplace\nand more\n")
        assert "vector    3 dimensions" in ok("show", "p#2", "--db", "odd.db")
        assert as_json("show", "y", "--db", "odd.db")["chunks"][0]["dimensions"] == 3


class TestDelete:
    pytestmark = pytest.mark.usefixtures("own_notes")

    def test_by_id(self) -> None:
        before = count()
        answer = as_json("delete", f"{HEDGEHOG}#0", "none", "none", *DB, "--yes")
        assert answer == {
            "db": "notes.db", "removed": 1, "ids": [f"{HEDGEHOG}#0"], "missing": ["none"],
        }  # fmt: skip
        assert count() == before - 1

    def test_by_path_and_id_counts_each_once(self) -> None:
        before, chunks = count(), as_json("show", HEDGEHOG, *DB)["chunks"]
        result = run("delete", f"{HEDGEHOG}#0", "--path", HEDGEHOG, "--path", "no", *DB, "--yes")
        assert (result.exit_code, result.stderr) == (0, "Not in notes.db: no\n")
        assert result.stdout.splitlines() == [
            *(f"  {chunk['id']}" for chunk in chunks),
            f"Removed {len(chunks)} chunks from notes.db.",
        ]
        assert count() == before - len(chunks)

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_without_yes_and_a_terminal_nothing_is_removed(self, options: list[str]) -> None:
        before = count()
        result = run("delete", f"{HEDGEHOG}#0", *DB, *options)
        assert result.exit_code == 2
        assert "Nothing was removed: 1 chunk would be. To remove them, add --yes." in result.stderr
        assert ("not_applied" in result.stderr) == bool(options)
        assert count() == before

    @pytest.mark.parametrize(("answer", "removed"), [("y\n", 1), ("n\n", 0), ("\n", 0)])
    def test_on_a_terminal_it_asks(
        self, monkeypatch: pytest.MonkeyPatch, answer: str, removed: int
    ) -> None:
        before = count()
        monkeypatch.setattr("hedgerow.cli.files.has_terminal", lambda: True)
        text = ok("delete", f"{HEDGEHOG}#0", *DB, stdin=answer.encode())
        assert "Remove 1 chunk from notes.db? [y/N]" in text
        assert ("Nothing was removed." in text) == (not removed)
        assert count() == before - removed

    def test_nothing_to_remove_is_no_failure(self) -> None:
        result = run("delete", "none", *DB)
        assert (result.exit_code, result.stdout) == (0, "Removed 0 chunks from notes.db.\n")

    def test_asks_for_what(self) -> None:
        assert "Pass what to remove: IDs, --path PATH, or --filter CONDITION." in failed(
            2, "delete", *DB
        )

    def test_many_are_not_all_listed(self) -> None:
        with hr.Index.open("notes.db") as index:
            index.upsert(hr.Chunk(f"m{n}", "many", "oak") for n in range(25))
        text = ok("delete", "--path", "many", *DB, "--yes")
        assert text.splitlines()[-2:] == ["  and 15 more", "Removed 25 chunks from notes.db."]

    def test_in_a_store_the_nodes_go_too(self) -> None:
        with hr.Store.open("store.db") as store:
            store.upsert([hr.Node("oak", content="oak"), hr.Node("elm", content="elm")])
            store.link("oak", "elm")
            store.index.upsert([hr.Chunk("loose", "loose.md", "ash")])
        answer = as_json("delete", "oak", "loose", "--db", "store.db", "--yes")
        assert answer["removed"] == 2
        with hr.Store.open("store.db") as store:
            assert store.query("all").keys == ["elm"]
            assert (store.index.check(), len(store.index)) == ([], 1)
