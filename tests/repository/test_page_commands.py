"""Commands in the documentation are valid: blocks of `sh`, and commands in backquotes.

They are not run, because some install, serve or need a cluster. Each is parsed like its program
would.
"""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from shown import Block, blocks_of, pages, prose_of
from shown_commands import (
    MAKEFILE,
    check_hedgerow,
    check_make,
    check_pip,
    check_script,
    command_named,
    commands_of,
)

pytestmark = pytest.mark.skipif(not MAKEFILE.exists(), reason="a source distribution")

# Commands of other programs or of the shell, which are not checked here.
OTHERS = {"$EDITOR", "cargo", "docker", "eval", "export", "git", "hf", "maturin", "npm", "source"}
SHELL = [block for page in pages() for block in blocks_of(page) if block.language == "sh"]


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
        elif program != "curl":  # test_page_data sends these
            assert program in OTHERS, f"who checks {program}?"


@pytest.mark.parametrize("page", pages())
def test_commands_in_sentences_exist(page: str) -> None:
    for code in re.findall(r"(?<!`)`((?:hedgerow|make) [^`\n]+)`", prose_of(page)):
        program, *words = commands_of(code.replace("[FOLDER]", "FOLDER").replace("...", ""))[0]
        if program == "make":
            check_make(words)
        elif words[0] != "COMMAND":
            command, arguments = command_named(words)
            known = {
                name for option in command.params for name in option.opts + option.secondary_opts
            }
            given = {word.split("=")[0] for word in arguments if word.startswith("--")}
            assert given <= known | {"--help", "--version"}, f"{code}: {given - known}"


def test_a_wrong_command_is_found() -> None:
    """A wrong command must fail the tests above."""
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
