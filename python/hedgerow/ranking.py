"""`Ranking`: how a retriever ranks hits (spec/retrieval.md, "Profiles")."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from numbers import Real
from typing import Annotated, Any

from ._checks import checked_count, shown
from ._operations.fields import Field
from ._profiles import PROFILES, ProfileOptions
from .errors import InvalidInputError
from .typing import Fusion, Matching, Operator, Profile

__all__ = ["Ranking"]
__dir__ = partial(sorted, __all__)


_CHOICES = {"matching": ("spec", "extended"), "fusion": ("rrf", "score"), "operator": ("OR", "AND")}
_FLAGS = ("neighbors", "speakers", "dates", "reweight")
_OF_SCORES = ("speakers", "dates")
"""The flags that add to scores, so that they take part in score fusion alone."""


@dataclass(frozen=True)
class Ranking:
    """How a retriever ranks: a profile, and the options that replace those of the profile.

    The profile "best" gives the best results known, "spec" those of the specification to the letter. A
    profile stands for these options; None leaves an option to it:

    - `matching`: how words are matched, "spec" or "extended" as in `compile_match`;
    - `fusion`: how keywords and meaning are combined, "rrf" by ranks or "score" by scores;
    - `neighbors`: whether the chunks next to a chunk in its path count for it;
    - `speakers`: whether the chunks of the speaker that the question asks about count more;
    - `dates`: whether the chunks of the days and periods that the question names count more;
    - `reweight`: whether scores are multiplied by the intent of the question.

    `operator` joins words of a query without operators: "OR" or "AND".

    A reranker reads the first `rerank_chars` characters of a hit, 4,000 if not given, and its scores
    are blended with those of the search: `rerank_weight` is its share, 0.3 if not given, and with 1 it
    decides alone. Under the profile "spec" it reads a short text of 280 characters, and its share is 1.

    Raises InvalidInputError for an unknown profile or option value, and for `speakers=True` and
    `dates=True` without score fusion.
    """

    profile: Annotated[
        Profile,
        Field(
            "How hits are ranked: best by what was measured, spec by the specification. It stands for "
            "the next six options"
        ),
    ] = "best"
    _: KW_ONLY
    matching: Annotated[
        Matching | None,
        Field("extended keeps short names, numbers and parts of words that spec drops"),
    ] = None
    fusion: Annotated[
        Fusion | None, Field("Fuse keywords and meaning by their ranks, or by their scores")
    ] = None
    neighbors: Annotated[
        bool | None, Field("Let the chunks next to a chunk in its file count for it")
    ] = None
    speakers: Annotated[
        bool | None,
        Field("Let chunks by a speaker count more if the question asks about that speaker"),
    ] = None
    dates: Annotated[
        bool | None,
        Field("Let chunks of the days and periods that the question names count more"),
    ] = None
    reweight: Annotated[
        bool | None, Field("Multiply scores according to the intent of the question")
    ] = None
    operator: Annotated[Operator | None, Field("The operator between plain words")] = None
    rerank_weight: float | None = None
    rerank_chars: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.profile, str) or self.profile not in PROFILES:
            raise _invalid("profile", '"spec" or "best"', self.profile)
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value in choices):
                raise _invalid(name, " or ".join(f'"{one}"' for one in choices), value)
        for name in _FLAGS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool):
                raise InvalidInputError(
                    f"{name} must be True, False or None, not {shown(value)}", code="invalid_option"
                )
            if value and name in _OF_SCORES and self._options["fusion"] == "rrf":
                raise InvalidInputError(
                    f'{name}=True adds to scores, and fusion="rrf" ranks without them; '
                    f'pass fusion="score" too, or leave {name} out',
                    code="incompatible_options",
                )
        weight = self.rerank_weight
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if weight is not None and not (is_number and 0 <= weight <= 1):
            raise _invalid(
                "rerank_weight",
                "a number from 0 to 1, where 1 replaces the order of the search by the reranker's",
                weight,
            )
        if self.rerank_chars is not None:
            checked_count(self.rerank_chars, "rerank_chars")

    @classmethod
    def best(cls) -> Ranking:
        """Return the ranking with the best results known."""
        return cls("best")

    @classmethod
    def spec(cls) -> Ranking:
        """Return the ranking of the specification, to the letter."""
        return cls("spec")

    @property
    def _options(self) -> ProfileOptions:
        """The options in use: those of the profile, with the replacements of the caller."""
        chosen: Any = dict(PROFILES[self.profile])
        for name in chosen:
            value = getattr(self, name)
            if value is not None:
                chosen[name] = value
        if chosen["fusion"] == "rrf":
            chosen.update(dict.fromkeys(_OF_SCORES, False))
        options: ProfileOptions = chosen
        return options

    def __repr__(self) -> str:
        given = ((one.name, getattr(self, one.name)) for one in fields(self)[1:])
        named = [f"{name}={value!r}" for name, value in given if value is not None]
        return f"Ranking({', '.join([repr(self.profile), *named])})"


def checked_ranking(ranking: Ranking | None) -> Ranking:
    """Return a ranking, by default that of the specification; InvalidInputError for anything else."""
    if ranking is None:
        return Ranking.spec()
    if not isinstance(ranking, Ranking):
        raise InvalidInputError(
            f'ranking must be a Ranking, as in Ranking("best"), not {shown(ranking)}',
            code="invalid_option",
        )
    return ranking


def _invalid(name: str, choices: str, value: object) -> InvalidInputError:
    return InvalidInputError(f"{name} must be {choices}, not {shown(value)}", code="invalid_option")
