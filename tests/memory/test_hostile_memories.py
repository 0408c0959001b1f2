"""Malicious memories, and other readers of user-written text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._engine import _Documents, _topic_words
from hedgerow.memory.config import LIMIT, read_config
from hedgerow.memory.documents import parse_document
from hedgerow.memory.note import slug
from hedgerow.memory.process import write_page
from hedgerow.memory.scope import Scope
from hedgerow.memory.times import micros_of, parse_time
from hostile import assert_linear
from memory_doubles import put

Make = Callable[[int], str]

NOW = micros_of(datetime(2026, 4, 18, tzinfo=timezone.utc))
BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    + [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)
MERGE_BOMB = "\n".join(
    ["a: &a {x: 1}"]
    + [
        f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)
FIELDS = ["type", "title", "tags", "weight", "category", "emotion", "last_replayed", "replay_interval", "related", "updated_at", "session_id", "source", "other", "valid_from", "valid_until", "supersedes", "superseded_by", "retracted", "retraction_reason", "stale_after", "derived_from"]  # fmt: skip


@pytest.mark.parametrize("bomb", [BOMB, MERGE_BOMB])
def test_a_bomb_in_any_field_holds_nothing_up(tmp_path: Path, bomb: str) -> None:
    root = hr.MemoryRoot.open(tmp_path)
    for field in FIELDS:
        put(tmp_path, f"notes/{field}.md", f"---\n{bomb}\n{field}: *i\n---\nSlugs like beer.\n")
    put(tmp_path, "notes/good.md", "---\ntitle: Good\n---\nSlugs like beer.\n")
    start = time.process_time()
    assert len(root.query("all").keys) == len(FIELDS) + 1
    root.link("Good", "notes/title.md")
    assert len(root.recall("beer", limit=50, include_superseded=True)) == len(FIELDS) + 1
    graph = root.graph()
    assert time.process_time() - start < 20
    assert {skip.path for skip in graph.skips} == {f"notes/{field}.md" for field in FIELDS}
    assert all("aliases written out" in skip.reason for skip in graph.skips)
    with pytest.raises(hr.HedgerowError, match="aliases written out"):
        root.link("notes/title.md", "Good")


LINES: dict[str, Make] = {
    "spaces": lambda n: " " * n + "x",
    "a bullet and spaces": lambda n: "- " + " " * n,
    "a bullet and spaces between": lambda n: "- a?" + " " * n + "b",
    "digits": lambda n: "1" * n,
    "a question of many words": lambda n: "- " + "word " * (n // 5) + "?",
    "questions": lambda n: "- why?\n" * (n // 7),
    "sources": lambda n: "[source: `" * (n // 10),
    "headings": lambda n: "## a\n" * (n // 5),
    "words": lambda n: "answered " * (n // 9),
}


@pytest.mark.parametrize("make", LINES.values(), ids=LINES)
def test_lint_and_pages_take_linear_time(tmp_path: Path, make: Make) -> None:
    def read(text: str) -> None:
        body = f"## Open Questions\n\n{text}\n"
        texts = {
            "pages/x.md": f"---\ntype: page\ntitle: x\n---\n{body}",
            "pages/y.md": f"---\ntype: page\ntitle: y\n---\n{body}",
            "notes/z.md": f"---\ntopic: x\n---\n{body}",
        }
        documents = _Documents.of([*texts.items()])
        documents.lint((None, None, 100), NOW)
        assert documents.sources(("x", None, 8), ["notes/z.md"], NOW)[0] == ["notes/z.md"]
        (tmp_path / "pages" / "x.md").unlink(missing_ok=True)
        source = parse_document("notes/z.md", texts["notes/z.md"].encode())
        write_page(tmp_path, "pages/x.md", "x", [source], Scope())

    assert_linear(read, make, 200_000)


def test_a_memory_is_quoted_as_it_is(tmp_path: Path) -> None:
    source = parse_document("notes/a.md", b"- Beer - good, and 1. cheap\n")
    write_page(tmp_path, "pages/x.md", "x", [source], Scope())
    assert "Beer - good, and 1. cheap" in (tmp_path / "pages" / "x.md").read_text()


def test_a_topic_has_as_many_words_as_are_searched_for() -> None:
    topic = " ".join(f"word{n}" for n in range(1000))
    assert _topic_words(topic) == topic.split()[:32]


def test_of_one_memory_the_first_questions_are_looked_at() -> None:
    questions = "\n".join(f"- Is number {n} answered by anyone?" for n in range(150))
    answer = " ".join(f"{n}" for n in range(150))
    texts = [
        ("notes/a.md", f"## Open Questions\n\n{questions}\n"),
        ("notes/b.md", f"The number was answered by anyone: {answer}.\n"),
    ]
    assert len(_Documents.of(texts).lint((None, None, 100), NOW)[0]) == 100


TEXTS: dict[str, Make] = {
    "accents": lambda n: "a" + "\u0323\u0301" * (n // 2),
    "accents in the wrong order": lambda n: "a" + "\u0301" * (n // 2) + "\u0323" * (n // 2),
    "junk": lambda n: "?" * n,
    "letters": lambda n: "a" * n,
    "words": lambda n: "hedge " * (n // 6),
    "dots": lambda n: "a./-" * (n // 4),
    "after": lambda n: "after " * (n // 6),
    "after and spaces": lambda n: "after" + " " * n,
    "digits": lambda n: "1" * n,
    "a date and spaces": lambda n: "2026-04-18" + " " * n + "x",
}


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_words_and_times_take_linear_time(make: Make) -> None:
    def read(text: str) -> None:
        slug(text, "x")
        _topic_words(text)
        parse_time(text)

    assert_linear(read, make)


CONFIGURATIONS = [
    "[" * 100_000,
    '{"schemaVersion": ' + "9" * 5000 + "}",
    '{"schemaVersion": ' + "[" * 900 + "]" * 900 + "}",
    '{"schemaVersion": "' + "x" * 5000 + '"}',
    '{"schemaVersion": {"a": 1}}',
    '{"x": "' + "x" * LIMIT + '"}',
]


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_a_configuration_is_refused_in_a_few_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "hedgerow.json").write_text(text)
    with pytest.raises(hr.HedgerowError) as refused:
        read_config(tmp_path).check()
    assert refused.value.code == "root_config_invalid"
    assert len(refused.value.message) < 500


YAML = st.lists(
    st.tuples(
        st.sampled_from(FIELDS),
        st.text(max_size=8)
        | st.integers().map(str)
        | st.floats().map(str)
        | st.sampled_from(["[a, b]", "{a: b}", "[[b]]", "{to: b, strength: 9}", "&a [x]", "*a", "0x" + "f" * 50, "!!set {a}", "!!binary aGk=", "2026-04-18", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "-1", "1e400"]),
    ),
    max_size=6,
)  # fmt: skip


@given(YAML, st.text(max_size=20))
def test_any_memory_is_linted_or_is_refused(fields: list[tuple[str, str]], body: str) -> None:
    block = "\n".join(f"{key}: {value}" for key, value in fields)
    try:
        text = f"---\n{block}\n---\n{body}".encode()
    except UnicodeEncodeError:
        return
    try:
        document = parse_document("notes/a.md", text)
    except hr.ingest.source.UnreadableSourceError:
        return
    assert json.dumps(document.metadata)
    _Documents.of([("notes/a.md", text.decode())]).lint((None, None, 100), NOW)
