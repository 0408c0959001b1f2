"""Expiry and review dates of memories, from arguments and from defaults of the root."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from memory_doubles import put


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return MemoryRoot.init(tmp_path)


def text(root: MemoryRoot, file: str) -> str:
    return (root.path / file).read_text(encoding="utf-8")


def test_a_memory_expires(root: MemoryRoot) -> None:
    done = root.remember("The code is 1234.", title="Code", valid_until="2020-01-31")
    assert 'valid_until: "2020-01-31"' in text(root, done.file)
    assert done.problem == ("It has expired: valid_until is 2020-01-31. Recall leaves it out.")
    assert root.remember("Tea at five.", title="Tea", valid_until="30d").problem is None
    assert root.recall("code").left_out == {"expired": 1}
    assert [one.file for one in root.recall("code", as_of="2020-01-31")] == []
    assert root.validity("Code").why == "expired"


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (date(2030, 1, 31), 'valid_until: "2030-01-31"'),
        (datetime(2030, 1, 31, 9, tzinfo=timezone.utc), 'valid_until: "2030-01-31T09:00:00+00:00"'),
        ("2030-01-31T09:30Z", 'valid_until: "2030-01-31T09:30Z"'),
    ],
)
def test_a_date_is_written_as_it_was_given(root: MemoryRoot, given: Any, written: str) -> None:
    assert written in text(root, root.remember("x", title="X", valid_until=given).file)


def test_an_age_counts_from_now(root: MemoryRoot) -> None:
    before = datetime.now(timezone.utc)
    done = root.remember("Guest network.", title="Guest", valid_until="30d", stale_after="2w")
    line = next(one for one in text(root, done.file).splitlines() if one.startswith("valid_until"))
    until = datetime.fromisoformat(line.partition('"')[2].rstrip('"').replace("Z", "+00:00"))
    assert timedelta(days=29, hours=23) < until - before < timedelta(days=30, hours=1)
    assert 'stale_after: "2w"' in text(root, done.file)
    assert root.validity("Guest").holds


@pytest.mark.parametrize("name", ["valid_until", "stale_after"])
def test_a_date_that_does_not_exist_writes_nothing(root: MemoryRoot, name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} must be a date that exists"):
        root.remember("x", title="X", **{name: "2026-02-30"})  # type: ignore[arg-type]
    assert list((root.path / "notes").iterdir()) == []


def test_the_root_has_defaults_by_type(root: MemoryRoot) -> None:
    put(
        root.path,
        "hedgerow.json",
        '{"schemaVersion": 1, "defaults": {"finding": {"staleAfter": "90d", "validUntil": "4w"}}}',
    )
    finding = text(root, root.remember("Beer works.", title="Beer", type="finding").file)
    assert 'stale_after: "90d"' in finding
    assert "valid_until: " in finding
    given = root.remember("Ale works.", title="Ale", type="finding", stale_after="2040-01-01")
    assert 'stale_after: "2040-01-01"' in text(root, given.file)
    assert "stale_after" not in text(root, root.remember("Note.", title="N").file)


@pytest.mark.parametrize(
    "defaults", ["[]", '{"finding": {"staleAfter": 90}}', '{"x": {}}', '{"note": {"until": "4w"}}']
)
def test_defaults_of_another_form_are_refused(root: MemoryRoot, defaults: str) -> None:
    put(root.path, "hedgerow.json", f'{{"schemaVersion": 1, "defaults": {defaults}}}')
    with pytest.raises(HedgerowError, match="defaults must have ages by type") as raised:
        root.remember("x", title="X")
    assert raised.value.code == "root_config_invalid"


def test_a_text_that_supersedes_expires_too(root: MemoryRoot) -> None:
    (root.path / "hedgerow.json").write_text(
        '{"schemaVersion": 1, "defaults": {"finding": {"staleAfter": "12w"}}}'
    )
    root.remember("The code is 1234.", title="Code", type="finding")
    done = root.supersede("Code", text="The code is 5678.", valid_until="2999-01-01")
    assert done.written is not None
    assert 'valid_until: "2999-01-01"\nsupersedes:' in text(root, done.written).replace(
        'stale_after: "12w"\n', ""
    )
    assert 'stale_after: "12w"' in text(root, done.written)
    with pytest.raises(InvalidInputError, match="stale_after would be those of a new text"):
        root.supersede("Code", by="Code", stale_after="30d")


def test_a_wrapup_has_the_defaults_of_sessions(root: MemoryRoot) -> None:
    (root.path / "hedgerow.json").write_text(
        '{"schemaVersion": 1, "defaults": {"session": {"staleAfter": "4w"}}}'
    )
    sections = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")
    body = "\n".join(f"## {name}\n\nNone captured." for name in sections)
    assert 'stale_after: "4w"' in text(root, root.wrapup(body, title="Evening").file)


def test_expired_memories_are_listed(root: MemoryRoot) -> None:
    assert root.list(expired=True).count == 0
    put(root.path, "notes/a.md", "---\nvalid_until: 2020-01-31\n---\nThe code is 1234.\n")
    put(root.path, "notes/b.md", "---\nvalid_until: 2020-01-31\nretracted: true\n---\nb\n")
    put(root.path, "notes/c.md", "---\nvalid_until: 2999-01-31\n---\nc\n")
    found = root.list(expired=True)
    assert [one.file for one in found.memories] == ["notes/a.md"]
    assert str(found.memories[0].validity) == "no longer valid since 2020-01-31"
    assert root.list(expired=True, retracted=True).count == 0


def test_lint_names_expired_memories(root: MemoryRoot) -> None:
    put(root.path, "notes/a.md", "---\nvalid_until: 2020-01-31\n---\nThe code is 1234.\n")
    put(root.path, "notes/b.md", "---\nvalid_until: 2020-01-31\nretracted: true\n---\nb\n")
    said = [line for line in root.process("lint").summary if "[expired]" in line]
    assert said == [
        "[expired] `notes/a.md` is no longer valid since 2020-01-31: supersede it, retract it, or "
        "change its valid_until"
    ]
