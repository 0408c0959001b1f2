"""A token for one user's memories: other users' memories change no response."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import hedgerow as hr
from command_line import run
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.root_routes import RootService
from hedgerow._serve.tokens import Grant, Tokens, make_token
from hedgerow.memory.operations import OPERATIONS
from hedgerow.memory.scope import Scope
from serving import ANA, TOKENS

ADDRESS = "http://127.0.0.1:7411"
SECTIONS = ["Findings", "Decisions", "Conflicts / Corrections", "Open Questions"]
WRAPUP = "\n\n".join(f"## {section}\n\nOtters swim." for section in SECTIONS)

ASKED: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "recall", {"query": "otter river"}),
    ("POST", "recall", {"query": "otter", "types": ["finding"]}),
    ("POST", "context", {"query": "otter"}),
    ("POST", "why_not", {"query": "otter", "key": "pool"}),
    ("POST", "why_not", {"query": "otter", "key": "holt", "limit": 1}),
    ("POST", "why_not", {"query": "mat", "key": "pool"}),
    ("POST", "why_not", {"query": "mat", "key": "ben-secret"}),
    ("GET", "memories", None),
    ("GET", "memories?superseded=true", None),
    ("GET", "memories/holt", None),
    ("GET", "memories/ben-secret", None),
    ("GET", "graph?key=holt&hops=3", None),
    ("GET", "graph?key=pool", None),
    ("GET", "history?key=pool", None),
    ("GET", "history?key=ben-secret", None),
    ("GET", "diff?key=holt&old=pool", None),
    ("GET", "diff?key=pool", None),
    ("GET", "diff?key=pool&old=notes/ben-secret.md", None),
    ("GET", "status", None),
    ("GET", "audit", None),
    ("POST", "grep", {"pattern": "secret"}),
    ("POST", "grep", {"pattern": "the", "regex": True}),
    ("POST", "query", {"pipeline": "all | select:key", "now": 1_800_000_000}),
    *(
        ("POST", "query", {"pipeline": pipeline, "now": 1_800_000_000, "explain": True})
        for pipeline in [
            "search:otter | count",
            "match:secret",
            "match:otter | spread",
            "all | degree:>0 | sort:degree",
            "all | community:@notes/ana-pool.md",
            "neighbors:notes/ana-pool.md",
            "all | sort:priority(spectral)",
        ]
    ),
    ("POST", "process", {"mode": "lint"}),
    ("POST", "process", {"mode": "dedupe"}),
    ("POST", "process", {"mode": "synthesize", "topic": "otter"}),
    ("POST", "remember", {"text": "The otter of the river is shy.", "title": "Shy"}),
    ("POST", "remember", {"text": "Ben keeps his key under the mat.", "title": "Key"}),
    ("POST", "wrapup", {"text": WRAPUP, "title": "Otters", "topic": "otter"}),
    ("POST", "link", {"a": "holt", "b": "ben-secret"}),
    ("POST", "link", {"a": "holt", "b": "pool"}),
    ("POST", "unlink", {"a": "holt", "b": "pool"}),
    ("POST", "visit", {"agent": "a", "keys": ["holt"], "at": 1_800_000_000}),
    ("POST", "visit", {"agent": "a", "keys": ["ben-secret"], "at": 1_800_000_000}),
    ("POST", "supersede", {"old": "pool", "text": "The pool is dry."}),
    ("POST", "restore", {"key": "notes/ana-pool.md"}),
    ("POST", "retract", {"key": "ben-secret"}),
    ("POST", "retract", {"key": "Holt", "reason": "moved"}),
    ("POST", "rename", {"key": "notes/ana-pool.md", "to": "pond"}),
    ("PUT", "memories/ben-secret", {"text": "Mine."}),
    ("POST", "forget", {"key": "notes/ana-holt.md", "purge": True}),
]
"""A request of each operation, about Ana's memories, and about Ben's where a name allows it."""


def put(root: Path, name: str, user: str, text: str) -> None:
    path = root / "notes" / name
    path.write_text(f"---\nscope: {{user: {user}}}\n{text}", encoding="utf-8")
    os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[tuple[TestClient, TestClient]]:
    """Clients with Ana's token for two roots, one of which has Ben's memories too."""
    with ExitStack() as stack:
        clients = []
        for name in ("alone", "both"):
            root = tmp_path / name / "memory"
            hr.MemoryRoot.initialize(root)
            put(root, "ana-holt.md", "ana", "---\n# Holt\n\nThe otter of the river is shy.\n")
            put(
                root,
                "ana-pool.md",
                "ana",
                "title: Pool\n---\nOtters like the [[holt]], [[key]] and [[ben-secret]].\n",
            )
            if name == "both":
                put(
                    root,
                    "ben-secret.md",
                    "ben",
                    "aliases: [Holt]\n---\nThe otter of the river is shy.\n",
                )
                put(
                    root,
                    "ben-key.md",
                    "ben",
                    "title: Holt\nsupersedes: ana-pool\n---\n[[ana-holt]]\n",
                )
                put(root, "ben-more.md", "ben", "tags: [a\n---\nBen keeps his key under the mat.\n")
            memory = stack.enter_context(hr.MemoryRoot.open(root))
            app = build(RootService(memory), Access(TOKENS, ["127.0.0.1"]), Limits(running=4))
            headers = {"Authorization": f"Bearer {ANA}"}
            clients.append(stack.enter_context(TestClient(app, ADDRESS, headers=headers)))
        yield clients[0], clients[1]


def seen(value: Any) -> Any:
    """Return a response without folder, times, and scores, which may differ because of idf."""
    if isinstance(value, dict):
        left_out = {
            "score",
            "needed",
            "scoreBreakdown",
            "timings",
            "digest",
            "since",
            "timestamp",
            "ms",
        }
        return {key: seen(one) for key, one in value.items() if key not in left_out}
    if isinstance(value, list):
        return [seen(one) for one in value]
    if isinstance(value, str):
        return re.sub(r"\d\.\d{4}", "SCORE", value.replace("/both/", "/alone/"))
    return value


def test_no_answer_depends_on_the_memories_of_others(answers):
    _, both = answers
    for method, path, body in ASKED:
        headers = {"If-Match": '"x"'} if method == "PUT" else {}
        one, other = (
            client.request(method, f"/v1/{path}", json=body, headers=headers) for client in answers
        )
        assert (one.status_code, seen(one.json())) == (other.status_code, seen(other.json())), path
    assert "ben" not in both.get("/v1/memories").text


def test_every_operation_is_tried():
    tried = {path.partition("?")[0].partition("/")[0] for _, path, _ in ASKED}
    assert {str(one.operation.path).partition("/")[0] for one in OPERATIONS.values()} <= tried


def test_it_says_whose_it_is(answers):
    about = answers[0].get("/v1/about").json()
    assert (about["tokenScope"], about["scope"]) == ("write", {"user": "ana"})


def test_counts_of_all_users_are_refused(answers):
    for client in answers:
        refused = client.get("/metrics")
        assert (refused.status_code, refused.json()["code"]) == (400, "incompatible_options")


def test_an_index_has_no_scopes(of_index):
    refused = of_index.get("/v1/stats", headers={"Authorization": f"Bearer {ANA}"})
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")


def test_a_token_is_made_by_a_command(tmp_path):
    folder = tmp_path / "tokens"
    made = run("serve", "--tokens", str(folder), "--new-token", "user=Ana/é", "--read-only")
    assert made.exit_code == 0, made.stderr
    file = Path(made.stdout.strip())
    assert file == folder / "read@user=%41na%2F%C3%A9"
    token = file.read_text().strip()
    grant = Grant("read", Scope(user="Ana/é"))
    assert Tokens.load(folder).grant_of(token) == grant
    assert make_token(folder, grant).read_text().strip() == token
    wrong = run("serve", "--tokens", str(folder), "--new-token", "ana")
    assert (wrong.exit_code, "KEY=ID" in wrong.stderr) == (2, True)
