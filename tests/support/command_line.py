"""The `hedgerow` command, called in this process as a shell would call it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from click.testing import CliRunner, Result

from hedgerow.cli import cli

# What holds names that somebody else chose: front matter, conditions, columns, types, actions.
OF_USERS = {"metadata", "where", "types", "relations", "nodes", "actions", "action"}
TWICE = {"session_id"}  # beside sessionId, as the specification has it


def run(*args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
    """Call it, however it ends; only an exception that it did not tell of is raised."""
    result = CliRunner().invoke(cli, list(args), input=stdin, env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ok(*args: str, stdin: bytes = b"") -> str:
    """What it prints, with exit code 0 and nothing to complain of."""
    result = run(*args, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return result.stdout


def as_json(*args: str, stdin: bytes = b"") -> Any:
    """What it prints with --json, in names of one style."""
    answer = json.loads(ok(*args, "--json", stdin=stdin))
    assert [name for name in names_of(answer) if "_" in name and name not in TWICE] == []
    return answer


def names_of(answer: Any) -> Iterator[str]:
    """The names in JSON that are ours, not a user's."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield name
            if name not in OF_USERS:
                yield from names_of(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from names_of(value)


def assert_every_option_has_help(text: str) -> None:
    """Check a help text: each line of a section of options has a name and a description."""
    sections = text[text.index("Options:") :].split("\n\n")
    lines = [line for section in sections for line in section.splitlines()[1:]]
    assert all(len(line.split("  ")) > 1 for line in lines), text


def failed(exit_code: int, *args: str, stdin: bytes = b"") -> str:
    """What it says on standard error, with nothing on standard output."""
    result = run(*args, stdin=stdin)
    assert (result.exit_code, result.stdout) == (exit_code, ""), result.output
    assert "Traceback" not in result.stderr
    return result.stderr


def failed_as_json(exit_code: int, *args: str) -> Any:
    """The error that it tells of with --json."""
    return json.loads(failed(exit_code, *args, "--json"))["error"]
