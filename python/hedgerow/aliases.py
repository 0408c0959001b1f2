"""Alias tables: what a term may also be called (spec/query.md, "Aliases")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from . import _engine

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AliasTable"]
__dir__ = partial(sorted, __all__)


class AliasTable(_engine.AliasTable, Mapping[str, tuple[str, ...]]):
    """An immutable snapshot of a mapping from a term to its alternatives.

    Pass it wherever `aliases` is taken; a plain mapping is accepted there too, but is
    converted on every call. Keys are taken as given and compared with lower-cased terms, so
    a key with capitals never matches. The table lives in memory only.

    Raises InvalidInputError when the mapping is not one of strings to lists of strings.
    """

    __slots__ = ("_entries",)
    _entries: Mapping[str, tuple[str, ...]]

    def __new__(cls, mapping: Mapping[str, Sequence[str]]) -> Self:
        """Take the snapshot."""
        # The engine checks the shape first, so that tuple() never splits a str.
        table = super().__new__(cls, mapping)
        entries = {key: tuple(alternatives) for key, alternatives in mapping.items()}
        object.__setattr__(table, "_entries", MappingProxyType(entries))
        return table

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an AliasTable cannot be changed; make another")

    def __getitem__(self, key: str) -> tuple[str, ...]:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return f"AliasTable({dict(self._entries)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (AliasTable, (dict(self._entries),))
