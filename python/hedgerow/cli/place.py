"""Where a command works: a memory root, a server, or the file of a store or an index.

The options of the place are kept in the context of click, so that no command passes them on.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import click

from hedgerow import HedgerowError, IndexFileError, InvalidInputError
from hedgerow._adapters.connection import LOOPBACK

from .fixes import PLACE, message_with_fixes
from .options import PATH, TEXT, F, option, path_option, text_option, with_options
from .output import echo, has_terminal, progress_bar, visible

if TYPE_CHECKING:
    from hedgerow import MemoryRoot, QueryResult, Store
    from hedgerow.memory.operations import RootOperations
    from hedgerow.memory.roots import MemoryRoots
    from hedgerow.opensearch import Collection
    from hedgerow.remote import RemoteRoot
    from hedgerow.typing import Durability


WHICH_ROOT = "Which root"
"""The section of the options of a memory root."""

NO_ROOT = (
    "Missing option '--db' or '--root': there is no memory root here or in a folder above. Name "
    "one with --root DIR or HEDGEROW_MEMORY_ROOT, make one with: hedgerow init --root DIR, or "
    "name an index file with --db FILE or HEDGEROW_DB."
)
NO_ROOT_FOR_MEMORY = (
    "Missing option '--root': there is no memory root here or in a folder above. Name one with "
    "--root DIR or HEDGEROW_MEMORY_ROOT, make one with: hedgerow init --root DIR, or one for all "
    "folders with: hedgerow init ~/.hedgerow/memory"
)

_REPORTED = "hedgerow.reported"
_TOKEN_VARIABLE = "HEDGEROW_TOKEN"  # noqa: S105 - the name of the variable
_PASSWORD = "HEDGEROW_OPENSEARCH_PASSWORD"  # noqa: S105 - the name of the variable
_SECONDS = re.compile(r"-?\d{1,12}\Z")
_DATE_IN_DIGITS = re.compile(r"(?:19|20)\d\d(?:\d{4})?")
"""A year, or a date without separators: as Unix seconds both would be in 1970."""


# The options of the place.


def place_options(
    *,
    scope: bool = True,
    target: bool = True,
    trust: bool = True,
    remote: bool = True,
    hidden: bool = False,
) -> Callable[[F], F]:
    """Add `--root` and its companions, which `open_memory`, `open_root` and `open_store` read.

    With `remote`, the flags of another tool for a server are refused with an error of their own.
    """

    def add(command: F, name: str, callback: Any, **attributes: Any) -> F:
        attributes = {"expose_value": False, "callback": callback, "hidden": hidden} | attributes
        return option(name, section=WHICH_ROOT, **attributes)(command)

    def decorate(command: F) -> F:
        for name in ("--remote-url", "--target-url") if remote else ():
            command = add(command, name, _refuse_remote, type=TEXT, hidden=True)
        if trust:
            text = "Allow the requests of the root this time; see `hedgerow trust`."
            command = add(command, "--trust", _keep, is_flag=True, help=text)
        if target:
            text = "A server instead of a folder; see `hedgerow serve`."
            command = add(command, "--target", _keep_target, type=TEXT, metavar="URL", help=text)
        if scope:
            text = "With --scope, also see memories without a scope."
            command = add(command, "--shared", _keep, is_flag=True, help=text)
            text = "Only the memories of a user, agent or session, as in user=ana; may be repeated."
            listed: dict[str, Any] = {"type": TEXT, "multiple": True, "metavar": "KEY=ID"}
            command = add(command, "--scope", _keep_scope, help=text, **listed)
        text = "The memory root.  [default: HEDGEROW_MEMORY_ROOT, else the nearest upward]"
        listed = {"type": PATH, "multiple": True, "metavar": "DIR"}
        return add(command, "--root", _keep, help=text, **listed)

    return decorate


def db_option(help_text: str, *, required: bool = False) -> Callable[[F], F]:
    """Add `--db`, whose default is in HEDGEROW_DB; an explicit `--root` wins over that."""
    return path_option(
        "--db",
        "FILE",
        help_text,
        required=required,
        envvar="HEDGEROW_DB",
        show_envvar=True,
        callback=_unless_a_root_is_named,
    )


def store_options(command: F) -> F:
    """Add `--db` and the options of a root; a command passes `db` to `open_store`."""
    return db_option("The file of a store.")(place_options()(command))


def time_option(name: str, what: str) -> Callable[[F], F]:
    """Add an option that takes a time as Unix seconds, by default the present."""
    return option(
        name,
        metavar="TIME",
        type=TEXT,
        callback=_seconds,
        help=f"{what}: 2026-04-18, 2026-04-18T09:30Z, or Unix seconds.  [default: now]",
    )


def _place() -> dict[str, Any]:
    found: dict[str, Any] = click.get_current_context().meta.setdefault(PLACE, {})
    return found


def _keep(context: click.Context, param: click.Parameter, given: Any) -> None:
    context.meta.setdefault(PLACE, {})[param.name] = given


def _keep_target(context: click.Context, param: click.Parameter, given: str | None) -> None:
    if given is not None and not given.strip():
        raise click.UsageError("--target must not be empty; give the URL of a server.")
    _keep(context, param, given)


def _keep_scope(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    found = scope_of(given, "--scope")
    if len(found) < len(given):
        raise click.UsageError("--scope names a user, an agent or a session once.")
    _keep(context, param, found or None)


def scope_of(given: Sequence[str], name: str) -> dict[str, str]:
    """Return the scope that an option of this name gave as KEY=ID."""
    pairs = [one.partition("=") for one in given]
    if not all(sign for _, sign, _ in pairs):
        raise click.UsageError(f"{name} is KEY=ID, as in {name} user=ana.")
    return {key.strip(): value for key, _, value in pairs}


def _refuse_remote(_: click.Context, param: click.Parameter, url: str | None) -> None:
    """Raise the error of an option of the contract that has no meaning here."""
    if url is not None:
        raise HedgerowError(
            f"{param.opts[0]} {url}: this flag is recognized but not implemented yet; name a server "
            "with --target URL, or a folder on this machine with --root DIR",
            code="not_implemented",
        )


def _unless_a_root_is_named(
    context: click.Context, param: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not value.strip():
        raise click.UsageError("--db must not be empty; give a file.")
    # Given options are processed before defaults, so --root is known by now.
    source = context.get_parameter_source(param.name or "")
    is_default = source is not None and source.name == "ENVIRONMENT"
    # `hedgerow run memory:search` is of a root by its name.
    is_of_a_root = is_root_named() or (context.info_name or "").startswith("memory:")
    return None if is_default and is_of_a_root else value


def is_root_named() -> bool:
    """Whether `--root` was given."""
    return bool(_place().get("root"))


def is_target() -> bool:
    """Whether `--target` was given."""
    return _place().get("target") is not None


def scope() -> dict[str, str] | None:
    """Return the scope that `--scope` gave; None without it."""
    found: dict[str, str] | None = _place().get("scope")
    return found


def is_trusted() -> bool | None:
    """Return True with `--trust`, else None: the user's consents decide."""
    return _place().get("trust") or None


