"""The address of a collection, and the credentials."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

from hedgerow._adapters.connection import checked_url
from hedgerow.errors import InvalidInputError

Auth = tuple[str, str] | Callable[[], tuple[str, str]]
"""A user and a password, or a function that returns them: that of a vault, or of the environment."""


@dataclass(frozen=True)
class Address:
    """Where a collection is, and what its server trusts; `repr` shows no credentials."""

    url: str
    auth: Auth | None
    ca: str | None
    insecure_http: bool

    def parts(self) -> SplitResult:
        """The parts of the URL; raises InvalidInputError for one that cannot or must not be used."""
        parts = checked_url(
            self.url,
            "url",
            "auth",
            also=lambda parts: not (parts.query or parts.fragment),
            without=", without a query",
        )
        clear = parts.scheme == "http" and not _is_loopback(parts.hostname or "")
        if clear and self.auth is not None and not self.insecure_http:
            raise InvalidInputError(
                "url is http, so that the password would be sent for everybody to read; use https, "
                "or pass insecure_http=True",
                code="invalid_endpoint",
            )
        if self.ca is not None and parts.scheme == "http":
            raise InvalidInputError(
                "ca is for https, and url is http; use https, or leave ca out",
                code="incompatible_options",
            )
        return parts

    def __repr__(self) -> str:
        return f"<{self.url}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.auth, tuple):
            raise InvalidInputError(
                "a collection that was given a password is not pickled; pass auth a function of a "
                "module, which returns user and password, instead",
                code="not_picklable",
            )
        return (Address, (self.url, self.auth, self.ca, self.insecure_http))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
