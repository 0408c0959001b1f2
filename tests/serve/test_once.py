"""Repeated writes are carried out once, whatever happens in between."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import hedgerow as hr
from hedgerow._serve import work
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.root_routes import RootService
from hedgerow._serve.work import Journal
from serving import TOKENS, WRITE
from waiting import until

ADDRESS = "http://127.0.0.1:7411"
MOLES = {"text": "Moles dig.", "title": "Moles"}


def files(root: Path) -> list[str]:
    return sorted(one.name for one in (root / "notes").iterdir())


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_a_repetition_gets_the_first_answer(of_root, root):
    first = of_root.post("/v1/remember", json=MOLES, headers=keyed("k"))
    again = of_root.post("/v1/remember", json=MOLES, headers=keyed("k"))
    assert first.status_code == 200
    assert again.json() == first.json()
    assert len(files(root)) == 2
    other = of_root.post("/v1/remember", json={**MOLES, "title": "x"}, headers=keyed("k"))
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert of_root.post("/v1/remember", json=MOLES, headers=keyed("k" * 201)).status_code == 400


def test_an_edit_of_a_repetition_has_its_tag(of_root):
    read = of_root.get("/v1/memories/slugs")
    headers = keyed("e") | {"If-Match": read.headers["etag"]}
    done = [
        of_root.put("/v1/memories/slugs", json={"text": "# Slugs\n\nNew.\n"}, headers=headers)
        for _ in range(2)
    ]
    assert [one.status_code for one in done] == [200, 200]
    assert done[0].headers["etag"] == done[1].headers["etag"] != read.headers["etag"]


def test_a_failure_is_tried_again(of_root, root):
    wrong = of_root.post("/v1/retract", json={"key": "moles"}, headers=keyed("k"))
    assert wrong.json()["code"] == "unknown_node"
    (root / "notes" / "moles.md").write_text("Moles.\n")
    assert of_root.post("/v1/retract", json={"key": "moles"}, headers=keyed("k")).is_success


def test_a_slow_write_is_not_made_again(root, monkeypatch):
    """The first request gets 504, and a repeated one gets the response when it is ready."""
    may_end = threading.Event()
    with hr.MemoryRoot.open(root) as memory:
        service = RootService(memory)
        perform = service.perform

        def slow(*asked):
            may_end.wait(30)
            return perform(*asked)

        monkeypatch.setattr(service, "perform", slow)
        app = build(service, Access(TOKENS, ["127.0.0.1"]), Limits(running=4, seconds=0.2))
        with TestClient(app, ADDRESS, headers=WRITE) as client:
            for _ in range(2):
                late = client.post("/v1/remember", json=MOLES, headers=keyed("k"))
                assert (late.status_code, late.json()["code"]) == (504, "too_slow")
            may_end.set()
            until(lambda: len(files(root)) == 2, "the file")
            done = client.post("/v1/remember", json=MOLES, headers=keyed("k"))
            assert done.json()["indexed"]
    assert len(files(root)) == 2


@pytest.mark.parametrize(("done", "code"), [(0, "outcome_unknown"), (1, "already_done")])
def test_a_server_that_was_killed_does_not_write_again(root, done, code):
    with hr.MemoryRoot.open(root) as memory:
        journal_file = root.parent / "requests.db"

        def client():
            access, limits = Access(TOKENS, ["127.0.0.1"]), Limits(running=4)
            app = build(RootService(memory), access, limits, journal_file)
            return TestClient(app, ADDRESS, headers=WRITE)

        with client() as first:
            assert first.post("/v1/remember", json=MOLES, headers=keyed("k")).is_success
        with sqlite3.connect(journal_file) as journal:
            journal.execute("UPDATE requests SET done = ?", (done,))
        with client() as second:
            again = second.post("/v1/remember", json=MOLES, headers=keyed("k"))
            assert (again.status_code, again.json()["code"]) == (409, code)
    assert len(files(root)) == 2
    assert b"Moles" not in journal_file.read_bytes()


def test_reads_are_not_kept(of_root, root):
    asked = {"query": "moles"}
    for found in (0, 1):
        answer = of_root.post("/v1/recall", json=asked, headers=keyed("r"))
        assert len(answer.json()["results"]) == found
        (root / "notes" / "moles.md").write_text("Moles.\n")


def test_the_journal_has_the_last_keys(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "_RECORDED", 3)
    journal = Journal(tmp_path / "requests.db")
    for number in range(5):
        assert journal.begin(bytes([number]), b"d") == "new"
    assert [journal.begin(bytes([number]), b"d") for number in (4, 3, 2)] == ["running"] * 3
    assert journal.begin(b"\0", b"d") == "new"
    assert journal.begin(b"\4", b"e") == "mismatch"
    journal.close()
