"""Profiles: one word for the options of ranking (spec/retrieval.md, "Profiles")."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from ._checks import shown
from .errors import InvalidInputError

Profile = Literal["spec", "best"]
Matching = Literal["spec", "extended"]
Fusion = Literal["rrf", "score"]


class Ranking(TypedDict):
    """The options that a profile stands for."""

    matching: Matching
    fusion: Fusion
    neighbors: bool
    reweight: bool


PROFILES: dict[Profile, Ranking] = {
    "spec": {"matching": "spec", "fusion": "rrf", "neighbors": False, "reweight": True},
    "best": {"matching": "extended", "fusion": "score", "neighbors": True, "reweight": False},
}


def ranking(profile: str, **options: Any) -> Ranking:
    """The options of a profile; those that are given go before it.

    Raises InvalidInputError for an unknown profile, TypeError for what is no bool.
    """
    known = PROFILES.get(profile) if isinstance(profile, str) else None  # type: ignore[call-overload]
    if known is None:
        raise InvalidInputError(
            f'profile must be "spec" or "best", not {shown(profile)}', code="invalid_option"
        )
    chosen: Any = {**known, **{key: value for key, value in options.items() if value is not None}}
    for option in ("neighbors", "reweight"):
        if not isinstance(chosen[option], bool):
            raise TypeError(f"{option} must be True, False or None, not {shown(chosen[option])}")
    result: Ranking = chosen
    return result


def profile_of(**options: Any) -> Profile | None:
    """The profile whose options these are."""
    return next((name for name, known in PROFILES.items() if known == options), None)
