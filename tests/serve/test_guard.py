"""Protection against other web pages, other hosts, other files and overload."""

from __future__ import annotations

import json
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPResponse

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

import hedgerow as hr
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.problems import Problem
from hedgerow._serve.root_routes import RootService
from hedgerow._serve.tokens import Grant, Tokens
from serving import READ, TOKENS, WRITE, WRITER, listening
from waiting import LONGEST, until

POSTS = ["/v1/search", "/v1/search_many", "/v1/why_not", "/v1/chunks", "/v1/delete"]


def problem(answer, status, code):
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    found = answer.json()
    assert (answer.status_code, found["status"], found["code"]) == (status, status, code), found
    assert found["type"] == f"urn:hedgerow:error:{code}"
    assert found["title"]
    return found["detail"]


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer x", f"Basic {WRITER}", f"Bearer {WRITER}x", "Bearer é"],
)
def test_without_a_token_nothing_is_told(of_index, header):
    for path in ("/v1/stats", "/v1/about", "/metrics", "/openapi.json", "/mcp", "/nowhere"):
        answer = of_index.get(path, headers={"Authorization": header.encode()})
        assert "Authorization: Bearer TOKEN" in problem(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"] == 'Bearer realm="hedgerow"'


def test_a_token_that_reads_writes_nothing(of_index, of_root, root):
    for path, body in [
        ("/v1/chunks", {"chunks": [{"id": "x"}]}),
        ("/v1/delete", {"ids": ["a"]}),
        ("/v1/backup", {}),
    ]:
        said = problem(of_index.post(path, json=body, headers=READ), 403, "read_only_token")
        assert "use the other token" in said
    new = {"text": "t", "title": "t"}
    problem(of_root.post("/v1/remember", json=new, headers=READ), 403, "read_only_token")
    edit = of_root.put("/v1/memories/notes/slugs.md", json={"text": "t"}, headers=READ)
    problem(edit, 403, "read_only_token")
    assert of_index.get("/v1/stats", headers=READ).json()["chunks"] == 3
    assert "No pellets" in (root / "notes" / "slugs.md").read_text()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7411", "127.0.0.1.evil.example", ""]
)
def test_another_host_is_refused(of_index, host):
    for path in ("/v1/stats", "/healthz"):
        answer = of_index.get(path, headers={"Host": host})
        assert "--allow-host" in problem(answer, 403, "foreign_host")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:80", "file://", "http://["]
)
def test_another_origin_is_refused(of_index, origin):
    answer = of_index.post("/v1/search", json={"query": "a"}, headers={"Origin": origin})
    assert "--allow-origin" in problem(answer, 403, "foreign_origin")
    assert "access-control-allow-origin" not in answer.headers
    own = of_index.get("/v1/stats", headers={"Origin": "http://127.0.0.1:7411"})
    assert own.status_code == 200


def served(db, stack, **options):
    retriever = stack.enter_context(hr.Retriever(db, create=True))
    access = {key: options.pop(key) for key in ("origins", "read_only") if key in options}
    limits = Limits(**{"running": 2, **options})
    app = build(IndexService(retriever), Access(TOKENS, ["127.0.0.1"], **access), limits)
    client = TestClient(app, "http://127.0.0.1:7411", headers=WRITE, raise_server_exceptions=False)
    return stack.enter_context(client)


def test_an_origin_that_is_allowed(db):
    with ExitStack() as stack:
        client = served(db, stack, origins=["https://page.example"])
        origin = {"Origin": "https://page.example"}
        answer = client.get("/v1/stats", headers=origin)
        assert answer.headers["access-control-allow-origin"] == "https://page.example"
        asked = {**origin, "Access-Control-Request-Method": "POST"}
        assert client.options("/v1/search", headers=asked).status_code == 200
        other = client.get("/v1/stats", headers={"Origin": "https://evil.example"})
        problem(other, 403, "foreign_origin")


