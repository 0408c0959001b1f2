"""Operations as rows of a table, and the methods that are made from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
)

from hedgerow.errors import InvalidInputError

from .fields import FieldSpec, declared, without_none
from .shapes import checked, nearest_name, to_json

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the table: how an operation is called over HTTP, and what it does.

    `path` may have a field in braces, as in `memories/{key}`; with GET the other fields are
    parameters of the query. An operation without a `path` is for this process alone.
    """

    name: str
    path: str | None = None
    method: str = "POST"
    writes: bool = False


class Request(Generic[R_co]):
    """The arguments of an operation, checked when they are given; `R_co` is its result.

    A subclass is a frozen dataclass with an `operation`; its docstring is that of the operation.
    Raises InvalidInputError for an argument of another type or out of bounds.
    """

    operation: ClassVar[Operation]

    def __post_init__(self) -> None:
        # Most arguments are of the plain type, and pass without a call: a search has many of them.
        for one, plain, choices, least, most in _PLAIN.get(type(self)) or _plain(type(self)):
            value: Any = getattr(self, one.name)
            if value is one.default:
                continue
            kind = type(value)
            if kind is plain:
                if plain is str and not choices:
                    try:
                        value.encode()
                        continue
                    except UnicodeEncodeError:
                        pass  # `checked` says where.
                elif value in choices if choices else plain is bool or least <= value <= most:
                    continue
            found = checked(value, one.type, one.field, one.name)
            if found is not value:
                object.__setattr__(self, one.name, found)

    @property
    def writes(self) -> bool:
        """Whether this request changes something."""
        return self.operation.writes

    def for_server(self) -> Request[R_co]:
        """Return the request as a client sends it, with defaults that a server would not know."""
        return self

    def check_served(self) -> None:
        """Raise InvalidInputError for arguments that together are too much for a server."""


_Plain = tuple[FieldSpec, "type | None", tuple[str, ...], float, float]
"""A field with its plain type, or None, and the choices or the bounds of its values."""

_PLAIN: dict[type, tuple[_Plain, ...]] = {}


def _plain(request: type) -> tuple[_Plain, ...]:
    """Return the checks of the fields of a request that need no call."""
    found: list[_Plain] = []
    for one in declared(request):
        of = without_none(one.type)
        choices = get_args(of) if get_origin(of) is Literal else ()
        plain = str if choices else of if of in (str, int, bool) else None
        field = one.field
        is_bounded = field.above is None
        least = -inf if field.least is None else field.least
        most = inf if field.most is None else field.most
        found.append((one, plain if is_bounded else None, choices, least, most))
    _PLAIN[request] = tuple(found)
    return _PLAIN[request]


def result_of(request: Any) -> Any:
    """Return the type of the result of a request."""
    for base in request.__orig_bases__:
        if arguments := get_args(base):
            return arguments[0]
    raise InvalidInputError(f"{request.__name__} names no result", code="invalid_option")


class Operations:
    """The base of classes whose methods come from a table: a subclass carries out the requests."""

    def _perform(self, request: Request[R_co]) -> R_co:
        """Carry out a request."""
        raise NotImplementedError

    async def _aperform(self, request: Request[R_co]) -> R_co:
        """Carry out a request without blocking the event loop."""
        raise NotImplementedError


def methods(
    request: Callable[P, Request[R_co]],
) -> tuple[
    Callable[Concatenate[Any, P], R_co], Callable[Concatenate[Any, P], Coroutine[Any, Any, R_co]]
]:
    """Make the method of an operation, and the asynchronous one.

    Their parameters are the fields of the request. They call `_perform` and `_aperform` of their
    object.
    """

    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> R_co:
        try:
            made = request(*args, **options)
        except TypeError as error:
            raise _misuse(request, options, error) from None
        done: R_co = self._perform(made)
        return done

    async def acall(self: Any, /, *args: P.args, **options: P.kwargs) -> R_co:
        try:
            made = request(*args, **options)
        except TypeError as error:
            raise _misuse(request, options, error) from None
        done: R_co = await self._aperform(made)
        return done

    _describe(call, request, is_async=False)
    _describe(acall, request, is_async=True)
    return call, acall


def _misuse(request: Any, options: Mapping[str, Any], error: TypeError) -> TypeError:
    """Return the error of a call in the words of its method; it has the nearest name of an argument."""
    if isinstance(error, InvalidInputError):
        return error
    name = request.operation.name
    known = [one.name for one in declared(request)]
    unknown = next((one for one in options if one not in known), None)
    if unknown is None:
        return TypeError(str(error).replace(f"{request.__name__}.__init__()", f"{name}()"))
    advice = nearest_name(unknown, known)
    return TypeError(f"{name}() got an unexpected keyword argument {unknown!r}: {advice}")


def _describe(call: Any, request: Any, *, is_async: bool) -> None:
    """Give a method the name, the docstring and the signature of its operation."""
    name = request.operation.name
    call.__name__ = call.__qualname__ = f"a{name}" if is_async else name
    call.__doc__ = f"Like `{name}`, but asynchronous." if is_async else inspect.getdoc(request)
    call.__signature__ = _signature(request)
    call.__request__ = request


@cache
def _signature(request: Any) -> inspect.Signature:
    """Return the signature of the methods of an operation: that of its request, after `self`."""
    return inspect.signature(request.__init__).replace(return_annotation=Any)


def requests_of(table: type[Operations]) -> dict[str, type[Request[Any]]]:
    """Return the requests of the methods of a class, by the name of the operation, in order."""
    made = (vars(member).get("__request__") for member in vars(table).values() if callable(member))
    return {one.operation.name: one for one in made if one is not None}


def sent_arguments(request: Request[Any]) -> dict[str, Any]:
    """Return the arguments of a request that differ from the defaults, as JSON for a server.

    Raises InvalidInputError for a local one, which no server knows.
    """
    request = request.for_server()
    sent: dict[str, Any] = {}
    for one in declared(type(request)):
        value = getattr(request, one.name)
        if value == one.default:
            continue
        if one.field.local:
            raise InvalidInputError(
                f"{one.name} is for this process alone; leave it out for a server",
                code="incompatible_options",
            )
        sent[one.name] = to_json(value)
    return sent
