"""Scopes: whose memories these are (spec/memory.md, "Scopes")."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from hedgerow._checks import checked_text, shown
from hedgerow._engine import _scope_id, _stated_scope
from hedgerow.errors import InvalidInputError

FIELD = "scope"
"""The field of front matter."""

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """The user, the agent and the session that memories belong to; None for any.

    With `shared`, memories that state no scope are seen as well, and never written.
    """

    user: str | None = None
    agent: str | None = None
    session: str | None = None
    shared: bool = False

    @classmethod
    def of(cls, given: Mapping[str, str] | None, *, shared: bool = False) -> Scope:
        """Return a scope that a caller gave; InvalidInputError for another key or a bad id."""
        if shared and not given:
            raise InvalidInputError(
                "shared goes with a scope: without one all memories are seen", code="invalid_option"
            )
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise InvalidInputError(
                f'scope must be a mapping such as {{"user": "ana"}}, not {shown(given)}',
                code="invalid_option",
            )
        for key, value in given.items():
            if key not in _KEYS:
                raise InvalidInputError(
                    f"a scope has {', '.join(_KEYS)}, not {shown(key)}", code="invalid_option"
                )
            if _scope_id(checked_text(value, f"scope {key}")) is None:
                raise InvalidInputError(
                    f"the {key} of a scope must be 1 to {_LONGEST} characters, not blank",
                    code="invalid_option",
                )
        return cls(**{key: _scope_id(value) for key, value in given.items()}, shared=shared)

    @property
    def ids(self) -> tuple[str | None, str | None, str | None]:
        """The user, the agent and the session."""
        return self.user, self.agent, self.session

    @property
    def own(self) -> Scope:
        """The scope without shared memories, for writing."""
        return replace(self, shared=False)

    @classmethod
    def stated(cls, metadata: Mapping[str, Any]) -> Scope:
        """Return the scope that front matter states; one with ids that no caller can give if it cannot be read."""
        return cls(*_stated_scope(metadata.get(FIELD)))

    @property
    def is_unreadable(self) -> bool:
        """Whether the scope is stated and cannot be read."""
        return not all(self.to_dict().values())

    def __bool__(self) -> bool:
        return any(self.to_dict())

    def to_dict(self) -> dict[str, str]:
        """Return the ids that are given, as front matter has them."""
        values = {key: getattr(self, key) for key in _KEYS}
        return {key: value for key, value in values.items() if value is not None}

    def has(self, other: Scope) -> bool:
        """Whether what is in `other` is in this scope: it states all that this one does.

        With `shared`, what states nothing is in it too.
        """
        stated = other.to_dict()
        if self.shared and not stated:
            return True
        return all(stated.get(key) == value for key, value in self.to_dict().items())

    def is_comparable(self, other: Scope) -> bool:
        """Return whether one of two scopes is the other or wider."""
        return self.has(other) or other.has(self)

    def narrowed(self, other: Scope) -> Scope:
        """Return this scope, narrowed by another; InvalidInputError if they contradict."""
        for key, value in self.to_dict().items():
            if getattr(other, key) not in (None, value):
                raise InvalidInputError(
                    f"the root is that of the {key} {value!r} already", code="invalid_option"
                )
        if other.shared and self and not self.shared:
            raise InvalidInputError(
                f"the root is that of the {self} alone, without shared memories",
                code="invalid_option",
            )
        return replace(self, **other.to_dict(), shared=other.shared)

    @property
    def suffix(self) -> str:
        """The end of the names of files of this scope, which tells them from files of other scopes."""
        if not self:
            return ""
        text = "\0".join(f"{key}={value}" for key, value in self.to_dict().items())
        return f"-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in self.to_dict().items())


def front_matter_of(scope: Scope) -> dict[str, Any]:
    """Return the field of front matter that states a scope; none without one."""
    return {FIELD: scope.to_dict()} if scope else {}


_KEYS = tuple(field.name for field in fields(Scope) if field.name != "shared")
