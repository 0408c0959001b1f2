"""The shared parts of adapters with a server: a key that is sent and never shown, and closing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from urllib.parse import SplitResult, urlsplit

from hedgerow.errors import HedgerowError, InvalidInputError

if TYPE_CHECKING:
    from typing_extensions import Self


class ApiKey:
    """A key, or the environment variable that holds it.

    The key appears neither in its repr nor in its pickle: a copy from a pickle reads the variable.
    The class variables are parts of messages.
    """

    __slots__ = ("_given", "_lost", "variable")

    argument: ClassVar[str] = "api_key"
    when_lost: ClassVar[str] = "name the environment variable that holds it with api_key_variable"

    def __init__(self, given: str | None, variable: str | None) -> None:
        if given is not None and variable is not None:
            raise InvalidInputError(
                "api_key and api_key_variable exclude each other; pass one of them",
                code="incompatible_options",
            )
        for name, value in ((self.argument, given), ("api_key_variable", variable)):
            if not isinstance(value, (str, type(None))):
                raise InvalidInputError(
                    f"{name} must be a str, not {type(value).__name__}", code="invalid_option"
                )
        self._given = given
        self._lost = False
        self.variable = variable
        self.value()

    def value(self) -> str | None:
        """The current key; None without one.

        Raises HedgerowError when it was left out of a pickle or its variable is not set,
        InvalidInputError when the key cannot be sent in a header.
        """
        if self._lost:
            raise HedgerowError(
                f"the key is not pickled and this copy has none; {self.when_lost}",
                code="missing_api_key",
            )
        if self.variable is not None:
            return self._from_variable(self.variable)
        return None if self._given is None else _sendable(self._given, self.argument)

    def hidden_in(self, text: str) -> str:
        """`text` without the key, should a server have repeated it. Never raises."""
        variable = os.environ.get(self.variable, "").strip() if self.variable else ""
        for value in (self._given, variable):
            text = text.replace(value, "***") if value else text
        return text

    def _from_variable(self, variable: str) -> str:
        value = os.environ.get(variable, "").strip()
        if not value:
            raise HedgerowError(
                f"the environment variable {variable} holds no key; set it, or pass {self.argument}",
                code="missing_api_key",
            )
        return _sendable(value, f"the environment variable {variable}")

    def __repr__(self) -> str:
        name = type(self).__name__
        if self.variable is not None:
            return f"{name}(variable={self.variable!r})"
        return f"{name}()" if self._given is None and not self._lost else f"{name}(***)"

    def __reduce__(self) -> tuple[Any, ...]:
        is_lost = self._lost or self._given is not None
        return (_without_key, (type(self), self.variable, is_lost))


def _without_key(kind: type[ApiKey], variable: str | None, lost: bool) -> ApiKey:
    key = kind.__new__(kind)
    key._given = None  # noqa: SLF001 - a constructor of the class, which must not look for a key yet
    key._lost = lost  # noqa: SLF001
    key.variable = variable
    return key


def _sendable(value: str, source: str) -> str:
    if value and value.isascii() and value.isprintable() and " " not in value:
        return value
    del value  # a traceback that shows locals must not show it
    raise InvalidInputError(
        f"{source} is empty, or holds a space, a line end or another character that no key has; "
        "copy the key again",
        code="invalid_api_key",
    )


LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
"""The names of this machine in URLs."""


def checked_url(
    url: str,
    name: str,
    instead: str,
    *,
    also: Callable[[SplitResult], bool] = lambda _: True,
    without: str = "",
) -> SplitResult:
    """The parts of a URL; raises InvalidInputError, which does not repeat a password.

    `instead` is the argument for a password. `also` checks the parts, with ValueError for wrong
    ones too, and `without` says in the error what they must not have.
    """
    if not isinstance(url, str):
        raise InvalidInputError(
            f"{name} must be a str, not {type(url).__name__}", code="invalid_option"
        )
    parts = SplitResult("", "", "", "", "")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        valid = valid and also(parts)
    except ValueError:
        valid = False
    if "@" in parts.netloc:
        raise InvalidInputError(
            f"{name} holds a user name or a password; leave them out and pass {instead}",
            code="invalid_endpoint",
        )
    if not valid:
        raise InvalidInputError(
            f'{name} must begin with "http://" or "https://" and name a host{without}',
            code="invalid_endpoint",
        )
    return parts


class _Endpoint(Protocol):
    """The part of `http.Endpoint` that is used here; that module needs an extra."""

    shown: str

    def post(self, payload: Mapping[str, Any], *, within: float | None = None) -> Any: ...
    def close(self) -> None: ...


class Connected:
    """Holds connections until it is closed."""

    _endpoint: _Endpoint

    def close(self) -> None:
        """Close the connections; `with` does it too."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