# Memory roots.


def named_root() -> Path | None:
    """Return the first `--root`; a blank one is an error."""
    return next(iter(named_roots()), None)


def named_roots() -> list[Path]:
    """Return the folders of `--root`, in their order; a blank one is an error."""
    given: Sequence[str] = _place().get("root", ())
    if not all(one.strip() for one in given):
        raise click.UsageError("--root must not be empty; give a folder.")
    return [Path(one.strip()) for one in given]


def locate_root() -> tuple[Path | None, list[str]]:
    """Return the root, if any, and a sentence for each skipped root.

    Without one that is named or nearest, it is that of the user, if there is one.
    """
    from hedgerow.memory.config import nearest_root, root_from_environment  # noqa: PLC0415

    named = named_root() or root_from_environment()
    if named is not None:
        return named, []
    found = nearest_root(Path.cwd())
    return found.root or _own_root(), [
        visible(f"Note: {one}; to use it: --root {shlex.quote(str(one.path))}")
        for one in found.passed
    ]


def _own_root() -> Path | None:
    """Return the root of the user if it is set up, and nobody else can write to it."""
    from hedgerow.memory.config import nearest_root, own_root  # noqa: PLC0415

    own = own_root()
    if own is None or not own.is_dir():
        return None
    own = own.resolve()
    return own if nearest_root(own).root == own else None


