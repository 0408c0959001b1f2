"""Writing, reading and marking memories.

`hedgerow remember`, `wrapup`, `list`, `show` of a root, `history`, `diff`, `edit`, `rename`, `supersede`, `retract`,
`restore` and `forget`.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow import HedgerowError
from hedgerow.memory.operations import (
    DiffRequest,
    EditRequest,
    ForgetRequest,
    GrepRequest,
    HistoryRequest,
    ListRequest,
    RememberRequest,
    RetractRequest,
    SupersedeRequest,
    WrapupRequest,
)

from .failures import FAILED, REPEAT, interruptible
from .options import TEXT, Command, json_option, request_options, sync_option
from .output import echo, has_terminal, plural, visible, wrote_json
from .place import NO_ROOT, offer_own_root, open_memory, place_options, read_stdin, usage_errors
from .recall import show_related, syncing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hedgerow.memory import Event, GrepResult, MarkResult, Memory, SimilarMemory
    from hedgerow.typing import OnDuplicate

_LISTED = 20


# Writing.


@click.command("remember", cls=Command)
@click.argument("words", metavar="[TEXT...]", type=TEXT, nargs=-1)
@request_options(
    RememberRequest,
    *("title", "type", "tags", "on_duplicate", "valid_until", "stale_after", "written_by"),
    "allow_secret",
    title={"help": "Its title.  [default: the beginning of TEXT; required with standard input]"},
)
@place_options()
@json_option
def remember(
    *,
    words: tuple[str, ...],
    title: str | None,
    on_duplicate: OnDuplicate,
    **options: Any,
) -> None:
    """Write TEXT, or standard input, as a new Markdown file, and index it.

    \b
      hedgerow remember "No pellets: they harm the hedgehogs." --type decision
      hedgerow remember --title "Hedge plan" --tag hedge < plan.md

    Refuses a text that a memory has already, and names memories that are like it. Refuses texts that
    look like they have a secret, unless --allow-secret.
    """
    text = " ".join(words) if words else None
    if text is None or title is not None:
        title = _required_title(title)
    offer_own_root()
    memory = open_memory(writes=True)
    body = read_stdin() if text is None else text
    done = memory.remember(body, title=title, on_duplicate=on_duplicate, **options)
    if done.problem:
        echo(visible(done.problem), err=True)
    if wrote_json(done):
        return
    echo(f"Remembered: {visible(done.file)}")
    if done.superseded is not None:
        echo(f"Superseded: {visible(done.superseded)}")
    elif on_duplicate == "supersede":
        echo("Superseded: nothing, since no memory is like it; name one with hedgerow supersede.")
    _show_similar(done.file, done.similar)
    echo(f"Memory root: {visible(done.root)}")


def _show_similar(file: str, similar: Sequence[SimilarMemory]) -> None:
    """Print the memories that are like a new one, and the command for one that it replaces."""
    for one in similar:
        echo(f"Similar: {visible(str(one))}")
    if similar:
        command = shlex.join(["hedgerow", "supersede", similar[0].file, "--by", file])
        echo(f"If it replaces one of them: {visible(command)}")


@click.command("wrapup", cls=Command)
@request_options(
    WrapupRequest,
    *("title", "topic", "limit", "tags", "written_by", "allow_secret"),
    title={"help": "Its title.  [required]"},
)
@place_options()
@json_option
def wrapup(*, title: str | None, topic: str | None, **options: Any) -> None:
    """Write standard input as the wrapup of a session.

    \b
      hedgerow wrapup --title "Hedge planning" < wrapup.md
      hedgerow wrapup --title "Hedges" --topic hedge --limit 3 < wrapup.md

    The page has four level-2 headings, in any order, each with text: Findings, Decisions,
    Conflicts / Corrections, Open Questions.
    """
    line = _required_title(title)
    memory = open_memory(writes=True)
    done = memory.wrapup(read_stdin(), title=line, topic=topic or None, **options)
    if wrote_json(done):
        return
    if done.related.query is None:
        echo("Related memory preflight skipped: --topic not provided.")
    else:
        echo(f"Related memory for: {visible(done.related.query)}\n")
        show_related(done.related)
        echo()
    echo(f"Wrote session wrapup: {visible(done.file)}")
    _show_similar(done.file, done.similar)
    echo(f"Memory root: {visible(done.root)}\n")
    echo(done.body)


def _required_title(title: str | None) -> str:
    """Return the title; an empty one counts as none."""
    if not title:
        raise click.UsageError("Missing option '--title': give the memory a title.")
    return title


# Reading.


@click.command("list", cls=Command)
@request_options(
    ListRequest,
    limit={"default": _LISTED},
    type={
        "multiple": True,
        "metavar": "TYPE,...",
        "callback": lambda _, __, given: ",".join(given) or None,
        "help": "Only memories of these types.",
    },
)
@sync_option
@place_options()
@json_option
def list_(*, sync: bool, **options: Any) -> None:
    """List the memories of a root, most recently changed first: date, type, file, title, state.

    \b
      hedgerow list
      hedgerow list --type decision -n 100
      hedgerow list --superseded
    """
    memory = open_memory()
    found = memory.list(**options, **syncing(memory, sync=sync))
    if wrote_json(found):
        return
    for one in found.memories:
        day = datetime.fromtimestamp(one.timestamp, timezone.utc).strftime("%Y-%m-%d")
        title = f"  {one.title}" if one.title else ""
        state = f"  [{one.validity}]" if str(one.validity) else ""
        echo(visible(f"{day}  {one.type:<10}  {one.file}{title}{state}"))
    for number, root in enumerate(found.roots, start=1):
        echo(visible(f"{'@' * number}/: {root}"))
    more = found.count - len(found.memories) - options["offset"]
    if more > 0:
        echo(f"{plural(more, 'more memory', 'more memories')}; --limit shows them.", err=True)
    elif not found.count:
        echo("No memories.")


@click.command("grep", cls=Command)
@click.argument("pattern", type=TEXT)
@request_options(
    GrepRequest,
    *("regex", "ignore_case", "context", "types", "tags", "limit"),
    ignore_case={"short": "-i"},
    context={"short": "-C"},
)
@sync_option
@place_options()
@json_option
@click.pass_context
def grep(ctx: click.Context, /, *, pattern: str, sync: bool, **options: Any) -> None:
    """Find the lines of memories that have PATTERN, a text, or with --regex a regular expression.

    \b
      hedgerow grep pellets
      hedgerow grep --regex "(hedge|wind)row" -i -C 2
      hedgerow grep TODO --type decision --json

    Searches all files of the root as they are, also memories that no longer hold. A line longer than
    400 characters is cut around its match. Exits with 1 if nothing matches.
    """
    memory = open_memory()
    with usage_errors():
        found = memory.grep(pattern, **options, **syncing(memory, sync=sync))
    if not wrote_json(found):
        _show_matches(found)
    if not found.count:
        ctx.exit(FAILED)


def _show_matches(found: GrepResult) -> None:
    """Print lines as grep does: FILE:LINE: TEXT, with hyphens for the lines around a match."""
    last = None
    for file, number, text, matches in found.lines():
        if last not in (None, (file, number - 1)) and any(one.before or one.after for one in found):
            echo("--")
        last = file, number
        mark = ":" if matches else "-"
        echo(visible(f"{file}{mark}{number}{mark} {text}"))
    for skip in found.unreadable:
        echo(visible(f"not searched: {skip}"), err=True)
    if found.count > len(found):
        more = plural(found.count - len(found), "more line matches", "more lines match")
        echo(f"{more}; --limit shows them.", err=True)
    elif not found.count:
        echo("Nothing found.", err=True)


def show_memory(key: str, *, sync: bool, **part: Any) -> None:
    """Show a memory, or a part of it, as `show` without an index file does."""
    memory = open_memory(NO_ROOT)
    found = memory.show(key, **part, **syncing(memory, sync=sync))
    if wrote_json(found):
        return
    lines = "" if found.lines is None else f":{found.lines[0]}-{found.lines[1]}"
    echo(visible(f"{found.file}{lines}"), err=True)
    echo(found.text.rstrip("\n"))
    if found.remaining:
        shown = 0 if found.lines is None else found.lines[1] - found.lines[0] + 1
        more = plural(found.remaining, "more line")
        echo(f"{more}; --offset {part['offset'] + shown} shows them.", err=True)


@click.command("history", cls=Command)
@click.argument("key", type=TEXT)
@request_options(HistoryRequest)
@sync_option
@place_options()
@json_option
def history(*, key: str, limit: int, sync: bool) -> None:
    """Say what happened to the memory KEY, the newest first: when, what, which file, by whom.

    \b
      hedgerow history "No pellets"
      hedgerow history decisions/2025-02-no-pellets.md --json

    Events are from the marks in its front matter, from the memories that it superseded or that
    superseded it, and, if the root is in a git repository, from the commits that changed it.
    """
    memory = open_memory()
    found = memory.history(key, limit=limit, **syncing(memory, sync=sync))
    if wrote_json(found):
        return
    for notice in found.notices:
        echo(f"Note: {visible(notice)}", err=True)
    for one in found.events:
        echo(visible(_event(one)))
    if found.count > len(found.events):
        more = plural(found.count - len(found.events), "earlier event")
        echo(f"{more}; --limit shows them.", err=True)


def _event(one: Event) -> str:
    """Return an event as a line: its time, kind, file, and the rest in words."""
    time = "unknown" if one.at is None else f"{one.at.astimezone(timezone.utc):%Y-%m-%d %H:%M}"
    parts = [
        "" if one.other is None else f"by {one.other}",
        one.commit or "",
        "" if one.by is None else f"({one.by})",
        one.detail or "",
    ]
    rest = " ".join(filter(None, parts))
    return f"{time:<16}  {one.kind:<10}  {one.file}  {rest}".rstrip()


@click.command("diff", cls=Command)
@click.argument("key", type=TEXT)
@request_options(DiffRequest, old={"metavar": "STATE"}, new={"metavar": "STATE"})
@sync_option
@place_options()
@json_option
def diff(*, key: str, old: str | None, new: str | None, sync: bool) -> None:
    """Compare two states of the memory KEY, as a unified diff.

    \b
      hedgerow diff "No pellets"
      hedgerow diff "No pellets" --old 3f2a1b4c5d6e
      hedgerow diff "No pellets" --old decisions/2024-03-pellets.md

    A STATE is a commit that `hedgerow history KEY` lists, or a memory. By default the memory as it is
    is compared with the newest commit in which it was different, or with the memory it superseded.
    """
    memory = open_memory()
    found = memory.diff(key, old=old, new=new, **syncing(memory, sync=sync))
    if not wrote_json(found):
        echo(found.text.rstrip("\n") or "No difference.")


# Changing texts and names.


@click.command("edit", cls=Command)
@click.argument("key", type=TEXT)
@click.argument("text", type=TEXT, required=False)
@request_options(
    EditRequest,
    *("section", "append", "prepend", "replace", "digest", "written_by"),
    replace={"metavar": "OLD", "help": "Replace only OLD, which must occur exactly once, by TEXT."},
    digest={"spelled": "--expect"},
)
@place_options()
@json_option
def edit(
    *,
    key: str,
    text: str | None,
    section: str | None,
    digest: str | None,
    **how: Any,
) -> None:
    """Edit the memory KEY, a path, a file name or a title, or a section of it, in $EDITOR.

    \b
      hedgerow edit decisions/2025-02-no-pellets.md
      hedgerow edit "Hedge plan" --append "Sharpen the shears."
      hedgerow edit "Hedge plan#Tools" "Shears, and gloves."
      hedgerow edit "Hedge plan" --replace "in March" "in August"
      hedgerow edit "Hedge plan" --expect 9f86d081... < plan.md

    TEXT, or standard input, is the new content of a section, or with --append, --prepend or
    --replace the new part. With --expect, it may also be the whole new file. Nothing is written if
    the memory changed since it was read, or since `hedgerow show KEY --json` printed the digest.
    """
    memory = open_memory(writes=True)
    found = memory.show(key, section=section)

    def write(new: str) -> Memory:
        return memory.edit(key, new, digest or found.digest, section=section, **how)

    is_part = how["append"] or how["prepend"] or how["replace"] is not None
    if text is not None and digest is None and not is_part and found.lines is None:
        raise click.UsageError(
            "TEXT would replace the whole file: pass --append, --prepend, --replace OLD or --section "
            "NAME, or --expect DIGEST, which `hedgerow show KEY --json` prints."
        )
    if text is None and digest is None and not is_part:
        new = _edited(found.text, found.file)
        if new is None:
            echo("Nothing was changed.")
            return
        done = _written(write, new)
    else:
        done = write(read_stdin() if text is None else text)
    if not wrote_json(done):
        echo(f"Changed: {visible(done.file)}")


def _edited(text: str, file: str) -> str | None:
    """Open an editor for a text. Returns None if the text is unchanged."""
    if not has_terminal():
        raise click.UsageError(
            f"There is no terminal to edit {file} in: pass --expect DIGEST with the new text."
        )
    given = text if text.endswith("\n") else f"{text}\n"
    saved = click.edit(given.replace("\n", os.linesep).encode(), extension=".md")
    if saved is None:
        return None
    try:
        new = saved.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"the editor did not save the text as UTF-8. It is in {_kept(saved)}"
        raise HedgerowError(message, code="invalid_note") from error
    return None if new == text else new


def _written(write: Callable[[str], Memory], new: str) -> Memory:
    """Write the edited text. If the write fails, the error names a file with the text."""
    try:
        return write(new)
    except HedgerowError as error:
        message = f"{error.message}. Your text is in {_kept(new.encode())}"
        raise HedgerowError(message, code=error.code, path=error.path, key=error.key) from error


def _kept(data: bytes) -> Path:
    """Write an edited text into a temporary file, and return its path."""
    with tempfile.NamedTemporaryFile(suffix=".md", prefix="hedgerow-", delete=False) as kept:
        kept.write(data)
    return Path(kept.name)


@click.command("rename", cls=Command)
@click.argument("key", type=TEXT)
@click.argument("new", type=TEXT)
@place_options()
@json_option
def rename(*, key: str, new: str) -> None:
    """Give the memory KEY another path, and change the links to it in all files.

    \b
      hedgerow rename "Hedge plan" hedge-2026
      hedgerow rename notes/hedge.md decisions/hedge.md

    KEY is a path, a file name or a title; NEW a path, or a name in the same folder. The title of the
    memory stays as it is in the file.
    """
    with interruptible(f"interrupted: links to it may be changed already; {REPEAT}"):
        done = open_memory(writes=True).rename(key, new)
    if wrote_json(done):
        return
    echo(f"Renamed: {visible(done.file)} to {visible(done.to)}")
    old, new = Path(done.file).stem, Path(done.to).stem
    if done.title is not None and new not in {old, done.title}:
        echo(f"Its title is still {visible(done.title)}; `hedgerow edit` changes it.")
    for file in done.changed:
        echo(f"Changed: {visible(file)}")
    for skip in done.by_hand:
        echo(f"Change by hand: {visible(str(skip))}", err=True)


# Commands that mark memories as ended or delete them.


@click.command("supersede", cls=Command)
@click.argument("old", type=TEXT)
@click.argument("text", type=TEXT, required=False)
@request_options(
    SupersedeRequest,
    *("by", "title", "type", "tags", "valid_until", "stale_after", "written_by", "allow_secret"),
    by={"metavar": "KEY"},
    title={"help": "Title of the text.  [default: the beginning of TEXT]"},
    type={"help": "Kind of the text.  [default: that of OLD]"},
    tags={"help": "Tags of the text.  [default: those of OLD]"},
)
@place_options()
@json_option
def supersede(*, old: str, text: str | None, by: str | None, **options: Any) -> None:
    """Mark the memory OLD as superseded by another memory, or by a new text.

    \b
      hedgerow supersede "Hedge cutting" "We cut in August, after the birds."
      hedgerow supersede decisions/2025-02-pellets.md --by "No pellets"
      hedgerow supersede "Hedge plan" < plan.md

    OLD and --by are paths, file names or titles, as in [[name]]. Both files are kept and record
    it: recall finds the new one, and the old one only with --include-superseded or --as-of.
    `hedgerow restore OLD` undoes it.
    """
    if by is not None and (text is not None or any(options.values())):
        raise click.UsageError(
            "--by names an existing memory: leave out the text and options of a new one."
        )
    memory = open_memory(writes=True)
    if by is None:
        options["title"] = options["title"] or None
        done = memory.supersede(old, text=read_stdin() if text is None else text, **options)
    else:
        done = memory.supersede(old, by=by)
    _show_marked(done)


@click.command("retract", cls=Command)
@click.argument("key", type=TEXT)
@request_options(RetractRequest, "reason")
@place_options()
@json_option
def retract(*, key: str, reason: str | None) -> None:
    """Mark the memory KEY as no longer holding, from now on.

    \b
      hedgerow retract findings/slugs.md --reason "It was the wrong bed."

    KEY is a path, a file name or a title. The file is kept, but recall leaves it out unless asked
    with --include-superseded or --as-of. `hedgerow restore KEY` undoes it.
    """
    _show_marked(open_memory(writes=True).retract(key, reason))


@click.command("restore", cls=Command)
@click.argument("key", type=TEXT)
@place_options()
@json_option
def restore(*, key: str) -> None:
    """Undo supersede and retract for the memory KEY, in every file that records either.

    \b
      hedgerow restore findings/slugs.md

    Removes all marks of both, and names each.
    """
    _show_marked(open_memory(writes=True).restore(key))


def _show_marked(done: MarkResult) -> None:
    if wrote_json(done):
        return
    if done.written is not None:
        echo(f"Remembered: {visible(done.written)}")
    for file in done.changed:
        echo(f"Changed: {visible(file)}")
    if not done.changed and done.written is None:
        echo("Nothing to change: the files say so already.")
    for mark in done.removed:
        echo(f"Removed: {visible(str(mark))}")
    echo(f"{visible(done.file)}: {visible(str(done.validity) or 'holds')}")
    if done.written is not None:
        _show_similar(done.written, done.similar)


@click.command("forget", cls=Command)
@click.argument("key", type=TEXT)
@request_options(ForgetRequest, "purge")
@place_options()
@json_option
def forget(*, key: str, purge: bool) -> None:
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
    with interruptible(f"interrupted: parts of it may be deleted already; {REPEAT}"):
        done = open_memory(writes=True).forget(key, purge=True)
    if wrote_json(done):
        return
    for file in (done.file, *done.emptied, *done.reports):
        echo(f"Deleted: {visible(file)}")
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
