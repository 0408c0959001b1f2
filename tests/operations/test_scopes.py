"""Every operation on every face: Ana gets and writes the same, whether the memories of others are there or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow.memory.operations import OPERATIONS
from scope_attack import attack
from scope_pair import FACES, WRAPUP, Case, Comparison, pair

NOW = 1_790_000_000

PIPELINES = [
    "all | select:key,type",
    "all | count",
    "all | type:secret",
    "all | type:finding",
    "key:notes/sub/*",
    "search:otter | count",
    "search:ottr",
    "search:briidge",
    "match:secret",
    "match:otter | spread",
    "all | rank:bridge | select:key",
    "all | degree:>0 | select:key,type",
    "all | community:@notes/pool.md",
    "neighbors:notes/holt.md",
    "neighbors:notes/sub/holt.md",
    "all | visited:linker",
    "all | not-visited:linker",
    "interference-pairs,min_sim=0",
    "seed:notes/holt.md,aa/holt.md | spectral",
]

CASES: list[Case] = [
    *(("query", {"pipeline": one, "now": NOW, "explain": True}) for one in PIPELINES),
    *(
        ("recall", {"query": query, "limit": 50})
        for query in [
            "otter river",
            "schizofrenia",
            "xylofonist",
            "briidge",
            "ottr",
            "weirr",
            "eel trout",
            "february 2026",
            "Ben's secret",
            "otter NOT trout",
            "brid",
            "Otterbr",
        ]
    ),
    ("recall", {"query": "otter", "limit": 50, "include_superseded": True, "explain": True}),
    ("recall", {"query": "otter", "types": ["secret"]}),
    ("recall", {"query": "otter", "types": ["finding"], "limit": 50}),
    ("recall", {"query": "otter", "tags": ["otter"], "limit": 50}),
    ("recall", {"query": "otter", "tags": ["hidden"]}),
    ("recall", {"query": "otter", "limit": 50, "budget": 2000}),
    ("recall", {"query": "otter", "written_by": ["codex"], "as_of": "2026-02-20", "limit": 50}),
    ("context", {"query": "otter bridge", "budget": 2000}),
    *(
        ("why_not", {"query": query, "key": key, "limit": 50})
        for query, key in [
            ("schizofrenia", "notes/holt.md"),
            ("xylofonist", "pool"),
            ("otter", "old"),
            ("otter", "notes/past.md"),
            ("briidge", "conclusion"),
            ("bridge", "ben-secret"),
            ("weir -spring", "past"),
        ]
    ),
    ("list", {}),
    ("list", {"superseded": True}),
    ("list", {"retracted": True}),
    ("list", {"expired": True}),
    ("list", {"type": "secret"}),
    ("list", {"tags": ["hidden"]}),
    ("list", {"limit": 3, "offset": 2}),
    ("grep", {"pattern": "the"}),
    ("grep", {"pattern": "schizo"}),
    ("grep", {"pattern": "otter", "types": ["secret"]}),
    *(
        ("show", {"key": key})
        for key in [
            "holt",
            "Den",
            "key",
            "old",
            "Pool",
            "ben-secret",
            "aa/holt.md",
            "holt#Where",
            "Hollt",
        ]
    ),
    *(("history", {"key": key}) for key in ["old", "second", "ben-secret"]),
    ("diff", {"key": "plan"}),
    ("diff", {"key": "second", "old": "ben-secret"}),
    *(("links", {"key": key, "hops": 3}) for key in ["holt", "plan", "second", "key"]),
    ("audit", {}),
    ("status", {}),
    ("process", {"mode": "lint"}),
    ("process", {"mode": "dedupe"}),
    ("process", {"mode": "synthesize", "topic": "otter"}),
    ("process", {"mode": "synthesize", "topic": "xylophonist"}),
    # From here on memories are written.
    ("remember", {"text": "Otters whistle at night.", "title": "Whistle", "tags": ["otter"]}),
    ("remember", {"text": "Ben keeps his key under the mat. briidge", "title": "The mat"}),
    ("remember", {"text": "The otter of the river is shy.", "title": "Again"}),
    (
        "remember",
        {"text": "The bridge is safe for all otters.", "title": "Safe", "on_duplicate": "refuse"},
    ),
    ("wrapup", {"text": WRAPUP, "title": "Otters", "topic": "otter"}),
    ("visit", {"agent": "linker", "keys": ["holt", "old"], "at": NOW}),
    ("visit", {"agent": "linker", "keys": ["ben-secret"], "at": NOW}),
    ("query", {"pipeline": "all | visited:linker", "now": NOW}),
    ("edit", {"key": "Pool", "text": "And thaw.", "digest": "0" * 64, "append": True}),
    ("edit", {"key": "ben-secret", "text": "Mine.", "digest": "0" * 64}),
    ("link", {"a": "pool", "b": "Den"}),
    ("link", {"a": "pool", "b": "gone", "rel": "conflicts_with"}),
    ("link", {"a": "pool", "b": "old", "rel": "derived_from"}),
    ("unlink", {"a": "conclusion", "b": "holt"}),
    ("unlink", {"a": "conclusion", "b": "gone"}),
    ("supersede", {"old": "past", "text": "The weir is shut.", "title": "Weir"}),
    ("supersede", {"old": "holt", "by": "key"}),
    ("supersede", {"old": "zz/wrong.md", "by": "conclusion"}),
    ("restore", {"key": "old"}),
    ("restore", {"key": "first"}),
    ("retract", {"key": "Shy otter", "reason": "twice"}),
    ("retract", {"key": "key"}),
    ("restore", {"key": "copy"}),
    ("rename", {"key": "Den", "to": "burrow"}),
    ("rename", {"key": "zz/plan.md", "to": "plans/answer.md"}),
    ("rename", {"key": "notes/pool.md", "to": "water/pool.md"}),
    ("rename", {"key": "ben-secret", "to": "mine"}),
    ("process", {"mode": "lint", "apply": True}),
    ("process", {"mode": "dedupe", "apply": True}),
    ("process", {"mode": "synthesize", "topic": "otter", "apply": True}),
    ("recall", {"query": "otter", "limit": 50, "depth": "shallow"}),
    ("forget", {"key": "burrow", "purge": True}),
    ("forget", {"key": "ben-secret", "purge": True}),
    ("list", {"limit": 100}),
    *(("links", {"key": key, "hops": 3}) for key in ["old", "answer", "pool"]),
    ("query", {"pipeline": "all | select:key,type", "now": NOW}),
]
"""Requests about Ana's memories, and about those of others where a name allows it; each operation has one."""


def test_every_operation_has_a_case() -> None:
    assert {operation for operation, _ in CASES} == set(OPERATIONS)


@pytest.mark.parametrize("face", FACES)
def test_no_answer_and_no_file_depends_on_others(tmp_path: Path, face: str) -> None:
    found: list[str] = []
    with Comparison(pair(tmp_path, shared=face == "shared"), FACES[face]) as compared:
        # A face that refused everything would show no difference.
        assert "notes/copy.md" in str(compared.faces[1].ask("recall", {"query": "otter"}))
        for number, (operation, arguments) in enumerate(CASES):
            compared.set_minute(number)
            found += compared.difference(operation, arguments)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("face", ["python", "shared"])
def test_an_attacker_finds_no_difference(face: str) -> None:
    assert list(attack(FACES[face], seed=7, shared=face == "shared", steps=40))