def _has_error_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def offer_own_root() -> None:
    """Offer to make the root of the user if there is none, in a terminal."""
    from hedgerow.memory.config import own_root  # noqa: PLC0415

    own = own_root()
    is_answerable = has_terminal() and _has_error_terminal()
    if is_target() or not is_answerable or own is None or locate_root()[0] is not None:
        return
    question = f"There is no memory root here. Make your own, {visible(str(own))}?"
    if click.confirm(question, default=True, err=True):
        from hedgerow.memory.config import initialize  # noqa: PLC0415 - slow to import

        initialize(own)


def find_root(missing: str = NO_ROOT_FOR_MEMORY) -> Path:
    """Return the root: the named one, that of the environment, or the nearest upward.

    A root that is skipped is named on stderr, or in the error when there is no other.
    """
    found, skipped = locate_root()
    if found is None:
        raise click.UsageError(" ".join([missing, *skipped]))
    for sentence in skipped:
        _report_once(sentence)
    return found


def _report_once(sentence: str) -> None:
    """Print a sentence on stderr, unless this command printed it before."""
    if not was_reported(sentence):
        click.get_current_context().meta.setdefault(_REPORTED, set()).add(sentence)
        echo(visible(sentence), err=True)


def was_reported(sentence: str) -> bool:
    """Return whether this command printed a sentence about its root."""
    return sentence in click.get_current_context().meta.get(_REPORTED, ())


def open_root(
    missing: str = NO_ROOT_FOR_MEMORY,
    *,
    watch: bool = False,
    durability: Durability | None = None,
) -> MemoryRoot:
    """Open the root; it is closed when the command is done.

    Commands that live long `watch` its files. `durability` replaces the configured one.
    """
    path = find_root(missing)
    from hedgerow.memory import MemoryRoot  # noqa: PLC0415 - slow to import

    with usage_errors():
        memory = MemoryRoot.open(path, watch=watch, durability=durability, **_ways())
    click.get_current_context().call_on_close(memory.close)
    return memory


def _ways() -> dict[str, Any]:
    """Return the options of a root that options of the command line are for."""
    return {
        "trust": is_trusted(),
        "notify": _report_once,
        "scope": scope(),
        "shared": bool(_place().get("shared")),
    }


def open_memory(
    missing: str = NO_ROOT_FOR_MEMORY, *, writes: bool = False, several: bool = True
) -> MemoryRoot | MemoryRoots | RemoteRoot:
    """Open the root or the roots, or connect to the server; closed when the command is done.

    Unless `several`, the first of several roots is opened alone.
    """
    roots = open_roots() if several else None
    return roots or open_server(missing, writes=writes) or open_root(missing)


def open_roots(*, watch: bool = False) -> MemoryRoots | None:
    """Open the roots if `--root` was given several times, else None; closed when the command is done.

    Commands that live long `watch` their files.
    """
    given = named_roots()
    if len(given) < 2:  # noqa: PLR2004
        return None
    if is_target():
        raise click.UsageError("--root and --target exclude each other: a folder, or a server.")
    from hedgerow.memory.roots import MemoryRoots  # noqa: PLC0415 - slow to import

    with usage_errors():
        memory = MemoryRoots.open(given, watch=watch, **_ways())
    click.get_current_context().call_on_close(memory.close)
    return memory


@contextmanager
def usage_errors() -> Iterator[None]:
    """Report an argument that an operation rejects as wrong usage."""
    try:
        yield
    except InvalidInputError as error:
        if error.code != "invalid_option":
            raise
        message = message_with_fixes(error, click.get_current_context())
        raise click.UsageError(f"{message}.") from error


