"""Options that are generated from requests, and their order on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner

from command_line import as_json, failed, ok, run
from hedgerow._operations.fields import Field
from hedgerow._operations.operation import Operation, Request
from hedgerow.cli.options import Command, request_options
from hedgerow.typing import QuestionDate
from memory_doubles import put


@dataclass(frozen=True)
class Cutting(Request[Any]):
    operation = Operation("cut")

    hedge: Annotated[str, Field("The hedge")]
    _: KW_ONLY
    limit: Annotated[int, Field("The most cuts", least=1, most=9)] = 5
    depth: Annotated[Literal["low", "high"], Field("How deep")] = "low"
    strength: Annotated[float, Field("How strong", above=0, most=1)] = 1.0
    tags: Annotated[Sequence[str], Field("Words")] = ()
    types: Annotated[Sequence[str] | None, Field("Kinds")] = None
    since_when: Annotated[QuestionDate | None, Field("The time")] = None
    at_night: Annotated[bool, Field("In the dark")] = False
    sync: Annotated[bool, Field("Look first")] = True


NAMES = ("limit", "depth", "strength", "tags", "types", "since_when", "at_night", "sync")


def call(*args: str, decorate: Callable[[Any], Any] | None = None) -> tuple[dict[str, Any], str]:
    """Run a command with these options. Return the values it got and its output."""
    got: dict[str, Any] = {}
    decorated = (decorate or request_options(Cutting, *NAMES))(lambda **given: got.update(given))
    command = click.command("cut", cls=Command)(decorated)
    result = CliRunner().invoke(command, list(args))
    return got, result.output


def test_each_field_has_its_default() -> None:
    got, _ = call()
    assert got == {name: getattr(Cutting("x"), name) for name in NAMES}


def test_without_names_all_optional_fields_are_options() -> None:
    got, _ = call(decorate=request_options(Cutting))
    assert tuple(sorted(got)) == tuple(sorted(NAMES))


def test_each_kind_of_field() -> None:
    got, _ = call(
        *("-n", "3", "--depth", "high", "--strength", "0.5", "--since-when", "30d", "--at-night"),
        *("--no-sync", "--tag", "a", "--tags", "b, c,,a", "--types", "note"),
    )
    assert got == {
        "limit": 3,
        "depth": "high",
        "strength": 0.5,
        "tags": ("a", "b", "c"),
        "types": ("note",),
        "since_when": "30d",
        "at_night": True,
        "sync": False,
    }
    Cutting("x", **got)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--limit", "0"], "0 is not in the range 1<=x<=9"),
        (["--strength", "0"], "0.0 is not in the range 0<x<=1"),
        (["--depth", "middle"], "'middle' is not one of 'low', 'high'"),
        (["--tag"], "--tag"),
    ],
)
def test_bounds_are_those_of_the_field(args: list[str], message: str) -> None:
    got, output = call(*args)
    assert got == {}
    assert message in output


def test_help_has_descriptions_defaults_and_sections() -> None:
    general = request_options(Cutting, "limit", "tags")
    filters = request_options(
        Cutting, "depth", section="Filters", depth={"default": None, "help": "Changed."}
    )
    _, text = call("--help", decorate=lambda command: general(filters(command)))
    assert "-n, --limit INTEGER RANGE  The most cuts.  [default: 5; 1<=x<=9]" in text
    assert "--tag, --tags TAG,...      Words.\n" in text
    assert "\n\nFilters:\n  --depth [low|high]  Changed.\n" in text


class TestFirstGuesses:
    @pytest.fixture(autouse=True)
    def root(self, here: Path) -> Path:
        ok("init", "memory")
        put(here, "memory/notes/old.md", "---\ndate: 2025-01-05\ntags: [hedge]\n---\nblue slugs\n")
        put(here, "memory/notes/new.md", "---\ndate: 2026-02-05\ntags: [bed]\n---\nblue pellets\n")
        return here / "memory"

    @pytest.mark.parametrize(
        ("args", "files"),
        [
            (["slugs", "pellets"], {"old", "new"}),
            (["blue", "-n", "1"], {"new"}),
            (["blue", "--tags", "hedge"], {"old"}),
            (["blue", "--tag", "hedge,bed"], set()),
            (["blue", "--types", "decision"], set()),
        ],
    )
    def test_recall(self, args: list[str], files: set[str]) -> None:
        found = as_json("recall", *args)["results"]
        assert {Path(one["provenance"]["file"]).stem for one in found} == files

    def test_a_root_before_the_command(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(here.parent)
        root = str(here / "memory")
        after = as_json("recall", "blue", "--root", root)
        assert as_json("--root", root, "recall", "blue") == after
        assert as_json(f"--root={root}", "recall", "blue") == after
        assert ok("--root", root, "--json", "recall", "blue") == ok(
            "recall", "blue", "--json", "--root", root
        )
        status = as_json("--root", root, "run", "memory:status")
        assert status["root"] == str((here / "memory").resolve())
        assert "No such option '--scope'" in failed(2, "--scope", "user=a", "index")
        assert "--root" in failed(2, "--root")

    def test_remember_takes_several_words(self, root: Path) -> None:
        done = as_json("remember", "No", "pellets", "please", "--tags", "a,b")
        assert "No pellets please\n" in (root / done["file"]).read_text()

    def test_init_takes_a_folder(self, here: Path) -> None:
        assert as_json("init", "a/b")["configCreated"] is True
        assert (here / "a/b/hedgerow.json").is_file()

    def test_lint_and_dedupe_show_what_they_would_do(self, root: Path) -> None:
        put(root, "notes/copy.md", "blue slugs\n")
        assert ok("lint").endswith("Dry run. Add --apply to write.\n")
        assert as_json("lint")["applied"] is False
        assert ok("dedupe").endswith("Dry run. Add --apply to write.\n")
        assert not (root / ".hedgerow/reports").exists()
        done = as_json("lint", "slugs", "--apply")
        assert (done["applied"], done["topic"]) == (True, "slugs")
        assert (root / done["files"][0]).is_file()
        text = ok("dedupe", "blue", "--apply")
        assert "Applied: yes" in text
        assert "Dry run" not in text

    def test_synthesize_writes_a_page(self, root: Path) -> None:
        assert ok("synthesize", "blue", "slugs").endswith("Dry run. Add --apply to write.\n")
        assert not list((root / "pages").glob("*.md"))
        ok("synthesize", "blue", "slugs", "--apply")
        assert (root / "pages/blue-slugs.md").is_file()
        assert "Missing argument 'TOPIC...'" in failed(2, "synthesize")
        assert "30d or 2w" in failed(2, "lint", "--since", "soon")

    def test_process_keeps_its_words_and_its_exit_code(self) -> None:
        result = run("process", "--mode", "lint")
        assert result.exit_code == 2
        assert result.stderr == (
            "Error: Nothing was written: this is what would be. To do it, add --apply.\n"
        )


def test_search_takes_several_words(in_examples: Path) -> None:
    assert in_examples
    several = as_json("search", "winter", "feeding", "--db", "notes.db")
    assert several["query"] == "winter feeding"


@pytest.mark.parametrize("name", ["--top-k", "--candidate-k", "--default-operator"])
def test_earlier_spellings_are_gone(in_examples: Path, name: str) -> None:
    assert in_examples
    assert f"No such option '{name}'" in failed(2, "search", "x", "--db", "notes.db", name, "1")
