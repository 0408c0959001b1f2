"""`hedgerow serve` and `mcp`: a root or an index over HTTP, and a root for agents over stdio."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedgerow import HedgerowError, Index, MissingExtraError, Retriever
from hedgerow._extras import imports_of
from hedgerow.ranking import Ranking

from .failures import INTERRUPTED
from .options import TEXT, AnyPath, Command, option, repeated_option
from .output import PrintableFormatter, echo, visible
from .params import EmbedderOptions, recorded_embedder
from .place import (
    NO_ROOT,
    check_exists,
    db_option,
    is_root_named,
    open_root,
    open_roots,
    place_options,
    scope_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow._serve.index_routes import IndexService
    from hedgerow._serve.root_routes import RootService
    from hedgerow.typing import Durability


_PORT = 7411


@click.command("serve", cls=Command)
@place_options(scope=False, target=False)
@db_option("The index to serve.")
@option("--host", metavar="ADDRESS", type=TEXT, default="127.0.0.1", show_default=True)
@option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_PORT,
    show_default=True,
    help="0 is any that is free.",
)
@option(
    "--tokens",
    metavar="DIR",
    type=AnyPath(path_type=Path),
    help="The folder with the tokens, made at the first start.  [default: of the user]",
)
@repeated_option(
    "--new-token",
    "KEY=ID",
    "Make a token for the memories of a user, agent or session, as in user=ana, and exit.",
)
@option("--read-only", is_flag=True, help="Refuse everything that would change something.")
@option("--edit", is_flag=True, help="Let the page for people edit memories.")
@option("--tls-cert", metavar="FILE", type=AnyPath(path_type=Path), help="In PEM.")
@option("--tls-key", metavar="FILE", type=AnyPath(path_type=Path), help="In PEM.")
@option("--insecure-http", is_flag=True, help="Serve other machines without TLS.")
@repeated_option(
    "--allow-host", "NAME", "Another host name that requests may use; may be repeated.", "hosts"
)
@repeated_option(
    "--allow-origin",
    "URL",
    "The origin of a web page that may send requests; may be repeated.",
    "origins",
)
@option(
    "--durability",
    type=click.Choice(["normal", "full"]),
    help="full: wait at each write until it is on the disk, so that a power failure loses none.",
)
@option(
    "--timeout",
    type=click.FloatRange(min=0.1, max=3600),
    default=30.0,
    show_default=True,
    help="Seconds for an answer.",
)
def serve(
    *,
    db: str | None,
    tokens: Path | None,
    new_token: Sequence[str],
    read_only: bool,
    **options: Any,
) -> None:
    """Serve a memory root or an index over HTTP, to programs in any language, and to agents over
    MCP.

    \b
      hedgerow serve --root memory
      hedgerow serve --db notes.db --port 8080 --read-only
      curl -H "Authorization: Bearer $(cat ~/.config/hedgerow/tokens/read)" \\
        --json '{"query": "slugs"}' http://127.0.0.1:7411/v1/recall

    Only this machine may connect, unless --host says otherwise, and only with a token: of those
    in the folder --tokens, `write` allows everything and `read` only reading. One made with
    --new-token sees only the memories of a scope, and with --read-only it only reads. Ctrl-C stops
    the server once the requests in progress are answered. An index has /v1/search instead of
    /v1/recall. docs/service.md has the details. Needs: pip install
    "hedgerow[serve]"
    """
    with imports_of("serve", needed_by="hedgerow serve"):
        from hedgerow._serve.app import Access, Limits, build  # noqa: PLC0415 - needs an extra
        from hedgerow._serve.running import Address, run  # noqa: PLC0415
        from hedgerow._serve.single_instance import single_instance  # noqa: PLC0415
        from hedgerow._serve.tokens import Tokens  # noqa: PLC0415
    from hedgerow.memory.identity import user_folder  # noqa: PLC0415 - slow to import

    folder = tokens or user_folder() / "tokens"
    if new_token:
        echo(visible(str(_new_token(folder, new_token, read_only=read_only))))
        return
    names = ("host", "port", "tls_cert", "tls_key", "insecure_http")
    address = Address(*(options[name] for name in names))
    address.check()
    known = Tokens.load(folder)
    _log_to_stderr("%(levelname)s: %(message)s")
    with ExitStack() as stack:
        service, lock = _service(stack, db, options["durability"], read_only=read_only)
        listening = stack.enter_context(address.bound())
        url = address.url(listening)
        stack.enter_context(single_instance(lock, url))
        access = Access(
            known,
            [*address.names, *options["hosts"]],
            options["origins"],
            read_only,
            options["edit"],
        )
        limits = Limits(running=8 * (os.cpu_count() or 1), seconds=options["timeout"])

        def ready() -> None:
            echo(f"Serving the {service.kind} {visible(service.name)} at {url}", err=True)
            echo(f"Tokens: {visible(str(folder))}; Ctrl-C ends it", err=True)

        journal = folder / f"requests-{sha256(os.fsencode(lock)).hexdigest()[:16]}.db"
        run(build(service, access, limits, journal), address, listening, ready)


def _new_token(folder: Path, scope: Sequence[str], *, read_only: bool) -> Path:
    """Make the token for a scope, if there is none; returns its file."""
    from hedgerow._serve.tokens import Grant, make_token  # noqa: PLC0415 - needs an extra
    from hedgerow.memory.scope import Scope  # noqa: PLC0415 - slow to import

    found = Scope.of(scope_of(scope, "--new-token"))
    return make_token(folder, Grant("read" if read_only else "write", found))


def _service(
    stack: ExitStack, db: str | None, durability: Durability | None, *, read_only: bool
) -> tuple[RootService | IndexService, Path]:
    """The served index or root, and the lock file of the server."""
    if db is None:
        from hedgerow._serve.root_routes import RootService  # noqa: PLC0415 - needs an extra

        memory = open_root(NO_ROOT, watch=True, durability=durability)
        memory.recall(
            "hedgerow", limit=1
        )  # So that it is set up, and in memory, before it is asked.
        return RootService(memory), memory.path / ".hedgerow" / "serve.lock"
    if is_root_named():
        raise click.UsageError("--db and --root exclude each other: an index file, or a root.")
    from hedgerow._serve.index_routes import IndexService  # noqa: PLC0415 - needs an extra

    check_exists(db)
    index = stack.enter_context(
        Index.open(db, read_only=read_only, durability=durability or "normal")
    )
    found = recorded_embedder(index, EmbedderOptions())
    if found.notice is not None:
        echo(visible(found.notice), err=True)
    retriever = stack.enter_context(
        Retriever(
            index, embedder=found.embedder, ranking=Ranking("best")
        )  # As the command line searches.
    )
    return IndexService(retriever), Path(f"{index.path}-serve")


def _log_to_stderr(form: str | None = None) -> None:
    """Have warnings on stderr, as printable text."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter(form))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


