"""The random operations of a simulated root: names and arguments.

They do not depend on the content of the root. A memory is given as a number, which selects one of
the existing memories when the operation is made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from root_model import FOLDERS, iso
from simulated_world import BEGIN, ZONES, Fault

WORDS = (
    "acorn", "bramble", "cowslip", "dormouse", "elder", "foxglove", "gosling", "hawthorn", "ivy",
    "juniper", "kestrel", "lichen", "meadow", "nettle", "orchard", "primrose",
)  # fmt: skip
"""Words without similar spelling or common endings."""

TITLES = ("Acorn and bramble", "Meadow", "Dormouse in winter", "Kestrel", "Nettle soup")
MACOS_PATH = "garden/\u03c6\u03c5\u0301\u03bb\u03bb\u03bf.md"
"""A path as macOS writes it, with a decomposed accent."""
TAGS = ("red", "green", "infra/k8s", "infra")
AGENTS = ("codex", "codex/s1", "pi")
PATHS = (
    "garden/hedge.md", "garden/deep/pond.md", "notes/hedge.md", "pages/topic.md", "top.md",
    "garden/_about.md", "decisions/2026-03-01-old.md", "findings/meadow.md", "plot/Thorn.md", MACOS_PATH,
)  # fmt: skip
HANDLES = 4


class Operation(NamedTuple):
    """An operation: its name, the number of a handle, its fault, and its arguments."""

    name: str
    handle: int
    fault: tuple[str, int, bool] | None
    arguments: tuple[Any, ...]

    def failing(self) -> Fault | None:
        """Return the fault before it has occurred."""
        return None if self.fault is None else Fault(*self.fault)


class NewMemory(NamedTuple):
    """The arguments of `remember`."""

    title: str
    body: str
    kind: Any
    tags: list[str]
    on_duplicate: Any
    stated: dict[str, Any]


class Change(NamedTuple):
    """An edit of a memory: a new text, a word appended, or one word replaced. If `is_late`, the
    digest is that of the picked memory, whatever the key resolves to.

    If `is_late`, the digest is that of the memory that was picked, whatever its key means.
    """

    key: tuple[int, str]
    how: str
    file: tuple[dict[str, Any], str, str]
    word: str
    writer: str | None
    is_late: bool


def drawn(chance: random.Random, count: int) -> list[Operation]:
    """Draw operations."""
    return [_operation(chance) for _ in range(count)]


def _operation(chance: random.Random) -> Operation:
    name = chance.choices(list(_KINDS), weights=[weight for weight, _ in _KINDS.values()])[0]
    fault = None
    if name in FALLIBLE and chance.random() < 0.15:
        kind = chance.choice(["crash", "no space", "not permitted"])
        fault = (kind, chance.randint(1, 6), chance.random() < 0.5)
    return Operation(name, chance.randrange(HANDLES), fault, _KINDS[name][1](chance))


def _pick(chance: random.Random) -> int:
    # Often one of a few, so that operations affect the same memories.
    return chance.randrange(3) if chance.random() < 0.3 else chance.randrange(1000)


def _asked(chance: random.Random) -> str | tuple[int, int, int]:
    """Draw a time for a query.

    A time of a memory is drawn as the number of the memory, the number of the time, and an offset
    in microseconds.
    """
    if chance.random() < 0.3:
        return _time(chance)
    return _pick(chance), _pick(chance), chance.randint(-1, 1)


def _key(chance: random.Random) -> tuple[int, str]:
    """Draw a memory, and the kind of its key."""
    return _pick(chance), chance.choice(["path", "path", "stem", "title"])


def _words(chance: random.Random, fewest: int, most: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(fewest, most)))


def _body(chance: random.Random) -> str:
    """Draw a text. `{0}` and the like are replaced by linked memories."""
    # Few texts, so that there are duplicates.
    few = random.Random(chance.randrange(30))  # noqa: S311 - no secrets
    parts = [_words(few, 2, 12)]
    if chance.random() < 0.1:
        # Several passages.
        lines = ("\n".join(_words(chance, 9, 12) for _ in range(9)) for _ in range(6))
        parts += [f"## Part {number}\n\n{text}" for number, text in enumerate(lines)]
    if few.random() < 0.3:
        parts.append(f"## {few.choice(WORDS).title()}\n\n{_words(few, 1, 30)}")
    if few.random() < 0.3:
        parts.append(f"{_words(few, 1, 4)} #{few.choice(['red', 'infra/k8s'])}")
    if chance.random() < 0.25:
        parts.append(f"{chance.choice(WORDS)} [[{{{_pick(chance)}}}]]")
    if chance.random() < 0.15:
        parts.append(f"[{chance.choice(WORDS)}]({{/{_pick(chance)}}}#part)")
    return "\n\n".join(parts)


def _time(chance: random.Random) -> str:
    time = BEGIN + timedelta(days=chance.randint(-6, 6), minutes=chance.randint(-300, 300))
    return chance.choice([iso(time), f"{time:%Y-%m-%d}", f"{time:%Y-%m-%dT%H:%M}+13:00"])


_FIELDS: Mapping[str, Callable[[random.Random], Any]] = {
    "title": lambda chance: chance.choice([*TITLES, "\u03a6\u03cd\u03bb\u03bb\u03bf"]),
    "type": lambda chance: chance.choice([*FOLDERS, "recipe"]),
    "tags": lambda chance: chance.sample(TAGS, chance.randint(1, 2)),
    "aliases": lambda chance: [chance.choice(TITLES)],
    "date": _time,
    "created_at": _time,
    "updated_at": _time,
    "valid_from": _time,
    "valid_until": _time,
    "retracted": lambda chance: chance.choice([True, _time(chance)]),
    "retraction_reason": lambda chance: _words(chance, 1, 2),
    "stale_after": lambda chance: chance.choice(["3d", _time(chance)]),
    "scope": lambda chance: {"user": chance.choice(["ana", "ana", "bob"])},
    "written_by": lambda chance: chance.choice([chance.choice(AGENTS), chance.sample(AGENTS, 2)]),
    "supersedes": lambda chance: [f"[[{{{_pick(chance)}}}]]"],
    "superseded_by": lambda chance: [f"[[{{{_pick(chance)}}}]]"],
    "derived_from": lambda chance: [f"[[{{{_pick(chance)}}}]]"],
}
"""Front matter that a user writes in an editor."""


def _file(chance: random.Random) -> tuple[dict[str, Any], str, str]:
    """Draw a user's file: front matter, text and line ends."""
    names = chance.sample(list(_FIELDS), chance.choice([0, 1, 2, 3, 5]))
    heading = f"# {chance.choice(TITLES)}\n\n" if chance.random() < 0.5 else ""
    fields = {name: _FIELDS[name](chance) for name in names}
    newline = "\r\n" if chance.random() < 0.1 else "\n"
    return fields, f"\n{heading}{_body(chance)}\n", newline


