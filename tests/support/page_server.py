"""What the page asks, answered by hedgerow's own commands: a small stand-in for its server."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import hedgerow as hr
from command_line import as_json, run
from hedgerow._page import page
from retrieval_doubles import FnvEmbedder

TOKEN = "token-of-the-test"  # noqa: S105 - it opens nothing


@dataclass
class Answer:
    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def problem(status: int, code: str, detail: str, **fields: Any) -> Answer:
    kind = {"type": f"urn:hedgerow:error:{code}", "status": status, "code": code}
    return Answer({**kind, "detail": detail, **fields}, status)


class PageServer:
    """Serves an index file or a memory root; `next_answer` is given once instead of the true one."""

    def __init__(
        self, *, db: Path | None = None, root: Path | None = None, edit: bool = False
    ) -> None:
        self.db, self.root, self.edit = db, root, edit
        self.next_answer: Answer | None = None
        self.asked: list[tuple[str, str, Any, dict[str, str]]] = []
        self.url = ""

    def answer(self, method: str, target: str, body: Any, headers: dict[str, str]) -> Answer:
        self.asked.append((method, target, body, headers))
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return problem(401, "bad_token", "the token is not known")
        if self.next_answer is not None and target.startswith("/v1/search"):
            given, self.next_answer = self.next_answer, None
            return given
        parts = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path.startswith("/v1/memories/"):
            file = unquote(parts.path.removeprefix("/v1/memories/"))
            return self.put(file, body, headers) if method == "PUT" else self.memory(file)
        name = parts.path.removeprefix("/v1/")
        return getattr(self, name)(body if method == "POST" else asked)

    def about(self, _: Any) -> Answer:
        kind, place = ("root", self.root) if self.root else ("index", self.db)
        about = {"hedgerow": hr.__version__, "kind": kind, "name": place.name, "tokenScope": "read"}
        return Answer({**about, "readOnly": not self.edit, **({"edit": True} if self.edit else {})})

    def search(self, body: dict[str, Any]) -> Answer:
        assert body.pop("explain")
        query = body.pop("query")
        options = [f"--{name.replace('_', '-')}={value}" for name, value in body.items()]
        where = ["--db", str(self.db)] if self.db else ["--root", str(self.root)]
        return Answer(as_json("search", f"--query={query}", *where, *options, "--explain"))

    def why_not(self, body: dict[str, Any]) -> Answer:
        with hr.Retriever(self.db, embedder=FnvEmbedder(), profile="best") as retriever:
            return Answer(retriever.why_not(body.pop("query"), body.pop("id"), **body).to_dict())

    def memory(self, file: str) -> Answer:
        text = (self.root / file).read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Answer(
            {"file": file, "text": text, "digest": digest}, headers={"ETag": f'"{digest}"'}
        )

    def put(self, file: str, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        now = self.memory(file).body
        if headers.get("if-match") != f'"{now["digest"]}"':
            return problem(409, "file_changed", "the file was changed", **now)
        (self.root / file).write_text(body["text"], encoding="utf-8")
        return self.memory(file)

    def memories(self, asked: dict[str, str]) -> Answer:
        chosen = f"all | type:{asked['type']}" if "type" in asked else "all"
        pipeline = f"{chosen} | sort:timestamp | select:key,type,timestamp"
        found = as_json("query", pipeline, "--root", str(self.root))["results"]
        offset = int(asked["offset"])
        return Answer(
            {
                "root": str(self.root),
                "count": len(found),
                "memories": [
                    {"file": one["key"], "type": one["type"], "timestamp": one["timestamp"]}
                    for one in found[offset : offset + 5]
                ],
            }
        )

    def graph(self, asked: dict[str, str]) -> Answer:
        return Answer(
            as_json("graph", asked["key"], "--hops", asked["hops"], "--root", str(self.root))
        )

    def process(self, body: dict[str, Any]) -> Answer:
        result = run("process", "--mode", body["mode"], "--root", str(self.root), "--json")
        return Answer(json.loads(result.stdout))


@contextmanager
def serving(server: PageServer) -> Iterator[PageServer]:
    """Serve on a port of this machine until the block ends."""

    # What runs a command here takes standard output for itself.
    one_at_a_time = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if urlsplit(self.path).path == "/":
                self.reply(200, page(None).encode(), {"Content-Type": "text/html; charset=utf-8"})
                return
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            with one_at_a_time:
                answer = server.answer(self.command, self.path, body, headers)
            kind = "application/json" if answer.status < 400 else "application/problem+json"
            self.reply(
                answer.status,
                json.dumps(answer.body).encode(),
                {"Content-Type": kind, **answer.headers},
            )

        do_POST = do_PUT = do_GET  # noqa: N815 - names of the library

        def reply(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing: what was asked is in `asked`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server.url = f"http://127.0.0.1:{listening.server_port}/"
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
