"""Which store or index a command means, and what it takes for the present time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hedgerow import IndexFileError, Store, parse_question_date

from .output import progress_bar
from .params import TEXT, db_option
from .roots import NO_ROOT, open_root, root_option, scope, scope_option
from .targets import is_target, open_server, target_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow import MemoryRoot, QueryResult
    from hedgerow.remote import RemoteRoot

    F = TypeVar("F", bound=Callable[..., Any])

_SECONDS = re.compile(r"-?\d{1,12}\Z")


@dataclass(frozen=True, slots=True)
class OpenStore:
    """The store that is meant: that of a file, or that of a memory root.

    `source` names it in JSON, and `name` in text; without `sync` files are not looked at.
    """

    store: Store
    root: MemoryRoot | None
    source: dict[str, str]
    sync: bool = True

    @property
    def name(self) -> str:
        """The file or the folder."""
        return next(iter(self.source.values()))

    def query(
        self,
        pipeline: Any,
        *,
        now: int,
        terms: Sequence[str] | None = None,
        explain: bool = False,
    ) -> QueryResult:
        """Run a pipeline; in a root `search` finds what a recall would."""
        if self.root is None:
            return self.store.query(pipeline, now=now, terms=terms, explain=explain)
        return self.root.query(pipeline, now=now, terms=terms, explain=explain, sync=self.sync)

    def key(self, name: str) -> str:
        """Return the key of a name: in a root also the name or title of a file."""
        return name if self.root is None else self.root.resolve(name)


def store_options(command: F) -> F:
    """Add `--db` and `--root`, which a command hands on to `open_store`."""
    return db_option("The file of a store.")(root_option(scope_option(target_option(command))))


def server_of(
    db: str | None,
    root: Sequence[str] = (),
    target_url: str | None = None,
    remote_url: str | None = None,
    *,
    writes: bool = False,
) -> RemoteRoot | None:
    """Connect to the server that is meant in place of a store; None where a file or folder is."""
    if db is None:
        return open_server(root, target_url, remote_url, NO_ROOT, writes=writes)
    if is_target():
        raise click.UsageError("--db and --target exclude each other: a file, or a server.")
    return None


def time_option(name: str, what: str) -> Callable[[F], F]:
    """Add an option that takes a time as Unix seconds, by default the present."""
    return click.option(
        name,
        metavar="TIME",
        type=TEXT,
        callback=_seconds,
        help=f"{what}: 2026-04-18, 2026-04-18T09:30Z, or Unix seconds.  [default: now]",
    )


@contextmanager
def open_store(  # noqa: PLR0913 - what a command may be told of it
    db: str | None,
    root: Sequence[str] = (),
    target_url: str | None = None,
    remote_url: str | None = None,
    *,
    sync: bool = True,
    reads: bool = False,
) -> Iterator[OpenStore]:
    """Open the store that is meant, which must be there; without a name, the nearest root's.

    One that a command only `reads` may be where nothing can be written.
    """
    if db is None:
        with open_root(root, target_url, remote_url, NO_ROOT) as memory:
            with progress_bar("Reading") as progress:
                store = memory._session(sync=sync).store(progress)  # noqa: SLF001 - of the package
            yield OpenStore(store, memory, {"root": str(memory.path)}, sync)
        return
    if scope() is not None:
        raise click.UsageError("--scope goes with a memory root, not with --db.")
    if root:
        raise click.UsageError(
            "--db and --root exclude each other: the file of a store, or a root."
        )
    if not _is_there(db):
        raise IndexFileError(
            f"there is no store at {db}; make one in Python with hedgerow.Store.open, or name a "
            "memory root with --root DIR",
            code="index_not_found",
        )
    with _opened(db, reads=reads) as store:
        yield OpenStore(store, None, {"db": db})


def _opened(db: str, *, reads: bool) -> Store:
    try:
        return Store.open(db)
    except IndexFileError as error:
        if not (reads and error.code == "index_read_only"):
            raise
        return Store.open(db, read_only=True)


def _seconds(context: click.Context, param: click.Parameter, given: str | None) -> int:
    if given is None:
        return int(time.time())
    text = given.strip()
    if _SECONDS.match(text):
        return int(text)
    found = parse_question_date(text)
    if found is None:
        raise click.BadParameter(
            f"{given!r} is no time; write a date as in 2026-04-18, a date and time as in "
            "2026-04-18T09:30Z, or Unix seconds",
            context,
            param,
        )
    return int(found.timestamp())


def check_there_is(db: str) -> None:
    """Raise IndexFileError, with the command that makes an index, where there is no file."""
    if not _is_there(db):
        raise IndexFileError(
            f"there is no index at {db}; make it with: hedgerow index PATH --db {db}",
            code="index_not_found",
        )


def _is_there(path: str) -> bool:
    """Whether a file is there; OSError and UnicodeEncodeError where the system does not say."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
