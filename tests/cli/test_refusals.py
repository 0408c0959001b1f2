"""Options that exclude each other or are incomplete: the error, and no side effects."""

from __future__ import annotations

from pathlib import Path

import pytest

import hedgerow as hr
from command_line import failed
from hedgerow.cli.store_text import _date


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("serve", "--db", "notes.db", "--root", "memory"),
            "--db and --root exclude each other: an index file, or a root.",
        ),
        (
            ("recall", "slugs", "--target", " "),
            "--target must not be empty; give the URL of a server.",
        ),
        (
            ("query", "all", "--db", "notes.db", "--scope", "user=ana"),
            "--scope goes with a memory root, not with --db.",
        ),
        (
            ("search", "slugs", "--url", "http://localhost:9200/notes", "--user", "me"),
            "--user needs a password in the environment variable HEDGEROW_OPENSEARCH_PASSWORD.",
        ),
    ],
)
def test_it_is_wrong_usage(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEDGEROW_OPENSEARCH_PASSWORD", raising=False)
    hr.Index.open("notes.db").close()
    before = sorted(tmp_path.iterdir())
    assert message in " ".join(failed(2, *arguments).split())
    assert sorted(tmp_path.iterdir()) == before


def test_a_time_beyond_the_calendar_is_shown_as_its_seconds() -> None:
    assert _date(0) == "1970-01-01 00:00"
    assert _date(10**15) == str(10**15)