def _equally_long(chance: random.Random) -> list[str]:
    """Draw two words of the same length."""
    length = chance.choice([5, 6, 7, 8])
    return chance.sample([word for word in WORDS if len(word) == length], 2)


def _recall(chance: random.Random) -> tuple[Any, ...]:
    options: dict[str, Any] = {}
    if chance.random() < 0.2:
        options["include_superseded"] = True
    if chance.random() < 0.3:
        options["as_of"] = _asked(chance)
    for name, draw in (
        ("types", lambda: [chance.choice(list(FOLDERS))]),
        ("tags", lambda: [chance.choice(TAGS)]),
        ("written_by", lambda: [chance.choice(AGENTS)]),
        ("after", lambda: _asked(chance)),
        ("before", lambda: _asked(chance)),
    ):
        if chance.random() < 0.12:
            options[name] = draw()
    if chance.random() < 0.3:
        options["depth"] = chance.choice(["shallow", "deep"])
    if chance.random() < 0.1:
        options["recency"] = "3d"
    return tuple(chance.sample(WORDS, chance.randint(1, 3))), options


def _listing(chance: random.Random) -> tuple[dict[str, Any]]:
    options: dict[str, Any] = {}
    if chance.random() < 0.5:
        name = chance.choice(["superseded", "retracted", "expired", "type", "tags", "written_by"])
        values = {"type": chance.choice(list(FOLDERS)), "tags": [chance.choice(TAGS)]}
        values["written_by"] = [chance.choice(AGENTS)]
        options[name] = values.get(name, True)
    if chance.random() < 0.3:
        options |= {"limit": chance.randint(1, 4), "offset": chance.randrange(3)}
    return (options,)


def _remember(chance: random.Random) -> tuple[NewMemory]:
    stated: dict[str, Any] = {}
    if chance.random() < 0.3:
        stated["written_by"] = chance.choice(AGENTS)
    if chance.random() < 0.3:
        stated["valid_until"] = chance.choice(["2d", _time(chance)[:10]])
    if chance.random() < 0.3:
        stated["stale_after"] = "2d"
    new = NewMemory(
        chance.choice(TITLES),
        _body(chance),
        chance.choice(list(FOLDERS)),
        chance.sample(TAGS, chance.randrange(3)),
        chance.choice(["report", "report", "refuse", "keep", "supersede"]),
        stated,
    )
    return (new,)


def _edit(chance: random.Random) -> tuple[Change]:
    how = chance.choice(["whole", "append", "replace"])
    writer = chance.choice([None, None, *AGENTS])
    is_late = chance.random() < 0.1
    return (Change(_key(chance), how, _file(chance), chance.choice(WORDS), writer, is_late),)


