"""Limits of requests that are small and would take long, and the end of a server that is busy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

import hedgerow as hr
from hedgerow._operations.fields import declared, without_none
from hedgerow._operations.shapes import is_list
from hedgerow._retrieval.operations import OPERATIONS as OF_INDEX
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.root_routes import RootService
from hedgerow.memory.operations import OPERATIONS as OF_ROOT
from serving import READ, listening
from waiting import LONGEST


def test_queries_times_limit_is_bounded(of_index):
    for count, limit, status in ((10, 1000, 200), (11, 1000, 400), (1000, None, 200)):
        body = {"queries": ["winter"] * count, "limit": limit}
        answer = of_index.post("/v1/search_many", json=body, headers=READ)
        assert answer.status_code == status, answer.text
    refused = of_index.post("/v1/search_many", json={"queries": ["a"] * 101, "limit": 100})
    assert "more than 10,000 results together; send fewer queries at once" in refused.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"query": "a", "filters": {"tags": ["x"] * 1001}}),
        ("search", {"query": "a", "filters": {"metadata": {"$or": [{"k": ["x"] * 600}] * 2}}}),
        ("count", {"where": {"paths": ["x"] * 1001}}),
    ],
)
def test_lists_in_filters_are_bounded(of_index, path, body):
    answer = of_index.post(f"/v1/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_option")
    assert "may have at most 1,000 items here" in answer.text


def test_lists_of_a_root_are_bounded(of_root):
    for name in ("tags", "types", "written_by"):
        answer = of_root.post("/v1/recall", json={"query": "a", name: ["x"] * 1001})
        assert "may have at most 1,000 items here, not 1,001" in answer.text
    answer = of_root.post("/v1/query", json={"pipeline": "all", "terms": ["x"] * 1001})
    assert answer.status_code == 400


def test_only_operations_that_write_take_large_bodies(of_index, of_root):
    large = "x" * 300_000
    long = {"text": "grow " * 60_000, "title": "Hedges"}
    for client, path, body in (
        (of_index, "search", {"query": large}),
        (of_index, "get_many", {"ids": [large]}),
        (of_root, "query", {"pipeline": large}),
        (of_root, "recall", {"query": large}),
    ):
        answer = client.post(f"/v1/{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large"), path
    chunk = {"id": "large", "path": "l.md", "content": large}
    assert of_index.post("/v1/chunks", json={"chunks": [chunk]}).status_code == 200
    assert of_root.post("/v1/remember", json=long).status_code == 200
    memory = of_root.get("/v1/memories/slugs").json()
    edited = of_root.put(
        "/v1/memories/slugs", json={"text": large}, headers={"If-Match": f'"{memory["digest"]}"'}
    )
    assert edited.status_code == 200, edited.text


def parameters(kind) -> Mapping[str, object]:
    """Return a value for each parameter of a GET."""
    values = {bool: "false", int: "50"}
    found = {}
    for one in declared(kind):
        if f"{{{one.name}}}" not in kind.operation.path and not one.field.local:
            found[one.name] = (
                ["a", "b"] if is_list(one.type) else values.get(without_none(one.type), "slugs")
            )
    return found


def test_every_get_takes_all_of_its_parameters(of_root, of_index):
    for client, table in ((of_root, OF_ROOT), (of_index, OF_INDEX)):
        rows = [kind for kind in table.values() if kind.operation.method == "GET"]
        assert rows
        for kind in rows:
            given = parameters(kind)
            if kind.operation.name in {"list", "diff", "links"}:
                given |= {
                    "list": {"type": "note"},
                    "links": {"hops": 1},
                    "diff": {"old": "slugs", "new": "slugs"},
                }[kind.operation.name]
            given.pop("section", None)
            given |= {"offset": 0} if "offset" in given else {}
            path = kind.operation.path.replace("{key}", "slugs").replace("{id}", "a")
            answer = client.get(f"/v1/{path}", params=given)
            assert answer.status_code == 200, (path, answer.text)


def test_a_list_by_tags_and_writers_is_that_of_the_root(root):
    with hr.MemoryRoot.open(root) as memory, listening(RootService(memory)) as url:
        memory.remember("Hedges grow.", title="Hedge", tags=["garden", "green"], written_by="ana")
        with hr.connect(url, kind="root", token="w" * 40) as remote:
            for tags in (["garden"], ["garden", "green"]):
                assert remote.list(tags=tags).count == 1
            assert remote.list(tags=["garden", "red"]).count == 0
            assert remote.list(written_by=["ana", "bob"]).count == 1


BUSY = """
import os, signal, threading, time
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from hedgerow._serve import running

@asynccontextmanager
async def lifespan(app):
    yield
    time.sleep(600)  # As `Work.close` does while a search goes on.

running._GRACE, running._CLOSING = 0.2, 0.2
address = running.Address("127.0.0.1", 0)
end = lambda: threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
running.run(Starlette(lifespan=lifespan), address, address.bound(), end)
"""


def test_a_server_ends_although_work_goes_on():
    done = subprocess.run(
        [sys.executable, "-c", BUSY], timeout=LONGEST, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ended while requests were in progress" in done.stderr


def test_another_route_and_another_token_are_told(of_index, of_root):
    for client, told in ((of_root, "use /v1/recall"), (of_index, "use /v1/search")):
        for path in ("search", "recall"):
            answer = client.post(f"/v1/{path}", json={"query": "slugs"})
            assert answer.status_code == 200 or told in answer.json()["detail"]
    wrong = of_root.get("/v1/about", headers={"Authorization": f"Bearer {'x' * 40}"})
    assert "the token is none of this server's" in wrong.json()["detail"]
    del of_root.headers["Authorization"]
    assert of_root.get("/v1/about").json()["detail"].startswith("send the token of this server")


def test_a_key_of_dots_is_no_other_route(root, db):
    with (
        hr.MemoryRoot.open(root) as memory,
        listening(RootService(memory)) as url,
        hr.connect(url, kind="root", token="w" * 40) as remote,
    ):
        assert "No pellets" in remote.show("notes/slugs.md").text
        for key in ("../status", "..", "./../status", "../../v1/status"):
            with pytest.raises(hr.HedgerowError, match="there is no memory"):
                remote.show(key)
    with (
        hr.Retriever(db) as retriever,
        listening(IndexService(retriever)) as url,
        hr.connect(url, kind="index", token="w" * 40) as remote,
    ):
        assert remote.get("b/1").id == "b/1"
        assert remote.get("../stats") is None
