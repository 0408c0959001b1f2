"""The token of a run, and the fence that bears it (spec/agents.md, "The block").

A model may quote its prompt, and the text of a node may contain anything. The prompt of each run
therefore has a token that no node can know, and only the block with that token has directives.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from hedgerow._checks import checked_text, shown
from hedgerow.errors import HedgerowError, InvalidInputError

__all__ = ["fence_of", "fenced", "new_token", "token_for"]

_BYTES = 8
_TOKEN = re.compile(r"[0-9A-Za-z]{8,64}")
_TRIES = 8
_BACKTICKS = 4
"""Four, so that ordinary code in the new text of a node does not end the block."""
_RUNS = re.compile(r"^`+", re.MULTILINE)


def new_token() -> str:
    """Return a random token."""
    return secrets.token_hex(_BYTES)


def token_for(prompt: str, make: Callable[[], str]) -> str:
    """Return the token of a run, which does not occur in its prompt; `make` makes tokens.

    Raises InvalidInputError for a token that is not 8 to 64 ASCII letters and digits.
    """
    for _ in range(_TRIES):
        token = make()
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise InvalidInputError(
                f"a token must be 8 to 64 ASCII letters and digits, not {shown(token)}",
                code="invalid_option",
            )
        if token not in prompt:
            return token
    raise HedgerowError(
        f"{_TRIES} tokens in a row occur in the prompt; let `token` return random ones",
        code="token_in_prompt",
    )


def fence_of(token: str, backticks: int = _BACKTICKS) -> tuple[str, str]:
    """Return the first and the last line of the block."""
    return f"{'`' * backticks}hedgerow {token}", "`" * backticks


def fenced(text: str, token: str) -> str:
    """Return the block with `text`, which is directives or actions as JSON.

    Its fence is longer than any run of backticks that begins a line of the text.
    """
    checked_text(token, "token")
    longest = max((len(run) for run in _RUNS.findall(checked_text(text, "text"))), default=0)
    first, last = fence_of(token, max(_BACKTICKS, longest + 1))
    return f"{first}\n{text}\n{last}"
