"""`hedgerow init`, `status`, `doctor` and `instructions`: setting a memory root up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .failures import FAILED
from .output import echo, has_terminal, passed_by_json, show_passed_by, visible, write_json
from .params import Command
from .roots import (
    is_trusted,
    json_option,
    locate_root,
    named_root,
    place_options,
    refuse_remote,
    root_option,
)
from .targets import open_memory, target_option
from .trust import agrees

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.memory.doctor import Diagnosis


@click.command("init", cls=Command, short_help="Set up a memory root.")
@place_options
@click.option("--force", is_flag=True, help="Write the configuration afresh.")
@click.option(
    "--embedder",
    metavar="NAME",
    help="Search by meaning too, with an installed model (local) or another embedder.",
)
@click.option("--yes", is_flag=True, help="Allow the embedder without asking.")
@json_option
def init(  # noqa: PLR0913 - one argument for each option
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    force: bool,
    embedder: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Make the folder --root a memory root.

    \b
      hedgerow init --root memory
      hedgerow init --root memory --embedder local

    Writes hedgerow.json, the folders for memories and a line in .gitignore. Existing files are
    kept. Commit everything except .hedgerow/, which can be rebuilt. An embedder is written into
    hedgerow.json, and used once you allow it: asked here, or by hedgerow trust.
    """
    refuse_remote(target_url, remote_url)
    from hedgerow.memory.config import root_from_environment  # noqa: PLC0415 - slow to import

    path = named_root(root) or root_from_environment()
    if path is None:
        raise click.UsageError("Missing option '--root': name the folder, as in --root memory.")
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415

    done = MemoryRoot.initialize(path, force=force, embedder=embedder)
    if as_json:
        _allow_embedder(path, yes=yes, asks=False)
        write_json(done.to_dict())
        return
    state = "written" if done.config_created else "existing"
    echo(f"Memory root: {visible(done.root)}")
    echo(f"Config: {done.config_file} (schema v{visible(str(done.schema_version))}, {state})")
    echo(f"Folders: {', '.join(done.memory_dirs)}")
    ignored = "added .hedgerow/" if done.gitignore_updated else "has .hedgerow/ already"
    echo(f".gitignore: {ignored}")
    if embedder is not None:
        allowed = _allow_embedder(path, yes=yes, asks=has_terminal())
        state = "allowed" if allowed else "not allowed yet; run hedgerow trust"
        echo(f"Embedder: {visible(embedder)} ({state})")


def _allow_embedder(path: Path, *, yes: bool, asks: bool) -> bool:
    """Allow the embedder of a root if the user agrees; returns whether it is allowed."""
    from hedgerow import MemoryRoot  # noqa: PLC0415 - slow to import
    from hedgerow.memory.consents import allow  # noqa: PLC0415

    with MemoryRoot.open(path) as memory:
        pending = [one for one in memory.status().not_allowed if one.setting == "embedder"]
    agreed = [one for one in pending if yes or (asks and agrees(one))]
    if agreed:
        allow(agreed)
    return agreed == pending


@click.command("status", cls=Command, short_help="Show the state of a memory root.")
@root_option
@target_option
@json_option
def status(
    *, root: tuple[str, ...], target_url: str | None, remote_url: str | None, as_json: bool
) -> None:
    """Show which memory root is used, and whether this version of hedgerow supports it.

    \b
      hedgerow status
      hedgerow status --root memory --json
    """
    found = open_memory(root, target_url, remote_url).status()
    if as_json:
        write_json(found.to_dict())
        return
    echo(f"Memory root: {visible(found.root)}")
    echo(f"Initialized: {'yes' if found.initialized else 'no'}")
    if found.config_file:
        echo(f"Config: {found.config_file} (schema v{visible(str(found.schema_version))})")
    echo(f"Compatible: {'yes' if found.compatible else 'no'}")
    echo(visible(found.message))
    for request in found.not_allowed:
        echo(visible(request.notice))


@click.command("doctor", cls=Command, short_help="Check that everything works.")
@root_option
@click.option("--verbose", is_flag=True, help="Name everything below the root that is not read.")
@json_option
@click.pass_context
def doctor(  # noqa: PLR0913 - one argument for each option
    context: click.Context,
    *,
    root: tuple[str, ...],
    target_url: str | None,  # noqa: ARG001 - doctor looks at this machine whatever the target
    remote_url: str | None,  # noqa: ARG001
    verbose: bool,
    as_json: bool,
) -> None:
    """Check the engine, the memory root, its index and links, permissions and integrations.

    \b
      hedgerow doctor
      hedgerow doctor --root memory --json

    Looks at --root, else HEDGEROW_MEMORY_ROOT, else the nearest upward, else
    ~/.hedgerow/memory. Exits with 1 if something is wrong. A missing or outdated index, links
    that lead to no memory, and integrations that are not installed are only warnings.
    """
    from hedgerow.memory.config import default_root  # noqa: PLC0415
    from hedgerow.memory.doctor import diagnose  # noqa: PLC0415 - slow to import

    path, passed = locate_root(root)
    for sentence in passed:
        echo(sentence, err=True)
    found = diagnose(path or default_root(), trust=is_trusted())
    if as_json:
        counts = found.index.facts.get("passedBy", {})
        passed_by = passed_by_json(counts, found.passed_by) if verbose else {}
        write_json(found.to_dict() | passed_by)
    else:
        _show_diagnosis(found, verbose=verbose)
    if not found.ok:
        context.exit(FAILED)


def _show_diagnosis(found: Diagnosis, *, verbose: bool) -> None:
    echo("hedgerow doctor: ok" if found.ok else "hedgerow doctor: attention needed")
    for name, check in found.checks():
        mark = "ok" if check.ok else "warning" if check.is_warning else "FAILED"
        echo(f"{name}: {mark}: {visible(check.message)}")
    if verbose:
        show_passed_by(found.passed_by)


@click.command("instructions", cls=Command, short_help="Print a hint for agents.")
def instructions() -> None:
    """Print instructions for agents on using a memory root; add them to their rules.

    \b
      hedgerow instructions
      hedgerow instructions >> AGENTS.md
    """
    from hedgerow.memory.instructions import INSTRUCTIONS  # noqa: PLC0415

    echo(INSTRUCTIONS, nl=False)
