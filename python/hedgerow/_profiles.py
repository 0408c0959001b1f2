"""Profiles: one word for the options of ranking (spec/retrieval.md, "Profiles")."""

from __future__ import annotations

from typing import Any, TypedDict

from .typing import Fusion, Matching, Profile


class ProfileOptions(TypedDict):
    """The options of a profile."""

    matching: Matching
    fusion: Fusion
    neighbors: bool
    speakers: bool
    dates: bool
    reweight: bool


PROFILES: dict[Profile, ProfileOptions] = {
    "spec": {
        "matching": "spec",
        "fusion": "rrf",
        "neighbors": False,
        "speakers": False,
        "dates": False,
        "reweight": True,
    },
    "best": {
        "matching": "extended",
        "fusion": "score",
        "neighbors": True,
        "speakers": True,
        "dates": True,
        "reweight": False,
    },
}


CANDIDATES: dict[Profile, int] = {"spec": 60, "best": 100}
"""The most hits of each leg, where a search says nothing else."""


def profile_of(**options: Any) -> Profile | None:
    """The profile whose options these are."""
    return next((name for name, known in PROFILES.items() if known == options), None)
