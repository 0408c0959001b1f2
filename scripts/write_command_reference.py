"""Write docs/commands.md, the reference of the commands, from the commands themselves.

    python scripts/write_command_reference.py

`tests/repository/test_command_reference.py` fails if a command has changed since the last run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from hedgerow.cli import cli, load
from hedgerow.cli.options import GENERAL

PAGE = Path(__file__).resolve().parent.parent / "docs/commands.md"

_HEAD = """\
# Commands and options

Every command of `hedgerow` with its options, as `hedgerow COMMAND --help` shows them. [cli.md](cli.md) explains what the commands do, their
output and their JSON. `scripts/write_command_reference.py` writes this page from the commands.
"""


def page() -> str:
    """Return the text of the reference."""
    context = click.Context(cli, info_name="hedgerow")
    parts = [_HEAD]
    for name in cli.list_commands(context):
        parts.extend(_commands(load(name), context, name, 2))
    return "\n".join(parts)


def _commands(command: click.Command, above: click.Context, name: str, level: int) -> Iterator[str]:
    """Yield the sections of a command and of its subcommands."""
    context = click.Context(command, info_name=name, parent=above)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    usage = re.sub(r"([\[\]*_<])", r"\\\1", usage)
    yield f"{'#' * level} {context.command_path}\n\nUsage: {usage}\n\n{_help(command)}"
    sections: dict[str, list[str]] = {}
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and record[1] and "--help" not in record[0]:
            names, text = map(_cell, record)
            section = getattr(param, "section", GENERAL)
            sections.setdefault(section, []).append(f"| `{names}` | {text} |")
    for title in sorted(sections, key=lambda one: one != GENERAL):
        rows = "\n".join(sections[title])
        yield f"| {title} | |\n|---|---|\n{rows}\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            inner = command.get_command(context, below)
            if inner is not None and not inner.hidden:
                yield from _commands(inner, context, below, level + 1)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def _help(command: click.Command) -> str:
    """Return a help text as Markdown. Preformatted paragraphs become code blocks."""
    parts = []
    for part in (command.help or "").split("\n\n"):
        text = part.strip("\n")
        if text.lstrip().startswith("\b"):
            lines = text.lstrip().removeprefix("\b").strip("\n").splitlines()
            indent = min(len(line) - len(line.lstrip()) for line in lines)
            block = "\n".join(line[indent:] for line in lines)
            parts.append(f"```bash\n{block}\n```")
        else:
            # Markdown would treat names in angle brackets as HTML.
            parts.append(re.sub(r"\s+", " ", text).strip().replace("<", "\\<"))
    return "\n\n".join(filter(None, parts)) + "\n"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