def read_stdin() -> str:
    """Read all of standard input as UTF-8; empty if it is closed."""
    if sys.stdin is None:
        return ""
    if has_terminal():
        echo("Type the text, then press Ctrl-D on an empty line.", err=True)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"standard input is not UTF-8 (byte {error.start}); convert it",
            code="invalid_note",
        ) from error


# Servers of roots.


def open_server(missing: str = NO_ROOT_FOR_MEMORY, *, writes: bool = False) -> RemoteRoot | None:
    """Connect to the server that `--target` or the root names; None for a folder."""
    target = _place().get("target")
    if target is None:
        url = _server_of_root(find_root(missing))
    elif is_root_named():
        raise click.UsageError("--root and --target exclude each other: a folder, or a server.")
    else:
        url = target.strip()
    if url is None:
        return None
    refuse_without_files("--scope", given=scope() is not None)
    from hedgerow.remote.connecting import connect_to_server  # noqa: PLC0415 - of servers alone

    connected = cast("RemoteRoot", connect_to_server(url, "root", token=_token(url, writes=writes)))
    click.get_current_context().call_on_close(connected.close)
    return connected


def refuse_without_files(name: str, *, given: bool) -> None:
    """Refuse an option that only a folder on this machine has."""
    if given:
        raise click.UsageError(f"{name} goes with a folder on this machine, not with a server.")


def _server_of_root(path: Path) -> str | None:
    """Return the server that a root names, if its user allowed it."""
    from hedgerow.memory.config import read_config  # noqa: PLC0415
    from hedgerow.memory.trust import Choices  # noqa: PLC0415 - slow to import

    return read_config(path, Choices(is_trusted())).remote


def _token(url: str, *, writes: bool) -> str | None:
    """Return the token from the environment variable, or that of the user's own servers here."""
    given = os.environ.get(_TOKEN_VARIABLE, "").strip()
    if given:
        return given
    try:
        parts = urlsplit(url)
    except ValueError:
        return None  # The client rejects the address.
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return None
    if parts.hostname in LOOPBACK:
        from hedgerow.memory.identity import user_folder  # noqa: PLC0415 - slow to import

        file = user_folder() / "tokens" / ("write" if writes else "read")
        if file.is_file():
            return file.read_text(encoding="utf-8").strip()
    raise HedgerowError(
        f"{url} asks for a token; set the environment variable {_TOKEN_VARIABLE} to one of that "
        "server's",
        code="missing_api_key",
    )


# Stores and index files.


@dataclass(frozen=True, slots=True)
class OpenStore:
    """An open store: that of a file, or that of a memory root.

    `source` names it in JSON, and `name` in text; without `sync` the index is read as it is.
    """

    store: Store
    root: MemoryRoot | None
    source: dict[str, str]
    sync: bool = True

    @property
    def name(self) -> str:
        """The file or the folder."""
        return next(iter(self.source.values()))

    def types(self) -> Sequence[str]:
        """Return the types that a pipeline may name."""
        if self.root is None:
            return self.store.types
        return self.root._node_types(sync=self.sync)  # noqa: SLF001 - of the same package

    def query(
        self,
        pipeline: Any,
        *,
        now: int,
        explain: bool = False,
    ) -> QueryResult:
        """Run a pipeline; in a root `search` has the results of a recall."""
        if self.root is None:
            return self.store.query(pipeline, now=now, explain=explain)
        return self.root.query(pipeline, now=now, explain=explain, sync=self.sync)

    def key(self, name: str) -> str:
        """Return the key of a name: in a root also the name or title of a file."""
        return name if self.root is None else self.root.resolve(name, sync=self.sync)


def server_of(db: str | None, *, writes: bool = False) -> RemoteRoot | None:
    """Connect to a server instead of a store; None for a file or a folder."""
    if db is None:
        return open_server(NO_ROOT, writes=writes)
    if is_target():
        raise click.UsageError("--db and --target exclude each other: a file, or a server.")
    return None


def memory_of(db: str | None, *, writes: bool = False) -> RootOperations | None:
    """Connect to a server, or open the root; None for the file of a store."""
    return server_of(db, writes=writes) or (open_root(NO_ROOT) if db is None else None)


