"""No parameter in the OpenAPI document leads outside the root or the scope of a token."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import escapes
import hedgerow as hr
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.root_routes import RootService
from serving import ANA, TOKENS, WRITER

OFTEN = 400


@pytest.fixture
def around(tmp_path: Path) -> Path:
    """A folder with a root, and with secrets outside of it."""
    hr.MemoryRoot.initialize(tmp_path / "memory")
    escapes.write_canaries(tmp_path / "memory")
    return tmp_path


@pytest.fixture
def client(around: Path) -> Iterator[TestClient]:
    with hr.MemoryRoot.open(around / "memory") as root:
        app = build(RootService(root), Access(TOKENS, ["127.0.0.1"]), Limits(running=4))
        address = "http://127.0.0.1:7411"
        with TestClient(app, address, raise_server_exceptions=False) as made:
            yield made


def outside(around: Path) -> dict[str, str | None]:
    return {one.name: one.read_text("utf-8") if one.is_file() else None for one in around.iterdir()}


@pytest.mark.parametrize("token", [WRITER, ANA])
def test_no_parameter_escapes(client: TestClient, around: Path, token: str) -> None:
    before = outside(around)
    head = {"Authorization": f"Bearer {token}", "If-Match": "x"}
    document = client.get("/openapi.json", headers=head).json()
    sent = list(escapes.requests(document, around))
    if "PROOF_LONG" not in os.environ:
        sent = random.Random(7).sample(sent, OFTEN)  # noqa: S311 - no secrets
    hidden = [escapes.OUTSIDE, *([escapes.OTHERS] if token == ANA else [])]
    statuses = set()
    for method, path, body in sent:
        content = None if body is None else escapes.encoded(body)
        kind = {} if body is None else {"Content-Type": "application/json"}
        answer = client.request(method, path, content=content, headers=head | kind)
        assert answer.status_code < 500, (method, path, body, answer.text)
        for one in hidden:
            assert one not in answer.text, (method, path, body)
        statuses.add(answer.status_code)
    assert {200, 400, 404} <= statuses
    assert outside(around) == before
    ben = around / "memory" / "notes" / "ben-secret.md"
    assert token == WRITER or escapes.OTHERS in ben.read_text("utf-8")


def test_every_operation_and_text_is_tried(client: TestClient, around: Path) -> None:
    head = {"Authorization": f"Bearer {WRITER}"}
    document = client.get("/openapi.json", headers=head).json()
    sent = list(escapes.requests(document, around))
    tried = {(method.lower(), path.partition("?")[0]) for method, path, _ in sent}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "{" in path or "requestBody" in operation or operation.get("parameters"):
                begin = path.partition("{")[0]
                assert any(one == method and other.startswith(begin) for one, other in tried)
    assert any(
        body is not None and body.get("key") == "ben-secret" and path == "/v1/forget"
        for _, path, body in sent
    )
