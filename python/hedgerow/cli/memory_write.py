"""`hedgerow remember`, `wrapup` and `process`: writing into a memory root."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from hedgerow import InvalidInputError

from .failures import UnfinishedError
from .output import echo, has_terminal, progress_bar, visible, write_json
from .params import TEXT, Command
from .recall_text import show_left_out, show_related
from .roots import (
    TYPES,
    json_option,
    limit_option,
    read_stdin,
    required_title,
    root_option,
    scope_option,
    tag_option,
)
from .targets import open_memory, target_option

if TYPE_CHECKING:
    from hedgerow import MemoryRoot
    from hedgerow.memory import Processed
    from hedgerow.memory.operations import MemoryType, Mode
    from hedgerow.remote import RemoteRoot
    from hedgerow.typing import OnDuplicate


@click.command("remember", cls=Command, short_help="Keep a text as a memory.")
@click.argument("text", type=TEXT, required=False)
@root_option
@scope_option
@target_option
@click.option(
    "--title",
    metavar="TEXT",
    type=TEXT,
    help="Its title.  [default: how TEXT begins; required with standard input]",
)
@click.option(
    "--type", "kind", type=click.Choice(TYPES), default="note", show_default=True, help="Its kind."
)
@tag_option
@click.option("--force", is_flag=True, help="Keep it even if a memory says so already.")
@click.option(
    "--supersede", is_flag=True, help="Put it in the place of the memory that says so already."
)
@json_option
def remember(  # noqa: PLR0913 - one argument for each option
    *,
    text: str | None,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    title: str | None,
    kind: MemoryType,
    tags: tuple[str, ...],
    force: bool,
    supersede: bool,
    as_json: bool,
) -> None:
    """Write TEXT, or standard input, as a new Markdown file, and index it.

    \b
      hedgerow remember "No pellets: they harm the hedgehogs." --type decision
      hedgerow remember --title "Hedge plan" --tag hedge < plan.md

    A text that a memory already says, or nearly says, is refused, and that memory is named.
    """
    if force and supersede:
        raise click.UsageError("Pass --force or --supersede, not both.")
    from hedgerow.memory.note import title_of  # noqa: PLC0415 - slow to import

    line = required_title(title) if text is None or title is not None else title_of(text)
    memory = open_memory(root, target_url, remote_url, writes=True)
    given = read_stdin() if text is None else text
    choice: OnDuplicate = "keep" if force else "supersede" if supersede else "error"
    done = memory.remember(given, title=line, type=kind, tags=tags, on_duplicate=choice)
    if done.problem:
        echo(visible(done.problem), err=True)
    if as_json:
        write_json(done.to_dict())
    else:
        echo(f"Remembered: {visible(done.file)}")
        if done.superseded is not None:
            echo(f"Superseded: {visible(done.superseded)}")
        echo(f"Memory root: {visible(done.root)}")


@click.command("wrapup", cls=Command, short_help="Record the results of a session.")
@root_option
@scope_option
@target_option
@click.option("--title", metavar="TEXT", type=TEXT, help="Its title.  [required]")
@click.option("--topic", metavar="TEXT", type=TEXT, help="Recall this first, and note it.")
@limit_option(5)
@tag_option
@json_option
def wrapup(  # noqa: PLR0913 - one argument for each option
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    title: str | None,
    topic: str | None,
    limit: int,
    tags: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write standard input as the wrapup of a session.

    \b
      hedgerow wrapup --title "Hedge planning" < wrapup.md
      hedgerow wrapup --title "Hedges" --topic hedge --limit 3 < wrapup.md

    It has four level-2 headings, in any order, each with text: Findings, Decisions,
    Conflicts / Corrections, Open Questions.
    """
    line = required_title(title)
    memory = open_memory(root, target_url, remote_url, writes=True)
    done = memory.wrapup(read_stdin(), title=line, topic=topic or None, limit=limit, tags=tags)
    if as_json:
        write_json(done.to_dict())
        return
    if done.related.query is None:
        echo("Related memory preflight skipped: --topic not provided.")
    else:
        echo(f"Related memory for: {visible(done.related.query)}\n")
        show_related(done.related)
        echo()
    echo(f"Wrote session wrapup: {visible(done.file)}")
    echo(f"Memory root: {visible(done.root)}\n")
    echo(done.body)


@click.command("process", cls=Command, short_help="Check memories, or write a page about a topic.")
@root_option
@scope_option
@target_option
@click.option(
    "--mode", required=True, type=click.Choice(["lint", "synthesize", "dedupe"]), help="What to do."
)
@click.option("--apply", is_flag=True, help="Do it; without, only what would be done is shown.")
@click.option("--topic", metavar="TEXT", type=TEXT, help="Only memories about this.")
@click.option(
    "--since", metavar="WHEN", type=TEXT, help="Only memories since a date, or 30d, or 2w."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="The most memories to look at.  [default: synthesize 8, the others all]",
)
@json_option
def process(  # noqa: PLR0913 - one argument for each option
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    mode: Mode,
    apply: bool,
    topic: str | None,
    since: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Process the memories of a root.

    \b
      hedgerow process --mode lint --apply
      hedgerow process --mode synthesize --topic "hedge" --apply

    lint writes a report of what needs attention: pages without sources or out of date,
    duplicate titles, declared conflicts, open questions that seem answered. synthesize writes or
    updates a page about --topic that quotes a line of each memory. dedupe marks memories that say
    the same as superseded by the oldest of them, which `hedgerow restore` undoes.
    """
    memory = open_memory(root, target_url, remote_url, writes=apply)
    asked = _Asked(mode, topic, since, limit)
    if apply and mode == "dedupe" and not as_json:
        _confirm_pairs(_processed(memory, asked, apply=False))
    done = _processed(memory, asked, apply=apply)
    if as_json:
        write_json(done.to_dict())
    else:
        _show_processed(done)
    if not apply:
        raise UnfinishedError("Nothing was written: this is what would be. To do it, add --apply.")


class _Asked(NamedTuple):
    """What a run processes: the arguments of `MemoryRoot.process`."""

    mode: Mode
    topic: str | None
    since: str | None
    limit: int | None


def _processed(memory: MemoryRoot | RemoteRoot, asked: _Asked, *, apply: bool) -> Processed:
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    try:
        if not isinstance(memory, MemoryRoot):
            return memory.process(**asked._asdict(), apply=apply)
        with progress_bar("Comparing") as progress:
            return memory.process(**asked._asdict(), apply=apply, progress=progress)
    except InvalidInputError as error:
        if error.code == "invalid_option":
            raise click.UsageError(error.message) from error
        raise


def _confirm_pairs(plan: Processed) -> None:
    """Show the pairs that dedupe is about to mark, and ask for consent in a terminal."""
    for sentence in plan.summary:
        echo(f"- {visible(sentence)}")
    if plan.files and has_terminal() and sys.stdout.isatty():
        click.confirm("Mark these memories as superseded?", abort=True)
    echo()


def _show_processed(done: Processed) -> None:
    show_left_out(done.unreadable)
    echo(f"Mode: {done.mode}")
    echo(f"Applied: {'yes' if done.applied else 'no'}")
    for file in done.files:
        echo(f"File: {visible(file)}")
    for sentence in done.summary:
        echo(f"- {visible(sentence)}")
