"""`--report FILE`: the results of one search, as a page that any browser opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import F, path_option
from .output import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hedgerow.memory import MemoryRoot, Recall
    from hedgerow.memory.roots import MemoryRoots
    from hedgerow.remote import RemoteRoot

_HEAD = 1024
"""In so many bytes at its beginning a report says what made it."""

_HOPS = 2
_MOST_LINKED = 60


def report_option(command: F) -> F:
    """Add `--report`, whose file is checked before anything is searched."""
    return path_option(
        "--report",
        "FILE",
        "Also write the results with their explanations as a page: one HTML file.",
        callback=_checked,
    )(command)


def _checked(_: click.Context, __: click.Parameter, file: str | None) -> str | None:
    """Refuse a path where no report can be written, or where there is something other than a report."""
    if file is None:
        return None
    path = Path(file)
    if path.suffix.lower() not in {".html", ".htm"}:
        raise click.BadParameter(f"give a file that ends in .html, not {visible(file)}")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {visible(str(path.parent))}; make it first")
    if path.is_symlink() or (path.exists() and not _is_report(path)):
        raise click.BadParameter(
            f"{visible(file)} is there and is no report of hedgerow's; give another file, or "
            "remove that one"
        )
    return file


def _is_report(path: Path) -> bool:
    from hedgerow._page import GENERATOR  # noqa: PLC0415 - of reports alone

    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return GENERATOR.encode() in stream.read(_HEAD)


def write_report(
    file: str,
    *,
    kind: str,
    name: str,
    answer: Mapping[str, Any],
    links: Mapping[str, Any] | None = None,
) -> None:
    """Write the report of an answer, whole or not at all."""
    from hedgerow import __version__  # noqa: PLC0415 - of reports alone
    from hedgerow._page import page  # noqa: PLC0415
    from hedgerow.memory import files  # noqa: PLC0415

    data = {"about": {"hedgerow": __version__, "kind": kind, "name": name}, "answer": answer}
    files.replace(Path(file), page(data if links is None else {**data, "links": links}))


def links_of(
    memory: MemoryRoot | MemoryRoots | RemoteRoot, found: Recall, *, sync: bool
) -> dict[str, Any]:
    """Return the links around each memory that was found, with titles, by file."""
    from hedgerow._graph.figures import around  # noqa: PLC0415 - of reports alone
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415

    files = dict.fromkeys(one.file for one in found)
    if not isinstance(memory, MemoryRoot):
        return {
            file: memory.links(file, hops=_HOPS, limit=_MOST_LINKED).to_dict() for file in files
        }
    session = memory._session(sync=sync)  # noqa: SLF001 - of the same package
    edges = session.graph().edges
    parts = {file: around(edges, file, hops=_HOPS, most=_MOST_LINKED) for file in files}
    return {
        file: one.to_dict() | {"titles": session.titles(one.hops)} for file, one in parts.items()
    }
