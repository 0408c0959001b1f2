"""Checks of values against the types of fields, and their form in JSON.

`checked` returns the value of an argument, or raises InvalidInputError with a sentence that names the
argument. `to_json` and `from_json` convert results; `from_json` trusts the other side of a
connection no further than to raise KeyError, TypeError or ValueError for another form.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from datetime import date, datetime
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from hedgerow._checks import checked_callable, checked_text, listed, shown
from hedgerow._engine import _nearest
from hedgerow.errors import InvalidInputError

from .fields import MOST_ITEMS, Field, FieldSpec, camel_case, declared, properties

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


def checked(value: Any, of: Any, field: Field, name: str) -> Any:
    """Return a value of a type, with lists as tuples; InvalidInputError for one of another type."""
    return _checker(of)(value, field, name)


def checked_arguments(record: type[T], given: Mapping[str, Any], *, served: bool) -> T:
    """Make a request of named arguments, such as those in the body of an HTTP request.

    With `served`, bounds for clients of a server hold, and local fields do not exist. Raises
    InvalidInputError for a missing argument, and for an unknown one with the nearest name.
    """
    known = {one.name: one for one in declared(record) if not (served and one.field.local)}
    for name in given:
        if name not in known:
            raise unknown_argument(name, list(known))
    missing = [one for one in known.values() if one.is_required and one.name not in given]
    if missing:
        # The missing text may be in another argument, as in `append="text"`: that one is to be named.
        for name, value in given.items():
            checked(value, known[name].type, known[name].field, name)
        raise _invalid(f"{missing[0].name} is missing; it is {_wanted(missing[0])}")
    if served:
        for name, value in given.items():
            _check_served(value, known[name])
    return record(**given)


def unknown_argument(name: str, known: Sequence[str]) -> InvalidInputError:
    """Return the error of an argument that does not exist; it has the nearest name, or all."""
    return _invalid(f"there is no argument {shown(name)}: {nearest_name(name, known)}")


def nearest_name(name: str, known: Sequence[str]) -> str:
    """Return the advice for an unknown name: the nearest known one, or all."""
    near = _nearest(str(name), known)
    return f"use {near}" if near else f"it has {', '.join(known) or 'none'}"


def _check_served(value: Any, of: FieldSpec) -> None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    size, most = (value if is_number else _count_items(value)), of.field.served_most
    if most is None:
        if is_number:
            return
        most = MOST_ITEMS
    if size > most:
        what = f"at most {most:,}" if is_number else f"at most {most:,} items"
        raise _invalid(f"{of.name} may have {what} here, not {size:,}")


def _count_items(value: Any) -> int:
    """Return the length of a list, or of all lists in a mapping, such as a filter; else 0."""
    if not isinstance(value, Mapping):
        return len(value) if isinstance(value, (list, tuple)) else 0
    count, rest = 0, list(value.values())
    while rest:
        one = rest.pop()
        if isinstance(one, (list, tuple)):
            count += len(one)
            rest.extend(one)
        elif isinstance(one, Mapping):
            rest.extend(one.values())
    return count


def _wanted(of: FieldSpec) -> str:
    return of.field.doc[:1].lower() + of.field.doc[1:] if of.field.doc else "required"


def _invalid(problem: str) -> InvalidInputError:
    return InvalidInputError(problem, code="invalid_option")


# Checks.

_Check = Callable[[Any, Field, str], Any]


@cache
def _checker(of: Any) -> _Check:
    """Return the function that checks values of a type."""
    origin, arguments = get_origin(of), get_args(of)
    if origin in (Union, UnionType):
        return _union_checker(arguments)
    if origin is Literal:
        return _choice_checker(arguments)
    if origin is Callable:
        return lambda value, _, name: checked_callable(value, name)
    if is_list(of):
        return _list_checker(_checker(arguments[0]))
    simple: dict[Any, _Check] = {
        str: _text,
        bool: _flag,
        int: _integer,
        float: _number,
        datetime: _instance_checker(datetime, "a datetime"),
        date: _instance_checker(date, "a date"),
    }
    return simple.get(of, lambda value, _, __: value)


def is_list(of: Any) -> bool:
    """Whether values of a type are lists."""
    origin = get_origin(of)
    return isinstance(origin, type) and issubclass(origin, (Sequence, tuple, AbstractSet))


def _union_checker(arguments: tuple[Any, ...]) -> _Check:
    """Return the check of a value of any of some types: by the first whose class it has."""
    others = [one for one in arguments if one is not NoneType]
    if len(others) == 1:
        inner = _checker(others[0])
        return lambda value, field, name: None if value is None else inner(value, field, name)
    checks = [(_class_of(one), _checker(one)) for one in others]
    has_none = len(others) < len(arguments)
    words = " or ".join(_word(one) for one in others)

    def check(value: Any, field: Field, name: str) -> Any:
        if value is None and has_none:
            return None
        for kind, inner in checks:
            if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
                return inner(value, field, name)
        raise _invalid(f"{name} must be {words}, not {shown(value)}")

    return check


def _class_of(of: Any) -> Any:
    origin = get_origin(of)
    if is_list(of):
        return (list, tuple, AbstractSet, Sequence)
    if origin is Literal:
        return str
    return origin if origin is not None else of


def _word(of: Any) -> str:
    """Return the name of a type for people."""
    if is_list(of):
        return "a list"
    named = {str: "a text", int: "an integer", float: "a number", date: "a date", bool: "a flag"}
    return named.get(of, getattr(of, "__name__", str(of)))


def _choice_checker(choices: tuple[Any, ...]) -> _Check:
    def check(value: Any, _: Field, name: str) -> Any:
        if value in choices and type(value) in {type(one) for one in choices}:
            return value
        listed_choices = ", ".join(map(str, choices))
        near = _nearest(value, map(str, choices)) if isinstance(value, str) else None
        hint = f"; did you mean {near!r}?" if near else ""
        raise _invalid(f"{name} must be one of {listed_choices}, not {shown(value)}{hint}")

    return check


def _list_checker(inner: _Check) -> _Check:
    def check(value: Any, field: Field, name: str) -> Any:
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
            raise _invalid(f"{name} must be a list, not {shown(value)}")
        items = listed(value)
        _check_bounds(len(items), field, f"the number of {name}", "")
        return tuple(inner(item, _ANY, f"{name}[{at}]") for at, item in enumerate(items))

    return check


_ANY = Field()


def _text(value: Any, _: Field, name: str) -> Any:
    if not isinstance(value, str):
        raise _invalid(f"{name} must be a text, not {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        pass
    else:
        return value
    return checked_text(value, name)


def _flag(value: Any, _: Field, name: str) -> Any:
    if value is not True and value is not False:
        raise _invalid(f"{name} must be true or false, not {shown(value)}")
    return value


def _integer(value: Any, field: Field, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise _invalid(f"{name} must be an integer{_range(field)}, not {shown(value)}")
    return _check_bounds(int(value), field, name, " an integer")


def _number(value: Any, field: Field, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:  # noqa: PLR0124 - NaN
        raise _invalid(f"{name} must be a number{_range(field)}, not {shown(value)}")
    plain = value if isinstance(value, (int, float)) else float(value)
    return _check_bounds(plain, field, name, " a number")


def _instance_checker(kind: type, words: str) -> _Check:
    def check(value: Any, _: Field, name: str) -> Any:
        if not isinstance(value, kind):
            raise _invalid(f"{name} must be {words}, not {shown(value)}")
        return value

    return check


def _check_bounds(value: Any, field: Field, name: str, what: str) -> Any:
    is_below = field.least is not None and value < field.least
    is_under = field.above is not None and value <= field.above
    is_over = field.most is not None and value > field.most
    if is_below or is_under or is_over:
        raise _invalid(f"{name} must be{what}{_range(field)}, not {shown(value)}")
    return value


def _range(field: Field) -> str:
    """Return the bounds of a number in words, beginning with a space; empty without bounds."""
    parts = []
    if field.least is not None:
        parts.append(f"of at least {_digits(field.least)}")
    if field.above is not None:
        parts.append(f"above {_digits(field.above)}")
    if field.most is not None:
        parts.append(f"at most {_digits(field.most)}")
    return f" {' and '.join(parts)}" if parts else ""


def _digits(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,g}"


# JSON.


_AS_IT_IS = frozenset((str, int, float, bool, NoneType))
"""The types of most values, which JSON has too."""


def to_json(value: Any, *, explain: bool = False) -> Any:  # noqa: PLR0911 - one for each kind
    """Return a value as JSON: records as objects with names in camelCase, times as ISO texts."""
    if type(value) in _AS_IT_IS:
        return value
    if hasattr(value, "_to_json"):
        return value._to_json()  # noqa: SLF001 - of results of this package
    if is_dataclass(value) and not isinstance(value, type):
        return record_to_json(value, explain=explain)
    if isinstance(value, Mapping):
        return {key: to_json(one, explain=explain) for key, one in value.items()}
    if isinstance(value, (list, tuple, AbstractSet)):
        return [to_json(one, explain=explain) for one in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, date):
        return value.isoformat()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def record_to_json(record: Any, *, explain: bool) -> dict[str, Any]:
    """Return a record as a JSON object."""
    told: dict[str, Any] = {}
    for one in declared(type(record)):
        field, value = one.field, getattr(record, one.name)
        is_left_out = (
            field.local
            or (value is None and not field.null)
            or (field.omit_default and value == one.default)
            or (field.explained and not explain)
        )
        if not is_left_out:
            told[one.key] = (
                with_camel_case(value) if field.names else to_json(value, explain=explain)
            )
            if field.also is not None:
                told[field.also] = told[one.key]
    for key, (name, _) in properties(type(record)).items():
        told[key] = to_json(getattr(record, name), explain=explain)
    return told


def from_json(value: Any, of: Any) -> Any:  # noqa: PLR0911 - one for each kind of type
    """Return what a JSON value of a type was made from; unknown keys are ignored."""
    if hasattr(of, "_from_json"):
        return of._from_json(value)  # noqa: SLF001 - of results of this package
    if is_dataclass(of):
        return record_from_json(value, of)
    origin, arguments = get_origin(of), get_args(of)
    if origin in (Union, UnionType):
        if value is None:
            return None
        return from_json(value, next(one for one in arguments if one is not NoneType))
    if origin is tuple:
        return _tuple_from_json(value, arguments)
    if is_list(of):
        return [from_json(one, arguments[0]) for one in value]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: from_json(one, arguments[1]) for key, one in value.items()}
    if of in (datetime, date):
        return of.fromisoformat(value)
    return value


def _tuple_from_json(value: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    if arguments[1:] == (...,):
        return tuple(from_json(one, arguments[0]) for one in value)
    return tuple(from_json(one, of) for one, of in zip(value, arguments, strict=True))


def record_from_json(value: Mapping[str, Any], of: Any) -> Any:
    """Return the record of a JSON object."""
    given: dict[str, Any] = {}
    for one in declared(of):
        if one.key in value:
            found = value[one.key]
            given[one.name] = (
                with_snake_case(found) if one.field.names else from_json(found, one.type)
            )
        elif one.is_required:
            if NoneType not in get_args(one.type):
                raise KeyError(one.key)
            given[one.name] = None
    return of(**given)


_CAPITAL = re.compile(r"[A-Z]")


def with_camel_case(value: Any) -> Any:
    """Return JSON with its keys in camelCase at every depth; none of them may come from a user."""
    if isinstance(value, Mapping):
        return {camel_case(name): with_camel_case(one) for name, one in value.items()}
    return [with_camel_case(one) for one in value] if isinstance(value, (list, tuple)) else value


def with_snake_case(value: Any) -> Any:
    """Return the JSON that `with_camel_case` was called with."""
    if isinstance(value, Mapping):
        return {
            _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name): with_snake_case(one)
            for name, one in value.items()
        }
    return [with_snake_case(one) for one in value] if isinstance(value, (list, tuple)) else value


class Result:
    """A result that converts to its documented JSON and back."""

    __slots__ = ()

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the documented JSON; with `explain` it includes traces."""
        return record_to_json(self, explain=explain)

    @classmethod
    def from_dict(cls, keys: Mapping[str, Any]) -> Self:
        """Return the result from the JSON of `to_dict`; other keys are ignored."""
        found: Self = record_from_json(keys, cls)
        return found
