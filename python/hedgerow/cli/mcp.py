"""`hedgerow mcp`: a memory root for agents that speak the Model Context Protocol."""

from __future__ import annotations

import logging
import os
import signal

import click

from hedgerow import HedgerowError, MissingExtraError
from hedgerow._extras import imports_of

from .failures import INTERRUPTED
from .options import Command, option
from .output import PrintableFormatter
from .place import open_root, open_roots, place_options


@click.command("mcp", cls=Command)
@option("--read-only", is_flag=True, help="Offer no tool that writes.")
@option("--structured", is_flag=True, help="Answer with JSON in structuredContent instead of text.")
@place_options(target=False)
def command(*, read_only: bool, structured: bool) -> None:
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

            from hedgerow.mcp import build_server, serve  # noqa: PLC0415
    except ImportError as error:
        if isinstance(error, HedgerowError):
            raise
        raise MissingExtraError(
            f"hedgerow mcp needs another version of the package mcp ({error}); "
            'run: pip install "hedgerow[mcp]"',
            code="missing_extra",
        ) from error
    # The MCP server sets up logging later, with a handler that prints records without escaping.
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    signal.signal(signal.SIGINT, _stop)
    with memory:
        anyio.run(serve, build_server(memory, read_only=read_only, structured=structured))


def _stop(*_: object) -> None:
    """End the process without cleanup, as SIGTERM does: every write is atomic.

    The thread that waits for standard input cannot be interrupted, and leaving the interpreter
    would wait for it.
    """
    os.write(2, b"Error: interrupted\n")
    os._exit(INTERRUPTED)
