"""`hedgerow.json`, and the root it is in (spec/memory.md, "Setup", "Which root")."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from hedgerow._checks import checked_durability, checked_flag, checked_path, from_home
from hedgerow._engine import __version__, _day_format_problem, _nearest, _shorten
from hedgerow._operations.fields import Field
from hedgerow._operations.shapes import Result
from hedgerow._regular_files import read_regular
from hedgerow.embedders.by_name import check_name
from hedgerow.errors import Fix, HedgerowError, InvalidInputError

from . import files, note, trust
from .names import (
    AGENTS,
    CONFIG,
    DERIVED,
    DIRECTORIES,
    LEGACY_CONFIG,
    SCHEMA_VERSION,
    VAULTS,
    Vault,
    detect_vault,
    folder_for_notes,
    repository_of,
    vault_notices,
)
from .text_format import decode_text
from .trust import Choices, TrustRequest

if TYPE_CHECKING:
    from hedgerow.typing import Durability

    from .results import RootStatus


ENVIRONMENT = "HEDGEROW_MEMORY_ROOT"

LIMIT = 1024 * 1024
"""The most bytes of a configuration."""

_LONGEST_SHOWN = 60
_ADDRESS = re.compile(r"https?://[!-~]{1,500}\Z")


@dataclass(frozen=True)
class Config:
    """The configuration of a root; the defaults where there is no file.

    `problem` is why this hedgerow must not use the root, or None, and `code` its error code.
    `source_root` is the folder that is indexed, usually the root itself; `exclude` and `include`
    are the patterns of what in it is passed by, and of what is read nevertheless; `embedder`
    names the embedder as ADAPTER:MODEL, `remote` the server that commands go to. `defaults` has, for
    types of memories, the ages after which a new one expires or is due for a review; `vault` is the
    tool that keeps the folder, obsidian or logseq, or None; `daily_notes` is the format of the names of
    daily notes; `durability` is that of index and store, as in `Index.open`; `members` are the roots that are recalled
    together in this one. All of these are as
    allowed: `requests` has what the file asks for that needs the consent of the user, and
    `not_allowed` the part of it without consent. `notices` name the keys that hedgerow does not know,
    and what a vault excludes and hedgerow reads.
    """

    root: Path
    file: str | None
    schema_version: Any
    source_root: Path
    embedder: str | None
    problem: str | None = None
    code: str = ""
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    remote: str | None = None
    defaults: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    vault: Vault | None = None
    durability: Durability = "normal"
    daily_notes: str | None = None
    members: tuple[Config, ...] = ()
    requests: tuple[TrustRequest, ...] = ()
    not_allowed: tuple[TrustRequest, ...] = ()
    notices: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise HedgerowError when the root is not one that this hedgerow understands."""
        if self.problem:
            raise HedgerowError(self.problem, code=self.code)


