"""Several roots, recalled as if they were one (spec/memory.md, "Several roots")."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import is_
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow._checks import shown
from hedgerow._dual import on_thread
from hedgerow._operations.operation import Request
from hedgerow.errors import InvalidInputError

from .config import Config
from .derived import joint_folder, link_to
from .files import system_errors
from .names import check_types, mark_of, separate_tags, type_word
from .operations import (
    ContextRequest,
    GrepRequest,
    ListRequest,
    RecallRequest,
    RootOperations,
    ShowRequest,
    StatusRequest,
    WhyNotRequest,
)
from .results import (
    Context,
    GrepResult,
    ListedMemory,
    Memory,
    MemoryList,
    Recall,
    RecalledMemory,
    RecallWhyNot,
    RootStatus,
)
from .root import MemoryRoot
from .root_files import IndexState

if TYPE_CHECKING:
    from hedgerow.embedders import AnyEmbedder
    from hedgerow.typing import Durability

__all__ = ["MOST_ROOTS", "MemoryRoots"]

R = TypeVar("R")

MOST_ROOTS = 5
"""The most roots that are recalled together."""

_NUMBERED = re.compile(r"(@{1,9})/")


class MemoryRoots(RootOperations):
    """Several memory roots: recalled, packed, searched for lines and listed as one, and written to the first.

    Paths in results begin with `@/` if they are of the first root, with `@@/` if they are of the second
    and so on, as in `@@/notes/hedge.md`; `root` of a result is its folder. The same paths are keys. Scores are those that
    one root with all files would have: all files are in one further index, in the user's own folder,
    which is brought up to date by each recall. Other operations are those of the first root.
    """

    def __init__(self, roots: Sequence[MemoryRoot], **options: Any) -> None:
        """`options` are those of `MemoryRoot.open` with which the roots were opened."""
        self._roots = tuple(_checked_roots(roots))
        self._options = options
        self._joint = _JointRoot(roots, **options)

    @classmethod
    def open(  # noqa: PLR0913 - what roots depend on
        cls,
        paths: Sequence[str | os.PathLike[str]],
        *,
        embedder: AnyEmbedder | str | None = None,
        trust: bool | None = None,
        notify: Callable[[str], object] | None = None,
        scope: Mapping[str, str] | None = None,
        shared: bool = False,
        durability: Durability | None = None,
        watch: bool = False,
    ) -> MemoryRoots:
        """Open roots, whose options are those of `MemoryRoot.open`.

        Raises InvalidInputError for no root or more than 5, for a folder that is not there
        (`root_not_found`), and if one is in another.
        """
        options: dict[str, Any] = {
            "embedder": embedder,
            "trust": trust,
            "scope": scope,
            "shared": shared,
            "durability": durability,
            "watch": watch,
        }
        given = _checked_roots(paths)
        if not 0 < len(given) <= MOST_ROOTS:
            raise InvalidInputError(
                f"give 1 to {MOST_ROOTS} roots, not {len(given)}", code="invalid_option"
            )
        roots = [MemoryRoot.open(path, notify=notify, **options) for path in given]
        for at, one in enumerate(roots):
            for other in roots[:at]:
                if one.path.is_relative_to(other.path) or other.path.is_relative_to(one.path):
                    raise InvalidInputError(
                        f"the roots {other.path} and {one.path} have files in common; name one of "
                        "them",
                        code="invalid_option",
                    )
        return cls(roots, notify=_ignored, **options)

    @property
    def roots(self) -> tuple[MemoryRoot, ...]:
        """The roots, in the order in which they were given."""
        return self._roots

    @property
    def path(self) -> Path:
        """The folder of the first root, which is written to."""
        return self._roots[0].path

    @property
    def name(self) -> str:
        """The name of the folder of the first root."""
        return self._roots[0].name

    @property
    def scope(self) -> dict[str, str]:
        """The scope of all roots; empty for all memories."""
        return self._roots[0].scope

    @property
    def retrieval(self) -> str:
        """How memories are found, as `MemoryRoot.retrieval`, with the embedder of the first root."""
        return self._roots[0].retrieval

    def index_state(self) -> IndexState | None:
        """Return the state of the index of the first root, as `MemoryRoot.index_state`."""
        return self._roots[0].index_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopened, (self._roots, self._options))

    def close(self) -> None:
        """Close all roots, as `MemoryRoot.close` does. They stay usable: the next call opens them again."""
        for root in (*self._roots, self._joint):
            root.close()

    def __enter__(self) -> MemoryRoots:  # noqa: PYI034 - not for subclasses
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryRoots({[str(root.path) for root in self._roots]!r})"

    def _perform(self, request: Request[R]) -> R:
        own = getattr(self, f"_{request.operation.name}", None)
        if own is not None:
            done: R = own(request)
            return done
        return self._roots[0]._perform(self._of_first(request))  # noqa: SLF001 - of the same package

    async def _aperform(self, request: Request[R]) -> R:
        return await on_thread(self._perform, request)

    def _recall(self, request: RecallRequest) -> Recall:
        found = self._joint._perform(request)  # noqa: SLF001 - of the same package
        results = tuple(self._with_root(one) for one in found.results)
        return replace(found, root=str(self.path), roots=self._paths(), results=results)

    def _context(self, request: ContextRequest) -> Context:
        found = self._joint._perform(request)  # noqa: SLF001 - of the same package
        return replace(found, root=str(self.path), roots=self._paths())

    def _why_not(self, request: WhyNotRequest) -> RecallWhyNot:
        return self._joint._perform(request)  # noqa: SLF001 - of the same package

    def _status(self, request: StatusRequest) -> RootStatus:
        found = self._roots[0]._perform(request)  # noqa: SLF001 - of the same package
        # Recalls look at the files of all roots.
        return replace(found, watch=self._joint._check.state)  # noqa: SLF001 - of the same package

    def _list(self, request: ListRequest) -> MemoryList:
        within = request.offset + request.limit
        lists: list[MemoryList] = []
        found: list[ListedMemory] = []
        types = () if request.type is None else (request.type,)
        for number, root, own in self._with_types(types, sync=request.sync):
            one = replace(request, type=",".join(own) or None, offset=0, limit=within)
            listed = root._perform(one)  # noqa: SLF001 - of the same package
            lists.append(listed)
            folder = str(root.path)
            found += [
                replace(one, file=f"{mark_of(number)}/{one.file}", root=folder)
                for one in listed.memories
            ]
        found.sort(key=lambda one: (-one.timestamp, one.file))
        count = sum(one.count for one in lists)
        page = tuple(found[request.offset : within])
        return MemoryList(str(self.path), count, page, self._paths())

    def _with_types(
        self, types: Sequence[str], *, sync: bool
    ) -> list[tuple[int, MemoryRoot, tuple[str, ...]]]:
        """Return the roots with memories of some types, by number, and which of the types each has.

        Without types these are all roots. Raises InvalidInputError for a type that no root has.
        """
        words = [type_word(one) for one in separate_tags(types)]
        if not words:
            return [(number, root, tuple(types)) for number, root in enumerate(self._roots)]
        known = [root._types(sync=sync) for root in self._roots]  # noqa: SLF001 - of the same package
        check_types(words, frozenset().union(*known))
        numbered = enumerate(zip(self._roots, known, strict=True))
        chosen = (
            (number, root, tuple(word for word in words if word in own))
            for number, (root, own) in numbered
        )
        return [one for one in chosen if one[2]]

    def _grep(self, request: GrepRequest) -> GrepResult:
        chosen = self._with_types(request.types, sync=request.sync)
        numbered = [
            (mark_of(number), root._perform(replace(request, types=own)))  # noqa: SLF001 - of the same package
            for number, root, own in chosen
        ]
        found = [one for _, one in numbered]
        matches = [
            replace(match, file=f"{mark}/{match.file}") for mark, one in numbered for match in one
        ]
        return GrepResult(
            str(self.path),
            sum(one.count for one in found),
            sum(one.files for one in found),
            tuple(matches[: request.limit]),
            tuple(
                replace(skip, path=f"{mark}/{skip.path}")
                for mark, one in numbered
                for skip in one.unreadable
            ),
        )

    def _show(self, request: ShowRequest) -> Memory:
        numbered = _NUMBERED.match(request.key)
        if numbered:
            number = len(numbered[1]) - 1
            root = self._root(number)
            found = root._perform(replace(request, key=request.key[numbered.end() :]))  # noqa: SLF001 - of the same package
            return replace(found, file=f"{mark_of(number)}/{found.file}")
        problem: InvalidInputError | None = None
        for number, root in enumerate(self._roots):
            try:
                found = root._perform(request)  # noqa: SLF001 - of the same package
            except InvalidInputError as error:  # noqa: PERF203 - each root by itself
                if error.code != "unknown_node":
                    raise
                problem = problem or error
            else:
                return replace(found, file=f"{mark_of(number)}/{found.file}")
        raise problem or InvalidInputError("there is no root", code="unknown_node")

    def _of_first(self, request: Request[R]) -> Request[R]:
        """Return a request with the keys of the first root. Raises InvalidInputError for another's."""
        changes: dict[str, Any] = {}
        for name in ("key", "old", "by", "a", "b"):
            key = getattr(request, name, None)
            numbered = _NUMBERED.match(key) if isinstance(key, str) else None
            if numbered and isinstance(key, str):
                root = self._root(len(numbered[1]) - 1)
                if root is not self._roots[0]:
                    raise InvalidInputError(
                        f"{key} is in {root.path}, and only the first root is written to "
                        f"({self.path}); open that root by itself",
                        code="invalid_option",
                        path=root.path,
                        key=key,
                    )
                changes[name] = key[numbered.end() :]
        return replace(request, **changes) if changes else request  # type: ignore[type-var]  # a dataclass

    def _root(self, number: int) -> MemoryRoot:
        if number >= len(self._roots):
            raise InvalidInputError(
                f"there is no root {mark_of(number)}; there are {len(self._roots)}",
                code="unknown_node",
            )
        return self._roots[number]

    def _with_root(self, one: RecalledMemory) -> RecalledMemory:
        numbered = _NUMBERED.match(one.file)
        return replace(one, root=str(self._root(len(numbered[1]) - 1).path)) if numbered else one

    def _paths(self) -> tuple[str, ...]:
        return tuple(str(root.path) for root in self._roots)