def test_a_server_that_only_reads(db):
    with ExitStack() as stack:
        client = served(db, stack, read_only=True)
        answer = client.post("/v1/delete", json={"ids": ["a"]})
        assert "--read-only" in problem(answer, 403, "read_only")
        assert client.get("/v1/about").json()["readOnly"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret.md",
        "%2e%2e/secret.md",
        "notes/../../secret.md",
        "/etc/passwd",
        "..%2f..%2fsecret.md",
        "hedgerow.json",
        ".hedgerow/index.db",
        "linked.md",
        "away/secret.md",
        "notes/slugs.md%00.md",
    ],
)
def test_no_name_leads_out_of_the_root(of_root, root, name):
    (root.parent / "secret.md").write_text("# Secret\n\nThe key is 17.\n")
    (root / "linked.md").symlink_to(root.parent / "secret.md")
    (root / "away").symlink_to(root.parent)
    for answer in (
        of_root.get(f"/v1/memories/{name}"),
        of_root.put(f"/v1/memories/{name}", json={"text": "x"}, headers={"If-Match": "x"}),
    ):
        assert answer.status_code in {400, 404}, answer.text
        assert "17" not in answer.text
    assert "17" in (root.parent / "secret.md").read_text()


def test_a_memory_that_became_a_link_is_not_read(of_root, root):
    assert of_root.get("/v1/memories/notes/slugs.md").status_code == 200
    (root.parent / "secret.md").write_text("# Secret\n")
    (root / "notes" / "slugs.md").unlink()
    (root / "notes" / "slugs.md").symlink_to(root.parent / "secret.md")
    answer = of_root.get("/v1/memories/notes/slugs.md")
    assert answer.status_code in {404, 500}
    assert "Secret" not in answer.text


def test_limits_are_told(db):
    with ExitStack() as stack:
        client = served(db, stack, body_bytes=1000)
        long = {"query": "x" * 2000}
        assert "1,000 bytes" in problem(client.post("/v1/search", json=long), 413, "body_too_large")
        plain = {"Content-Type": "application/json"}
        for size in (20, 10_000):
            pieces = (b"x" * 100 for _ in range(size))
            chunked = client.post("/v1/search", content=pieces, headers=plain)
            assert "1,000 bytes" in problem(chunked, 413, "body_too_large")
            assert chunked.headers["connection"] == "close"
        for wrong in (
            {"query": "a", "limit": 1001},
            {"query": "a", "limt": 1},
            {},
            {"query": 1},
        ):
            problem(client.post("/v1/search", json=wrong), 400, "invalid_option")
        problem(client.post("/v1/search", json=[]), 400, "invalid_request")
        problem(client.post("/v1/search", content=b"{", headers=plain), 400, "invalid_request")
        form = client.post("/v1/search", data={"query": "a"})
        assert "Content-Type: application/json" in problem(form, 415, "not_json")
        problem(client.get("/v1/nowhere"), 404, "not_found")
        wrong = client.get("/v1/search")
        problem(wrong, 405, "invalid_request")
        assert wrong.json()["detail"] == "/v1/search takes POST, not GET"
        problem(client.get("/v1/chunks/none"), 404, "unknown_chunk")
        bad = {"query": "a", "filters": {"where": {"x": {"$no": 1}}}}
        problem(client.post("/v1/search", json=bad), 400, "invalid_filter")
        condition = {"query": "a", "filters": {"unknown": 1}}
        assert client.post("/v1/search", json=condition).json()["count"] == 0
        half = b'{"query": "a", "filters": {"metadata": {"x": "\\ud800"}}}'
        problem(client.post("/v1/search", content=half, headers=plain), 400, "lone_surrogate")