def _link(chance: random.Random) -> tuple[Any, ...]:
    relation = chance.choice(["related", "derived_from", "conflicts_with", "see"])
    return _key(chance), _key(chance), relation, chance.choice([1.0, 1.0, 0.5])


def _import(chance: random.Random) -> tuple[Any, ...]:
    return tuple(
        {
            "id": f"r{number}",
            "text": _words(chance, 2, 8),
            "title": chance.choice(TITLES),
            "tags": chance.sample(TAGS, 1),
        }
        for number in chance.sample(range(5), chance.randint(1, 2))
    )


def _nothing(_: random.Random) -> tuple[Any, ...]:
    return ()


WRITES: dict[str, tuple[int, Callable[[random.Random], tuple[Any, ...]]]] = {
    "remember": (16, _remember),
    "wrapup": (2, lambda chance: (chance.choice(TITLES), _words(chance, 1, 5))),
    "edit": (7, _edit),
    "rename": (5, lambda chance: (_key(chance), chance.choice([*PATHS, "pond", "moved/hedge.md"]))),
    "supersede": (5, lambda chance: (_key(chance), _key(chance))),
    "supersede with a text": (3, lambda chance: (_key(chance), _body(chance))),
    "retract": (4, lambda chance: (_key(chance), chance.choice([None, "it was wrong"]))),
    "restore": (5, lambda chance: (_key(chance),)),
    "forget": (3, lambda chance: (_key(chance),)),
    "link": (5, _link),
    "unlink": (3, lambda chance: _link(chance)[:3]),
    "dedupe": (2, _nothing),
    "synthesize": (1, lambda chance: (chance.choice(WORDS),)),
    "import": (2, _import),
}
"""Operations that write files."""

_EDITOR: dict[str, tuple[int, Callable[[random.Random], tuple[Any, ...]]]] = {
    "write a file": (10, lambda chance: (chance.choice(PATHS), *_file(chance))),
    "set a field": (7, lambda chance: (_pick(chance), (key := chance.choice(list(_FIELDS))), _FIELDS[key](chance))),
    "write another word": (4, lambda chance: (_pick(chance), _equally_long(chance), chance.random() < 0.5)),
    "move a file": (3, lambda chance: (_pick(chance), chance.choice(PATHS), chance.random() < 0.5)),
    "move a folder": (2, lambda chance: (chance.sample(("garden", "plot", "notes"), 2),)),
    "delete a file": (3, lambda chance: (_pick(chance),)),
    "write bytes": (1, lambda chance: (chance.choice(PATHS),)),
    "touch": (2, lambda chance: (_pick(chance), chance.randint(-400, 400))),
}  # fmt: skip
"""Changes that a user makes without hedgerow."""

_READS: dict[str, tuple[int, Callable[[random.Random], tuple[Any, ...]]]] = {
    "recall": (24, _recall),
    "list": (8, _listing),
    "show": (4, lambda chance: (_key(chance),)),
    "grep": (4, lambda chance: (chance.choice(WORDS),)),
    "validity": (5, lambda chance: (_key(chance), chance.choice([None, _asked(chance)]))),
    "visit": (3, lambda chance: (_key(chance), chance.choice(["processed", "failed"]))),
    "visited": (2, _nothing),
    "graph": (3, _nothing),
    "compare with a copy": (7, lambda chance: (*_recall(chance), _pick(chance))),
    "check": (2, _nothing),
}

_WORLD: dict[str, tuple[int, Callable[[random.Random], tuple[Any, ...]]]] = {
    "move the clock": (6, lambda chance: (chance.choice([1, 30, 3600, 86_400, 200_000, -50_000]),)),
    "move the clock to a border": (
        4,
        lambda chance: (_pick(chance), _pick(chance), chance.randint(-1, 1)),
    ),
    "recall without space": (2, lambda chance: (chance.randrange(60_000),)),
    "change the zone": (2, lambda chance: (chance.choice(ZONES),)),
    "reopen": (4, _nothing),
    "lose files": (3, lambda chance: (chance.choice(["index.db", "store.db", "*"]),)),
    "damage": (
        2,
        lambda chance: (
            chance.choice(["index.db", "store.db"]),
            chance.choice(["zeros", "half", "noise"]),
        ),
    ),
    "block": (1, lambda chance: (chance.choice([".hedgerow", "preferences"]),)),
    "remember without space": (2, lambda chance: (*_remember(chance), chance.randrange(60_000))),
}

_KINDS = {**WRITES, **_EDITOR, **_READS, **_WORLD}
FALLIBLE = (frozenset(WRITES) - {"synthesize", "import"}) | {"recall", "list", "graph"}
"""The operations that a fault may hit."""
