"""Commands in the documentation, parsed like their programs would, without being run."""

from __future__ import annotations

import re
import shlex

import click

from hedgerow._extras import PACKAGES
from hedgerow.cli import cli
from places import ROOT

MAKEFILE = ROOT / "Makefile"


def commands_of(shell: str) -> list[list[str]]:
    """Return the words of each command, without its environment variables."""
    shell = shell.replace("\\\n", " ")
    found: list[list[str]] = []
    for line in shell.splitlines():
        reader = shlex.shlex(line, posix=True, punctuation_chars="&|;")
        reader.whitespace_split = True
        words: list[str] = []
        for word in [*reader, ";"]:
            if set(word) <= set("&|;"):
                found.append(words)
                words = []
            elif words or not re.match(r"\w+=", word):
                words.append(word)
    return [words for words in found if words]


def command_named(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the `hedgerow` command that the words call, and its arguments."""
    command: click.Command = cli
    context = click.Context(cli, info_name="hedgerow")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]!r} of {context.command_path}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    return command, words


def check_hedgerow(words: list[str]) -> None:
    command, arguments = command_named(words)
    # A command keeps the names of its help option from the first context in which it is parsed.
    context = click.Context(command, help_option_names=["-h", "--help"])
    given, _, _ = command.make_parser(context).parse_args([*arguments])
    for option in command.params:
        if isinstance(option.type, click.Choice) and option.name in given:
            values = given[option.name]
            for value in values if isinstance(values, list) else [values]:
                assert value in option.type.choices, f"{value} of {option.opts}"


def check_make(words: list[str]) -> None:
    text = MAKEFILE.read_text(encoding="utf-8")
    [targets] = re.findall(r"^\.PHONY: (.*)", text, re.MULTILINE)
    for word in words:
        variable, is_set, _ = word.partition("=")
        if is_set:
            assert re.search(rf"\b{variable}\b", text), f"no rule uses {variable}"
        else:
            assert word in targets.split(), f"make has no target {word}"


def check_pip(words: list[str]) -> None:
    assert words[0] == "install"
    for extras in re.findall(r"^hedgerow\[(.*)\]$", "\n".join(words), re.MULTILINE):
        assert set(extras.split(",")) <= set(PACKAGES)


def check_script(words: list[str]) -> None:
    """Check a Python script of the repository: it exists, and its sources name the options."""
    if words[0] == "-m":
        assert words[1] == "pytest"
        assert all((ROOT / word).exists() for word in words[2:])
        return
    script = ROOT / words[0]
    sources = [script, *script.parent.rglob("*/*.py")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    for option in (word for word in words if word.startswith("--")):
        assert f'"{option}"' in text, f"{words[0]} has no {option}"