def existing_root(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a root; InvalidInputError if the folder does not exist."""
    given = _checked_folder(path)
    problem = "no such folder"
    try:
        real = given.resolve(strict=True)
        if real.is_dir():
            return real
        problem = "not a folder"
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or problem
    raise InvalidInputError(
        f"{given}: {problem}; check the path (was the folder moved or renamed?)",
        code="root_not_found",
        path=given,
        fixes=(Fix("make a memory root", "init", {"path": str(given)}),),
    )


def _checked_folder(path: str | os.PathLike[str]) -> Path:
    """Return the path of a folder; InvalidInputError for the URL of a server or another type."""
    given = checked_path(path, "path", code="root_not_found")
    if str(path).startswith(("http://", "https://")):
        raise InvalidInputError(
            f"{path} is the URL of a server, not a folder",
            code="root_not_found",
            fixes=(Fix("use the server", "connect", {"target": str(path)}),),
        )
    return given


def read_config(root: Path, choices: Choices = Choices()) -> Config:  # noqa: B008 - it is frozen
    """Read the configuration of a root: what of it the caller and the user allow.

    A schema that is invalid or too new is reported in `problem`. Raises HedgerowError when the
    file cannot be read.
    """
    with files.system_errors("read", root):
        file = next((name for name in (CONFIG, LEGACY_CONFIG) if (root / name).exists()), None)
    if file is None:
        durability = choices.durability or "normal"
        return Config(root, None, None, root, choices.embedder_name, durability=durability)
    settings = _Settings(root / file)
    version = settings.get("schemaVersion")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        problem = (
            f"{settings.position('schemaVersion')} has an invalid schemaVersion {_shown(version)}; "
            f"it is a whole number from 1, and this hedgerow writes {SCHEMA_VERSION}"
        )
        return Config(root, file, version, root, None, problem, code="root_config_invalid")
    if version > SCHEMA_VERSION:
        problem = (
            f"{root} has schema v{version}, and this hedgerow ({__version__}) only supports up "
            f"to v{SCHEMA_VERSION}; update hedgerow. Nothing was changed"
        )
        return Config(root, file, version, root, None, problem, code="root_too_new")
    values = {field: read(settings, key) for key, (field, read) in _FIELDS.items()}
    notices = (*settings.unknown_keys(_KEYS), *vault_notices(root, values["vault"]))
    config = Config(root, file, version, **values, notices=notices)
    return _as_allowed(config, choices)


def _as_allowed(config: Config, choices: Choices) -> Config:
    """Leave out what reaches beyond the root and was not allowed; a caller's embedder is used."""
    asked = tuple(_requests(config, with_embedder=choices.embedder is None))
    refused = choices.refused(asked)
    settings = {request.setting for request in refused}
    embedder = choices.embedder_name or config.embedder
    return replace(
        config,
        source_root=config.root if "indexRoot" in settings else config.source_root,
        embedder=None if "embedder" in settings else embedder,
        remote=None if "remote" in settings else config.remote,
        durability=choices.durability or config.durability,
        requests=asked,
        not_allowed=refused,
    )


def _requests(config: Config, *, with_embedder: bool) -> Iterator[TrustRequest]:
    """Yield the requests of a configuration that reach beyond the root."""
    if with_embedder and config.embedder is not None:
        request = trust.embedder(config.root, config.embedder)
        yield from () if request is None else (request,)
    if config.remote is not None:
        yield trust.remote(config.root, config.remote)
    if not config.source_root.is_relative_to(config.root):
        yield trust.index_root(config.root, config.source_root)


def _shown(value: Any) -> str:
    """Return a value as JSON, a long one cut; a list or an object may nest too deep for that."""
    if isinstance(value, list | dict):
        return f"({'a list' if isinstance(value, list) else 'an object'})"
    return _shorten(json.dumps(value), _LONGEST_SHOWN)


_MOST_UNKNOWN = 5
"""The most unknown keys that are named."""


def _meant(key: str, known: Iterable[str]) -> str:
    """Return the question whether the nearest known key was meant; an empty text if none is near."""
    near = _nearest(key, sorted(known))
    return f'; did you mean "{near}"?' if near else ""


_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7})(?= |\r?$)", re.MULTILINE)
"""The beginning of a line with a mark of a git conflict."""


