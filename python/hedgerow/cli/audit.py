"""`hedgerow audit`: what in a root, or in an export of another tool, needs attention."""

from __future__ import annotations

from pathlib import Path

import click

from .options import TEXT, Command, json_option
from .output import echo, plural, visible, write_json
from .place import is_root_named, is_target, open_memory, place_options
from .recall import show_skips


@click.command("audit", cls=Command)
@click.argument("source", metavar="[SOURCE]", type=TEXT, required=False)
@place_options()
@json_option
def command(*, source: str | None, as_json: bool) -> None:
    """Find memories that need attention, each with the command that mends it.

    \b
      hedgerow audit
      hedgerow audit memories.json
      hedgerow audit ~/basic-memory --json

    Names texts that look like secrets, memories without text, near-duplicates, contradictions,
    expired memories, and texts that repeat a recall. SOURCE is the JSON of mem0 or a folder of
    Markdown such as a project of basic-memory; without it, the memory root is audited. Nothing is
    written.
    """
    if source is not None and (is_root_named() or is_target()):
        raise click.UsageError("Name what to audit once: as SOURCE, --root or --target.")
    if source is None:
        found = open_memory().audit()
    else:
        from hedgerow.memory.audit import audit_export  # noqa: PLC0415 - slow to import

        found = audit_export(Path(source))
    if as_json:
        write_json(found.to_dict())
        return
    show_skips(found.unreadable)
    for one in found.findings:
        line = "" if one.line is None else f":{one.line}"
        echo(visible(f"[{one.rule}] {one.file}{line} {one.text}"))
        if one.fix and source is None:
            echo(visible(f"    {one.fix}"))
    read = f"{plural(found.documents, 'memory', 'memories')} read"
    counts = ", ".join(f"{count} {rule}" for rule, count in found.counts.items())
    echo(f"{read}; {counts or 'nothing found'}.")
