"""Setting up and maintaining a memory root.

`hedgerow init`, `import`, `lint`, `dedupe`, `synthesize`, `audit`, `doctor` and `trust`.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow.memory.operations import Mode, ProcessRequest

from .failures import FAILED, REPEAT, WRITTEN_SO_FAR, UnfinishedError, interruptible
from .fixes import words_of
from .options import PATH, TEXT, Command, json_option, option, request_options, text_option
from .output import (
    echo,
    has_terminal,
    plural,
    progress_bar,
    show_skipped,
    skipped_json,
    visible,
    wants_json,
    write_json,
    wrote_json,
)
from .place import (
    NO_ROOT_FOR_MEMORY,
    is_root_named,
    is_target,
    is_trusted,
    locate_root,
    named_root,
    open_memory,
    open_root,
    place_options,
    usage_errors,
)
from .recall import show_skips

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hedgerow import MemoryRoot
    from hedgerow.memory import ImportResult, ProcessResult
    from hedgerow.memory.doctor import Diagnosis
    from hedgerow.memory.roots import MemoryRoots
    from hedgerow.memory.trust import Consent, TrustRequest
    from hedgerow.remote import RemoteRoot

_DRY_RUN = "Dry run. Add --apply to write."
_APPLY = {"help": "Write; without it, only show what would be written."}
_ABOVE = {
    "help": "Find and mark memories from this likeness on, not only those with the same text."
}


# init


@click.command("init", cls=Command)
@click.argument("folder", metavar="[DIR]", type=PATH, required=False)
@option("--force", is_flag=True, help="Write the configuration again.")
@text_option(
    "--embedder",
    "NAME",
    "Search by meaning too, with an installed model (local) or another embedder.",
)
@option("--yes", is_flag=True, help="Allow the embedder without asking.")
@option(
    "--vault",
    is_flag=True,
    help="DIR keeps its own folders: add none.  [default: in vaults of Obsidian and Logseq]",
)
@place_options(scope=False, target=False, trust=False, hidden=True)
@json_option
def init(
    *,
    folder: str | None,
    force: bool,
    embedder: str | None,
    yes: bool,
    vault: bool,
) -> None:
    """Make the folder DIR a memory root.

    \b
      hedgerow init memory
      hedgerow init memory --embedder local
      hedgerow init ~/vault

    Writes hedgerow.json, the folders for memories and a line in .gitignore. Existing files are
    kept. Commit everything except .hedgerow/, which can be rebuilt. An embedder is written into
    hedgerow.json, and used once you allow it: asked here, or by hedgerow trust. A vault of Obsidian
    or Logseq gets no folders: memories are written where it keeps notes. The default of DIR is the
    variable HEDGEROW_MEMORY_ROOT, else the current folder if it is a vault.
    """
    from hedgerow.memory.config import root_from_environment  # noqa: PLC0415 - slow to import
    from hedgerow.memory.names import detect_vault  # noqa: PLC0415

    named = named_root()
    if named is not None and folder is not None:
        raise click.UsageError("Name the folder once: as DIR, or with --root.")
    path = Path(folder) if folder else named or root_from_environment()
    if path is None and (vault or detect_vault(Path())):
        path = Path()
    if path is None:
        raise click.UsageError(
            "Missing argument 'DIR': name the folder, as in: hedgerow init memory"
        )
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415

    done = MemoryRoot.initialize(path, force=force, embedder=embedder, vault=vault)
    if wants_json():
        _allow_embedder(path, yes=yes, asks=False)
        write_json(done.to_dict())
        return
    state = "written" if done.config_created else "existing"
    echo(f"Memory root: {visible(done.root)}")
    echo(f"Config: {done.config_file} (schema v{visible(str(done.schema_version))}, {state})")
    if done.vault is not None:
        echo(f"Vault: {done.vault.capitalize()}; new memories in {visible(done.memory_dirs[0])}")
    else:
        echo(f"Folders: {', '.join(done.memory_dirs)}")
    if done.gitignore_updated or done.vault is None:
        ignored = "added .hedgerow/" if done.gitignore_updated else "has .hedgerow/ already"
        echo(f".gitignore: {ignored}")
    if embedder is not None:
        allowed = _allow_embedder(path, yes=yes, asks=has_terminal())
        state = "allowed" if allowed else "not allowed yet; run hedgerow trust"
        echo(f"Embedder: {visible(embedder)} ({state})")


def _allow_embedder(path: Path, *, yes: bool, asks: bool) -> bool:
    """Allow the embedder of a root if the user agrees; returns whether it is allowed."""
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import
    from hedgerow.memory.trust import allow  # noqa: PLC0415

    with MemoryRoot.open(path) as memory:
        pending = [one for one in memory.status().not_allowed if one.setting == "embedder"]
    agreed = [one for one in pending if yes or (asks and _agrees(one))]
    if agreed:
        allow(agreed)
    return agreed == pending


# import

_FORMATS = (
    "obsidian", "basic-memory", "mem0", "chatgpt", "claude", "claude-code", "codex", "jsonl",
)  # fmt: skip

_SHOWN = 20
_ACTIONS = {
    "new": "New",
    "changed": "Changed",
    "edited": "Kept, edited here",
    "same": "Skipped, a memory has the text",
    "taken": "Skipped, the name is taken",
}


@click.command("import", cls=Command)
@click.argument("format", type=click.Choice(_FORMATS))
@click.argument("source", type=PATH)
@option("--apply", is_flag=True, **_APPLY)
@place_options(scope=False, target=False)
@json_option
def import_(
    *,
    format: str,  # noqa: A002 - its name in the help
    source: str,
    apply: bool,
) -> None:
    """Read memories from SOURCE, a file or folder of another tool, and write each as a file.

    \b
      hedgerow import obsidian ~/vault
      hedgerow import chatgpt export.zip --apply
      hedgerow import mem0 memories.json --root memory --apply

    obsidian and basic-memory read a folder of Markdown, chatgpt and claude the archive of an export or
    its conversations.json, mem0 what its get_all returns, jsonl an object with text on each line.
    Importing again updates what changed at the source and keeps what you edited here.
    """
    memory = open_root()
    with (
        interruptible(f"interrupted: {WRITTEN_SO_FAR if apply else 'nothing was written'}"),
        progress_bar("Importing") as progress,
    ):
        done = memory.import_from(source, format, apply=apply, progress=progress)
    unwritten = sum(one.code == "root_io" for one in done.unreadable)
    if not wrote_json(done):
        _show_imported(done)
        if done.counts.keys() & {"new", "changed"}:
            _tell_dry_run(apply=apply)
        if unwritten:
            echo(
                f"{plural(unwritten, 'memory', 'memories')} could not be written; {REPEAT}.",
                err=True,
            )
    if unwritten:
        click.get_current_context().exit(FAILED)


def _show_imported(done: ImportResult) -> None:
    show_skips(done.unreadable, _SHOWN)
    for action, label in _ACTIONS.items():
        _show_files(label, [one.file for one in done.memories if one.action == action])
    _show_files("No longer in the export, kept", done.gone)
    similar = [f"{one.file} is like {one.similar[0]}" for one in done.memories if one.similar]
    _show_files("Similar", similar)
    counts = ", ".join(f"{count:,} {action}" for action, count in done.counts.items())
    more = f"; {len(similar):,} similar to others" if similar else ""
    echo(f"{plural(len(done.memories), 'memory', 'memories')}: {counts or 'none'}{more}.")


def _show_files(label: str, files: Sequence[str]) -> None:
    for file in files[:_SHOWN]:
        echo(f"{label}: {visible(file)}")
    if len(files) > _SHOWN:
        echo(f"{label}: {len(files) - _SHOWN:,} more (--json has all)")


# lint, dedupe, synthesize


def _process_command(
    mode: Mode, help_text: str, *fields: str, needs_topic: bool = False
) -> click.Command:
    """Make the command of a mode of `process`, whose arguments are the topic, with options of its own."""

    @click.command(mode, cls=Command, help=help_text)
    @click.argument("topic", type=TEXT, nargs=-1, required=needs_topic)
    @request_options(ProcessRequest, "since", "limit", *fields, "apply", apply=_APPLY, above=_ABOVE)
    @place_options()
    @json_option
    def command(*, topic: tuple[str, ...], apply: bool, **options: Any) -> None:
        run_process(mode, apply=apply, topic=" ".join(topic) or None, **options)
        _tell_dry_run(apply=apply)

    return command


lint = _process_command(
    "lint",
    """Find what needs attention, in all memories or those about TOPIC.

    \b
      hedgerow lint
      hedgerow lint hedge --since 30d
      hedgerow lint --apply

    Reports pages without sources or out of date, duplicate titles, declared conflicts, marks that
    contradict each other, and open questions that seem answered. --apply also writes the report
    into .hedgerow/reports.
    """,
)

dedupe = _process_command(
    "dedupe",
    """List memories that are like older ones, and mark those with the same text as superseded.

    \b
      hedgerow dedupe
      hedgerow dedupe hedge --apply
      hedgerow dedupe --apply --above 0.9

    Similar memories are only listed. With --above, those from this likeness on are marked too, and only
    these are listed. `hedgerow restore` undoes a mark.
    """,
    "above",
)

synthesize = _process_command(
    "synthesize",
    """Write or update a page about TOPIC, which quotes a line of each memory about it.

    \b
      hedgerow synthesize slug control
      hedgerow synthesize hedge --since 30d --apply
    """,
    needs_topic=True,
)


def run_process(mode: Any, *, apply: bool, **options: Any) -> None:
    """Process a root and show the result; `dedupe` asks for consent in a terminal first."""
    memory = open_memory(writes=apply)
    if apply and mode == "dedupe" and not wants_json():
        _confirm_pairs(_processed(memory, mode, apply=False, **options))
    with interruptible(f"interrupted: {WRITTEN_SO_FAR if apply else 'nothing was written'}"):
        done = _processed(memory, mode, apply=apply, **options)
    if wrote_json(done):
        return
    show_skips(done.unreadable)
    echo(f"Mode: {done.mode}")
    echo(f"Applied: {'yes' if done.applied else 'no'}")
    for file in done.files:
        echo(f"File: {visible(file)}")
    for sentence in done.summary:
        echo(f"- {visible(sentence)}")


def _processed(
    memory: MemoryRoot | MemoryRoots | RemoteRoot, mode: Any, **options: Any
) -> ProcessResult:
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    with usage_errors():
        if not isinstance(memory, MemoryRoot):
            return memory.process(mode, **options)
        with progress_bar("Comparing") as progress:
            return memory.process(mode, progress=progress, **options)


def _confirm_pairs(plan: ProcessResult) -> None:
    """Show the pairs that dedupe is about to mark, and ask for consent in a terminal."""
    for sentence in plan.summary:
        echo(f"- {visible(sentence)}")
    if plan.files and has_terminal() and sys.stdout.isatty():
        click.confirm("Mark these memories as superseded?", abort=True)
    echo()


def _tell_dry_run(*, apply: bool) -> None:
    if not apply and not wants_json():
        echo(_DRY_RUN)


# audit


@click.command("audit", cls=Command)
@click.argument("source", metavar="[SOURCE]", type=PATH, required=False)
@place_options()
@json_option
def audit(*, source: str | None) -> None:
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
        from hedgerow.memory.process import audit_export  # noqa: PLC0415 - slow to import

        found = audit_export(Path(source))
    if wrote_json(found):
        return
    show_skips(found.unreadable)
    for one in found.findings:
        line = "" if one.line is None else f":{one.line}"
        echo(visible(f"[{one.rule}] {one.file}{line} {one.text}"))
        if one.fix and source is None:
            echo(visible(f"    {words_of(click.get_current_context(), one.fix)}"))
    read = f"{plural(found.documents, 'memory', 'memories')} read"
    counts = ", ".join(f"{count} {rule}" for rule, count in found.counts.items())
    echo(f"{read}; {counts or 'nothing found'}.")


# doctor


@click.command("doctor", cls=Command)
@option("--verbose", is_flag=True, help="Name everything below the root that is not read.")
@option("--target-url", "--remote-url", hidden=True, expose_value=False)
@place_options(scope=False, target=False, remote=False)
@json_option
@click.pass_context
def doctor(context: click.Context, *, verbose: bool) -> None:
    """Check the engine, the memory root, its index and links, permissions and integrations.

    \b
      hedgerow doctor
      hedgerow doctor --root memory --json

    Looks at --root, else HEDGEROW_MEMORY_ROOT, else the nearest upward, else
    ~/.hedgerow/memory. Exits with 1 if something is wrong. A missing or outdated index, broken
    links, and integrations that are not installed are only warnings.
    """
    from hedgerow.memory.config import own_root  # noqa: PLC0415
    from hedgerow.memory.doctor import diagnose  # noqa: PLC0415 - slow to import

    path, skipped = locate_root()
    for sentence in skipped:
        echo(sentence, err=True)
    path = path or own_root()
    if path is None:
        raise click.UsageError(NO_ROOT_FOR_MEMORY)
    found = diagnose(path, trust=is_trusted())
    if wants_json():
        counts = found.index.facts.get("passedBy", {})
        more = skipped_json(counts, found.passed_by) if verbose else {}
        write_json(found.to_dict() | more)
    else:
        _show_diagnosis(found, verbose=verbose)
    if not found.ok:
        context.exit(FAILED)


def _show_diagnosis(found: Diagnosis, *, verbose: bool) -> None:
    echo("hedgerow doctor: ok" if found.ok else "hedgerow doctor: attention needed")
    for name, check in found.checks():
        mark = "ok" if check.ok else "warning" if check.is_warning else "FAILED"
        echo(f"{name}: {mark}: {visible(check.message)}")
    facts = found.memory_root.facts
    if facts.get("initialized") is False:
        command = shlex.join(["hedgerow", "init", "--root", facts["root"]])
        echo(f"To set the root up: {visible(command)}")
    if verbose:
        show_skipped(found.passed_by)
    elif found.passed_by:
        echo("To name the files that are passed by: --verbose")


# trust


@click.command("trust", cls=Command)
@place_options(scope=False, target=False, trust=False)
@option("--yes", is_flag=True, help="Allow all of it without asking.")
@option("--list", "listed", is_flag=True, help="List the permissions of every root.")
@option("--revoke", is_flag=True, help="Forget the permissions of the root.")
@json_option
def trust(*, yes: bool, listed: bool, revoke: bool) -> None:
    """Show the models, servers and folders outside itself that a memory root asks for, and allow them.

    \b
      hedgerow trust
      hedgerow trust --root memory --yes
      hedgerow trust --list
      hedgerow trust --root memory --revoke

    An embedder can send your texts to a server or run a model's code; a folder outside the root
    would be indexed; agents may name models. Until you allow them, the root works without them. What you allow is stored in your own configuration with its
    present value: if the value changes, you are asked again.
    """
    if yes + listed + revoke > 1:
        raise click.UsageError("--yes, --list and --revoke exclude each other.")
    if listed:
        _list()
    elif revoke:
        _revoke()
    else:
        _ask(open_root(), yes=yes)


def _ask(memory: MemoryRoot, *, yes: bool) -> None:
    """Show the requests without consent, and store the user's consent."""
    from hedgerow.memory.trust import allow  # noqa: PLC0415 - slow to import

    root, pending = str(memory.path), memory.status().not_allowed
    if not wants_json():
        _show_requests(root, pending)
    can_ask = not wants_json() and has_terminal()
    allowed = [one for one in pending if yes or (can_ask and _agrees(one))]
    if allowed:
        allow(allowed)
    if wants_json():
        left = [one for one in pending if one not in allowed]
        write_json(_as_json(root, allowed=allowed, notAllowed=left))
    elif pending and (yes or can_ask):
        echo(f"Allowed: {len(allowed)} of {len(pending)}.")
    if pending and not (yes or can_ask):
        raise UnfinishedError(
            "Nothing was allowed. The root requests this; to allow it, add --yes."
        )


