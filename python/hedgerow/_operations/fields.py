"""What an annotation adds to the type of a field: its description, its bounds and its JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from dataclasses import Field as DataclassField
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

MOST_ITEMS = 1_000
"""The most items of a list that a client of a server sends, unless its field has `served_most`.

Lists of a hundred thousand tags or paths take seconds to compare."""

_NEXT_WORD = re.compile(r"_([a-z0-9])")


@dataclass(frozen=True, slots=True)
class Field:
    """A description of a field, as in `Annotated[int, Field("The most results", least=1)]`.

    `least` and `most` are inclusive bounds of a number, and of the length of a list; `above` is an
    exclusive one. `served_most` is the upper bound for clients of a server.

    In JSON, a field has the key `key`, by default its name in camelCase, and under `also` the same
    value once more. A field that is None is left out of JSON, unless `null` is set; with
    `omit_default` the default value is left out too. A field with `explained` is written only on
    request. With `names`, the keys of a mapping are names too, at every depth. A `local` field exists in this process alone: no client and no server knows it. The
    value of a field with a `header` is sent in that header of HTTP, in quotes, as an ETag.
    """

    doc: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    served_most: int | None = None
    key: str | None = None
    also: str | None = None
    null: bool = False
    omit_default: bool = False
    explained: bool = False
    local: bool = False
    header: str | None = None
    names: bool = False


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a dataclass: its name, its type without `Annotated`, its description."""

    name: str
    type: Any
    field: Field
    default: Any
    """The default value; MISSING if the field has to be given."""
    key: str
    """The key of the field in JSON."""

    @property
    def is_required(self) -> bool:
        """Whether a caller has to give the field."""
        return self.default is MISSING


def camel_case(name: str) -> str:
    """Return a name in camelCase."""
    return _NEXT_WORD.sub(lambda word: word[1].upper(), name)


def declared(record: Any) -> tuple[FieldSpec, ...]:
    """Return the fields of a dataclass, in order."""
    found = _DECLARED.get(record)
    if found is None:
        hints = _hints(record)
        found = tuple(_declared(one, hints[one.name]) for one in fields(record) if one.init)
        _DECLARED[record] = found
    return found


_DECLARED: dict[Any, tuple[FieldSpec, ...]] = {}
_PROPERTIES: dict[Any, Mapping[str, tuple[str, Any]]] = {}


def _hints(record: Any) -> dict[str, Any]:
    """Return the annotations of the fields of a dataclass."""
    hints: dict[str, Any] = {}
    known = {one.name for one in fields(record)}
    for kind in reversed(record.__mro__):
        # Not of `_: KW_ONLY`, which Python 3.10 takes for no type.
        own = {key: of for key, of in getattr(kind, "__annotations__", {}).items() if key in known}
        names = vars(sys.modules[kind.__module__])
        hints |= get_type_hints(SimpleNamespace(__annotations__=own), names, include_extras=True)
    return hints


def _declared(one: DataclassField[Any], hint: Any) -> FieldSpec:
    of, field = _split(hint)
    factory = one.default_factory
    default = one.default if factory is MISSING else factory()
    return FieldSpec(one.name, of, field, default, field.key or camel_case(one.name))


def properties(record: Any) -> Mapping[str, tuple[str, Any]]:
    """Return the properties that a record has in JSON: name and type of each, by key."""
    found = _PROPERTIES.get(record)
    if found is None:
        named: Mapping[str, str] = getattr(record, "JSON_PROPERTIES", {})
        found = {
            key: (name, get_type_hints(getattr(record, name).fget)["return"])
            for key, name in named.items()
        }
        _PROPERTIES[record] = found
    return found


def has_none(of: Any) -> bool:
    """Whether None is one of the types of a union."""
    return get_origin(of) in (Union, UnionType) and NoneType in get_args(of)


def without_none(of: Any) -> Any:
    """Return a type without None."""
    if not has_none(of):
        return of
    return Union[tuple(one for one in get_args(of) if one is not NoneType)]  # noqa: UP007


def _split(hint: Any) -> tuple[Any, Field]:
    """Return the type in an annotation, and its description."""
    if get_origin(hint) is Annotated:
        of, *notes = get_args(hint)
        return of, next((one for one in notes if isinstance(one, Field)), Field())
    return hint, Field()