class _Settings:
    """The settings in a file; errors name the position of a value."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._text = ""
        try:
            data = read_regular(file, LIMIT + 1)
            if len(data) > LIMIT:
                raise self.invalid(f"it is larger than {LIMIT // 1024**2} MiB")
            values = json.loads(data)
        except OSError as error:
            raise self.invalid(error.strerror or str(error)) from error
        except (ValueError, RecursionError) as error:
            if mark := _CONFLICT.search(data):
                line = data.count(b"\n", 0, mark.start()) + 1
                raise HedgerowError(
                    f"Failed to read {file}:{line}: it is in conflict: git left two versions between <<<<<<< and "
                    ">>>>>>>; keep one of them, and remove the lines with these marks",
                    code="root_config_invalid",
                ) from error
            raise self.invalid(f"it is not JSON ({error})") from error
        if not isinstance(values, dict):
            raise self.invalid("it is not a JSON object")
        self._text = data.decode(json.detect_encoding(data))
        self._values = values

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        return self._values.get(key, default)

    def position(self, *path: str | int) -> str:
        """Return the file with the line and the column of a value, as compilers write them."""
        from .installing.json_text import line_and_column  # noqa: PLC0415 - slow to import

        line, column = line_and_column(self._text, path)
        return f"{self.file}:{line}:{column}"

    def unknown_keys(self, known: Collection[str]) -> Iterator[str]:
        """Yield a sentence about each key that has no meaning, with the nearest key that has one."""
        unknown = [key for key in self._values if key not in known]
        for key in unknown[:_MOST_UNKNOWN]:
            yield f"{self.position(key)}: unknown key {_shown(key)}{_meant(key, known) or '.'}"
        if (more := len(unknown) - _MOST_UNKNOWN) > 0:
            yield f"{self.file} has {more} more keys that do not exist."

    def invalid(self, problem: str, *path: str | int) -> HedgerowError:
        """Return the error of a value that cannot be used, or without a path of the whole file."""
        return HedgerowError(
            f"Failed to read {self.position(*path) if path else self.file}: {problem}; repair it",
            code="root_config_invalid",
            path=self.file,
            fixes=(Fix("write a new one", "init", {"path": str(self.file.parent), "force": True}),),
        )


def _embedder(settings: _Settings, key: str) -> str | None:
    """Return the name of an embedder, which is written as one string or as its two parts."""
    given = settings.get(key)
    if isinstance(given, dict):
        parts = given.get("adapter"), given.get("model")
        if all(isinstance(part, str) and part for part in parts):
            return ":".join(map(str, parts))
    elif given is None or (isinstance(given, str) and given):
        return given
    problem = 'embedder must be {"adapter": ..., "model": ...} or "ADAPTER:MODEL"'
    raise settings.invalid(problem, key)


_AGES = frozenset({"validUntil", "staleAfter"})
"""The keys of the defaults of a type."""


def _defaults(settings: _Settings, key: str) -> Mapping[str, Mapping[str, str]]:
    """Return the default ages after which new memories of a type expire or are stale."""
    from hedgerow._times import parse_age  # noqa: PLC0415 - slow to import

    given = settings.get(key, {})
    ages_by_type = given if isinstance(given, dict) else {"": given}
    for kind, ages in ages_by_type.items():
        path: tuple[str, ...] = (key, kind)
        if kind in DIRECTORIES and isinstance(ages, dict):
            wrong = [
                name for name, age in ages.items() if name not in _AGES or parse_age(age) is None
            ]
            if not wrong:
                continue
            path = (*path, wrong[0])
        problem = 'defaults must have ages by type, as in {"finding": {"staleAfter": "90d"}}'
        known = _AGES if kind in DIRECTORIES else DIRECTORIES
        hint = "" if path[-1] in known else _meant(path[-1], known)
        raise settings.invalid(problem + hint, *path)
    return ages_by_type


def _remote(settings: _Settings, key: str) -> str | None:
    given = settings.get(key)
    if given is None or (isinstance(given, str) and _ADDRESS.match(given)):
        return given
    problem = 'remote must be the URL of a server, as in "https://notes.example:7411"'
    raise settings.invalid(problem, key)


def _vault(settings: _Settings, key: str) -> Vault | None:
    given = settings.get(key)
    if given is None or given in VAULTS:
        return cast("Vault | None", given)
    raise settings.invalid(f"vault must be {' or '.join(VAULTS)}", key)


def _durability(settings: _Settings, key: str) -> Durability:
    try:
        return checked_durability(settings.get(key, "normal"))
    except InvalidInputError as error:
        raise settings.invalid(error.message, key) from error


def _daily_notes(settings: _Settings, key: str) -> str | None:
    given = settings.get(key)
    if given is None:
        return None
    problem = _day_format_problem(given) if isinstance(given, str) else "it is no text"
    if problem is None:
        return str(given)
    raise settings.invalid(
        f'dailyNotes must be the format of the names of daily notes, as in "DD-MM-YYYY": {problem}',
        key,
    )


def _patterns(settings: _Settings, key: str) -> tuple[str, ...]:
    patterns = settings.get(key, [])
    items = patterns if isinstance(patterns, list) else [None]
    wrong = [at for at, one in enumerate(items) if not isinstance(one, str) or not one]
    if wrong:
        problem = f'{key} must be a list of patterns, as in ["drafts", "logs/*"]'
        raise settings.invalid(problem, key, wrong[0])
    return tuple(items)


def _source_root(settings: _Settings, key: str) -> Path:
    relative = settings.get(key, ".")
    if not isinstance(relative, str):
        problem = "indexRoot must be a string, a folder relative to the root"
        raise settings.invalid(problem, key)
    try:
        folder = (settings.file.parent / relative).resolve()
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise settings.invalid(f"indexRoot cannot be used ({reason})", key) from error
    if not is_folder:
        raise settings.invalid(f"indexRoot: there is no folder {folder}", key)
    return folder


_FIELDS: Mapping[str, tuple[str, Callable[[_Settings, str], Any]]] = {
    "indexRoot": ("source_root", _source_root),
    "embedder": ("embedder", _embedder),
    "exclude": ("exclude", _patterns),
    "include": ("include", _patterns),
    "remote": ("remote", _remote),
    "defaults": ("defaults", _defaults),
    "vault": ("vault", _vault),
    "durability": ("durability", _durability),
    "dailyNotes": ("daily_notes", _daily_notes),
}
"""The settings of a configuration (spec/memory.md, "Setup"): the key, the field of `Config`, and the reader."""

_KEYS = (
    "schemaVersion", "canonical", "derivedDir", "memoryDirs", "createdAt", "createdBy", *_FIELDS
)  # fmt: skip
"""All keys of a configuration. The first is its version, and the next ones are for other readers."""


def read_status(root: Path, choices: Choices = Choices()) -> RootStatus:  # noqa: B008 - frozen
    """Report whether a root is set up, can be used, and what of its requests is not allowed."""
    from .results import RootStatus  # noqa: PLC0415 - slow to import

    config = read_config(root, choices)
    refused = config.not_allowed
    if (root / AGENTS).is_dir():
        refused += choices.refused(trust.agent_models(root))
    if config.file is None:
        message = "No hedgerow.json: a legacy/manual root. Everything works."
        return RootStatus(str(root), None, False, None, True, message, refused)
    message = config.problem or f"This hedgerow supports schema v{config.schema_version}."
    message = " ".join([message, *config.notices])
    version, compatible = config.schema_version, config.problem is None
    return RootStatus(str(root), config.file, True, version, compatible, message, refused)


def root_from_environment() -> Path | None:
    """Return the root that the environment names, if it names one."""
    named = os.environ.get(ENVIRONMENT, "").strip()
    return Path(from_home(named)) if named else None


def own_root() -> Path | None:
    """Return the root of the user, `~/.hedgerow/memory`, which need not exist; None without a home."""
    try:
        return Path.home() / ".hedgerow" / "memory"
    except RuntimeError:
        return None


_INSIDE = "memory"


@dataclass(frozen=True, slots=True)
class PassedRoot:
    """A root that was skipped, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"the memory root {self.path} was passed by: {self.reason}"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest root, if any, and the skipped ones on the way to it."""

    root: Path | None
    passed: tuple[PassedRoot, ...] = ()


def nearest_root(start: Path) -> Nearest:
    """Find the nearest folder, from `start` upward, that is a root or has one in `memory`.

    Somebody else may have put one into a folder above: a root is taken only if it is of this user,
    nobody else may write into it, and no border lies between.
    """
    passed: list[PassedRoot] = []
    for folder, border in _upward(start.resolve()):
        for candidate in (folder, folder / _INSIDE):
            config = _config_of(candidate)
            if config is None:
                continue
            reason = border or _why_not(candidate, config, folder)
            if reason is None:
                return Nearest(candidate, tuple(passed))
            passed.append(PassedRoot(candidate, reason))
    return Nearest(None, tuple(passed))


def _upward(start: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield the folders from `start` upward, each with the border that lies below it, if any."""
    home = _home()
    starts_at_home = home is not None and start.is_relative_to(home)
    device = _device(start)
    border = None
    for folder in (start, *start.parents):
        if border is None and _device(folder) != device:
            border = f"{start} is on another file system"
        yield folder, border
        if border is None and starts_at_home and folder == home:
            border = "it is above the home folder"


