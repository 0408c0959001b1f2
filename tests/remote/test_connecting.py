"""Connecting: addresses, tokens, and missing servers."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import re
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import httpx
import pytest

import hedgerow as hr
from event_loops import Gone
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.problems import Problem
from hedgerow._serve.problems import answer as problem_answer
from hedgerow.remote import _client
from serving import READER, WRITER, listening


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://notes", 'url must begin with "http://" or "https://" and name a host'),
        ("http://me:secret@127.0.0.1/", "url holds a user name or a password"),
        ("http://notes.example:7411", "use https, or pass insecure_http=True"),
    ],
)
def test_addresses_that_are_refused(url, message):
    with pytest.raises(hr.InvalidInputError, match=message) as caught:
        hr.connect(url, token="t" * 40)
    assert caught.value.code == "invalid_endpoint"
    assert "secret" not in str(caught.value)


def test_a_path_is_opened_in_this_process(tmp_path):
    hr.Index.open(tmp_path / "notes.db").close()
    with hr.connect(tmp_path, kind="root") as memory:
        memory.remember("Moles dig in the lower meadow.")
    with hr.connect(str(tmp_path)) as memory:
        assert isinstance(memory, hr.MemoryRoot)
        assert [one.title for one in memory.list().memories] == ["Moles dig in the lower meadow."]
    with hr.connect(tmp_path / "notes.db") as index:
        assert isinstance(index, hr.Retriever)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gone", {}, "there is no folder or file .*gone'; a URL begins with http:// or https://"),
        ("localhost:7411", {"token": "t" * 40}, "a URL begins with http:// or https://"),
        ("", {"kind": "index"}, "is a folder, and no index; give the file of the index"),
        ("a.db", {"kind": "root"}, "is a file, and no root; give the folder of the root"),
        (
            "",
            {"token": "t" * 40},
            "token is for the URL of a server, and .* is a path; leave it out",
        ),
    ],
)
def test_paths_that_are_refused(tmp_path, name, options, message):
    hr.Index.open(tmp_path / "a.db").close()
    with pytest.raises(hr.InvalidInputError, match=message):
        hr.connect(tmp_path / name, **options)


def test_nobody_is_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(
            hr.BackendError, match="check that a server of hedgerow runs there"
        ) as caught:
            hr.connect(url, token="t" * 40)
    assert caught.value.code == "backend_unavailable"
    assert "t" * 40 not in str(caught.value)


def test_a_token_that_is_not_known(root, monkeypatch):
    monkeypatch.delenv("HEDGEROW_TOKEN", raising=False)
    for token in (None, "x" * 40):
        with pytest.raises(hr.BackendError, match="send the token of this server") as caught:
            hr.connect(root.url, token=token)
        assert caught.value.code == "unauthorized"
        assert "connect takes it as token, or from the variable HEDGEROW_TOKEN" in str(caught.value)
    monkeypatch.setenv("HEDGEROW_TOKEN", READER)
    with hr.connect(root.url) as found:
        assert found.recall("slugs").results


def test_another_kind_than_is_wanted(root, index):
    with pytest.raises(hr.BackendError, match="serves a root, not an index"):
        hr.connect(root.url, kind="index", token=READER)
    with pytest.raises(hr.BackendError, match="serves an index, not a root"):
        hr.connect(index.url, kind="root", token=READER)
    with pytest.raises(hr.InvalidInputError, match='kind must be "root", "index" or None'):
        hr.connect(root.url, kind="store", token=READER)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "ftp://none"])
def test_a_server_on_this_machine_is_reached_without_a_proxy(root, monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("HTTP_PROXY", proxy)

    async def recalled():
        async with hr.connect(root.url, token=READER) as found:
            return found.recall("slugs") == await found.arecall("slugs")

    assert asyncio.run(recalled())


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "ftp://none")
    with pytest.raises(hr.InvalidInputError, match=r"proxy of the environment cannot be used"):
        hr.connect("https://notes.invalid", token="t" * 40)


def test_messages_name_the_arguments_of_connect(root, monkeypatch):
    with pytest.raises(hr.InvalidInputError, match=r"^token is empty"):
        hr.connect(root.url, token="")
    with pytest.raises(hr.InvalidInputError, match=r"^token must be a str"):
        hr.connect(root.url, token=b"t")
    with pytest.raises(hr.InvalidInputError, match=r"^insecure_http must be True or False"):
        hr.connect("http://notes.invalid", token="t" * 40, insecure_http="no")
    monkeypatch.setenv("HEDGEROW_TOKEN", " ")
    with pytest.raises(
        hr.HedgerowError, match=r"HEDGEROW_TOKEN holds no key; set it, or pass token"
    ):
        hr.connect(root.url)
    copy = pickle.loads(pickle.dumps(root))
    with pytest.raises(hr.HedgerowError, match=r"connect again, or set HEDGEROW_TOKEN"):
        copy.status()


def test_a_certificate_that_cannot_be_read_is_named(root, tmp_path):
    (tmp_path / "none.pem").write_text("no certificate")
    for name in ("missing.pem", "none.pem"):
        with pytest.raises(hr.InvalidInputError, match=f"{re.escape(name)} cannot be read"):
            hr.connect(root.url, token=READER, ca=tmp_path / name)


def test_arguments_that_fit_into_no_address_are_named(root):
    for call in (
        lambda: root.show("k" * 20_000),
        lambda: root.history("k" * 70_000),
        lambda: root.list(tags=[f"tag{n}" for n in range(3_000)]),
    ):
        with pytest.raises(hr.InvalidInputError, match="give fewer or shorter ones"):
            call()


class _Other(BaseHTTPRequestHandler):
    answers: ClassVar[list[tuple[int, bytes]]] = []

    def do_GET(self):
        status, body = self.answers[0]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == HTTPStatus.MOVED_PERMANENTLY:
            self.send_header("Location", "https://notes.invalid/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b'{"hello": 1}', "is no server of hedgerow; check the address"),
        (200, b"[1]", "answered in a form that is not known here"),
        (200, b"<html>", "answered in a form that is not known here"),
        (404, b"<html>", "answered 404 without saying why"),
        (500, b'{"code": 3}', "answered 500 without saying why"),
        (302, b"", "answered 302 without saying why"),
        (301, b"", "answered 301: redirects are not followed"),
        (500, b'{"code": "x", "detail": "a\\u001b[31m"}', "a\ufffd\\[31m"),
        (500, b'{"code": "x", "detail": "d", "error": "PipelineError"}', "d"),
        (
            500,
            b'{"code": "x", "detail": "d", "error": "PipelineError", "kind": "k", "stage": 1e999}',
            "d",
        ),
    ],
)
def test_something_else_is_there(status, body, message, monkeypatch):
    monkeypatch.setattr(_Other, "answers", [(status, body)])
    with HTTPServer(("127.0.0.1", 0), _Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(hr.BackendError, match=message):
            hr.connect(f"http://127.0.0.1:{server.server_port}", token="t" * 40)
        server.shutdown()


def test_a_number_that_no_result_holds_is_an_answer_in_another_form(index, monkeypatch):
    def read(_self, response):
        big = json.loads(response.content)
        big["results"][0]["ordinal"] = 2**70
        changed = httpx.Response(200, json=big, request=response.request)
        return _client.Outcome(changed)

    monkeypatch.setattr(_client.Client, "_read", read)
    with pytest.raises(hr.BackendError, match="answered in a form that is not known") as caught:
        index.search("slugs")
    assert caught.value.code == "bad_answer"


def test_an_answer_that_is_too_large_is_not_read(index, monkeypatch):
    monkeypatch.setattr("hedgerow._adapters.http.LARGEST_ANSWER", 100)
    for search in (lambda: index.search("slugs"), lambda: asyncio.run(index.asearch("slugs"))):
        with pytest.raises(hr.BackendError, match=r"answered with more than .* bytes") as caught:
            search()
        assert caught.value.code == "bad_answer"


def test_a_closed_connection_says_so(root):
    other = hr.connect(root.url, kind="root", token=READER)
    other.close()
    with pytest.raises(hr.HedgerowError, match="is closed; connect again") as caught:
        other.recall("slugs")
    assert caught.value.code == "endpoint_closed"

    async def with_async():
        async with hr.connect(root.url, kind="root", token=READER) as found:
            return await found.arecall("slugs")

    for _ in range(2):  # two event loops in succession
        assert asyncio.run(with_async()).results


def test_event_loops_of_other_threads_come_and_go(root):
    async def recalled():
        async with hr.connect(root.url, kind="root", token=READER) as found:
            clients = found._client._connections._clients
            clients.clear()
            clients[Gone(clients)] = None
            recall = await found.arecall("slugs")
            assert not any(isinstance(loop, Gone) for loop in clients)
            return recall

    assert asyncio.run(recalled()).results


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_forked_child_goes_on(root):
    root.recall("slugs")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(len(root.recall("slugs"))).encode())
        os._exit(0)
    os.close(writing)
    assert os.read(reading, 10) == b"1"
    os.waitpid(child, 0)
    assert len(root.recall("slugs")) == 1


def test_what_was_not_answered_is_done_once(root, memory, monkeypatch):
    """The connection breaks after the server has carried out the request."""
    import httpx  # noqa: PLC0415

    original = httpx.Client.send
    broken = []

    def send(self, request, **options):
        response = original(self, request, **options)
        if request.method == "POST" and not broken:
            broken.append(request)
            raise httpx.RemoteProtocolError("the connection is gone")
        return response

    monkeypatch.setattr(httpx.Client, "send", send)
    root.remember("Once.", title="Once")
    assert len(broken) == 1
    assert len(list((memory.path / "notes").glob("*once*"))) == 1


async def awaited(connected):
    try:
        return await connected.acount()
    finally:
        await connected.aclose()


@pytest.mark.parametrize(("wait", "tries"), [("0", 3), ("3600", 1), ("soon", 3)])
def test_a_busy_server_is_asked_again_when_it_says(local, wait, tries):
    asked = []

    def busy(app):
        async def answer(scope, receive, send):
            if scope["type"] == "http" and scope["path"] == "/v1/count":
                asked.append(scope["path"])
                problem = Problem("too_many_requests", "try later", headers={"Retry-After": wait})
                await problem_answer(problem)(scope, receive, send)
            else:
                await app(scope, receive, send)

        return answer

    with (
        listening(IndexService(local), busy) as url,
        hr.connect(url, kind="index", token=WRITER) as connected,
    ):
        for count in (connected.count, lambda: asyncio.run(awaited(connected))):
            asked.clear()
            with pytest.raises(hr.BackendError, match="try later"):
                count()
            assert len(asked) == tries