@contextmanager
def open_store(db: str | None, *, sync: bool = True, reads: bool = False) -> Iterator[OpenStore]:
    """Open the store of a file, which must exist, or of a root.

    With `reads`, a file that cannot be written is opened to read it.
    """
    if db is None:
        with open_root(NO_ROOT) as memory:
            with progress_bar("Reading") as progress:
                store = memory._session(sync=sync).store(progress)  # noqa: SLF001 - of the package
            yield OpenStore(store, memory, {"root": str(memory.path)}, sync)
        return
    if scope() is not None:
        raise click.UsageError("--scope goes with a memory root, not with --db.")
    if is_root_named():
        raise click.UsageError(
            "--db and --root exclude each other: the file of a store, or a root."
        )
    if not _exists(db):
        raise IndexFileError(
            f"there is no store at {db}; make one in Python with hedgerow.Store.open, or name a "
            "memory root with --root DIR",
            code="index_not_found",
        )
    with _opened(db, reads=reads) as store:
        yield OpenStore(store, None, {"db": db})


def _opened(db: str, *, reads: bool) -> Store:
    from hedgerow import Store  # noqa: PLC0415 - of stores alone

    try:
        return Store.open(db)
    except IndexFileError as error:
        if not (reads and error.code == "index_read_only"):
            raise
        return Store.open(db, read_only=True)


def check_exists(db: str) -> None:
    """Raise IndexFileError, with the command that makes an index, if there is no file or an empty one."""
    if not _exists(db):
        problem = f"there is no index at {db}"
    elif Path(db).is_file() and not Path(db).stat().st_size:
        problem = f"the index {db} is an empty file"
    else:
        return
    raise IndexFileError(
        f"{problem}; make it with: hedgerow index PATH --db {db}", code="index_not_found"
    )


def _exists(path: str) -> bool:
    """Whether a file exists. Raises OSError and UnicodeEncodeError if the system cannot say."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _seconds(context: click.Context, param: click.Parameter, given: str | None) -> int:
    if given is None:
        return int(time.time())
    text = given.strip()
    if _SECONDS.match(text) and not _DATE_IN_DIGITS.fullmatch(text):
        return int(text)
    from hedgerow import parse_question_date  # noqa: PLC0415 - of times alone

    found = parse_question_date(text)
    if found is None:
        raise click.BadParameter(
            f"{given!r} is no time; write a date as in 2026-04-18, a date and time as in "
            "2026-04-18T09:30Z, or Unix seconds",
            context,
            param,
        )
    return int(found.timestamp())


# Collections on servers.


class CollectionUrl(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A URL and, after its last slash, the name of a collection."""

    name = "text"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split it; wrong usage where it is not one."""
        url, _, name = str(value).rpartition("/")
        if not name or url.endswith(("/", ":")) or "://" not in url:
            self.fail(
                f"{value!r} is not a URL with a name after it, as in https://search.example:9200/notes",
                param,
                ctx,
            )
        return url, name


def server_options(command: F) -> F:
    """Add `--user`, `--ca` and `--insecure-http`."""
    section, http = "OpenSearch server", "Send the password over plain HTTP to another machine."
    return with_options(
        command,
        text_option("--user", "NAME", f"Its password is read from {_PASSWORD}.", section=section),
        path_option("--ca", "FILE", "Certificates of authorities to trust.", section=section),
        option("--insecure-http", is_flag=True, help=http, section=section),
    )


def opened_collection(place: tuple[str, str], server: dict[str, Any]) -> Collection:
    """The collection of a URL and a name, by the options of `server_options`."""
    from hedgerow.opensearch import Collection  # noqa: PLC0415 - slow to import

    return Collection.open(*place, **connection(server))


def connection(server: dict[str, Any]) -> dict[str, Any]:
    """How to connect, by the options of `server_options`."""
    auth = None
    if server["user"] is not None:
        password = os.environ.get(_PASSWORD, "")
        if not password:
            raise click.UsageError(
                f"--user needs a password in the environment variable {_PASSWORD}."
            )
        auth = (server["user"], password)
    return {"auth": auth, "ca": server["ca"], "insecure_http": server["insecure_http"]}