def _device(folder: Path) -> int:
    return folder.stat().st_dev


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None


def _config_of(folder: Path) -> Path | None:
    """Return the configuration of a folder; None where it has none, or cannot be looked into."""
    files = (folder / name for name in (CONFIG, LEGACY_CONFIG))
    try:
        return next((file for file in files if file.exists()), None)
    except OSError:
        return None


def _why_not(candidate: Path, config: Path, folder: Path) -> str | None:
    """Return why a root must not be taken unasked; None when it may."""
    real = candidate.resolve()
    if not real.is_relative_to(folder):
        return f"it is a link to {real}"
    if os.name != "posix":
        return None
    for path, what in ((candidate, "the folder"), (config, config.name)):
        status = path.stat()
        if status.st_mode & stat.S_IWOTH:
            return f"anybody may write to {what}"
        if status.st_uid != os.geteuid():
            return f"another user owns {what}"
    return None


# Setting up a root: its configuration, folders and `.gitignore` (spec/memory.md, "Setup").


_IGNORE_COMMENT = "# hedgerow derived state"


@dataclass(frozen=True, slots=True)
class InitResult(Result):
    """What `init` did: the configuration of the root, and whether it and `.gitignore` were written.

    `memory_dirs` are the folders for new memories, and `vault` is the tool that keeps the folder, if any.
    """

    root: str
    config_file: str
    schema_version: int
    config_created: bool
    memory_dirs: tuple[str, ...]
    gitignore_updated: bool
    vault: Annotated[str | None, Field(omit_default=True)] = None


