"""The `hedgerow` command, run in this process as from a shell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from click.testing import CliRunner, Result

from hedgerow.cli import cli

# Keys whose content has user-defined names: front matter, conditions, columns, types, actions.
OF_USERS = {"metadata", "where", "types", "relations", "nodes", "actions", "action"}
TWICE = {"session_id"}  # in addition to sessionId, as the specification requires


def run(*args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
    """Run a command with any exit code. An exception that the command did not handle is raised."""
    result = CliRunner().invoke(cli, list(args), input=stdin, env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ok(*args: str, stdin: bytes = b"") -> str:
    """Return the output of a command that must succeed without messages on standard error."""
    result = run(*args, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return result.stdout


def as_json(*args: str, stdin: bytes = b"") -> Any:
    """Return the output of a command with --json. All its names must have the same style."""
    answer = json.loads(ok(*args, "--json", stdin=stdin))
    assert [name for name in names_of(answer) if "_" in name and name not in TWICE] == []
    return answer


def names_of(answer: Any) -> Iterator[str]:
    """Yield the names in JSON that hedgerow defines, without users' names."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield name
            if name not in OF_USERS:
                yield from names_of(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from names_of(value)


def assert_every_option_has_help(text: str) -> None:
    """Check that in a help text each option has a description."""
    sections = text[text.index("Options:") :].split("\n\n")
    lines = [line for section in sections for line in section.splitlines()[1:]]
    assert all(len(line.split("  ")) > 1 for line in lines), text


def failed(exit_code: int, *args: str, stdin: bytes = b"") -> str:
    """Return the standard error of a command that must fail without other output."""
    result = run(*args, stdin=stdin)
    assert (result.exit_code, result.stdout) == (exit_code, ""), result.output
    assert "Traceback" not in result.stderr
    return result.stderr


def failed_as_json(exit_code: int, *args: str) -> Any:
    """Return the error of a command with --json."""
    return json.loads(failed(exit_code, *args, "--json"))["error"]
