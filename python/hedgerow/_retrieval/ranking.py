"""The options of ranking that a retriever is given, checked."""

from __future__ import annotations

from typing import Any

from hedgerow._checks import shown
from hedgerow._profiles import PROFILES, Ranking
from hedgerow.errors import InvalidInputError

_FLAGS = ("neighbors", "speakers", "dates", "reweight")
_OF_SCORES = ("speakers", "dates")
"""The flags that take part in score fusion alone."""


def ranking(profile: str, **options: Any) -> Ranking:
    """The options of a profile; options that are given take precedence.

    Raises InvalidInputError for an unknown profile and for flags of score fusion without it, TypeError for
    a flag that is not a bool.
    """
    known = PROFILES.get(profile) if isinstance(profile, str) else None  # type: ignore[call-overload]
    if known is None:
        raise InvalidInputError(
            f'profile must be "spec" or "best", not {shown(profile)}', code="invalid_option"
        )
    chosen: Any = {**known, **{key: value for key, value in options.items() if value is not None}}
    for option in _FLAGS:
        if not isinstance(chosen[option], bool):
            raise TypeError(f"{option} must be True, False or None, not {shown(chosen[option])}")
    if chosen["fusion"] == "rrf":
        for option in _OF_SCORES:
            if options[option]:
                raise InvalidInputError(
                    f'{option}=True adds to scores, and fusion="rrf" ranks without them; '
                    f'pass fusion="score" too, or leave {option} out',
                    code="incompatible_options",
                )
            chosen[option] = False
    result: Ranking = chosen
    return result
