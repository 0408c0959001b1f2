"""An attacker with Ana's token who tries to find out whether other users have memories.

Random requests go to two roots that differ only in the memories of Ben, while Ben writes whatever he can to be
noticed. Any difference but scores, the order that follows from them, and time is a finding.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hedgerow import HedgerowError, MemoryRoot
from scope_pair import OF_ANA, OF_BEN, WRAPUP, Comparison, Face, Http, Hybrid, Python, Shared, pair

FACES_ATTACKED: tuple[Callable[[Path], Face], ...] = (Python, Http, Shared, Hybrid)

MOST_FORGOTTEN = 30
"""The memories of Ben that he keeps. With fewer there would be nothing to notice."""

STEPS = 120
"""The requests to one pair of roots. Later ones work on memories that earlier ones wrote."""

WORDS = [
    "otter",
    "otters",
    "river",
    "bridge",
    "briidge",
    "holt",
    "shy",
    "trout",
    "eel",
    "weir",
    "weirr",
    "pool",
    "winter",
    "spring",
    "ottr",
    "schizophrenia",
    "schizofrenia",
    "xylophonist",
    "xylofonist",
    "secret",
    "key",
    "mat",
    "hidden",
    "place",
    "words",
    "mine",
    "february",
    "answer",
    "trip",
    "brid",
    "ott",
    "Otterbrücke",
    "Otterbr",
]
NAMES = (
    *sorted({Path(path).stem for path in (*OF_ANA, *OF_BEN)}),
    *sorted({*OF_ANA, *OF_BEN}),
    *("Den", "Holt", "Pool", "The new answer", "Hollt", "holt#Where", "Xylophonist 3", "nowhere"),
)
GERMAN = "Für die Bäume, die Vögel und die Büsche: die Otterbrücke. Grüße."
TYPES = ("note", "finding", "decision", "page", "session", "secret", "hidden", "sub")
TAGS = ("otter", "river", "river/bank", "hidden", "nowhere")
STAGES = (
    *("all", "match:{word}", "search:{word}", "neighbors:{name}", "seed:{name}", "key:{name}"),
    *("interference-pairs,min_sim=0", "key:*{word}*"),
)
FURTHER = (
    *("spread", "spectral", "degree:>0", "type:{type}", "visited:linker", "not-visited:linker"),
    *("community:@{name}", "sort:weight", "sort:timestamp", "count", "select:key,type,timestamp"),
    *("weight:>0.5", "confluence", "rank:{word}"),
)
RELATIONS = ("related", "supersedes", "superseded_by", "derived_from", "conflicts_with", "part_of")


class Attacker:
    """Chooses the requests of Ana, and the writes of Ben."""

    def __init__(self, chance: random.Random, comparison: Comparison) -> None:
        self.chance = chance
        self.compared = comparison
        self.number = 0

    def word(self) -> str:
        return self.chance.choice(WORDS)

    def text(self) -> str:
        return " ".join(self.word() for _ in range(self.chance.randint(1, 6)))

    def name(self) -> str:
        own = [*self.compared.files]
        if own and self.chance.random() < 0.5:
            path = self.chance.choice(own)
            return self.chance.choice([path, Path(path).stem])
        return self.chance.choice(NAMES)

    def own(self) -> str:
        """The path of a memory of Ana."""
        own = [one for one in self.compared.files if not one.startswith(".hedgerow/")]
        return self.chance.choice(own or ["notes/holt.md"])

    def fresh(self) -> int:
        self.number += 1
        return self.number

    def filters(self) -> dict[str, Any]:
        """Some filters of a recall."""
        maybe = self.chance.random
        found: dict[str, Any] = {}
        if maybe() < 0.2:
            found["types"] = [self.chance.choice(TYPES)]
        if maybe() < 0.2:
            found["tags"] = [self.chance.choice(TAGS)]
        if maybe() < 0.2:
            found["as_of"] = self.chance.choice(["2026-02-01", "2026-02-16", "2026-03-01"])
        if maybe() < 0.2:
            found["include_superseded"] = True
        if maybe() < 0.2:
            found["depth"] = self.chance.choice(["shallow", "deep"])
        return found

    def pipeline(self) -> str:
        stages = [self.chance.choice(STAGES)]
        stages += self.chance.sample(FURTHER, self.chance.randint(0, 2))
        filled = (
            one.format(word=self.word(), name=self.name(), type=self.chance.choice(TYPES))
            for one in stages
        )
        return " | ".join(filled)

    def front_matter(self, user: str) -> str:
        """Front matter of a user that names whatever exists."""
        choice = self.chance.choice
        lines = [f"scope: {{user: {user}}}", f"date: 2026-02-{self.chance.randint(1, 28):02}"]
        lines += [
            f"{relation}: ['[[{self.name()}]]', '[[{choice(NAMES)}]]']"
            for relation in self.chance.sample(RELATIONS, self.chance.randint(0, 3))
        ]
        if self.chance.random() < 0.5:
            lines.append(f"title: {choice(NAMES).replace('#', ' ')}")
        if self.chance.random() < 0.3:
            lines.append(f"aliases: [{choice(NAMES).replace('#', ' ')}, {self.word()}]")
        if self.chance.random() < 0.3:
            lines.append(f"type: {choice(TYPES)}")
        if self.chance.random() < 0.3:
            lines.append(f"tags: [{choice(TAGS)}, {choice(TAGS)}]")
        if self.chance.random() < 0.1:
            lines.append("retracted: true")
        if self.chance.random() < 0.1:
            lines.append(f"topic: {self.word()}")
        return "\n".join(["---", *lines, "---", ""])

    def body(self) -> str:
        links = [f"[[{self.name()}]]", f"[x]({self.name()})", f"[y](../{self.name()})"]
        some = self.chance.sample(links, self.chance.randint(0, 2))
        return "\n\n".join([f"# {self.word()}", self.text(), " ".join(some), self.text()])

    # The requests of Ana.

    def read(self) -> tuple[str, dict[str, Any]]:
        """Return a request that changes nothing."""
        choice, topic = self.chance.choice, self.word()
        requests: list[Callable[[], tuple[str, dict[str, Any]]]] = [
            lambda: ("recall", {"query": self.text(), "limit": 100, **self.filters()}),
            lambda: ("recall", {"query": self.text(), "limit": 100, "explain": True}),
            lambda: ("context", {"query": self.text(), "budget": 50_000, "per_file": 100}),
            lambda: ("why_not", {"query": self.text(), "key": self.name(), "limit": 100}),
            lambda: ("list", {"limit": choice([3, 100]), **self.listing()}),
            lambda: ("grep", {"pattern": self.word(), "context": choice([0, 1])}),
            lambda: ("show", {"key": self.name()}),
            lambda: ("history", {"key": self.name()}),
            lambda: ("diff", {"key": self.name()}),
            lambda: ("diff", {"key": self.name(), "old": self.name()}),
            lambda: ("links", {"key": self.name(), "hops": choice([1, 3])}),
            lambda: ("query", {"pipeline": self.pipeline(), "now": 1_790_000_000, "explain": True}),
            lambda: ("query", {"pipeline": "spread", "terms": [topic], "now": 1_790_000_000}),
            lambda: ("audit", {}),
            lambda: ("process", {"mode": choice(["lint", "dedupe"])}),
            lambda: ("process", {"mode": "lint", "topic": topic}),
            lambda: ("process", {"mode": "synthesize", "topic": topic, "limit": 100}),
        ]
        return choice(requests)()

    def listing(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in ("superseded", "retracted", "expired"):
            if self.chance.random() < 0.2:
                found[name] = True
        if self.chance.random() < 0.2:
            found["type"] = self.chance.choice(TYPES)
        if self.chance.random() < 0.2:
            found["tags"] = [self.chance.choice(TAGS)]
        return found

    def write(self) -> tuple[str, dict[str, Any]]:
        """Return a request that writes. New paths are in folders that Ben has none of."""
        choice, number = self.chance.choice, self.fresh()
        requests: list[Callable[[], tuple[str, dict[str, Any]]]] = [
            lambda: (
                "remember",
                {
                    "text": choice([self.text(), "The otter of the river is shy."]),
                    "title": f"New {number}",
                    "on_duplicate": choice(["report", "refuse", "keep", "supersede"]),
                },
            ),
            lambda: ("wrapup", {"text": WRAPUP, "title": f"W {number}", "topic": self.word(), "limit": 100}),
            self.edit,
            self.edit,
            lambda: ("rename", {"key": self.name(), "to": f"ana/{number}/{Path(self.own()).stem}"}),
            lambda: ("supersede", {"old": self.name(), "by": self.name()}),
            lambda: ("supersede", {"old": self.name(), "text": self.text(), "title": f"S {number}"}),
            lambda: ("retract", {"key": self.name(), "reason": self.word()}),
            lambda: ("restore", {"key": self.name()}),
            lambda: ("link", {"a": self.name(), "b": self.name(), "rel": choice(RELATIONS)}),
            lambda: ("unlink", {"a": self.name(), "b": self.name(), "rel": choice(RELATIONS)}),
            lambda: ("visit", {"agent": "linker", "keys": [self.name()], "at": 1_780_000_000 + number}),
            lambda: ("process", {"mode": choice(["lint", "dedupe"]), "apply": True}),
            lambda: ("process", {"mode": "synthesize", "topic": self.word(), "limit": 100, "apply": True}),
        ]  # fmt: skip
        if self.chance.random() < 0.05:
            return "forget", {"key": self.name(), "purge": True}
        return choice(requests)()

    def edit(self) -> tuple[str, dict[str, Any]]:
        path = self.own()
        digest = hashlib.sha256(self.compared.files.get(path, b"")).hexdigest()
        return "edit", {
            "key": path,
            "text": self.front_matter("ana") + self.body(),
            "digest": digest,
        }

    # The writes of Ben.

    def as_ben(self, ben: MemoryRoot) -> str:
        """Write something that Ana might notice. Returns the name of the change."""
        own = [one.file for one in ben.list(limit=1_000).memories]
        choices: list[Callable[[MemoryRoot, list[str]], str]]
        choices = [self.ben_remembers, self.ben_processes]
        choices += 2 * [self.ben_edits, self.ben_renames, self.ben_marks] if own else []
        choices += [self.ben_forgets] if len(own) > MOST_FORGOTTEN else []
        try:
            return self.chance.choice(choices)(ben, own)
        except HedgerowError as error:
            return error.message

    def ben_remembers(self, ben: MemoryRoot, _: list[str]) -> str:
        text = self.chance.choice([self.text(), "The otter of the river is shy.", GERMAN])
        done = ben.remember(text, title=f"B {self.fresh()}", on_duplicate="keep")
        return f"remember {done.file}: {text!r}"

    def ben_processes(self, ben: MemoryRoot, _: list[str]) -> str:
        mode: Any = self.chance.choice(["lint", "dedupe", "synthesize"])
        ben.process(mode, topic=self.word(), apply=True)
        return f"process {mode}"

    def ben_edits(self, ben: MemoryRoot, own: list[str]) -> str:
        memory = ben.show(self.chance.choice(own))
        text = self.front_matter("ben") + self.body()
        ben.edit(memory.file, text, memory.digest)
        return f"edit {memory.file}: {text!r}"

    def ben_renames(self, ben: MemoryRoot, own: list[str]) -> str:
        key, stem = self.chance.choice(own), Path(self.name().partition("#")[0]).stem
        to = f"{self.chance.choice(['aa', 'notes/sub', f'b/{self.fresh()}'])}/{stem}"
        ben.rename(key, to)
        return f"rename {key} {to}"

    def ben_marks(self, ben: MemoryRoot, own: list[str]) -> str:
        key, other = self.chance.choice(own), self.chance.choice(own)
        if self.chance.random() < 1 / 2:
            ben.supersede(key, by=other)
        else:
            self.chance.choice([ben.retract, ben.restore])(key)
        return f"mark {key} {other}"

    def ben_forgets(self, ben: MemoryRoot, own: list[str]) -> str:
        key = self.chance.choice(own)
        ben.forget(key, purge=True)
        return f"forget {key}"


def attack(
    face: Callable[[Path], Face], seed: int, *, shared: bool = False, steps: int = STEPS
) -> Iterator[str]:
    """Attack one pair of roots. Yields each request, and raises AssertionError for a difference."""
    chance, told = random.Random(seed), []  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as folder:
        roots = pair(Path(folder), shared=shared)
        with Comparison(roots, face) as compared, MemoryRoot.open(roots[1]) as both:
            attacker, ben = Attacker(chance, compared), both.scoped(user="ben")
            for step in range(steps):
                compared.set_minute(step)
                kind = chance.random()
                if kind < 0.2:
                    told.append(f"Ben: {attacker.as_ben(ben)}")
                    continue
                operation, arguments = attacker.write() if kind < 0.45 else attacker.read()
                told.append(f"{operation} {arguments}")
                found = compared.difference(operation, arguments)
                assert not found, "\n".join([f"seed {seed}", *told, *found])
                yield told[-1]


def attack_for(seconds: float, seed: int) -> int:
    """Attack pair after pair for a time; returns the number of requests."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for face in FACES_ATTACKED:
            for _ in attack(face, seed, shared=face is Shared):
                count += 1
                if time.monotonic() > end:
                    break
            seed += 1
    return count
