"""What an agent may do to nodes: one plain class for each action (spec/agents.md, "Replies")."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, ClassVar

__all__ = [
    "ACTIONS",
    "Action",
    "Categorize",
    "Delete",
    "LinkAdd",
    "Note",
    "Refine",
    "Rejected",
    "Rename",
    "Weight",
    "WriteNode",
]


@dataclass(frozen=True, slots=True)
class _Action:
    op: ClassVar[str]
    _: KW_ONLY
    line: int = field(default=0, compare=False)
    """The line of the reply on which it begins, from 1; it takes no part in equality."""

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form, `{"op": ..., ...}`, which a reply may have too."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "line"}
        listed = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
        return {"op": self.op, **listed}


@dataclass(frozen=True, slots=True)
class LinkAdd(_Action):
    """Join two nodes by an edge of this strength, above 0 and up to 1."""

    op: ClassVar[str] = "link-add"
    a: str
    b: str
    strength: float = 1.0


@dataclass(frozen=True, slots=True)
class Weight(_Action):
    """Give a node a weight, from 0 to 1."""

    op: ClassVar[str] = "weight"
    key: str
    value: float


@dataclass(frozen=True, slots=True)
class Categorize(_Action):
    """Put a node into a category of spec/pipeline.md."""

    op: ClassVar[str] = "categorize"
    key: str
    category: str


@dataclass(frozen=True, slots=True)
class WriteNode(_Action):
    """Write a new node, joined to those it covers; `confidence` is high, medium, low or None."""

    op: ClassVar[str] = "write-node"
    key: str
    content: str
    confidence: str | None = None
    covers: tuple[str, ...] = ()
    type: str = "semantic"


@dataclass(frozen=True, slots=True)
class Refine(_Action):
    """Replace what a node says."""

    op: ClassVar[str] = "refine"
    key: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete(_Action):
    """Mark a node as deleted."""

    op: ClassVar[str] = "delete"
    key: str


@dataclass(frozen=True, slots=True)
class Rename(_Action):
    """Give a node another key."""

    op: ClassVar[str] = "rename"
    key: str
    new_key: str


@dataclass(frozen=True, slots=True)
class Note(_Action):
    """Tell the log of the run something; no node changes."""

    op: ClassVar[str] = "note"
    text: str


Action = LinkAdd | Weight | Categorize | WriteNode | Refine | Delete | Rename | Note

ACTIONS = ("link-add", "weight", "categorize", "write-node", "refine", "delete", "rename", "note")
"""Every action, by the name that definitions and JSON replies have for it."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """What a reply asked for and is not done: the line (from 1), the text, and why.

    `op` is the action that was meant, or None where that cannot be told.
    """

    line: int
    text: str
    reason: str
    op: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {"line": self.line, "text": self.text, "reason": self.reason, "op": self.op}