def _show_requests(root: str, pending: Sequence[TrustRequest]) -> None:
    echo(f"Memory root: {visible(root)}")
    if not pending:
        echo("Nothing to allow: all that it asks for is allowed.")
    for one in pending:
        echo(f"- {visible(one.question)}")


def _agrees(request: TrustRequest) -> bool:
    return click.confirm(f"Allow {request.setting}, to {visible(request.effect)}?")


def _list() -> None:
    from hedgerow.memory.trust import consents_file, read_consents  # noqa: PLC0415 - slow

    path = _real_root()
    found = [one for one in read_consents() if path in (None, one.root)]
    if wants_json():
        value = {"file": str(consents_file()), "allowed": [one.to_dict() for one in found]}
        write_json(value)
        return
    for one in found:
        echo(_line(one))
    echo(f"{plural(len(found), 'consent')} in {visible(str(consents_file()))}.")


def _revoke() -> None:
    from hedgerow.memory.trust import revoke  # noqa: PLC0415 - slow to import

    path = _real_root() or str(open_root().path)
    gone = revoke(path)
    if wrote_json(_as_json(path, revoked=gone)):
        return
    for one in gone:
        echo(_line(one))
    echo(f"Revoked: {plural(len(gone), 'consent')}.")


def _real_root() -> str | None:
    """Return the path that consents know the named root by; it need not exist any more."""
    named = named_root()
    return None if named is None else str(named.resolve())


def _line(one: Consent) -> str:
    return visible(f"{one.root}: {one.setting} {one.value} (since {one.allowed_at})")


def _as_json(root: str, **lists: Iterable[TrustRequest | Consent]) -> dict[str, Any]:
    return {"root": root} | {
        name: [one.to_dict() for one in found] for name, found in lists.items()
    }
