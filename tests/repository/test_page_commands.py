"""Commands on the pages are commands: blocks of `sh`, and what stands between backquotes in sentences.

They are not run: some install, serve or ask for a cluster. Each is read as its program reads it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from hedgerow._extras import PACKAGES
from hedgerow.cli import cli
from places import ROOT
from shown import Block, blocks_of, pages, prose_of

MAKEFILE = ROOT / "Makefile"
pytestmark = pytest.mark.skipif(not MAKEFILE.exists(), reason="a source distribution")

# Of others, or of the shell: that these commands are right, nobody checks here.
OTHERS = {"$EDITOR", "cargo", "docker", "eval", "export", "git", "hf", "maturin", "source"}
SHELL = [block for page in pages() for block in blocks_of(page) if block.language == "sh"]


def commands_of(shell: str) -> list[list[str]]:
    """The words of each command, without variables that are set for it."""
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
    """The command of `hedgerow` that words call, and its arguments."""
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
    given, _, _ = command.make_parser(click.Context(command)).parse_args([*arguments])
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
    """Python with a script of ours: the script is there, and its sources name the options."""
    if words[0] == "-m":
        assert words[1] == "pytest"
        assert all((ROOT / word).exists() for word in words[2:])
        return
    script = ROOT / words[0]
    sources = [script, *script.parent.rglob("*/*.py")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    for option in (word for word in words if word.startswith("--")):
        assert f'"{option}"' in text, f"{words[0]} has no {option}"


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_every_command_of_a_block_can_be_called(block: Block) -> None:
    for program, *words in commands_of(block.text):
        if program == "hedgerow":
            check_hedgerow(words)
        elif program == "make":
            check_make(words)
        elif program == "pip":
            check_pip(words)
        elif Path(program).name == "python":
            check_script(words)
        elif program != "curl":  # which test_page_data sends
            assert program in OTHERS, f"who checks {program}?"


@pytest.mark.parametrize("page", pages())
def test_commands_in_sentences_exist(page: str) -> None:
    for code in re.findall(r"(?<!`)`((?:hedgerow|make) [^`\n]+)`", prose_of(page)):
        program, *words = commands_of(code.replace("[FOLDER]", "FOLDER").replace("...", ""))[0]
        if program == "make":
            check_make(words)
        elif words[0] != "COMMAND":
            command, arguments = command_named(words)
            known = {name for option in command.params for name in option.opts + option.secondary_opts}
            given = {word.split("=")[0] for word in arguments if word.startswith("--")}
            assert given <= known | {"--help", "--version"}, f"{code}: {given - known}"


def test_a_wrong_command_is_found() -> None:
    """Else the tests above could not fail."""
    with pytest.raises(click.NoSuchOption):
        check_hedgerow(["search", "slugs", "--limits", "3"])
    with pytest.raises(AssertionError, match="there is no command 'sreach' of hedgerow"):
        check_hedgerow(["sreach", "slugs"])
    with pytest.raises(AssertionError, match="hybird"):
        check_hedgerow(["search", "slugs", "--mode", "hybird"])
    with pytest.raises(AssertionError, match="make has no target tests"):
        check_make(["tests"])
    with pytest.raises(AssertionError, match=r"benches/quality\.py has no --nothing"):
        check_script(["benches/quality.py", "--nothing"])
