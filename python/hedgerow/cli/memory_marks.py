"""`hedgerow supersede`, `retract` and `restore`: what holds, and what no longer does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .output import echo, visible, write_json
from .params import TEXT, Command
from .roots import TYPES, json_option, read_stdin, root_option, scope_option, tag_option
from .targets import open_memory, target_option

if TYPE_CHECKING:
    from hedgerow.memory import Marked
    from hedgerow.memory.operations import MemoryType


@click.command("supersede", cls=Command, short_help="Replace a memory with another; both are kept.")
@click.argument("old", type=TEXT)
@click.argument("text", type=TEXT, required=False)
@click.option("--by", metavar="NEW", type=TEXT, help="A memory that is there, in place of a text.")
@click.option(
    "--title", metavar="TEXT", type=TEXT, help="Title of the text.  [default: that of OLD]"
)
@click.option("--type", "kind", type=click.Choice(TYPES), help="Its kind.  [default: that of OLD]")
@tag_option
@root_option
@scope_option
@target_option
@json_option
def supersede(  # noqa: PLR0913 - one argument for each option
    *,
    old: str,
    text: str | None,
    by: str | None,
    title: str | None,
    kind: MemoryType | None,
    tags: tuple[str, ...],
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Mark the memory OLD as superseded by another memory, or by a new text.

    \b
      hedgerow supersede "Hedge cutting" "We cut in August, after the birds."
      hedgerow supersede decisions/2025-02-pellets.md --by "No pellets"
      hedgerow supersede "Hedge plan" < plan.md

    OLD and NEW are paths, file names or titles, as in [[name]]. Both files are kept and record
    it: recall finds the new one, and the old one only with --include-superseded or --as-of.
    `hedgerow restore OLD` undoes it.
    """
    if by is not None and (text is not None or title or kind or tags):
        raise click.UsageError(
            "--by names an existing memory: leave out the text and options of a new one."
        )
    memory = open_memory(root, target_url, remote_url, writes=True)
    if by is None:
        given = read_stdin() if text is None else text
        done = memory.supersede(
            old, text=given, title=title or None, type=kind, tags=list(tags) or None
        )
    else:
        done = memory.supersede(old, by)
    _tell(done, as_json=as_json)


@click.command("retract", cls=Command, short_help="Note that a memory no longer holds.")
@click.argument("key", type=TEXT)
@click.option("--reason", metavar="TEXT", type=TEXT, help="Why, in one line.")
@root_option
@scope_option
@target_option
@json_option
def retract(  # noqa: PLR0913 - one argument for each option
    *,
    key: str,
    reason: str | None,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Mark the memory KEY as no longer holding, from now on.

    \b
      hedgerow retract findings/slugs.md --reason "It was the wrong bed."

    KEY is a path, a file name or a title. The file is kept, but recall leaves it out unless asked
    with --include-superseded or --as-of. `hedgerow restore KEY` undoes it.
    """
    memory = open_memory(root, target_url, remote_url, writes=True)
    _tell(memory.retract(key, reason), as_json=as_json)


@click.command("restore", cls=Command, short_help="Undo supersede or retract.")
@click.argument("key", type=TEXT)
@root_option
@scope_option
@target_option
@json_option
def restore(
    *,
    key: str,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Undo supersede or retract for the memory KEY, in every file that records it.

    \b
      hedgerow restore findings/slugs.md
    """
    memory = open_memory(root, target_url, remote_url, writes=True)
    _tell(memory.restore(key), as_json=as_json)


@click.command("forget", cls=Command, short_help="Delete a memory for good.")
@click.argument("key", type=TEXT)
@click.option("--purge", is_flag=True, help="Delete the file: this cannot be undone.")
@root_option
@scope_option
@target_option
@json_option
def forget(  # noqa: PLR0913 - one argument for each option
    *,
    key: str,
    purge: bool,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    as_json: bool,
) -> None:
    """Delete the memory KEY, and everything about it in the index, store, manifest and reports.

    \b
      hedgerow forget findings/slugs.md --purge

    KEY is a path, a file name or a title. Its lines are removed from pages; other files that
    name or quote it are listed and stay. Backups and the history of a repository are not
    searched. `hedgerow retract KEY` keeps the file.
    """
    if not purge:
        raise click.UsageError(
            "forget deletes the file for good: pass --purge, or use `hedgerow retract`, which "
            "keeps the file."
        )
    done = open_memory(root, target_url, remote_url, writes=True).forget(key, purge=True)
    if as_json:
        write_json(done.to_dict())
        return
    echo(f"Deleted: {visible(done.file)}")
    for report in done.reports:
        echo(f"Deleted: {visible(report)}")
    for page in done.rewritten:
        echo(f"Removed from the page: {visible(page)}")
    for file in done.quoted_by:
        echo(f"Still quoted by: {visible(file)}")
    for file in done.copies:
        echo(f"Still in: {visible(file)}")
    if done.quoted_by or done.copies:
        echo("These files still have text of it: edit or delete them.")
    else:
        echo("Nothing of it is left in index, store, manifest and reports.")
    for file in done.named_by:
        echo(f"Still named by: {visible(file)}")
    for place in done.out_of_reach:
        echo(f"Not searched: {visible(place)}.", err=True)


def _tell(done: Marked, *, as_json: bool) -> None:
    if as_json:
        write_json(done.to_dict())
        return
    if done.written is not None:
        echo(f"Remembered: {visible(done.written)}")
    for file in done.changed:
        echo(f"Changed: {visible(file)}")
    if not done.changed and done.written is None:
        echo("Nothing to change: the files say so already.")
    said = str(done.validity) or "holds"
    echo(f"{visible(done.file)}: {visible(said)}")
