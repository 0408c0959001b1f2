"""`hedgerow trust`: what the files of a memory root may do beyond the root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .failures import UnfinishedError
from .output import echo, has_terminal, plural, visible, write_json
from .params import Command
from .roots import json_option, named_root, open_root, place_options, refuse_remote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hedgerow import MemoryRoot
    from hedgerow.memory.consents import Consent
    from hedgerow.memory.trust_requests import TrustRequest


@click.command("trust", cls=Command, short_help="Allow what a memory root asks for.")
@place_options
@click.option("--yes", is_flag=True, help="Allow all of it without asking.")
@click.option("--list", "listed", is_flag=True, help="List what was allowed, of every root.")
@click.option("--revoke", is_flag=True, help="Forget what the root was allowed.")
@json_option
def command(  # noqa: PLR0913 - one argument for each option
    *,
    root: tuple[str, ...],
    target_url: str | None,
    remote_url: str | None,
    yes: bool,
    listed: bool,
    revoke: bool,
    as_json: bool,
) -> None:
    """Show what a memory root asks for beyond itself, and allow it.

    \b
      hedgerow trust
      hedgerow trust --root memory --yes
      hedgerow trust --list
      hedgerow trust --root memory --revoke

    A root may ask for an embedder, which can send your texts to a server or run a model's code,
    for a folder outside the root to be indexed, and for models for its agents. Until you allow
    them, the root works without them. What you allow is stored in your own configuration with its
    present value: if the value changes, you are asked again.
    """
    if yes + listed + revoke > 1:
        raise click.UsageError("--yes, --list and --revoke exclude each other.")
    refuse_remote(target_url, remote_url)
    if listed:
        _list(root, as_json=as_json)
    elif revoke:
        _revoke(root, as_json=as_json)
    else:
        _ask(open_root(root, None, None), yes=yes, as_json=as_json)


def _ask(memory: MemoryRoot, *, yes: bool, as_json: bool) -> None:
    """Show what is not allowed yet, and allow what the user agrees to."""
    from hedgerow.memory.consents import allow  # noqa: PLC0415 - slow to import

    root, pending = str(memory.path), memory.status().not_allowed
    if not as_json:
        _show(root, pending)
    can_ask = not as_json and has_terminal()
    allowed = [one for one in pending if yes or (can_ask and agrees(one))]
    if allowed:
        allow(allowed)
    if as_json:
        left = [one for one in pending if one not in allowed]
        write_json(_as_json(root, allowed=allowed, notAllowed=left))
    elif pending and (yes or can_ask):
        echo(f"Allowed: {len(allowed)} of {len(pending)}.")
    if pending and not (yes or can_ask):
        raise UnfinishedError(
            "Nothing was allowed: this is what the root asks for. To allow it, add --yes."
        )


def _show(root: str, pending: Sequence[TrustRequest]) -> None:
    echo(f"Memory root: {visible(root)}")
    if not pending:
        echo("It asks for nothing that is not allowed already.")
    for one in pending:
        echo(f"- {visible(one.question)}")


def agrees(request: TrustRequest) -> bool:
    """Ask the user on the terminal whether to allow what a root asks for."""
    return click.confirm(f"Allow {request.setting}, to {visible(request.effect)}?")


def _list(root: Sequence[str], *, as_json: bool) -> None:
    from hedgerow.memory.consents import consents_file, read_consents  # noqa: PLC0415 - slow

    path = _real(root)
    found = [one for one in read_consents() if path in (None, one.root)]
    if as_json:
        value = {"file": str(consents_file()), "allowed": [one.to_dict() for one in found]}
        write_json(value)
        return
    for one in found:
        echo(_line(one))
    echo(f"{plural(len(found), 'consent')} in {visible(str(consents_file()))}.")


def _revoke(root: Sequence[str], *, as_json: bool) -> None:
    from hedgerow.memory.consents import revoke  # noqa: PLC0415 - slow to import

    path = _real(root) or str(open_root(root, None, None).path)
    gone = revoke(path)
    if as_json:
        write_json(_as_json(path, revoked=gone))
        return
    for one in gone:
        echo(_line(one))
    echo(f"Revoked: {plural(len(gone), 'consent')}.")


def _real(given: Sequence[str]) -> str | None:
    """Return the path that consents know the named root by; it need not exist any more."""
    named = named_root(given)
    return None if named is None else str(named.resolve())


def _line(one: Consent) -> str:
    return visible(f"{one.root}: {one.setting} {one.value} (since {one.allowed_at})")


def _as_json(root: str, **lists: Iterable[TrustRequest | Consent]) -> dict[str, Any]:
    return {"root": root} | {
        name: [one.to_dict() for one in found] for name, found in lists.items()
    }
