"""The responses of a server equal the JSON output of the command line."""

from __future__ import annotations

import hedgerow as hr
from command_line import as_json
from serving import READ

UNTIMED = {"trace"}


def without_times(answer):
    if isinstance(answer, dict):
        return {key: without_times(value) for key, value in answer.items() if key != "timings"}
    return [without_times(one) for one in answer] if isinstance(answer, list) else answer


def test_a_search_is_that_of_the_command_line(of_index, db):
    for query, options, given in [
        ("hedgehogs winter", {}, []),
        ("slugs", {"limit": 1, "explain": True}, ["--limit", "1", "--explain"]),
        ("no such thing", {"mode": "bm25"}, ["--mode", "bm25"]),
        ("winter", {"filters": {"tags": ["animal"]}}, ["--filter", "tag=animal"]),
        ("wintre -slugs", {}, []),
    ]:
        answer = of_index.post("/v1/search", json={"query": query, **options})
        assert answer.status_code == 200, answer.text
        expected = as_json("search", query, "--db", str(db), *given)
        assert without_times(answer.json()) == without_times(expected | {"db": "notes.db"})


def test_searches_at_once(of_index):
    found = of_index.post("/v1/search_many", json={"queries": ["winter", '"', "slugs"], "limit": 1})
    responses = found.json()["responses"]
    assert [one["results"][0]["id"] for one in (responses[0], responses[2])] == ["a", "b/1"]
    assert responses[1]["count"] == 0
    single = of_index.post("/v1/search", json={"query": "winter", "limit": 1}).json()
    assert without_times(responses[0]) == without_times(single)


def test_why_not(of_index):
    asked = {"query": "winter", "id": "c"}
    answer = of_index.post("/v1/why_not", json=asked).json()
    assert answer["id"] == "c"
    assert answer == as_why_not(of_index, asked)


def as_why_not(client, asked):
    return client.post("/v1/why_not", json=asked).json()


def test_what_a_query_means(of_index, db):
    told = of_index.post("/v1/explain", json={"query": "the hedgehogs OR winter"}).json()
    searched = as_json("search", "the hedgehogs OR winter", "--db", str(db), "--explain")
    assert told == searched["explanation"]


def test_chunks_are_written_read_and_removed(of_index, db):
    new = {"id": "d", "path": "d.md", "content": "Moles dig."}
    assert of_index.post("/v1/chunks", json={"chunks": [new]}).json() == {"upserted": 1}
    assert of_index.get("/v1/chunks/d").json()["content"] == "Moles dig."
    assert of_index.get("/v1/chunks/b/1").json()["title"] == "Slugs"
    assert of_index.get("/v1/chunks/b%2F1").json()["title"] == "Slugs"
    gone = {"ids": ["d", "none"], "paths": ["notes/c.md", "nowhere"]}
    assert of_index.post("/v1/delete", json=gone).json() == {
        "db": "notes.db",
        "removed": 2,
        "ids": ["d"],
        "missing": ["none", "nowhere"],
    }
    assert of_index.get("/v1/stats").json() == as_json("stats", "--db", str(db)) | {
        "db": "notes.db"
    }
    assert of_index.get("/v1/stats").json()["chunks"] == 2


def test_what_is_missing_or_no_list_is_said(of_index):
    for route, body, message in [
        ("delete", {}, "say what to delete: ids, paths, or where, which is a filter"),
        ("chunks", {"chunks": {"id": "d", "content": "x"}}, "chunks is one chunk; give a list"),
        ("chunks", {"chunks": "oak"}, "chunks must be a list of chunks, not 'oak'"),
    ]:
        answer = of_index.post(f"/v1/{route}", json=body)
        assert answer.status_code == 400, answer.text
        assert message in answer.text
    assert of_index.post("/v1/delete", json={"ids": []}).json()["removed"] == 0


