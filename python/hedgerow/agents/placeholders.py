"""The placeholders of a template, found and checked (spec/agents.md, "Templates")."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._nearest import nearest

__all__ = ["NODE_LISTS", "PLACEHOLDERS", "Placeholder", "TemplateMistake", "scan"]

NODE_LISTS = ("NODES", "EPISODES", "TARGETS")
"""Names for one thing: the selected nodes."""

PLACEHOLDERS = (
    *NODE_LISTS,
    "NEIGHBORS",
    "TOPOLOGY",
    "PAIRS",
    "HEALTH",
    "COUNT",
    "NOW",
    "AGENT_NAME",
    "NODE:key",
)

_BRACES = re.compile(r"\{\{(?:([^{}\n]*)\}\})?")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder: its name in capitals, for NODE the key, and its characters in the template."""

    name: str
    key: str | None
    start: int
    end: int

    @property
    def label(self) -> str:
        """What a definition lists it as."""
        return self.name if self.key is None else f"{self.name}:{self.key}"


@dataclass(frozen=True, slots=True)
class TemplateMistake:
    """What is wrong in a template, and at which character."""

    offset: int
    message: str
    suggestion: str | None = None


def scan(template: str) -> tuple[list[Placeholder], list[TemplateMistake]]:
    """Give the placeholders of a template, and the mistakes in it, each in order."""
    found: list[Placeholder] = []
    mistakes: list[TemplateMistake] = []
    for braces in _BRACES.finditer(template):
        start, end = braces.span()
        if braces[1] is None:
            message = "{{ begins a placeholder and nothing closes it; write }} on the same line"
            mistakes.append(TemplateMistake(start, message))
            continue
        name, key = named(braces[1])
        wrong = mistake(name, key)
        if wrong is None:
            found.append(Placeholder(name, key, start, end))
        else:
            mistakes.append(TemplateMistake(start, *wrong))
    return found, mistakes


def named(text: str) -> tuple[str, str | None]:
    """Take apart what stands between the braces: the name in capitals, and the key after a colon."""
    name, colon, key = text.strip().partition(":")
    return name.rstrip().upper(), key.strip() if colon else None


def mistake(name: str, key: str | None) -> tuple[str, str | None] | None:
    """Say what is wrong with a placeholder, with what was probably meant; None when it is right."""
    if name == "NODE":
        return None if key else ("NODE wants a key, as in {{NODE:instructions}}", None)
    if name not in PLACEHOLDERS:
        known = ", ".join(PLACEHOLDERS)
        return f'there is no placeholder "{name}"; there are {known}', nearest(name, PLACEHOLDERS)
    if key is not None:
        return f"{name} takes no key; write {{{{{name}}}}}", None
    return None