def initialize(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    embedder: str | None = None,
    vault: bool = False,
) -> InitResult:
    """Make a folder a memory root: its configuration, its six folders, its `.gitignore`.

    A vault of Obsidian or Logseq, or with `vault` any folder, gets no folders: memories are written where
    it keeps notes. A `.gitignore` is written there only if the vault is in a repository.
    An existing configuration stays unless `force` writes a new one; `embedder` is written into either. A
    root of a newer schema is refused and left as it was. Raises InvalidInputError for the name of no
    embedder, HedgerowError (`model_unavailable`) for `local` without an installed model.
    """
    checked_flag(force, "force")
    checked_flag(vault, "vault")
    if embedder is not None:
        check_name(embedder)
    root = _checked_folder(path)
    with files.system_errors("make", root):  # as for a name that is too long
        if not root.exists():
            files.make_folders(root)
    root = existing_root(root)
    kept = _config_to_keep(root, force=force)
    tool = detect_vault(root) if kept is None else kept.vault
    if tool is None and vault:
        tool = "obsidian"
    ignore = root / ".gitignore"
    new_ignore = old_ignore = None
    if tool is None or repository_of(root) is not None:
        old_ignore = _bytes_of(ignore)
        new_ignore = _with_ignored(ignore, old_ignore or b"")
    folders = (folder_for_notes(root, tool),) if tool else tuple(DIRECTORIES.values())
    for folder in (DERIVED,) if tool else folders:
        with files.system_errors("make", root / folder):
            (root / folder).mkdir(exist_ok=True)
    if new_ignore is not None and new_ignore != old_ignore:
        files.update(ignore, new_ignore, expected=old_ignore, root=root)
    name = CONFIG if kept is None else kept.file or CONFIG
    if kept is None:
        data = _bytes_of(root / CONFIG)
        files.update(root / CONFIG, _fresh_config(folders).encode(), expected=data, root=root)
    for key, value in (("embedder", embedder), ("vault", tool)):
        if value is not None:
            _write_setting(root / name, key, value, root)
    return InitResult(
        root=str(root),
        config_file=name,
        schema_version=SCHEMA_VERSION if kept is None else kept.schema_version,
        config_created=kept is None,
        memory_dirs=folders,
        gitignore_updated=new_ignore != old_ignore,
        vault=tool,
    )


def _config_to_keep(root: Path, *, force: bool) -> Config | None:
    """Return the configuration of a root; None if a new one is to be written.

    With `force`, one that cannot be read counts as none; one of a newer schema is an error.
    """
    try:
        config = read_config(root)
    except HedgerowError:
        if force:
            return None
        raise
    if config.code == "root_too_new" or not force:
        config.check()
    return None if force or config.file is None else config


def _fresh_config(folders: Sequence[str]) -> str:
    value = {
        "schemaVersion": SCHEMA_VERSION,
        "canonical": "markdown",
        "derivedDir": DERIVED,
        "memoryDirs": list(folders),
        "createdAt": note.iso_time(note.now()),
        "createdBy": {"package": "hedgerow", "version": __version__},
    }
    return json.dumps(value, indent=2) + "\n"


def _write_setting(file: Path, key: str, setting: str, root: Path) -> None:
    """Set a key of a configuration, which can be read, and leave its other keys as they are."""
    data = _bytes_of(file) or b"{}"
    value = json.loads(data)
    if value.get(key) != setting:
        _, form = decode_text(data)
        text = json.dumps({**value, key: setting}, indent=2, ensure_ascii=False) + "\n"
        files.update(file, form.encode(form.lines(text)), expected=data, root=root)


def _with_ignored(file: Path, data: bytes) -> bytes:
    """Return `.gitignore` with a line for the derived folder, unless it has one.

    Raises HedgerowError (`root_io`) for UTF-16, in which git reads no line.
    """
    try:
        text, form = decode_text(data, strict=False)
        is_readable = not form.is_utf16
    except UnicodeDecodeError:
        is_readable = False
    if not is_readable:
        raise HedgerowError(
            f"{file} was not changed: it is UTF-16, which git does not read; save it as UTF-8",
            code="root_io",
            path=file,
        )
    if any(line.strip().removeprefix("**/").strip("/") == DERIVED for line in text.splitlines()):
        return data
    end = "" if not text or text.endswith("\n") else "\n"
    return form.encode(text + form.lines(f"{end}{_IGNORE_COMMENT}\n{DERIVED}/\n"))


def _bytes_of(file: Path) -> bytes | None:
    with files.system_errors("read", file):
        return read_regular(file) if file.exists() else None
