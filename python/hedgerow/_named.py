"""Names of adapters with their models: ADAPTER:MODEL, or ADAPTER:MODEL@URL."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Protocol

from .errors import InvalidInputError


class _Names(Container[str], Iterable[str], Protocol):
    """The adapters there are."""


@dataclass(frozen=True, slots=True)
class Named:
    """A name taken apart."""

    adapter: str
    model: str
    url: str | None

    def without_url(self) -> str:
        """The model, of an adapter that has no server; InvalidInputError for one with a URL."""
        if self.url is not None:
            raise InvalidInputError(
                f"{self.adapter} runs in this process and takes no URL; write "
                f"{self.adapter}:{self.model}",
                code="invalid_option",
            )
        return self.model


def parse(name: str, kind: str, adapters: _Names, *, example: str) -> Named:
    """Take a name apart; raises InvalidInputError when it is none of these adapters'."""
    adapter, _, rest = name.partition(":")
    if adapter not in adapters or not rest:
        raise InvalidInputError(
            f"{name!r} names no {kind}; write ADAPTER:MODEL with one of "
            f"{', '.join(adapters)}, as in {example}",
            code="invalid_option",
        )
    # Models have names like `user/model@revision`: only what looks like a URL is one.
    found = re.fullmatch(r"(.+?)@(https?://.+)", rest)
    return Named(adapter, found[1], found[2]) if found else Named(adapter, rest, None)