def test_what_is_too_much_or_too_slow_is_told(db, monkeypatch):
    may_end = threading.Event()
    with ExitStack() as stack:
        client = served(db, stack, running=1, waiting=1, seconds=0.3)
        stack.callback(may_end.set)
        monkeypatch.setattr(IndexService, "perform", lambda *_: {"ended": may_end.wait(60)})
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(client.get("/v1/stats")))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {answer.status_code for answer in answers} == {504}
        assert "--timeout" in problem(answers[0], 504, "too_slow")
        # The work of timed-out requests continues, and counts towards the limit.
        full = client.get("/v1/stats")
        assert "2 requests run or wait" in problem(full, 429, "too_many_requests")
        assert full.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200


def test_filters_that_are_nested_too_deep(of_index):
    deep = b'{"query": "a", "filters": {"metadata": %b1%b}}' % (b'{"a":' * 400, b"}" * 400)
    plain = {"Content-Type": "application/json"}
    problem(of_index.post("/v1/search", content=deep, headers=plain), 400, "invalid_filter")


def test_a_backup_that_took_too_long_leaves_nothing(db, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    may_end, backup = threading.Event(), IndexService.backup

    def slow(service):
        copy = backup(service)
        may_end.wait(LONGEST)
        return copy

    monkeypatch.setattr(IndexService, "backup", slow)
    with ExitStack() as stack:
        client = served(db, stack, seconds=0.3)
        stack.callback(may_end.set)
        problem(client.post("/v1/backup"), 504, "too_slow")
        may_end.set()
        end = time.monotonic() + LONGEST
        while list(scratch.iterdir()) and time.monotonic() < end:
            client.get("/healthz")
    assert list(scratch.iterdir()) == []


def test_a_backup_that_fails_says_why_and_leaves_nothing(of_index, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()

    def failing(_, copy):
        copy.write_bytes(b"half")
        raise hr.IndexFileError("the disk is full", code="index_io")

    monkeypatch.setattr(hr.Index, "backup", failing)
    said = problem(of_index.post("/v1/backup"), 500, "index_io")
    assert said == "the disk is full"
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    db = tmp_path_factory.mktemp("fuzzed") / "notes.db"
    with ExitStack() as stack:
        yield served(db, stack)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
FIELDS = ["id", "path", "title", "content", "tags", "metadata", "ordinal", "embedding"]
SHAPED = st.one_of(
    st.fixed_dictionaries(
        {"query": st.text()},
        optional={
            "id": st.text(),
            "limit": st.integers(1, 1000),
            "offset": st.integers(0, 1000),
            "filters": st.dictionaries(st.sampled_from(["tags", "where", "after"]), ANYTHING),
            "question_date": st.text(),
        },
    ),
    st.fixed_dictionaries({"queries": st.lists(st.text())}),
    st.fixed_dictionaries({"ids": st.lists(st.text()), "paths": st.lists(st.text())}),
    st.fixed_dictionaries(
        {"chunks": st.lists(st.dictionaries(st.sampled_from(FIELDS), ANYTHING), max_size=3)}
    ),
)


@given(st.sampled_from(POSTS), ANYTHING, SHAPED)
def test_no_body_is_a_fault(fuzzed, path, anything, shaped):
    for body in (anything, shaped):
        content = json.dumps(body, ensure_ascii=True).encode()
        answer = fuzzed.post(path, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code < 500, (path, body, answer.text)


def test_tokens_are_made_once_and_kept_private(tmp_path):
    folder = tmp_path / "tokens"
    first = Tokens.load(folder)
    assert Tokens.load(folder) == first
    write, read = ((folder / name).read_text().strip() for name in ("write", "read"))
    assert write != read
    for name in ("write", "read"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert (first.grant_of(write), first.grant_of(read)) == (Grant("write"), Grant("read"))
    assert first.grant_of("") is None
    (folder / "read").chmod(0o644)
    with pytest.raises(hr.HedgerowError, match="others than its owner may read it") as caught:
        Tokens.load(folder)
    assert caught.value.code == "token_unusable"
    (folder / "read").unlink()
    (folder / "read").symlink_to(folder / "write")
    with pytest.raises(hr.HedgerowError, match="cannot be used"):
        Tokens.load(folder)
    (folder / "read").unlink()
    (folder / "read").write_text("short\n")
    (folder / "read").chmod(0o600)
    with pytest.raises(hr.HedgerowError, match="has no token of at least 32"):
        Tokens.load(folder)
    (folder / "read").unlink()
    again = Tokens.load(folder)
    assert again.grant_of(read) is None
    assert again.grant_of(write) == Grant("write")


def answered(connection: socket.socket) -> HTTPResponse:
    """Return the response to a GET after reading all of it, possibly in several pieces."""
    response = HTTPResponse(connection)
    response.begin()
    response.read()
    return response


def test_a_head_that_does_not_come_ends_the_connection(root, monkeypatch):
    monkeypatch.setattr("hedgerow._serve.connections.HEAD_SECONDS", 0.2)
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with hr.MemoryRoot.open(root) as memory, listening(RootService(memory)) as url:
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        for sent in [b"", b"GET /healthz HTT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "]:
            with socket.create_connection(place, LONGEST) as slow:
                slow.sendall(sent)
                assert slow.recv(1000) == b""
        with socket.create_connection(place, LONGEST) as slow:
            slow.sendall(whole)
            assert answered(slow).status == 200
            slow.sendall(whole[:30])
            assert slow.recv(1000) == b""
        # A connection that pauses between whole requests stays open.
        with socket.create_connection(place, LONGEST) as patient:
            for _ in range(2):
                patient.sendall(whole)
                assert answered(patient).status == 200
                time.sleep(0.3)


@pytest.fixture
def address(root):
    """The address of a server that allows at most five connections."""
    limits = Limits(running=2, body_seconds=0.5, refusal_seconds=0)
    with (
        hr.MemoryRoot.open(root) as memory,
        listening(RootService(memory), limits=limits, connections=5) as url,
    ):
        yield "127.0.0.1", int(url.rpartition(":")[2])


ABOUT = f"GET /v1/about HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {WRITER}\r\n\r\n"


def test_an_answer_that_is_not_read_ends_the_connection(address, monkeypatch):
    monkeypatch.setattr("hedgerow._serve.connections.READ_SECONDS", 0.3)
    page = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(address)
        deaf.sendall(page * 200)
        until(lambda: deaf.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "a closed connection")


def test_an_answer_that_is_read_slowly_is_sent(address, monkeypatch):
    monkeypatch.setattr("hedgerow._serve.connections.READ_SECONDS", 1.0)
    page = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with socket.socket() as slow:
        slow.connect(address)
        slow.sendall((page + b"\r\n") * 150 + page + b"Connection: close\r\n\r\n")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            assert slow.recv(65536)
            time.sleep(0.01)
        rest = b""
        while piece := slow.recv(1 << 20):
            rest += piece
    assert rest.endswith(b"</html>\n")


def test_too_many_connections_close_the_oldest_without_a_token(address):
    with ExitStack() as stack:

        def connected():
            return stack.enter_context(socket.create_connection(address, LONGEST))

        known = connected()
        known.sendall(ABOUT.encode())
        assert answered(known).status == 200
        idle = [connected() for _ in range(20)]
        for one in idle[:16]:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        for one in (known, *idle[16:]):
            one.sendall(ABOUT.encode())
            assert answered(one).status == 200


def test_a_body_that_comes_byte_by_byte_has_its_time(address):
    head = ABOUT.replace("GET /v1/about", "POST /v1/recall").rstrip()
    head += "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    with socket.create_connection(address, LONGEST) as slow:
        slow.sendall(head.encode())
        slow.settimeout(0.02)
        reply = b""
        while not reply:
            slow.sendall(b" ")
            with suppress(TimeoutError):
                reply = slow.recv(1000)
        assert b"408 Request Timeout" in reply


def test_a_head_has_a_limit_in_one_piece_and_in_many(address):
    begin, line = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"a: b\r\n"
    for count, status in ((2_500, 200), (4_000, 400)):
        for size in (1 << 20, 4_000, 100):
            sent = begin + line * count + b"\r\n"
            with socket.create_connection(address, LONGEST) as client:
                with suppress(BrokenPipeError, ConnectionResetError):
                    for at in range(0, len(sent), size):
                        client.sendall(sent[at : at + size])
                with suppress(ConnectionResetError):
                    assert answered(client).status == status


def test_a_stream_of_mcp_is_not_opened(of_root):
    for method in ("GET", "DELETE"):
        answer = of_root.request(method, "/mcp", headers={"Accept": "text/event-stream"})
        problem(answer, 405, "invalid_request")
        assert answer.headers["allow"] == "POST"


def test_a_token_that_only_reads_sends_small_bodies(db):
    with ExitStack() as stack:
        client = served(db, stack, read_body_bytes=1000)
        body = {"query": "x" * 1000}
        said = problem(client.post("/v1/search", json=body, headers=READ), 413, "body_too_large")
        assert "1,000 bytes with this token" in said
        assert client.post("/v1/search", json=body).status_code == 200


def test_large_bodies_together_have_a_limit(db, monkeypatch):
    may_end, begun = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        return {"ended": may_end.wait(LONGEST)}

    with ExitStack() as stack:
        client = served(db, stack, held_bytes=150_000)
        stack.callback(may_end.set)
        monkeypatch.setattr(IndexService, "perform", slow)
        body = {"ids": ["x" * 100_000]}
        first = threading.Thread(target=client.post, args=["/v1/delete"], kwargs={"json": body})
        first.start()
        assert begun.wait(LONGEST)
        refused = client.post("/v1/delete", json=body)
        assert "try again later" in problem(refused, 429, "too_many_requests")
        may_end.set()
        first.join()
        assert client.post("/v1/delete", json={"ids": ["x"]}).status_code == 200
        assert client.post("/v1/delete", json=body).status_code == 200


def test_a_wrong_token_is_answered_late_and_a_right_one_at_once(db):
    with ExitStack() as stack:
        client = served(db, stack, refusal_seconds=2)
        with ThreadPoolExecutor(1) as pool:
            begun = time.monotonic()
            guess = {"Authorization": "Bearer wrong"}
            guessed = pool.submit(client.get, "/v1/about", headers=guess)
            for _ in range(3):
                assert client.get("/v1/about").status_code == 200
            assert not guessed.done()
            problem(guessed.result(), 401, "unauthorized")
            assert time.monotonic() - begun >= 2


def test_many_checks_take_one_place(db, monkeypatch):
    may_end, checks = threading.Event(), []

    def slow(_):
        checks.append(may_end.wait(LONGEST))

    with ExitStack() as stack:
        monkeypatch.setattr(IndexService, "check", slow)
        client = served(db, stack, running=2, waiting=0)
        stack.callback(may_end.set)
        with ThreadPoolExecutor(10) as pool:
            asked = [pool.submit(client.get, "/readyz") for _ in range(10)]
            assert client.get("/v1/stats").status_code == 200
            may_end.set()
            assert {one.result().status_code for one in asked} == {200}
    assert len(checks) <= 10


def test_a_client_that_hangs_up_is_not_logged(address, caplog):
    head = ABOUT.replace("GET /v1/about", "POST /v1/recall").rstrip()
    head += "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    for sent in (head, "nonsense\r\n\r\n"):
        with socket.create_connection(address, LONGEST) as client:
            client.sendall(sent.encode())
    with socket.create_connection(address, LONGEST) as client:
        client.sendall(ABOUT.encode())
        assert answered(client).status == 200
    assert [one.getMessage() for one in caplog.records if one.levelname != "INFO"] == []


def test_backups_that_are_not_downloaded_have_a_limit(db):
    with hr.Retriever(db) as retriever:
        service = IndexService(retriever)
        copies = [service.backup(), service.backup()]
        with pytest.raises(Problem, match="2 copies are being downloaded"):
            service.backup()
        for copy in copies:
            service.remove(copy)
            assert not copy.parent.exists()
        service.remove(service.backup())


def in_chunks(path: str, pieces: list[bytes], token: str = WRITER) -> list[bytes]:
    """Return the head of a request and its chunks."""
    head = ABOUT.replace("GET /v1/about", f"POST {path}").replace(WRITER, token).rstrip()
    head += "\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json"
    chunks = [f"{len(one):x}\r\n".encode() + one + b"\r\n" for one in [*pieces, b""]]
    return [f"{head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode(), *chunks]


def status_of(connection: socket.socket, sent: list[bytes], pause: float = 0.0) -> int:
    """Return the status of the response to a request that is sent as a whole before it is read."""
    for piece in sent:
        connection.sendall(piece)
        time.sleep(pause)
    return answered(connection).status


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_body_in_chunks_is_read(address, pause):
    recall = in_chunks("/v1/recall", [b'{"que', b'ry": "slu', b'gs"}'])
    ping = in_chunks("/mcp", [b'{"jsonrpc": "2.0", "id": 1, ', b'"method": "ping"}'])
    with socket.create_connection(address, LONGEST) as connection:
        for sent in (recall, ping, recall):
            assert status_of(connection, sent, pause) == 200
        connection.sendall(b"".join(recall) * 2)
        assert [answered(connection).status for _ in range(2)] == [200, 200]


@pytest.mark.parametrize(
    ("path", "size", "token", "status"),
    [
        ("/v1/recall", 300 * 1024, WRITER, 413),
        ("/v1/recall", 100, "x" * 40, 401),
        ("/v1/recall", 300 * 1024, "x" * 40, 401),
        ("/v1/nowhere", 100 * 1024, WRITER, 404),
        ("/healthz", 100, WRITER, 405),
    ],
)
def test_a_refused_body_in_chunks_gets_an_answer(address, path, size, token, status):
    pieces = [b"x" * (size // 10) for _ in range(10)]
    with socket.create_connection(address, LONGEST) as connection:
        assert status_of(connection, in_chunks(path, pieces, token), 0.05) == status
    with socket.create_connection(address, LONGEST) as connection:
        assert status_of(connection, in_chunks(path, pieces, token)) == status


def test_a_body_in_chunks_of_a_byte_ends_the_connection(address):
    sent = in_chunks("/v1/recall", [b" "] * 20_000)
    with socket.create_connection(address, LONGEST) as connection:
        with suppress(OSError):
            connection.sendall(b"".join(sent))
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_bodies_in_chunks_count_among_those_that_are_held(db):
    with ExitStack() as stack:
        client = served(db, stack, held_bytes=100_000)
        pieces = (b" " * 1000 for _ in range(200))
        plain = {"Content-Type": "application/json"}
        answer = client.post("/v1/search", content=pieces, headers=plain)
        problem(answer, 429, "too_many_requests")
        assert client.post("/v1/search", content=iter([b'{"query": "a"}']), headers=plain).json()


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/metrics", "/v1/about", "/v1/none"])
def test_head_is_answered_like_get(of_root, path):
    head, get = of_root.head(path), of_root.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


def test_head_is_refused_where_there_is_no_get(of_root):
    assert of_root.head("/v1/recall").status_code == 405


def test_head_leaves_the_connection_open(address):
    head = ABOUT.replace("GET", "HEAD").encode()
    with socket.create_connection(address, LONGEST) as connection:
        for _ in range(2):
            connection.sendall(head)
            response = HTTPResponse(connection, method="HEAD")
            response.begin()
            assert (response.status, response.read()) == (200, b"")