@click.command("mcp", cls=Command)
@option("--read-only", is_flag=True, help="Offer no tool that writes.")
@option("--structured", is_flag=True, help="Answer with JSON in structuredContent instead of text.")
@place_options(target=False)
def mcp(*, read_only: bool, structured: bool) -> None:
    """Serve a memory root to an agent over standard input and output.

    \b
      hedgerow mcp
      hedgerow mcp --root memory --read-only
      hedgerow mcp --root memory --root ~/.hedgerow/memory

    The tools recall, read and list memories, remember new ones, mark old ones as superseded or
    retracted, and edit them; docs/mcp.md lists them. An agent starts this command itself; that
    page shows how to configure it. Needs the extra "mcp": pip install "hedgerow[mcp]"
    """
    memory = open_roots(watch=True) or open_root(watch=True)
    try:
        with imports_of("mcp", needed_by="hedgerow mcp"):
            import anyio  # noqa: PLC0415 - slow to import

            from hedgerow.mcp import build_server  # noqa: PLC0415
            from hedgerow.mcp import serve as answer  # noqa: PLC0415
    except ImportError as error:
        if isinstance(error, HedgerowError):
            raise
        raise MissingExtraError(
            f"hedgerow mcp needs another version of the package mcp ({error}); "
            'run: pip install "hedgerow[mcp]"',
            code="missing_extra",
        ) from error
    # The MCP server sets up logging later, with a handler that prints records without escaping.
    _log_to_stderr()
    signal.signal(signal.SIGINT, _stop)
    with memory:
        anyio.run(answer, build_server(memory, read_only=read_only, structured=structured))


def _stop(*_: object) -> None:
    """End the process without cleanup, as SIGTERM does: every write is atomic.

    The thread that waits for standard input cannot be interrupted, and leaving the interpreter
    would wait for it.
    """
    os.write(2, b"Error: interrupted\n")
    os._exit(INTERRUPTED)
