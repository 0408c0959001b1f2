"""A real HTTP server on the loopback interface, with responses defined by a test."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar


@dataclass
class Reply:
    """A response. `body` is sent as JSON unless it is bytes.

    A `held` response is sent when the test calls `server.release()`, or at the end of the test.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    held: bool = False
    hang_up: bool = False

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[Request], Reply]
Client = TypeVar("Client")


class LocalServer:
    """Responds with `replies` in order, then with the results of `answer`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        self.clients = ExitStack()
        self.released = threading.Event()
        self.answer: Answer = lambda _: Reply({"error": "the test said nothing more"}, 501)

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def closes(self, client: Client) -> Client:
        """Close the client before the server stops. Return the client."""
        self.clients.callback(client.close)  # type: ignore[attr-defined]
        return client

    def release(self) -> None:
        """Send the held replies."""
        self.released.set()

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.replies.pop(0) if self.replies else self.answer(request)


@contextmanager
def local_server() -> Iterator[LocalServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length))
            request = Request(self.path, dict(self.headers), body)
            reply = server.reply(request)
            if reply.held:
                server.released.wait()
            if reply.hang_up:
                self.close_connection = True
                return
            content = reply.content()
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client stopped waiting

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = LocalServer(f"http://127.0.0.1:{listener.server_port}")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with server.clients:
            yield server
    finally:
        server.release()
        listener.shutdown()
        thread.join()
        listener.server_close()


@contextmanager
def nobody_there() -> Iterator[str]:
    """A URL on a reserved port of the loopback interface on which no server listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{reserved.getsockname()[1]}"
