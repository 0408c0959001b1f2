"""Texts that look like secrets: keys, tokens, passwords and card numbers (spec/memory.md, "Secrets")."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow._checks import checked_flag
from hedgerow._engine import _find_secrets
from hedgerow.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that looks like a secret: its kind and its line, from 1.

    `start` has its first characters, which name the issuer; it is empty for a password.
    """

    kind: str
    line: int
    start: str

    def __str__(self) -> str:
        start = f" ({self.start}…)" if self.start else ""
        return f"{self.kind} on line {self.line}{start}"


def check_no_secret(text: str, title: str = "", *, allowed: bool) -> None:
    """Raise InvalidInputError (`looks_like_secret`) if a text or its title has one, unless allowed."""
    if checked_flag(allowed, "allow_secret"):
        return
    for part, name in ((text, "text"), (title, "title")):
        if found := _find_secrets(part):
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise InvalidInputError(
                f"the {name} looks like it has a secret: {Secret(*found[0])}{more}; nothing was written. "
                "Remove the secret, or write it with --allow-secret (allow_secret=True)",
                code="looks_like_secret",
            )
