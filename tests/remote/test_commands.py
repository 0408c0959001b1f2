"""Commands of a root with `--target`, or with `"remote"` in its configuration, go to the server."""

from __future__ import annotations

import json

import pytest

from command_line import as_json, ok, run
from serving import READER, WRITER

WRAPUP = "\n\n".join(
    f"## {section}\n\nSlugs."
    for section in ["Findings", "Decisions", "Conflicts / Corrections", "Open Questions"]
)


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("HEDGEROW_TOKEN", WRITER)


def fails(*command):
    result = run(*command)
    assert result.exit_code != 0
    assert result.stdout == ""
    return result.stderr


def without_times(answer):
    if isinstance(answer, dict):
        return {key: without_times(value) for key, value in answer.items() if key != "timings"}
    return [without_times(one) for one in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize(
    "command",
    [
        ["recall", "--topic", "slugs"],
        ["list"],
        ["list", "--type", "note", "--limit", "1"],
        ["show", "slugs"],
        ["recall", "slugs", "--as-of", "2020-01-01"],
        ["recall", "slugs", "--include-superseded"],
        ["recall", "--topic", "bees", "--limit", "1", "--depth", "deep", "--explain"],
        ["search", "slugs"],
        ["query", "all | sort:key"],
        ["query", "all | count"],
        ["query", "all | select:key"],
        ["query", "limit:3", "slugs"],
        ["graph", "ivy"],
        ["process", "--mode", "lint"],
        ["status"],
    ],
    ids=" ".join,
)
def test_answers_are_those_of_the_folder(root, memory, command, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    here = run(*command, "--root", str(memory.path))
    there = run(*command, "--target", root.url)
    assert there.exit_code == here.exit_code
    if "--explain" not in command:
        assert there.stdout == here.stdout
    here = run(*command, "--root", str(memory.path), "--json")
    there = run(*command, "--target", root.url, "--json")
    assert without_times(json.loads(there.stdout)) == without_times(json.loads(here.stdout))


def test_keys_alone(root, memory):
    assert ok("query", "all | sort:key", "--keys", "--target", root.url) == ok(
        "query", "all | sort:key", "--keys", "--root", str(memory.path)
    )


def test_what_is_written_is_there(root, memory):
    told = ok("remember", "--title", "Moles", "--target", root.url, stdin=b"Moles dig.")
    file = told.split("Remembered: ")[1].splitlines()[0]
    assert "Moles dig." in (memory.path / file).read_text()
    told = ok(
        "wrapup", "--title", "Beds", "--topic", "slugs", "--target", root.url, stdin=WRAPUP.encode()
    )
    assert "Wrote session wrapup:" in told
    digest = as_json("show", file, "--target", root.url)["digest"]
    ok("edit", file, "Moles dig far.\n", "--expect", digest, "--target", root.url)
    assert (memory.path / file).read_text() == "Moles dig far.\n"
    told = ok("supersede", file, "Moles dig deep.", "--target", root.url)
    assert f"Changed: {file}\n" in told
    told = ok("restore", file, "--target", root.url)
    assert told.endswith(f"{file}: holds\n")
    told = ok("retract", file, "--reason", "They left.", "--target", root.url)
    assert told.endswith(": They left.\n")
    told = ok("link", "slugs", "Ivy", "--strength", "0.5", "--target", root.url)
    assert told == "Linked notes/slugs.md to notes/ivy.md (related), strength 0.5.\n"
    told = ok("link", "slugs", "Ivy", "--remove", "--target", root.url)
    assert told == "Unlinked notes/slugs.md to notes/ivy.md (related).\n"
    assert ok("visit", "linker", "slugs", "--target", root.url) == "Recorded 1 visit of linker.\n"
    done = as_json("process", "--mode", "lint", "--apply", "--target", root.url)
    assert (memory.path / done["files"][0]).is_file()


def test_a_report_from_afar_has_its_links(root, tmp_path):
    file = tmp_path / "found.html"
    ok("recall", "--topic", "ivy", "--target", root.url, "--report", str(file))
    assert '"links":{' in file.read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["recall", "--topic", "x", "--root", "."], "--root and --target exclude each other"),
        (["recall", "--topic", "x", "--no-sync"], "--no-sync goes with a folder on this machine"),
        (["query", "all", "--no-sync"], "--no-sync goes with --root DIR"),
        (["query", "all", "--db", "x.db"], "--db and --target exclude each other"),
        (["graph"], "A server shows the links of one KEY"),
        (["graph", "ivy", "--svg", "a.svg"], "A server shows the links of one KEY"),
        (["search", "x", "--db", "x.db"], "--target goes with --root DIR"),
        (["query", "all | nothing"], 'no stage "nothing"'),
    ],
)
def test_what_a_server_does_not_do(root, command, message):
    assert message in fails(*command, "--target", root.url)


