"""`hedgerow serve` as a separate process."""

from __future__ import annotations

import signal
import socket
import ssl
import threading

import httpx
import pytest
import trustme

import hedgerow as hr
from server_process import serving
from waiting import LONGEST


def test_it_serves_and_ends(root, tmp_path):
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving(tmp_path, "--root", str(root)) as server:
            with server.client() as client:
                found = client.post("/v1/recall", json={"query": "slugs"}).json()["results"]
                assert found[0]["provenance"]["file"] == "notes/slugs.md"
                key = client.headers["authorization"].split()[1]
            assert server.end(number) in {0, -number, 128 + number, 130}
            said = "".join(server.told)
            assert "Traceback" not in said
            assert key not in said
            assert f"Tokens: {tmp_path / 'tokens'}; Ctrl-C ends it" in said


def test_a_second_server_names_the_first(root, db, tmp_path):
    for what in (["--root", str(root)], ["--db", str(db)]):
        with serving(tmp_path, *what) as first:
            with serving(tmp_path, *what) as second:
                assert second.process.wait(LONGEST) == 1
                second._reader.join(LONGEST)
                assert f"the process {first.process.pid} at {first.url} serves this" in "".join(
                    second.told
                )
            first.process.kill()
            first.process.wait()
        # A killed server does not block the next one.
        with serving(tmp_path, *what) as again, again.client() as client:
            assert client.get("/readyz").status_code == 200


def test_what_was_acknowledged_is_there_after_a_kill(db, tmp_path):
    with serving(tmp_path, "--db", str(db)) as server, server.client() as client:
        for number in range(20):
            chunk = {"id": f"new {number}", "content": "moles dig"}
            answer = client.post("/v1/chunks", json={"chunks": [chunk]})
            assert answer.json() == {"upserted": 1}
        server.process.kill()
        server.process.wait()
    with hr.Index.open(db) as index:
        assert len(index) == 23
        assert index.check() == []


def test_an_answer_that_was_begun_is_given(db, tmp_path):
    """SIGTERM during searches: each gets a complete response, or its connection is refused."""
    outcomes: list[int] = []
    with serving(tmp_path, "--db", str(db)) as server:
        begun = threading.Barrier(5)

        def ask() -> None:
            with server.client() as client:
                begun.wait()
                try:
                    for _ in range(200):
                        answer = client.post("/v1/search", json={"query": "winter"})
                        outcomes.append(answer.status_code)
                        assert answer.json()["count"] == 1
                except httpx.TransportError:
                    return

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        while len(outcomes) < 20:
            pass
        server.end()
        for thread in threads:
            thread.join(LONGEST)
        assert set(outcomes) == {200}
        assert "Traceback" not in "".join(server.told)


def test_others_read_and_write_beside_it(db, tmp_path):
    with serving(tmp_path, "--db", str(db)) as server, server.client() as client:
        with hr.Index.open(db) as index:
            index.upsert([hr.Chunk("mine", "m.md", "moles dig")])
        found = client.post("/v1/search", json={"query": "moles"}).json()
        assert [one["id"] for one in found["results"]] == ["mine"]


def test_the_tools_of_mcp(root, tmp_path):
    with serving(tmp_path, "--root", str(root)) as server:
        for token, written in (("write", True), ("read", False)):
            with server.client(token) as client:
                request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
                accepted = {"Accept": "application/json, text/event-stream"}
                answer = client.post("/mcp", json=request, headers=accepted)
                assert answer.status_code == 200, answer.text
                names = {tool["name"] for tool in answer.json()["result"]["tools"]}
                assert "memory_recall" in names
                assert ("memory_remember" in names) is written
                arguments = {"query": "slugs"}
                request |= {
                    "method": "tools/call",
                    "params": {"name": "memory_recall", "arguments": arguments},
                }
                answer = client.post("/mcp", json=request, headers=accepted)
                [content] = answer.json()["result"]["content"]
                assert content["text"].startswith("[1] notes/slugs.md:1-3\n")


def test_it_is_asked_over_ipv6(db, tmp_path):
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with serving(tmp_path, "--db", str(db), "--host", "::1") as server, server.client() as client:
        assert server.url.startswith("http://[::1]:")
        assert client.get("/v1/stats").json()["chunks"] == 3


def test_it_is_asked_over_tls(db, tmp_path):
    authority, certificate, key = (tmp_path / f"{name}.pem" for name in ("ca", "cert", "key"))
    made = trustme.CA()
    made.cert_pem.write_to_path(authority)
    issued = made.issue_cert("127.0.0.1", "notes.example")
    certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    given = ["--tls-cert", str(certificate), "--tls-key", str(key), "--allow-host", "notes.example"]
    with serving(tmp_path, "--db", str(db), *given) as server:
        assert server.url.startswith("https://127.0.0.1:")
        token = (tmp_path / "tokens" / "read").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Host": "notes.example"}
        trusted = ssl.create_default_context(cafile=authority)
        answer = httpx.get(f"{server.url}/v1/stats", headers=headers, verify=trusted)
        assert answer.json()["chunks"] == 3
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/v1/stats", headers=headers)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "192.0.2.1"], "is reachable from other machines: use --tls-cert and --tls-key"),
        (["--host", "no address"], "'no address' is no address; give one like 127.0.0.1"),
        (["--tls-cert", "c.pem"], "a certificate and its key go together"),
        (["--tls-cert", "c.pem", "--tls-key", "k.pem"], "cannot be used"),
        (["--host", "203.0.113.1", "--insecure-http"], "cannot be listened on"),
        (["--root", "x"], "--db and --root exclude each other"),
    ],
)
def test_what_cannot_be_served_is_told(db, tmp_path, options, said):
    with serving(tmp_path, "--db", str(db), *options) as server:
        assert server.process.wait(LONGEST) in {1, 2}
        server._reader.join(LONGEST)
        assert said in "".join(server.told)
        assert "Traceback" not in "".join(server.told)


def test_the_port_is_taken(db, root, tmp_path):
    with serving(tmp_path, "--db", str(db)) as first:
        port = first.url.rsplit(":", 1)[1]
        with serving(tmp_path, "--root", str(root), "--port", port) as second:
            assert second.process.wait(LONGEST) == 1
            second._reader.join(LONGEST)
            assert f"127.0.0.1 port {port} cannot be listened on" in "".join(second.told)