def test_a_backup_is_downloaded_and_leaves_nothing(of_index, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    answer = of_index.post("/v1/backup")
    assert answer.headers["content-type"] == "application/vnd.sqlite3"
    copy = tmp_path / "copy.db"
    copy.write_bytes(answer.content)
    with hr.Index.open(copy, read_only=True) as index:
        assert len(index) == 3
        assert index.check() == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_recall_is_that_of_the_command_line(of_root, root):
    answer = of_root.post("/v1/recall", json={"query": "slugs", "explain": True}).json()
    expected = as_json("recall", "--topic", "slugs", "--root", str(root), "--explain")
    assert without_times(answer) == without_times(expected)


def test_a_pipeline_is_that_of_the_command_line(of_root, root):
    for pipeline in ["all | type:note", "all | count", "all | select:key"]:
        asked = {"pipeline": pipeline, "now": 1_800_000_000}
        answer = of_root.post("/v1/query", json=asked).json()
        given = ("query", pipeline, "--now", "1800000000", "--root", str(root))
        assert answer == as_json(*given), pipeline


def test_a_pipeline_may_be_a_list_of_stages(of_root):
    whole = of_root.post("/v1/query", json={"pipeline": "all | count", "now": 1}).json()
    assert of_root.post("/v1/query", json={"pipeline": ["all", "count"], "now": 1}).json() == whole
    for pipeline in [5, {"all": 1}]:
        answer = of_root.post("/v1/query", json={"pipeline": pipeline})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_option")


def test_a_memory_is_written_read_listed_and_edited(of_root, root):
    new = {"text": "Beer traps work.", "title": "Beer", "type": "finding", "tags": ["slugs"]}
    written = of_root.post("/v1/remember", json=new).json()
    file = written["file"]
    assert written["indexed"]
    assert "Beer traps work." in (root / file).read_text()
    listed = of_root.get("/v1/memories", params={"type": "finding"}).json()
    assert [one["file"] for one in listed["memories"]] == [file]
    assert of_root.get("/v1/memories", params={"limit": 1}).json()["count"] == 2
    read = of_root.get(f"/v1/memories/{file}")
    assert read.json()["text"] == (root / file).read_text()
    assert read.headers["etag"] == f'"{read.json()["digest"]}"'
    text = read.json()["text"].replace("work", "work well")
    edited = of_root.put(
        f"/v1/memories/{file}", json={"text": text}, headers={"If-Match": read.headers["etag"]}
    )
    assert edited.status_code == 200
    assert (root / file).read_text() == text
    found = of_root.post("/v1/recall", json={"query": "beer"}).json()["results"]
    assert "work well" in found[0]["snippet"]
    # The key may be a title or a name.
    assert of_root.get("/v1/memories/Beer").json()["digest"] == edited.json()["digest"]


def test_links_are_made_shown_and_removed(of_root, root):
    (root / "notes" / "ivy.md").write_text("# Ivy\n\nSee [[moss]].\n")
    linked = of_root.post("/v1/link", json={"a": "slugs", "b": "Ivy", "strength": 0.5}).json()
    assert linked == {
        "root": str(root),
        "a": "notes/slugs.md",
        "b": "notes/ivy.md",
        "rel": "related",
        "strength": 0.5,
    }
    assert "related" in (root / "notes" / "slugs.md").read_text()
    for key in ("slugs", "Ivy"):
        asked = {"key": key, "hops": 2}
        shown = as_json("graph", key, "--hops", "2", "--root", str(root))
        assert of_root.get("/v1/graph", params=asked).json() == shown
        assert len(shown["edges"]) == 1
    removed = of_root.post("/v1/unlink", json={"a": "slugs", "b": "Ivy"}).json()
    assert removed["removed"]
    assert of_root.post("/v1/unlink", json={"a": "slugs", "b": "Ivy"}).json()["removed"] is False
    assert of_root.get("/v1/graph", params={"key": "nowhere"}).status_code == 404
    refused = of_root.post("/v1/link", json={"a": "slugs", "b": "ivy", "strength": 2})
    assert refused.json()["code"] == "invalid_option"


def test_what_is_superseded_is_listed(of_root, root):
    (root / "notes" / "new.md").write_text('---\nsupersedes: "[[slugs]]"\n---\n# New\n\nTraps.\n')
    (root / "notes" / "old.md").write_text('---\nsuperseded_by: "[[new]]"\n---\n# Old\n\nSalt.\n')
    listed = of_root.get("/v1/memories", params={"superseded": True}).json()
    assert listed["count"] == 2
    assert {one["file"] for one in listed["memories"]} == {"notes/slugs.md", "notes/old.md"}
    assert of_root.get("/v1/memories").json()["count"] == 3


def test_visits_are_recorded_all_or_none(of_root, root):
    asked = {"agent": "linker", "keys": ["slugs"], "at": 1_800_000_000}
    assert of_root.post("/v1/visit", json=asked).json() == {
        "root": str(root),
        "agent": "linker",
        "at": 1_800_000_000,
        "outcome": "processed",
        "keys": ["notes/slugs.md"],
    }
    pipeline = {"pipeline": "all | visited:linker,7d | count", "now": 1_800_000_100}
    assert of_root.post("/v1/query", json=pipeline).json()["count"] == 1
    refused = of_root.post("/v1/visit", json={"agent": "other", "keys": ["slugs", "nowhere"]})
    assert refused.status_code == 404
    pipeline = {"pipeline": "all | visited:other,7d | count", "now": 1_800_000_100}
    assert of_root.post("/v1/query", json=pipeline).json()["count"] == 0


def test_a_wrapup_is_written(of_root, root):
    parts = ["Findings", "Decisions", "Conflicts / Corrections", "Open Questions"]
    text = "\n\n".join(f"## {part}\n\nSlugs." for part in parts)
    asked = {"text": text, "title": "Beds", "topic": "slugs"}
    written = of_root.post("/v1/wrapup", json=asked).json()
    assert "Open Questions" in (root / written["file"]).read_text()
    assert written["relatedMemory"]["results"]
    refused = of_root.post("/v1/wrapup", json={"text": "## Findings", "title": "Beds"})
    assert refused.status_code == 400
    assert "Open Questions" in refused.json()["detail"]


def test_lint_is_planned_with_either_token_and_written_with_one(of_root, root):
    asked = {"mode": "lint"}
    planned = of_root.post("/v1/process", json=asked, headers=READ)
    assert planned.json()["applied"] is False
    refused = of_root.post("/v1/process", json={**asked, "apply": True}, headers=READ)
    assert (refused.status_code, refused.json()["code"]) == (403, "read_only_token")
    assert not (root / ".hedgerow" / "reports").exists()
    done = of_root.post("/v1/process", json={**asked, "apply": True}).json()
    assert (root / done["files"][0]).is_file()


def test_an_edit_of_another_text_is_refused_with_the_present_one(of_root, root):
    read = of_root.get("/v1/memories/notes/slugs.md")
    (root / "notes" / "slugs.md").write_text("# Slugs\n\nChanged by hand.\n")
    refused = of_root.put(
        "/v1/memories/notes/slugs.md",
        json={"text": "# Slugs\n\nMine.\n"},
        headers={"If-Match": read.headers["etag"]},
    )
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    problem = refused.json()
    assert problem["code"] == "file_changed"
    assert problem["text"] == "# Slugs\n\nChanged by hand.\n"
    assert "Changed by hand." in (root / "notes" / "slugs.md").read_text()
    again = of_root.put(
        "/v1/memories/notes/slugs.md",
        json={"text": "# Slugs\n\nMine.\n"},
        headers={"If-Match": f'"{problem["digest"]}"'},
    )
    assert again.status_code == 200
    without = of_root.put("/v1/memories/notes/slugs.md", json={"text": "# Slugs\n"})
    assert (without.status_code, without.json()["code"]) == (428, "version_required")


def test_a_part_of_a_memory_is_read_and_edited(of_root, root):
    address = "/v1/memories/notes/slugs.md"
    read = of_root.get(address, params={"section": "slugs", "offset": 1, "limit": 1})
    part = read.json()
    assert (part["text"], part["lines"], part["remaining"]) == ("\n", [2, 2], 1)
    headers = {"If-Match": read.headers["etag"]}
    new = {"text": "Beer.", "section": "Slugs", "append": True}
    assert of_root.put(address, json=new, headers=headers).status_code == 200
    text = "# Slugs\n\nNo pellets against slugs.\n\nBeer.\n"
    assert (root / "notes" / "slugs.md").read_text() == text
    for wrong in ({"section": "Snails"}, {"limit": "x"}, {"offset": 9}, {"limit": 0}):
        assert of_root.get(address, params=wrong).status_code == 400


def test_a_request_that_is_sent_again_is_done_once(of_root, root):
    new = {"text": "Moles dig.", "title": "Moles"}
    key = {"Idempotency-Key": "one"}
    first = of_root.post("/v1/remember", json=new, headers=key)
    again = of_root.post("/v1/remember", json=new, headers=key)
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert len(list((root / "notes").glob("*moles*"))) == 1
    other = of_root.post("/v1/remember", json={**new, "text": "x"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    failed = of_root.post("/v1/remember", json={"text": ""}, headers={"Idempotency-Key": "two"})
    assert failed.status_code == 400
    long = of_root.post("/v1/remember", json=new, headers={"Idempotency-Key": "k" * 201})
    assert long.json()["detail"] == "an Idempotency-Key has 1 to 200 characters"
    there = of_root.post("/v1/remember", json=new)
    assert (there.status_code, there.json()["code"]) == (409, "duplicate_memory")
    second = of_root.post("/v1/remember", json={**new, "on_duplicate": "keep"}).json()
    assert second["file"] != first.json()["file"]
    assert second["similar"] == [{"file": first.json()["file"], "likeness": 1.0}]
    third = of_root.post("/v1/remember", json={**new, "on_duplicate": "supersede"}).json()
    assert third["superseded"] in {second["file"], first.json()["file"]}


def test_what_is_edited_by_hand_is_seen(of_root, root):
    (root / "notes" / "ivy.md").write_text("# Ivy\n\nIvy feeds bees.\n")
    found = of_root.post("/v1/recall", json={"query": "ivy"}).json()
    assert found["results"][0]["provenance"]["file"] == "notes/ivy.md"


def test_about_health_and_counts(of_root, of_index):
    assert of_root.get("/v1/about").json() == {
        "hedgerow": hr.__version__,
        "kind": "root",
        "name": "memory",
        "readOnly": False,
        "tokenScope": "write",
        "edit": False,
    }
    about = of_index.get("/v1/about", headers=READ).json()
    assert (about["kind"], about["name"], about["tokenScope"]) == ("index", "notes.db", "read")
    for client in (of_root, of_index):
        for path in ("/healthz", "/readyz"):
            assert client.get(path, headers={"Authorization": ""}).json() == {"status": "ok"}
    of_index.post("/v1/search", json={"query": "winter"})
    of_index.get("/v1/chunks/secret-id")
    counts = of_index.get("/metrics").text
    assert 'hedgerow_requests_total{method="POST",route="/v1/search",status="200"} 1.0' in counts
    assert "secret-id" not in counts
    of_index.request("MADE-UP", "/healthz")
    counts = of_index.get("/metrics").text
    assert "MADE-UP" not in counts
    assert 'method="other"' in counts
    described = of_index.get("/openapi.json").json()
    assert "/v1/search" in described["paths"]
    assert described["info"]["version"] == hr.__version__


def test_a_text_that_looks_like_a_secret_is_refused(of_root, root):
    new = {"text": "The key is AKIAIOSFODNN7ABCDEFG.", "title": "Key"}
    refused = of_root.post("/v1/remember", json=new)
    assert (refused.status_code, refused.json()["code"]) == (400, "looks_like_secret")
    assert of_root.post("/v1/remember", json={**new, "allow_secret": True}).status_code == 200
    found = of_root.get("/v1/audit").json()
    assert (found["counts"]["secret"], found["source"]) == (1, str(root))