def test_without_a_token_it_says_how_to_give_one(root, monkeypatch, tmp_path):
    monkeypatch.delenv("HEDGEROW_TOKEN")
    monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(tmp_path))
    told = fails("recall", "--topic", "x", "--target", root.url)
    assert f"{root.url} asks for a token; set the environment variable HEDGEROW_TOKEN" in told
    (tmp_path / "tokens").mkdir()
    for scope, token in (("read", READER), ("write", WRITER)):
        (tmp_path / "tokens" / scope).write_text(f"{token}\n")
    assert "slugs.md" in ok("recall", "--topic", "slugs", "--target", root.url)
    assert "Remembered" in ok("remember", "--title", "T", "--target", root.url, stdin=b"x")
    # These tokens are only for servers on this machine.
    told = fails("recall", "--topic", "x", "--target", "https://notes.example")
    assert "https://notes.example asks for a token" in told


@pytest.mark.parametrize("url", ["ftp://x", "notes", "http://[", "http://"])
def test_what_is_no_address_is_refused_as_that(url, monkeypatch):
    monkeypatch.delenv("HEDGEROW_TOKEN")
    told = fails("recall", "--topic", "x", "--target", url)
    assert 'url must begin with "http://" or "https://" and name a host' in told


def test_a_root_that_names_a_server_needs_consent(root, tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "own.md").write_text("# Own\n\nOnly here.\n")
    (folder / "hedgerow.json").write_text(json.dumps({"schemaVersion": 1, "remote": root.url}))
    asked = run("recall", "--topic", "slugs", "--root", str(folder))
    assert "No memory matches found." in asked.stdout
    assert f"asks to send what you ask for and remember, and the token for it, to {root.url}" in (
        asked.stderr
    )
    assert "Its commands use the folder itself." in asked.stderr
    assert "own.md" in run("recall", "--topic", "own", "--root", str(folder)).stdout
    once = run("recall", "--topic", "slugs", "--root", str(folder), "--trust")
    assert "notes/slugs.md" in once.stdout
    ok("trust", "--root", str(folder), "--yes")
    for command in (["recall", "--topic", "slugs"], ["query", "all"], ["search", "slugs"]):
        found = run(*command, "--root", str(folder))
        assert "notes/slugs.md" in found.stdout
        assert found.stderr == ""
    (folder / "hedgerow.json").write_text(
        json.dumps({"schemaVersion": 1, "remote": "https://other.example"})
    )
    asked = run("recall", "--topic", "slugs", "--root", str(folder))
    assert "Not allowed" in asked.stderr
    assert "No memory matches found." in asked.stdout


@pytest.mark.parametrize("remote", ["ftp://x", "notes", 3, "http://a b", "http://x\u001b[31m"])
def test_an_address_that_is_none(tmp_path, remote):
    (tmp_path / "hedgerow.json").write_text(json.dumps({"schemaVersion": 1, "remote": remote}))
    told = fails("recall", "--topic", "x", "--root", str(tmp_path))
    assert "remote must be the URL of a server" in told
    assert "\u001b" not in told
