"""The address of a collection, and the credentials."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

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
        return _checked_url(self.url, self)

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


def _checked_url(url: str, address: Address) -> SplitResult:
    """The parts of the URL; raises InvalidInputError, which does not repeat a password."""
    if not isinstance(url, str):
        raise InvalidInputError(
            f"url must be a str, not {type(url).__name__}", code="invalid_option"
        )
    parts = SplitResult("", "", "", "", "")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if "@" in parts.netloc:
        raise InvalidInputError(
            "url holds a user name or a password; leave them out and pass auth",
            code="invalid_endpoint",
        )
    if not valid or parts.query or parts.fragment:
        raise InvalidInputError(
            'url must begin with "http://" or "https://" and name a host, without a query',
            code="invalid_endpoint",
        )
    clear = parts.scheme == "http" and not _is_loopback(parts.hostname or "")
    if clear and address.auth is not None and not address.insecure_http:
        raise InvalidInputError(
            "url is http, so that the password would be sent for everybody to read; use https, or "
            "pass insecure_http=True",
            code="invalid_endpoint",
        )
    if address.ca is not None and parts.scheme == "http":
        raise InvalidInputError(
            "ca is for https, and url is http; use https, or leave ca out",
            code="incompatible_options",
        )
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