def _checked_roots(given: Sequence[R]) -> Sequence[R]:
    """Return the roots, or their paths. Raises InvalidInputError for anything but a list."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInputError(f"give a list of roots, not {shown(given)}", code="invalid_option")
    return given


def _ignored(_: str) -> None:
    """Ignore a notice of the joint root: each root reports its own."""


def _reopened(roots: Sequence[MemoryRoot], options: dict[str, Any]) -> MemoryRoots:
    return MemoryRoots(roots, **options)


class _JointRoot(MemoryRoot):
    """The files of several roots as one, in a folder of the user with a link to each."""

    # Its folder is made by the first sync.
    _real_folder = staticmethod(Path)

    def __init__(self, members: Sequence[MemoryRoot], **options: Any) -> None:
        self._members = tuple(members)
        super().__init__(joint_folder([one.path for one in members]), **options)

    def _config(self) -> Config:
        configs = [one._config() for one in self._members]  # noqa: SLF001 - of the same package
        folder = self._root
        with system_errors("make", folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number, config in enumerate(configs):
                link_to(folder / mark_of(number), config.source_root)
        known = self._configured
        if known is not None and all(map(is_, known.members, configs)):
            return known
        vaults = [one.vault for one in configs if one.vault is not None]
        self._configured = replace(
            configs[0],
            root=folder,
            source_root=folder,
            exclude=(),
            include=(),
            remote=None,
            vault=next(iter(vaults), None),
            not_allowed=tuple(request for one in configs for request in one.not_allowed),
            notices=tuple(notice for one in configs for notice in one.notices),
            members=tuple(configs),
        )
        return self._configured
